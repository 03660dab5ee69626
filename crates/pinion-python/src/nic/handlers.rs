//! Packet handlers step by step: the simulated NIC, and the frames that wait for it.

use std::sync::Arc;

use pinion_app::app::App as Handlers;
use pinion_app::{Error, Result};
use pinion_sim::Time;
use pinion_sim::node::Saved;
use pinion_spin::{Inbox, Outcome, Units};

use super::ears::{Ears, Hearing};
use super::stepped::{At, Stepped, Stopped};

/// A NIC with an application's handlers.
pub struct Nic {
    app: Arc<Handlers>,
    contexts: Vec<String>,
    units: Units,
    inbox: Inbox,
}

/// What is saved of it.
struct State {
    units: Units,
    inbox: Inbox,
}

impl Nic {
    /// Makes a NIC.
    pub fn new(app: &Arc<Handlers>) -> Result<Self> {
        let (contexts, units) = (app.context_names(), app.nic()?);
        Ok(Self { app: Arc::clone(app), contexts, units, inbox: Inbox::default() })
    }
}

impl Stepped for Nic {
    fn check(&self, bytes: usize) -> Result<()> {
        let limit = self.app.machine.value.inbound.max_packet_bytes;
        if bytes <= (limit + self.app.skipped_bytes()) as usize {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "a frame of {bytes} bytes: the machine takes {limit} (inbound.max_packet_bytes)"
        )))
    }

    fn put(&mut self, at: Time, frame: Vec<u8>) {
        self.inbox.put(at, frame, self.app.skipped_bytes());
    }

    fn run(&mut self, until: Time, hearing: &mut Hearing<'_>) -> Result<Stopped> {
        let mut ears = Ears { hearing, contexts: &self.contexts, node: None };
        match self.units.run(until, &mut self.inbox, &mut ears) {
            Outcome::Stuck(report) => Err(Error::Usage(report)),
            Outcome::Idle | Outcome::Finished => Ok(Stopped::Idle),
            Outcome::TimeReached => Ok(Stopped::Reached),
        }
    }

    fn now(&self) -> Time {
        self.units.now()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.units.state(tell);
    }

    fn read(&self, at: At, address: u64, buffer: &mut [u8]) -> bool {
        read(&self.units, at.cluster, address, buffer)
    }

    fn save(&self) -> Result<Saved> {
        let (units, inbox) = (self.units.clone(), self.inbox.clone());
        Ok(Saved::new(State { units, inbox }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let State { units, inbox } =
            saved.get().map_err(|error| Error::part("cannot go back", error))?;
        self.units.clone_from(units);
        self.inbox.clone_from(inbox);
        Ok(())
    }

    fn units(&mut self) -> Option<&mut Units> {
        Some(&mut self.units)
    }
}

/// Reads memory as a cluster sees it, whose own L1 is at one address for all.
pub fn read(units: &Units, cluster: u32, address: u64, buffer: &mut [u8]) -> bool {
    let Ok(address) = u32::try_from(address) else { return false };
    let machine = units.machine();
    let (clusters, l1) = (machine.cluster.count.max(1), &machine.l1);
    let Some(nic) = units.nics().get((cluster / clusters) as usize) else { return false };
    let offset = address.wrapping_sub(l1.alias);
    let address = match offset < l1.bytes {
        true => l1.base + cluster % clusters * l1.stride + offset,
        false => address,
    };
    nic.read_memory(address, buffer)
}
