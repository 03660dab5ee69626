//! The ports of a cluster's L1 interconnect. In: which core asks for which bank, in every cycle in which it does, and
//! where DMA beats are. Out: who is served. It runs beside the model, some cycles behind: cores ask ahead of the NIC's
//! time, and that one of them goes on to ask is known when it is served.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, lines, power_of_two};
use crate::timeline::{Timed, Timeline};

const REQUEST_VALID: usize = 0;
const REQUEST_BANK: usize = 2;
const REQUEST_ATOMIC: usize = 5;
const BEAT_VALID: usize = 11;
const BEAT_SUPERBANK: usize = 12;
const REQUEST_GRANT: usize = 1;

/// What the block has fixed: cycles for which an atomic holds its bank; bytes of a bank's word.
const ATOMIC_CYCLES: u64 = 2;
const WORD_BYTES: u32 = 4;
/// Most cores of a cluster.
const MOST_CORES: usize = pinion_sim::calendar::CORES;
/// DMA beats that it takes in a cycle.
const BEATS: usize = 2;
/// Words of the banks that all cores of a cluster ask for, of the most cores that one has.
const MOST_WORDS: usize = 8;
/// Cycles by which the block is behind, at least: more than a transfer's beats are known late.
const BEHIND_CYCLES: u64 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let cores = power_of_two("cluster.cores", machine.cluster.cores, 2)?;
    let banks = power_of_two("l1.banks", machine.l1.banks, 2)?;
    let port = power_of_two("dma.port_bytes", machine.dma.port_bytes, WORD_BYTES)?;
    let beat = port / u64::from(WORD_BYTES);
    if beat * 2 > banks {
        return Err(format!(
            "dma.port_bytes is {port}; the block needs beats over half of l1.banks at most: --set dma.port_bytes={}",
            banks * u64::from(WORD_BYTES) / 2
        ));
    }
    lines::has("l1.amo_cycles", machine.l1.amo_cycles, ATOMIC_CYCLES)?;
    let (count, bank) = (machine.cluster.cores, bits_for(banks));
    let row = bits_for(u64::from(machine.l1.bytes) / (banks * u64::from(WORD_BYTES)));
    let (all, bits) = (machine.l1.banks, 8 * WORD_BYTES);
    let ports = vec![
        Port::input("request_valid", count),
        Port::output("request_grant", count),
        Port::input("request_bank", count * bank),
        Port::input("request_row", count * row),
        Port::input("request_write", count),
        Port::input("request_atomic", count),
        Port::input("request_data", count * bits),
        Port::input("request_strobes", count * WORD_BYTES),
        Port::output("response_valid", count),
        Port::output("response_data", count * bits),
        Port::input("bank_read", all * bits),
        Port::input("beat_valid", BEATS as u32),
        Port::input("beat_superbank", BEATS as u32 * bits_for(banks / beat)),
        Port::output("bank_valid", all),
        Port::output("bank_row", all * row),
        Port::output("bank_write", all),
        Port::output("bank_data", all * bits),
        Port::output("bank_strobes", all * WORD_BYTES),
    ];
    let parameters = vec![
        ("REQUESTERS", cores),
        ("BANKS", banks),
        ("BEAT_BANKS", beat),
        ("ROW_BITS", row.into()),
        ("WORD_BYTES", WORD_BYTES.into()),
    ];
    Ok(Needs { ports, parameters })
}

/// Says what happens in a cycle.
#[derive(Debug, Default)]
pub struct Cycle {
    /// A bit for each core that asks, and by core for which bank.
    asks: u32,
    banks: [u32; MOST_CORES],
    /// A bit for each core whose access is atomic, and that is served.
    atomic: u32,
    served: u32,
    beats: [Option<u32>; BEATS],
}

/// Remembers what happens in the cycles ahead, and how the machine counts.
#[derive(Debug)]
pub struct Interconnect {
    time: Timeline<Cycle>,
    cores: usize,
    bank_bits: u32,
    superbanks: u32,
}

impl Timed for Interconnect {
    type Now = Cycle;

    fn time(&mut self) -> &mut Timeline<Cycle> {
        &mut self.time
    }
}

/// Is the block at the place of a cluster's L1 interconnect.
pub type InterconnectSeat = Seat<Interconnect>;

impl InterconnectSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Interconnect {
            // There are as many cycles in which it comes to the model's state.
            time: Timeline::new(BEHIND_CYCLES.max(machine.l1.banks.into()) + 1),
            cores: machine.cluster.cores as usize,
            bank_bits: bits_for(machine.l1.banks.into()),
            superbanks: machine.l1.banks * WORD_BYTES / machine.dma.port_bytes,
        };
        Self::at(block, compares, own)
    }

    /// Brings the block to the state of the model's banks before cycle `now`, by an access of the core whose turn it was
    /// last at each.
    pub fn begin_as(&mut self, now: u64, pointers: impl Iterator<Item = u32>) {
        let mut from = [now.wrapping_sub(self.own.time.behind_cycles() - 1); MOST_CORES];
        for (bank, core) in (0..).zip(pointers).filter(|(_, core)| *core != 0) {
            let core = core as usize % MOST_CORES;
            self.serves(from[core], core, bank, false);
            from[core] = from[core].wrapping_add(1);
        }
    }

    /// Notes that those cores whose bits are set ask for a bank in some cycles.
    pub fn asks(&mut self, cycles: std::ops::Range<u64>, cores: u32, bank: u32) {
        for cycle in cycles {
            self.set(cycle, |now| {
                now.asks |= cores;
                let asking = now.banks.iter_mut().enumerate();
                let asking = asking.filter(|(core, _)| cores >> core & 1 == 1);
                asking.for_each(|(_, asked)| *asked = bank);
            });
        }
    }

    /// Notes that a core asks for a bank in a cycle, and that the model serves it.
    pub fn serves(&mut self, cycle: u64, core: usize, bank: u32, atomic: bool) {
        self.set(cycle, |now| {
            now.asks |= 1 << core;
            now.banks[core % MOST_CORES] = bank;
            now.served |= 1 << core;
            now.atomic |= u32::from(atomic) << core;
        });
    }

    /// Notes a transfer's beats: beat i, in cycle `start` + i, over the superbank `first` + i.
    pub fn beats(&mut self, start: u64, beats: u64, first: u32) {
        let superbanks = self.own.superbanks;
        for beat in 0..beats {
            let superbank = first.wrapping_add(beat as u32) % superbanks;
            let mut has_room = true;
            self.set(start + beat, |now| {
                has_room = now.beats.contains(&Some(superbank));
                if let Some(free) = now.beats.iter_mut().find(|one| one.is_none())
                    && !has_room
                {
                    *free = Some(superbank);
                    has_room = true;
                }
            });
            if !has_room {
                let cycle = start + beat;
                self.wrong.get_or_insert_with(|| {
                    format!("the model has more than {BEATS} DMA beats in cycle {cycle}")
                });
            }
        }
    }

    /// Begins a cycle.
    pub fn begin(&mut self, now: u64) {
        let (_, cycle) = self.own.time.begin(now);
        let (block, bits) = (&mut self.block, self.own.bank_bits);
        let mut banks = [0; MOST_WORDS];
        for (core, bank) in cycle.banks.iter().take(self.own.cores).enumerate() {
            let at = core as u32 * bits;
            let (word, shift) = (at as usize / 32, at % 32);
            banks[word] |= bank << shift;
            if shift + bits > 32 {
                banks[word + 1] |= bank >> (32 - shift);
            }
        }
        block.put(REQUEST_VALID, cycle.asks.into());
        block.put_words(REQUEST_BANK, &banks);
        block.put(REQUEST_ATOMIC, cycle.atomic.into());
        let bits = bits_for(self.own.superbanks.into());
        let (mut valid, mut superbanks) = (0, 0);
        for (port, beat) in cycle.beats.into_iter().enumerate() {
            valid |= u64::from(beat.is_some()) << port;
            superbanks |= u64::from(beat.unwrap_or(0)) << (port as u32 * bits);
        }
        block.put(BEAT_VALID, valid);
        block.put(BEAT_SUPERBANK, superbanks);
        block.expect(REQUEST_GRANT, cycle.served.into());
    }

    /// Says whether it has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.own.time.is_behind()
    }
}
