//! An HPU driver's ports. In: a task, its core's accesses to the registers, answers of commands, who takes what
//! it offers. Out: what a register answers and when, commands, completions. It runs beside the model: the core
//! goes on by what the model's driver says.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, power_of_two};

const IDLE: usize = 0;
const TASK_VALID: usize = 1;
const TASK_WORDS: usize = 2;
const TASK_DATA: usize = 3;
const REG_VALID: usize = 4;
const REG_READY: usize = 5;
const REG_ERROR: usize = 6;
const REG_WRITE: usize = 7;
const REG_OFFSET: usize = 8;
const REG_DATA: usize = 9;
const REG_READ: usize = 10;
const COMMAND_VALID: usize = 11;
const COMMAND_READY: usize = 12;
const COMMAND_ID: usize = 13;
const COMMAND_INFO: usize = 14;
const COMMAND_WORDS: usize = 15;
const RESPONSE_VALID: usize = 16;
const RESPONSE_ID: usize = 17;
const COMPLETION_VALID: usize = 18;
const COMPLETION_READY: usize = 19;
const COMPLETION_DATA: usize = 20;
const TRANSFERS_PENDING: usize = 21;
const WATCHDOG_CYCLES: usize = 22;
const USER_MODE: usize = 23;
const INTERRUPTS: usize = 24;
const LOST: usize = 25;
const ERROR_VALID: usize = 26;
const ERROR_CAUSE: usize = 27;

/// Bits of a register.
const WORD_BITS: u32 = 32;
/// Registers that hold a task, and a command.
pub const TASK_REGISTERS: usize = 20;
const COMMAND_REGISTERS: u32 = 7;
/// Bits of the watchdog's count: the model's is as long.
const WATCHDOG_BITS: u32 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let commands = power_of_two("command.per_hpu", machine.command.per_hpu, 2)?;
    let id = bits_for(commands);
    let ports = vec![
        Port::output("idle", 1),
        Port::input("task_valid", 1),
        Port::input("task_words", TASK_REGISTERS as u32 * WORD_BITS),
        Port::input("task_data", WORD_BITS),
        Port::input("reg_valid", 1),
        Port::output("reg_ready", 1),
        Port::output("reg_error", 1),
        Port::input("reg_write", 1),
        Port::input("reg_offset", 7),
        Port::input("reg_data", WORD_BITS),
        Port::output("reg_read", WORD_BITS),
        Port::output("command_valid", 1),
        Port::input("command_ready", 1),
        Port::output("command_id", id),
        Port::output("command_info", 3),
        Port::output("command_words", COMMAND_REGISTERS * WORD_BITS),
        Port::input("response_valid", 1),
        Port::input("response_id", id),
        Port::output("completion_valid", 1),
        Port::input("completion_ready", 1),
        Port::output("completion_data", WORD_BITS),
        Port::input("transfers_pending", 1),
        Port::input("watchdog_cycles", WATCHDOG_BITS),
        Port::input("user_mode", 1),
        Port::output("interrupts", 1),
        Port::output("lost", 1),
        Port::output("error_valid", 1),
        Port::output("error_cause", WORD_BITS),
    ];
    let parameters = vec![
        ("COMMANDS", commands),
        ("DATA_BITS", u64::from(WORD_BITS)),
        ("WATCHDOG_BITS", u64::from(WATCHDOG_BITS)),
    ];
    Ok(Needs { ports, parameters })
}

/// Is an HPU driver's block at its place.
pub type DriverSeat = Seat<Core>;

/// Remembers what the core asks of its driver, and what that held when the cycle began.
#[derive(Debug, Default)]
pub struct Core {
    /// The access that waits.
    asks: Option<Register>,
    /// An access that waits in this cycle and is answered in the next.
    next: Option<(Register, u32)>,
    /// What the read of the cycle before is answered with.
    answer: Option<u32>,
    held: Held,
    /// Whether an answer of a command has come in this cycle.
    has_response: bool,
    is_lost: bool,
    /// Whether the model has given up the core for a reason that the driver does not know.
    is_gone: bool,
}

/// Is an access to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its offset, of a word.
    pub offset: u32,
    /// What is written; `None`: it is read.
    pub written: Option<u32>,
}

/// Says what became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is answered with this.
    Done(u32),
    /// It waits in this cycle, and is answered in the next.
    Next(u32),
    /// It waits.
    Waits,
    /// There is nobody whose it could be.
    Refused,
}

/// Says what the model's driver holds when a cycle begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Whether it takes a task.
    pub is_idle: bool,
    /// Whether there is a completion.
    pub completion: bool,
    /// The packet of the completion that may leave.
    pub leaves: Option<u32>,
    /// Whether a command waits to leave.
    pub has_command: bool,
    /// Places of commands under way, a bit each.
    pub busy: u64,
    /// Whether the cluster's DMA engine works for the core.
    pub transfers: bool,
}

impl DriverSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool) -> Self {
        Self::at(block, compares, Core::default())
    }

    /// Begins a cycle with what the model's driver holds.
    pub fn begin(&mut self, held: Held) {
        if self.own.is_gone {
            return;
        }
        self.own.held = held;
        self.own.has_response = false;
        for port in [TASK_VALID, COMMAND_READY, RESPONSE_VALID, COMPLETION_READY] {
            self.block.put(port, 0);
        }
        self.block.put(USER_MODE, 1);
        self.block.put(TRANSFERS_PENDING, u64::from(held.transfers));
        for port in [INTERRUPTS, ERROR_VALID] {
            self.block.expect(port, 0);
        }
        self.block.expect(LOST, u64::from(self.own.is_lost));
        self.block.expect(IDLE, u64::from(held.is_idle && !self.own.is_lost));
        self.block.expect(COMMAND_VALID, u64::from(held.has_command));
        self.block.expect(COMPLETION_VALID, u64::from(held.leaves.is_some()));
        if let Some(packet) = held.leaves {
            self.block.expect(COMPLETION_DATA, u64::from(packet));
        }
        if let Some(answer) = self.own.answer.take() {
            self.block.expect(REG_READ, u64::from(answer));
        }
        self.block.put(REG_VALID, u64::from(self.own.asks.is_some()));
        if let Some((register, value)) = self.own.next.take() {
            self.access(register, Answer::Done(value));
        } else if self.own.asks.is_some() {
            self.block.expect(REG_READY, 0);
        }
    }

    /// Lets an access wait that the core had made when the block came.
    pub fn waits(&mut self, register: Register) {
        self.access(register, Answer::Waits);
    }

    /// Shows it an access of the core, and what the model's driver answers.
    pub fn access(&mut self, register: Register, answer: Answer) {
        let Register { offset, written } = register;
        self.block.put(REG_VALID, 1);
        self.block.put(REG_OFFSET, u64::from(offset / 4));
        self.block.put(REG_WRITE, u64::from(written.is_some()));
        self.block.put(REG_DATA, u64::from(written.unwrap_or(0)));
        let is_ready = matches!(answer, Answer::Done(_) | Answer::Refused);
        self.block.expect(REG_READY, u64::from(is_ready));
        self.block.expect(REG_ERROR, u64::from(answer == Answer::Refused));
        self.own.asks = (!is_ready).then_some(register);
        match answer {
            Answer::Done(value) if written.is_none() => self.own.answer = Some(value),
            Answer::Next(value) => self.own.next = Some((register, value)),
            _ => {}
        }
    }

    /// Lets the core ask for nothing any more: it was stopped.
    pub fn withdraw(&mut self) {
        self.own.asks = None;
    }

    /// Shows it that the trap handler tells a cause.
    pub fn error(&mut self, cause: u32) {
        self.block.expect(ERROR_VALID, 1);
        self.block.expect(ERROR_CAUSE, u64::from(cause));
    }

    /// Gives it a task, with its registers.
    pub fn give(&mut self, packet: u32, registers: &[u32; TASK_REGISTERS]) {
        self.packet = Some(packet);
        self.block.put(TASK_VALID, 1);
        self.block.put(TASK_DATA, u64::from(packet));
        self.block.put_words(TASK_WORDS, registers);
    }

    /// Says how long the handler that was taken may run; 0: as long as it likes.
    pub fn limit(&mut self, cycles: u64) {
        self.block.put(WATCHDOG_CYCLES, cycles);
    }

    /// Shows it that the handler's time is over, and how long the trap handler has: whether the core is in user
    /// mode, and whether the handler is interrupted.
    pub fn expires(&mut self, is_user: bool, interrupts: bool, grace_cycles: u64) {
        self.block.put(USER_MODE, u64::from(is_user));
        self.block.expect(INTERRUPTS, u64::from(interrupts));
        self.block.put(WATCHDOG_CYCLES, grace_cycles);
    }

    /// Notes that the trap handler has hung, too: the core is lost from the next cycle on.
    pub fn lose(&mut self) {
        self.block.put(USER_MODE, 0);
        self.own.is_lost = true;
    }

    /// Looks no more at a core that cannot go on.
    pub fn leave(&mut self) {
        self.own.is_gone = !self.own.is_lost;
    }

    /// Takes a command that it offers.
    pub fn take_command(&mut self, id: u32, info: u32, words: &[u32]) {
        self.block.put(COMMAND_READY, 1);
        self.block.expect(COMMAND_ID, u64::from(id));
        self.block.expect(COMMAND_INFO, u64::from(info & 7));
        self.block.expect_words(COMMAND_WORDS, words);
    }

    /// Tells it that a command is done, unless it has heard of another in this cycle: there is one port.
    pub fn respond(&mut self, id: u32) -> bool {
        if self.own.has_response {
            return false;
        }
        self.own.has_response = true;
        self.block.put(RESPONSE_VALID, 1);
        self.block.put(RESPONSE_ID, u64::from(id));
        true
    }

    /// Takes the completion that it offers.
    pub fn take_completion(&mut self) {
        self.block.put(COMPLETION_READY, 1);
    }

    /// Says whether there was a completion when the cycle began.
    pub fn has_completion(&self) -> bool {
        self.own.held.completion
    }

    /// Says whether a place was taken when the cycle began.
    pub fn was_busy(&self, place: usize) -> bool {
        self.own.held.busy >> place & 1 == 1
    }

    /// Ends a cycle of a core that can go on.
    pub fn end(&mut self, state: impl FnOnce() -> String) -> Option<super::Ended> {
        if self.own.is_gone { None } else { self.end_cycle(state) }
    }
}
