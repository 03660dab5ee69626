//! Hears the NIC and calls the driver back, in the cycle in which things happen.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use pinion_isa::elf::Image;
use pinion_isa::{disassemble_xpulp, exception_name};
use pinion_sim::Time;
use pinion_spin::{Event, Fault, Hears, Interest, Spin};

use crate::settings::Settings;
use crate::standard_output::print;
use crate::state;
use crate::statistics::Statistics;

/// Bytes of a beat of the host's interface: accesses come in pieces that do not cross this border.
const BEAT_BYTES: u64 = 64;
/// Limits a line of handler output; longer ones are broken.
const LINE_BYTES: usize = 4096;
/// Faults told in full.
const TOLD_FAULTS: u64 = 20;

/// Hears one NIC.
#[derive(Debug)]
pub struct Ears {
    /// Number of what is heard.
    pub statistics: Statistics,
    /// Knows the program's functions.
    pub symbols: Image,
    /// Packets that handlers have sent, with the time at which their last bit leaves.
    departures: VecDeque<(Time, Vec<u8>)>,
    lines: BTreeMap<(u32, u32), Vec<u8>>,
    max_packet_bytes: u32,
    told_large: bool,
}

impl Ears {
    /// Listens for a simulation.
    pub fn new(settings: &Settings, symbols: Image) -> Self {
        Self {
            statistics: Statistics::new(settings),
            symbols,
            departures: VecDeque::new(),
            lines: BTreeMap::new(),
            max_packet_bytes: settings.max_packet_bytes,
            told_large: false,
        }
    }

    /// Gives when the next packet has left.
    pub fn next_departure(&self) -> Option<Time> {
        self.departures.front().map(|(time, _)| *time)
    }

    /// Hands the driver the packets that have left by `due`.
    pub fn deliver(&mut self, due: Time) {
        while self.next_departure().is_some_and(|time| time <= due) {
            let Some((time, mut frame)) = self.departures.pop_front() else { return };
            self.statistics.departed(time, frame.len());
            self.note_large(frame.len());
            if let Some(callback) = state::callbacks().pkt_out {
                // SAFETY: the driver gave this function for this call; the data outlive it.
                unsafe { callback(frame.as_mut_ptr(), frame.len()) };
            }
        }
    }

    /// Prints lines that handlers did not end.
    pub fn finish(&mut self) {
        for ((cluster, hpu), line) in std::mem::take(&mut self.lines) {
            if !line.is_empty() {
                print_line(None, cluster, hpu, &line);
            }
        }
    }

    fn note_large(&mut self, bytes: usize) {
        if bytes > self.max_packet_bytes as usize && !self.told_large {
            self.told_large = true;
            eprintln!(
                "pinion: a handler sent {bytes} bytes in one packet; max_pkt_size of the \
                 configuration is {}",
                self.max_packet_bytes
            );
        }
    }

    fn output(&mut self, time: Time, (cluster, hpu): (u32, u32), byte: u8) {
        let line = self.lines.entry((cluster, hpu)).or_default();
        if byte != b'\n' {
            line.push(byte);
        }
        if byte == b'\n' || line.len() >= LINE_BYTES {
            print_line(Some(time), cluster, hpu, line);
            line.clear();
        }
    }

    fn fault(&mut self, time: Time, place: (u32, u32), fault: &Fault, (pc, value): (u32, u32)) {
        self.statistics.faults += 1;
        if self.statistics.faults > TOLD_FAULTS {
            return;
        }
        let what = match fault {
            Fault::Exception { cause } => {
                let name = exception_name(*cause).unwrap_or("exception");
                format!("{name}, cause {cause} (address {value:#010x})")
            }
            Fault::Watchdog { limit_cycles } => {
                format!("stopped by the watchdog after {limit_cycles} cycles")
            }
            Fault::Released => "ended, for its context was released".to_owned(),
            Fault::BadCommand { what } => format!("bad command: {what}"),
            Fault::HpuLost => "trap vector leads nowhere: the HPU is lost".to_owned(),
        };
        let symbol = self.symbols.symbol_at(u64::from(pc));
        let function = symbol.map_or_else(String::new, |symbol| {
            format!(" ({}+{:#x})", symbol.name, u64::from(pc) - symbol.address)
        });
        let missing = match fault {
            Fault::Exception { cause: 2 } => disassemble_xpulp(value, u64::from(pc)),
            _ => None,
        };
        let hint = missing.map_or_else(String::new, |text| {
            format!(": `{text}` is of Xpulp; PINION_SET=core.xpulp=true enables it")
        });
        let (cluster, hpu) = place;
        eprintln!(
            "pinion: [{time} cluster {cluster} HPU {hpu}] {what} at pc {pc:#010x}{function}{hint}"
        );
        if self.statistics.faults == TOLD_FAULTS {
            eprintln!("pinion: further faults are only counted");
        }
    }
}

impl Hears<Spin> for Ears {
    fn interest(&self) -> Interest {
        Interest { handlers: true, host_writes: true, host_reads: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::PacketDone(record) => {
                self.statistics.processed(record);
                if let Some(callback) = state::callbacks().pkt_feedback {
                    let (arrival, her) = (record.inbound.ps(), record.her.ps());
                    // SAFETY: the driver gave this function for this call.
                    unsafe { callback(record.tag, arrival, her, record.completion.ps()) };
                }
            }
            Event::Departed { time, frame, .. } => {
                self.departures.push_back((time, frame.to_vec()));
            }
            Event::HostRead { time, address, data } => self.host_read(time, address, data),
            Event::HostWrite { time, address, data, .. } => {
                let callback = state::callbacks().pcie_slv_write;
                for (address, beat) in beats(address, data.len()) {
                    let mut copy = [0; BEAT_BYTES as usize];
                    let copy = &mut copy[..beat.len()];
                    copy.copy_from_slice(&data[beat]);
                    self.statistics.host_written(time, copy.len());
                    if let Some(callback) = callback {
                        // SAFETY: as above; the data outlive the call.
                        unsafe { callback(address, copy.as_mut_ptr(), copy.len()) };
                    }
                }
            }
            Event::HandlerDone(record) => self.statistics.handled(record),
            Event::Output { time, cluster, hpu, byte } => self.output(time, (cluster, hpu), byte),
            Event::HandlerFault { time, cluster, hpu, ref fault, pc, address, .. } => {
                self.fault(time, (cluster, hpu), fault, (pc, address));
            }
            Event::Dropped { reason, .. } => {
                // Packets are checked when they are added and the source is held back.
                eprintln!("pinion: a packet was dropped: {}", reason.name());
            }
            _ => {}
        }
    }
}

impl Ears {
    /// Lets the driver put its own bytes where the NIC reads host memory.
    fn host_read(&mut self, time: Time, address: u64, data: &[Cell<u8>]) {
        let callback = state::callbacks().pcie_slv_read;
        for (address, beat) in beats(address, data.len()) {
            let data = &data[beat];
            self.statistics.host_read(time, data.len());
            if let Some(callback) = callback {
                let bytes = data.as_ptr().cast::<u8>().cast_mut();
                // SAFETY: as above; the driver fills so many bytes, which are in cells.
                unsafe { callback(address, bytes, data.len()) };
            }
        }
    }
}

/// Cuts an access at beat borders: address and place of each piece.
fn beats(address: u64, bytes: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let here = address.wrapping_add(at as u64);
        let piece = ((BEAT_BYTES - here % BEAT_BYTES) as usize).min(bytes - at);
        let range = at..at + piece;
        at += piece;
        (piece > 0).then_some((here, range))
    })
}

fn print_line(time: Option<Time>, cluster: u32, hpu: u32, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let time = time.map_or_else(String::new, |time| format!("{time} "));
    print(&format!("[{time}cluster {cluster} HPU {hpu}] {text}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_cut_at_beats() {
        let cut: Vec<_> = beats(0x1030, 100).collect();
        assert_eq!(cut, [(0x1030, 0..16), (0x1040, 16..80), (0x1080, 80..100)]);
        assert_eq!(beats(5, 0).count(), 0);
        assert_eq!(
            beats(u64::MAX, 2).map(|(address, _)| address).collect::<Vec<_>>(),
            [u64::MAX, 0]
        );
    }
}
