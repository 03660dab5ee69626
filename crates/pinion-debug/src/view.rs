//! What is seen at a position: registers, memory, and what each hart works at. What cores have done
//! beyond the position is taken back.

use crate::debuggee::Debuggee;
use crate::harts::{Harts, REGISTERS, Touch};
use crate::terms::Task;
use crate::{Position, Timeline};

impl Timeline {
    fn debuggee(&self) -> &dyn Debuggee {
        &*self.debuggee
    }

    /// Gives the instructions that lie around the position.
    fn seen(&self) -> &Harts {
        let units_too = self.debuggee.units_write_memory();
        match &self.shown {
            Some(shown) if units_too => &shown.harts,
            _ => &self.heard.harts,
        }
    }

    /// Gives a hart's integer registers.
    pub fn registers(&self, hart: u32) -> [u64; REGISTERS] {
        self.seen().registers(hart, self.position())
    }

    /// Gives a register of floating point; `None` if there are none, or it cannot be told here: the core
    /// has written it since.
    pub fn float(&self, hart: u32, number: u8) -> Option<u64> {
        let is_known = !self.seen().writes_float(hart, self.position(), number);
        is_known.then(|| self.debuggee().float(hart, number)).flatten()
    }

    /// Gives the word that a hart's next read of its network register takes; `None`: there is no such
    /// register, or no word. Nothing is read.
    pub fn head_word(&self, hart: u32) -> Option<u64> {
        let at = self.position();
        // What was taken behind the position, and in time for the instructions that come next, has left
        // the queue that the units show.
        let harts = self.shown.as_ref().map_or(&self.heard.harts, |shown| &shown.harts);
        let taken = harts.ahead(hart, at).find_map(|step| step.taken);
        taken.or_else(|| self.debuggee().head_word(hart, at.cycle))
    }

    /// Gives the address of the instruction that a hart executes next, or is executing.
    pub fn pc(&self, hart: u32) -> u64 {
        let next = self.seen().next(hart, self.position());
        next.map_or_else(|| self.debuggee().pc(hart), |step| step.pc)
    }

    /// Gives a CSR; `None` if there is none, or it cannot be told here: the core has changed CSRs
    /// since.
    pub fn csr(&self, hart: u32, number: u16) -> Option<u64> {
        let is_known = self.debuggee().is_of_a_unit(number)
            || !self.seen().may_change_csr(hart, self.position());
        is_known.then(|| self.debuggee().csr(hart, number)).flatten()
    }

    /// Gives the privilege a hart runs at, if that can be told here.
    pub fn privilege(&self, hart: u32) -> Option<u8> {
        let is_known = !self.seen().may_change_csr(hart, self.position());
        is_known.then(|| self.debuggee().privilege(hart))
    }

    /// Says what a hart works at.
    pub fn task(&self, hart: u32) -> Option<Task> {
        match self.seen().next(hart, self.position()) {
            Some(step) => step.task,
            None => self.debuggee().task(hart),
        }
    }

    /// Names a hart and says what it works at: `cluster 0 HPU 3: packet 7 of context echo`.
    pub fn describe(&self, hart: u32) -> String {
        let doing = match self.task(hart) {
            None => "idle".to_owned(),
            Some(Task { packet, message, context, .. }) => {
                let context = self.debuggee().context_name(context);
                match packet {
                    Some(packet) => format!("packet {packet} of context {context}"),
                    None => format!("message {message} of context {context}"),
                }
            }
        };
        format!("{}: {doing}", self.debuggee().name(hart))
    }

    /// Says what each hart does, and where.
    pub fn units(&self) -> Vec<String> {
        let line = |hart| {
            let (place, pc) = (self.describe(hart), self.pc(hart));
            format!("{place}; {} at {pc:#010x}", self.debuggee().doing(hart))
        };
        (0..self.harts()).map(line).collect()
    }

    /// Says what is inside, packet by packet or message by message.
    pub fn packets(&self) -> String {
        let harts = 0..self.harts();
        let tasks: Vec<_> = harts.filter_map(|hart| Some((hart, self.task(hart)?))).collect();
        self.debuggee().packets(&tasks)
    }

    /// Tells names and numbers of the units' state.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.debuggee().state(tell);
    }

    /// Reads memory as a hart sees it; gives how many bytes there are.
    pub fn read(&self, hart: u32, address: u64, buffer: &mut [u8]) -> usize {
        let address = self.debuggee().common(hart, address);
        let count = self.debuggee().read(hart, address, buffer);
        for touch in self.yet_to_come(hart) {
            touch.undo(address, &mut buffer[..count]);
        }
        count
    }

    /// Gives the writes to a hart's memories that lie behind the position and were performed, the last
    /// first.
    fn yet_to_come(&self, hart: u32) -> Vec<Touch> {
        let at: Position = self.position();
        let mut steps: Vec<_> = self
            .seen()
            .heard()
            .filter(|(other, step)| !at.has_passed(step.cycle, *other))
            .filter_map(|(other, step)| {
                Some((other, step.order, step.touch.filter(|touch| touch.writes)?))
            })
            .filter(|(other, ..)| self.debuggee().shares_memory(*other, hart))
            .collect();
        steps.sort_unstable_by_key(|(_, order, _)| std::cmp::Reverse(*order));
        steps.into_iter().map(|(_, _, touch)| touch).collect()
    }

    /// Reads host memory.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        self.debuggee().read_host(address, buffer);
    }
}
