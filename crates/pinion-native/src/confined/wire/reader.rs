//! Answers as they come out of the walls: bytes become what a listener hears, if they can be true.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pinion_sim::Time;
use pinion_spin::listener::DropReason;
use pinion_spin::scene::X86Registers;
use pinion_spin::{
    ContextId, Event, Fault, HandlerKind, HandlerRecord, Listener, PacketRecord, Refused,
    Registers, Scene, Stalls, Totals,
};

use super::{Bounds, Memory, Said, part};
use crate::engine::Incoming;

const KINDS: [HandlerKind; 3] =
    [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];
/// No count and no time is larger: sums of them are computed without looking.
const LARGEST: u64 = 1 << 56;

/// Takes bytes apart from the front.
#[derive(Debug)]
pub struct Reader {
    bytes: Vec<u8>,
    at: usize,
    bounds: Bounds,
}

impl Reader {
    /// Begins at the first byte.
    pub fn new(bytes: Vec<u8>, bounds: Bounds) -> Self {
        Self { bytes, at: 0, bounds }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let found = *self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(found)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Takes a number.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// Takes a long number.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Option<u64> {
        self.u64().filter(|number| *number < LARGEST)
    }

    fn time(&mut self) -> Option<Time> {
        self.count().map(Time::from_ps)
    }

    fn context(&mut self) -> Option<ContextId> {
        self.u32().filter(|context| *context < self.bounds.contexts).map(ContextId)
    }

    fn hpu(&mut self) -> Option<(u32, u32)> {
        let (cluster, hpu) = self.pair()?;
        let (clusters, cores) = self.bounds.hpus;
        (cluster < clusters && hpu < cores).then_some((cluster, hpu))
    }

    fn maybe(&mut self) -> Option<Option<Time>> {
        let (is_there, time) = (self.bool()?, self.time()?);
        Some(is_there.then_some(time))
    }

    fn pair(&mut self) -> Option<(u32, u32)> {
        Some((self.u32()?, self.u32()?))
    }

    fn kind(&mut self) -> Option<HandlerKind> {
        let number = self.u8()?;
        KINDS.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Takes where some bytes lie.
    fn span(&mut self) -> Option<std::ops::Range<usize>> {
        let length = self.u32()? as usize;
        let span = self.at..self.at.checked_add(length)?;
        self.bytes.get(span.clone())?;
        self.at = span.end;
        Some(span)
    }

    fn bytes(&mut self) -> Option<&[u8]> {
        let span = self.span()?;
        Some(&self.bytes[span])
    }

    /// Gives the frames of a request, which has nothing else.
    pub fn frames(&self) -> impl Iterator<Item = Incoming<'_>> {
        let mut left = self.rest();
        std::iter::from_fn(move || {
            let (skip, rest) = left.split_first_chunk()?;
            let (tag, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            left = rest;
            Some(Incoming { bytes, skip: u32::from_le_bytes(*skip), tag: u64::from_le_bytes(*tag) })
        })
    }

    /// Takes an area of memory.
    pub fn range(&mut self) -> Option<(u64, u64)> {
        Some((self.u64()?, self.u64()?))
    }

    /// Gives what is left.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Tells a listener what a piece of an answer says; `None`: it is none.
    pub fn tell(
        &mut self,
        listener: &mut dyn Listener,
        mut memory: Option<&mut Memory<'_>>,
    ) -> Option<Said> {
        while self.at < self.bytes.len() {
            match self.u8()? {
                part::UNMATCHED => {
                    let time = self.time()?;
                    listener.hear(&Event::Unmatched { time, frame: self.bytes()? });
                }
                part::DROPPED => {
                    let time = self.time()?;
                    let reason = *DropReason::ALL.get(usize::from(self.u8()?))?;
                    listener.hear(&Event::Dropped { time, reason, frame: self.bytes()? });
                }
                part::HANDLER => {
                    let record = self.handler()?;
                    listener.hear(&Event::HandlerDone(&record));
                }
                part::PACKET => {
                    let record = self.packet()?;
                    listener.hear(&Event::PacketDone(&record));
                }
                part::DEPARTED => {
                    let (time, packet) = (self.time()?, self.u64()?);
                    listener.hear(&Event::Departed { time, frame: self.bytes()?, packet });
                }
                part::OUTPUT => {
                    let (time, (cluster, hpu)) = (self.time()?, self.hpu()?);
                    let byte = self.u8()?;
                    listener.hear(&Event::Output { time, cluster, hpu, byte });
                }
                part::FAULT => self.fault(listener)?,
                part::EVICTED => {
                    let time = self.time()?;
                    let (context, message) = (self.context()?, self.u32()?);
                    listener.hear(&Event::MessageEvicted { time, context, message });
                }
                part::MEMORY => memory.as_deref_mut()?.is_there = self.bool()?,
                part::MEMORY_BYTES => {
                    let memory = memory.as_deref_mut()?;
                    let bytes = self.bytes()?;
                    let to = std::mem::take(&mut memory.to);
                    let (now, later) = to.split_at_mut_checked(bytes.len())?;
                    now.copy_from_slice(bytes);
                    memory.to = later;
                }
                part::DONE => return self.done(),
                part::REFUSED => {
                    let why = String::from_utf8_lossy(self.bytes()?).into_owned();
                    return Some(Said::Refused(why));
                }
                _ => return None,
            }
        }
        Some(Said::More)
    }

    fn handler(&mut self) -> Option<HandlerRecord> {
        let (packet, context, kind) = (self.u64()?, self.context()?, self.kind()?);
        let (cluster, hpu) = self.hpu()?;
        let (start, end) = (self.time()?, self.time()?);
        let (instructions, failed) = (self.count()?, self.bool()?);
        let stalls = Stalls::default();
        (start <= end).then_some(HandlerRecord {
            packet,
            context,
            kind,
            cluster,
            hpu,
            start,
            end,
            instructions,
            stalls,
            failed,
        })
    }

    fn packet(&mut self) -> Option<PacketRecord> {
        let (packet, tag) = (self.u64()?, self.u64()?);
        let (context, message) = (self.context()?, self.u32()?);
        let (bytes, end_of_message) = (self.u32()?, self.bool()?);
        let arrival = self.time()?;
        let (handler_start, handler_end) = (self.maybe()?, self.maybe()?);
        let (completion, departure) = (self.time()?, self.maybe()?);
        let (has_run, hpu) = (self.bool()?, self.hpu()?);
        let is_ordered = handler_start.is_none_or(|start| arrival <= start)
            && handler_end.is_none_or(|end| handler_start.is_some_and(|start| start <= end))
            && departure.is_none_or(|departure| arrival <= departure)
            && arrival <= completion;
        if !is_ordered {
            return None;
        }
        Some(PacketRecord {
            packet,
            tag,
            context,
            message,
            bytes,
            end_of_message,
            arrival,
            inbound: arrival,
            written: arrival,
            her: arrival,
            handler_start,
            handler_end,
            completion,
            departure,
            hpu: has_run.then_some(hpu),
            instructions: self.count()?,
            stalls: Stalls::default(),
            failed: self.bool()?,
        })
    }

    fn fault(&mut self, listener: &mut dyn Listener) -> Option<()> {
        let (time, context, message) = (self.time()?, self.context()?, self.u32()?);
        let (packet, (cluster, hpu)) = (self.u64()?, self.hpu()?);
        let (fault, number) = (self.u8()?, self.u64()?);
        let what = known(std::str::from_utf8(self.bytes()?).ok()?)?;
        let fault = match fault {
            0 => Fault::Exception { cause: u32::try_from(number).ok()? },
            1 => Fault::Watchdog { limit_cycles: number },
            2 => Fault::BadCommand { what },
            3 => Fault::Released,
            4 => Fault::HpuLost,
            _ => return None,
        };
        let (pc, address) = self.pair()?;
        let (kind, handler) = (self.kind()?, self.u32()?);
        let mut registers: X86Registers = [0; 17];
        for register in &mut registers {
            *register = self.u64()?;
        }
        let instruction = self.span()?;
        let stack = (self.u32()?, self.span()?);
        let packet_bytes = self.span()?;
        let l1_packet = self.pair()?;
        let is_refused = self.bool()?;
        let (nic_address, bytes) = self.pair()?;
        let (has_other, other) = (self.bool()?, self.u64()?);
        let other_address = has_other.then_some(other);
        let refused = is_refused.then_some(Refused { nic_address, other_address, bytes });
        let mut trail = Vec::new();
        for _ in 0..self.u32()? {
            trail.push(self.u32()?);
        }
        let scene = Scene {
            kind,
            handler,
            registers: Registers::X86(registers),
            instruction: &self.bytes[instruction],
            stack: (stack.0, &self.bytes[stack.1]),
            packet: &self.bytes[packet_bytes],
            l1_packet,
            refused,
            trail: &trail,
        };
        listener.hear(&Event::HandlerFault {
            time,
            context,
            message,
            packet,
            cluster,
            hpu,
            fault,
            pc,
            address,
            scene: &scene,
        });
        Some(())
    }

    fn done(&mut self) -> Option<Said> {
        let time = self.time()?;
        let mut numbers = [0; 13];
        for number in &mut numbers {
            *number = self.count()?;
        }
        let mut dropped = Vec::new();
        for _ in 0..self.u8()? {
            let reason = *DropReason::ALL.get(usize::from(self.u8()?))?;
            dropped.push((reason, self.count()?));
        }
        let [packets_in, bytes_in, matched, unmatched, processed, packets_out, bytes_out, ..] =
            numbers;
        let [.., host_writes, host_bytes, evicted, resident, busy_cycles, faults] = numbers;
        let totals = Totals {
            packets_in,
            bytes_in,
            matched,
            unmatched,
            processed,
            packets_out,
            bytes_out,
            host_writes,
            host_bytes,
            dropped,
            evicted,
            resident,
            busy_cycles,
            faults,
            ..Totals::default()
        };
        (self.at == self.bytes.len()).then(|| Said::Done { totals: Box::new(totals), time })
    }
}

/// Sentences about refused commands live as long as the program: so many different ones are kept.
const SENTENCES_MAX: usize = 64;
const SENTENCE_BYTES: usize = 256;

/// Gives a sentence that lives for ever; `None`: it is none of those that engines say.
fn known(text: &str) -> Option<&'static str> {
    static SENTENCES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut sentences = SENTENCES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sentence) = sentences.get(text) {
        return Some(sentence);
    }
    if sentences.len() >= SENTENCES_MAX || text.len() > SENTENCE_BYTES {
        return None;
    }
    let sentence: &'static str = Box::leak(text.to_owned().into_boxed_str());
    sentences.insert(sentence);
    Some(sentence)
}
