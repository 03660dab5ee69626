//! A NIC without a core: messages are written at given times and read as they come. In: who sends how many
//! bytes to whom, and when. Out: when each message was read whole.
//!
//! It has the whole NIC of a node, receive and transmit side and a hart's interface. In place of a core
//! that runs a program, a word is written in each cycle as long as there is room, and every word that comes
//! is read in the next. Transports are compared by it on many nodes (the figure of published workloads).

use std::collections::{BTreeMap, VecDeque};

use pinion_net::frame::lnic::Flags;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};

use crate::Cycle;
use crate::event::Deaf;
use crate::hart_interface::{Command, HartInterface};
use crate::machine::node::Machine;
use crate::nic::receive::Receive;
use crate::nic::transmit::Transmit;
use crate::node::NodeError;
use crate::transport::{self, Address, Transport};

/// CSRs: context, command (1 binds), micro-command (1 is "message done").
const CONTEXT: u16 = 0x053;
const COMMAND: u16 = 0x054;
const MICRO_COMMAND: u16 = 0x056;

/// A message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Node that sends, counted from 0.
    pub from: usize,
    /// Node that receives.
    pub to: usize,
    /// Bytes, whole words of 8.
    pub bytes: u64,
    /// Cycle in which its first word is written, if there is room.
    pub start: Cycle,
}

/// IPv4 address of the first node; the others follow.
pub const FIRST_ADDRESS: u32 = 0x0a00_0002;

/// Is a NIC whose messages are written and read by a script.
pub struct Messenger {
    receive: Receive,
    transmit: Transmit,
    hart: [HartInterface; 1],
    /// Reads the frames that come.
    reader: Box<dyn Transport>,
    /// Words to write, by cycle.
    words: VecDeque<(Cycle, u64)>,
    /// Frames that were chosen and whose first flit is still to come.
    out: VecDeque<(Cycle, Cycle, Vec<u8>)>,
    /// The next word may be read from this cycle on.
    reads: Cycle,
    /// Words of the message that is read which are still to come.
    expected: u64,
    /// By id of the message and number: data packets that were sent, and when first.
    pub sent: BTreeMap<(u16, u16), Cycle>,
    /// By sender and id in its message: packets that arrived whole, and when the last came.
    pub arrived: BTreeMap<(u32, u16, u16), Cycle>,
    /// Messages that were read whole, by their numbers among all, and when they were; a message comes twice
    /// with transports that take what comes again for new.
    pub read: Vec<(u64, Cycle)>,
    number: Option<u64>,
    /// The script was not followed: words of two messages came mixed.
    pub is_mixed: bool,
    moved: Cycle,
}

impl Messenger {
    /// Makes one of some nodes, which sends its share of all messages. Each has its number among them as its
    /// first word.
    ///
    /// # Errors
    /// [`NodeError`] names the number that describes no machine.
    pub fn new(machine: &Machine, node: usize, messages: &[Message]) -> Result<Self, NodeError> {
        machine.check_numbers()?;
        let at_a_time = machine.receive.reassembly.messages();
        let own = Address { ip: FIRST_ADDRESS + node as u32, ..Address::default() };
        let transport = || transport::build(&machine.transport, at_a_time);
        let mut receive = Receive::new(&machine.receive, transport(), 1)?;
        let rtt_packets = machine.transport.rtt_packets;
        let transmit = Transmit::new(&machine.transmit, 1, 4, rtt_packets, own, transport());
        let mut hart = HartInterface::new(0, &machine.hart_interface);
        hart.write_csr(CONTEXT, 0, 0);
        if let Some(Command::Bind { context }) = hart.write_csr(COMMAND, 1, 1) {
            receive.bind(0, context, 1);
        }
        let mut words = VecDeque::new();
        let own = messages.iter().enumerate().filter(|(_, message)| message.from == node);
        for (number, Message { to, bytes, start, .. }) in own {
            let to = u64::from(FIRST_ADDRESS + *to as u32) << 32 | bytes;
            let payload = (0..bytes / 8).map(|word| number as u64 + (word << 32));
            let message = std::iter::once(to).chain(payload);
            words.extend((*start..).zip(message));
        }
        Ok(Self {
            receive,
            transmit: transmit?,
            hart: [hart],
            reader: transport(),
            words,
            out: VecDeque::new(),
            reads: 2,
            expected: 0,
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            read: Vec::new(),
            number: None,
            is_mixed: false,
            moved: 0,
        })
    }

    fn next_read(&self) -> Option<Cycle> {
        let waits = self.hart[0].unread_words(0) > 0;
        let entered = || self.hart[0].next_arrival(self.reads - 1);
        waits.then(|| entered().map_or(self.reads, |at| self.reads.max(at + 1)))
    }

    fn next_inside(&self) -> Option<Cycle> {
        let room = self.hart[0].next_room();
        let units = [self.receive.next_event(), self.transmit.next_event(), room, self.next_read()];
        units.into_iter().flatten().min()
    }

    /// Reads a word, if there is one.
    fn read(&mut self, now: Cycle) {
        let Some(word) = self.hart[0].pop(now) else {
            self.reads = now + 1;
            return;
        };
        self.reads = now + 1;
        if self.expected == 0 {
            self.expected = (word & 0xffff).div_ceil(8);
            self.number = None;
            return;
        }
        let number = *self.number.get_or_insert(word);
        self.is_mixed |= word & 0xffff_ffff != number;
        self.expected -= 1;
        if self.expected == 0 {
            self.read.push((number, now));
            let command = self.hart[0].write_csr(MICRO_COMMAND, 1, now);
            if let Some(Command::MessageDone { context }) = command {
                self.receive.message_done(0, context, now);
            }
        }
    }

    /// Writes the next word, or waits for room as a core does.
    fn write(&mut self, now: Cycle) {
        let Some((_, word)) = self.words.pop_front() else { return };
        if self.transmit.room(0) > 0 {
            self.transmit.word(0, 0, word, now);
            // The next one takes a cycle more.
            if let Some((at, _)) = self.words.front_mut() {
                *at = (*at).max(now + 1);
            }
        } else {
            self.words.push_front((now + 1, word));
        }
    }

    fn advance(&mut self, now: Cycle) {
        self.receive.advance(now, &mut self.transmit, &mut self.hart, &mut Deaf);
        let out = &mut self.out;
        let mut send = |first: Cycle, last: Cycle, frame: &[u8]| {
            out.push_back((first, last, frame.to_vec()));
        };
        self.transmit.advance(now, &mut send, &mut Deaf);
        self.hart[0].advance(now, &mut Deaf);
        if self.next_read().is_some_and(|at| at <= now) {
            self.read(now);
        }
    }
}

impl Node for Messenger {
    fn arrive(&mut self, _: usize, first: Cycle, frame: Vec<u8>) {
        let header = self.reader.parse(&frame).map(|(header, _)| header);
        if let Ok(header) = header
            && header.flags == Flags::DATA
        {
            let packet = (header.src_ip, header.tx_msg_id, u16::from(header.pkt_offset));
            // Ids come round, a message's packets come again: the first of a use counts.
            self.arrived.entry(packet).or_insert(first + flits(frame.len()));
        }
        self.receive.frame(first, &frame);
    }

    fn run(&mut self, until: Cycle, ports: &mut dyn Ports) {
        loop {
            let written = self.words.front().map(|(at, _)| *at).filter(|at| *at < until);
            let inside = self.next_inside().filter(|now| *now < until);
            match (written, inside) {
                (Some(at), inside) if inside.is_none_or(|now| at <= now) => self.write(at),
                (_, Some(now)) => {
                    self.advance(now);
                    self.moved = now;
                }
                _ => break,
            }
        }
        self.advance(until - 1);
        while let Some((first, last, frame)) = self.out.pop_front() {
            if first >= until {
                self.out.push_front((first, last, frame));
                break;
            }
            if let Ok((header, _)) = self.reader.parse(&frame)
                && header.flags == Flags::DATA
            {
                let packet = (header.tx_msg_id, u16::from(header.pkt_offset));
                self.sent.entry(packet).or_insert(last + 1);
            }
            ports.send(0, first, last, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<Cycle> {
        let word = self.words.front().map(|(at, _)| *at);
        let out = self.out.front().map(|(first, ..)| *first);
        self.next_inside().into_iter().chain(word).chain(out).min()
    }

    fn moved(&self) -> u64 {
        self.moved
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Err(SaveError::Outside { what: "the stub of a core".to_owned() })
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        saved.get::<()>().copied()
    }
}
