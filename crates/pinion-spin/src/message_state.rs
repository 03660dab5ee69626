//! Where a message stands: header before payload before completion. (Paper §III-B1; the states are
//! those of the RTL's mpq_engine.)
//!
//! In: its packets and the ends of its handlers. Out: which handler may run now, and that the message
//! is over. The MPQ engine keeps one in each queue, and so does the engine that runs handlers on
//! this computer.

use crate::HandlerKind;

/// Names the states of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No message.
    #[default]
    Free,
    /// The header handler waits to be sent.
    Header,
    /// The header handler runs.
    HeaderRunning,
    /// Payload handlers run, one per packet.
    Payload,
    /// All packets were sent; some payload handlers still run.
    PayloadDraining,
    /// The completion handler waits to be sent.
    Completion,
    /// The completion handler runs.
    CompletionRunning,
}

/// Holds where a message stands, and how much of it is queued and runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageState {
    state: State,
    has_header: bool,
    has_completion: bool,
    /// Whether the packet that ends it has come.
    end_seen: bool,
    /// Packets queued that end a message.
    ends: u32,
    queued: u32,
    running: u32,
}

impl MessageState {
    /// Begins a message that has these handlers once, if there is none.
    #[inline]
    pub fn begin(&mut self, has_header: bool, has_completion: bool) {
        (self.has_header, self.has_completion) = (has_header, has_completion);
        self.end_seen = false;
        self.state = self.first();
    }

    fn first(&self) -> State {
        if self.has_header { State::Header } else { State::Payload }
    }

    /// Takes a packet, which may be the message's last.
    #[inline]
    pub fn queue(&mut self, is_end: bool) {
        self.queued += 1;
        self.end_seen |= is_end;
        self.ends += u32::from(is_end);
    }

    /// Says whether a handler may run now.
    #[inline]
    pub fn has_task(&self) -> bool {
        match self.state {
            State::Header | State::Completion => true,
            State::Payload => self.queued > 0,
            _ => false,
        }
    }

    /// Sends the handler that may run now, for the packet in front: says which, and whether that
    /// packet leaves the queue ([`left`](Self::left) then takes it off).
    #[inline]
    pub fn send(&mut self) -> (HandlerKind, bool) {
        self.running += 1;
        match self.state {
            State::Header => {
                self.state = State::HeaderRunning;
                (HandlerKind::Header, false)
            }
            State::Payload => {
                let is_last = self.end_seen && self.queued == 1;
                if is_last {
                    self.state = State::PayloadDraining;
                }
                (HandlerKind::Payload, !(is_last && self.has_completion))
            }
            _ => {
                self.state = State::CompletionRunning;
                (HandlerKind::Completion, true)
            }
        }
    }

    /// Takes the packet in front off the queue.
    #[inline]
    pub fn left(&mut self, is_end: bool) {
        self.queued -= 1;
        self.ends -= u32::from(is_end);
    }

    /// Takes a handler's end; says whether the message is over by it.
    #[inline]
    pub fn ended(&mut self, kind: HandlerKind) -> bool {
        self.running -= 1;
        match (kind, self.state) {
            (HandlerKind::Header, State::HeaderRunning) => self.state = State::Payload,
            (HandlerKind::Completion, State::CompletionRunning) => return true,
            (_, State::PayloadDraining) if self.running == 0 => {
                if !self.has_completion {
                    return true;
                }
                self.state = State::Completion;
            }
            _ => {}
        }
        false
    }

    /// Ends the message: `true` if the queue is free now. A packet that came early for the next message
    /// of the same id begins it.
    #[inline]
    pub fn release(&mut self) -> bool {
        if self.queued > 0 {
            // Only possible when ids repeat or alias: the next message begins at once.
            self.end_seen = self.ends > 0;
            self.state = self.first();
            return false;
        }
        self.state = State::Free;
        self.end_seen = false;
        true
    }

    /// Lets what is queued pass without handlers that run once, and ends the message behind it; says
    /// whether it is over at once.
    pub fn cut_short(&mut self) -> bool {
        (self.has_header, self.has_completion, self.end_seen) = (false, false, true);
        if self.state == State::Payload && self.queued == 0 {
            if self.running == 0 {
                return true;
            }
            self.state = State::PayloadDraining;
        }
        false
    }

    /// Says whether there is no message.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.state == State::Free
    }

    /// Says whether it waits for its next packet, with nothing queued or running.
    #[inline]
    pub fn waits(&self) -> bool {
        self.state == State::Payload && self.queued == 0 && self.running == 0
    }

    /// Says whether nothing is left of the message that a new one would not have: it waits for a
    /// packet, and no handler runs once in it.
    #[inline]
    pub fn is_forgettable(&self) -> bool {
        self.waits() && !self.has_header && !self.has_completion
    }

    /// Says whether it waits for the packet that ends it, and then for its completion handler.
    pub fn is_unfinished(&self) -> bool {
        self.waits() && self.has_completion
    }

    /// Numbers its state, as traces tell it.
    #[inline]
    pub fn number(&self) -> u32 {
        self.state as u32
    }

    /// Counts packets queued.
    #[inline]
    pub fn queued(&self) -> u32 {
        self.queued
    }

    /// Describes it, for the report of a run that is stuck.
    pub fn describe(&self) -> String {
        format!(
            "{:?}, {} queued, {} running{}",
            self.state,
            self.queued,
            self.running,
            if self.end_seen { "" } else { ", end of message not seen" }
        )
    }
}
