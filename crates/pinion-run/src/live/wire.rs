//! The wire of a live run: a TAP device or a network interface, which may be faulty.
//!
//! Faults are the wire's: what the kernel sends may be lost on its way to the NIC, and what the NIC
//! sends on its way back. A frame that is held until others overtake it goes on after a while.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use pinion_net::fault::{FaultLane, FaultSpec};
use pinion_net::interface::Interface;
use pinion_net::tap::{InterfaceAddress, Tap};

use pinion_app::error::{Error, Result};

/// What stands for a wire that is none.
const NOWHERE: &str = "/dev/null";

/// Names the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireName {
    /// A TAP device, made when it does not exist.
    Tap(String),
    /// An interface that exists: frames it receives are the NIC's too.
    Interface(String),
    /// None: a run is repeated, and what leaves goes nowhere.
    Nowhere,
}

/// An open wire.
#[derive(Debug)]
pub struct Wire {
    device: WireDevice,
    start: Instant,
    /// Does its faults to frames to the NIC.
    inward: Option<FaultLane>,
    /// Does its faults to frames from the NIC.
    outward: Option<FaultLane>,
}

/// What frames come from and go to.
#[derive(Debug)]
enum WireDevice {
    Tap(Tap),
    Interface(Interface),
    Nowhere(File),
}

impl Wire {
    /// Opens it.
    pub fn open(
        name: &WireName,
        address: Option<InterfaceAddress>,
        faults: Option<&FaultSpec>,
    ) -> Result<Self> {
        let device = match name {
            WireName::Tap(name) => WireDevice::Tap(Tap::open(name, address)?),
            WireName::Interface(name) => WireDevice::Interface(Interface::open(name)?),
            WireName::Nowhere => WireDevice::Nowhere(
                File::open(NOWHERE)
                    .map_err(|error| Error::file("open", NOWHERE.as_ref(), error))?,
            ),
        };
        let inward = faults.filter(|spec| spec.is_inward()).map(|spec| FaultLane::new(spec, 0));
        let outward = faults.filter(|spec| spec.is_outward()).map(|spec| FaultLane::new(spec, 1));
        Ok(Self { device, start: Instant::now(), inward, outward })
    }

    /// Says whether it is a TAP device.
    pub fn is_tap(&self) -> bool {
        matches!(self.device, WireDevice::Tap(_))
    }

    /// Counts the frames that the kernel dropped before they were read.
    pub fn dropped_by_kernel(&self) -> u64 {
        match &self.device {
            WireDevice::Tap(tap) => tap.dropped_by_kernel(),
            WireDevice::Interface(_) | WireDevice::Nowhere(_) => 0,
        }
    }

    /// Gives the device's name.
    pub fn name(&self) -> &str {
        match &self.device {
            WireDevice::Tap(tap) => tap.name(),
            WireDevice::Interface(interface) => interface.name(),
            WireDevice::Nowhere(_) => NOWHERE,
        }
    }

    /// Gives the hardware address of the kernel's side.
    pub fn mac(&self) -> [u8; 6] {
        match &self.device {
            WireDevice::Tap(tap) => tap.mac(),
            WireDevice::Interface(interface) => interface.mac(),
            WireDevice::Nowhere(_) => [0; 6],
        }
    }

    /// Gives the size of a buffer that takes every frame.
    pub fn max_frame_bytes(&self) -> usize {
        match &self.device {
            WireDevice::Tap(tap) => tap.max_frame_bytes(),
            WireDevice::Interface(interface) => interface.max_frame_bytes(),
            WireDevice::Nowhere(_) => 0,
        }
    }

    /// Reads a frame that reached the NIC, if there is one.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        self.send_due()?;
        let now = self.now_ps();
        let Some(lane) = &mut self.inward else { return self.device.read(buffer) };
        lane.release_due(now);
        loop {
            if let Some((_, frame)) = lane.take() {
                let bytes = frame.len().min(buffer.len());
                buffer[..bytes].copy_from_slice(&frame[..bytes]);
                return Ok(Some(bytes));
            }
            let Some(bytes) = self.device.read(buffer)? else { return Ok(None) };
            lane.push(now, &buffer[..bytes]);
        }
    }

    /// Writes a frame that leaves the NIC; tells whether the kernel took what reached it.
    pub fn write(&mut self, frame: &[u8]) -> Result<bool> {
        let now = self.now_ps();
        let Some(lane) = &mut self.outward else { return self.device.write(frame) };
        lane.push(now, frame);
        self.pass_on()
    }

    /// Shortens a wait to when a held frame goes on.
    pub fn patience(&self, limit: Duration) -> Duration {
        let lanes = [&self.inward, &self.outward].into_iter().flatten();
        let due = lanes.filter_map(FaultLane::next_deadline_ps).min();
        let left = due.map(|due| Duration::from_nanos(due.saturating_sub(self.now_ps()) / 1000));
        left.map_or(limit, |left| left.min(limit))
    }

    /// Says what the faults did.
    pub fn remarks(&self) -> Vec<String> {
        let lanes = [("to", &self.inward), ("from", &self.outward)];
        let remark = |(way, lane): (&str, &Option<FaultLane>)| {
            lane.as_ref().map(|lane| format!("link {way} the NIC: {}", lane.counts()))
        };
        lanes.into_iter().filter_map(remark).collect()
    }

    /// Writes what was held long enough on its way from the NIC.
    fn send_due(&mut self) -> Result<()> {
        let now = self.now_ps();
        let Some(lane) = &mut self.outward else { return Ok(()) };
        lane.release_due(now);
        self.pass_on().map(|_| ())
    }

    fn pass_on(&mut self) -> Result<bool> {
        let mut is_taken = true;
        while let Some((_, frame)) = self.outward.as_mut().and_then(FaultLane::take) {
            is_taken &= self.device.write(&frame)?;
        }
        Ok(is_taken)
    }

    fn now_ps(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos() * 1000).unwrap_or(u64::MAX)
    }
}

impl WireDevice {
    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        Ok(match self {
            Self::Tap(tap) => tap.read(buffer)?,
            Self::Interface(interface) => interface.read(buffer)?,
            Self::Nowhere(_) => None,
        })
    }

    fn write(&mut self, frame: &[u8]) -> Result<bool> {
        Ok(match self {
            Self::Tap(tap) => tap.write(frame)?,
            Self::Interface(interface) => interface.write(frame)?,
            Self::Nowhere(_) => true,
        })
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.device {
            WireDevice::Tap(tap) => tap.as_fd(),
            WireDevice::Interface(interface) => interface.as_fd(),
            WireDevice::Nowhere(file) => file.as_fd(),
        }
    }
}
