//! What is debugged: the contract between the debugger and a machine.
//!
//! A [`Debuggee`] is one node whose harts gdb sees: a sPIN NIC or a nanoPU, alone or among others. The
//! debugger asks four things of it:
//!
//! 1. that it goes on ([`Debuggee::run`]) and says what happens, instruction by instruction, in a
//!    [`Log`];
//! 2. that it can be saved and restored, and does the same again from there;
//! 3. what it has where it is: registers, memory, queues, in its harts' own terms;
//! 4. the words for that.
//!
//! Cores run ahead of units, and a node among others runs in windows that nobody may cut, so a machine
//! is in general somewhere behind the position that is shown. Registers and memory that harts wrote are
//! taken back by what was heard ([`Harts`](crate::harts::Harts)); units that cannot be are asked
//! for in the cycle itself ([`Debuggee::show`]).

use pinion_app::error::Result;
use pinion_sim::Clock;
use pinion_sim::node::Saved;

use crate::harts::REGISTERS;
use crate::log::Log;
use crate::terms::{Reached, Said, Task, Width};

/// A node whose harts are debugged; the [module](self) says what it promises.
pub trait Debuggee {
    /// Counts harts.
    fn harts(&self) -> u32;

    /// Gives the width of their registers.
    fn width(&self) -> Width;

    /// Gives the clock in whose cycles positions are counted.
    fn clock(&self) -> Clock;

    /// Gives the CSRs that a debugger sees, by gdb's name and number.
    fn csrs(&self) -> &'static [(&'static str, u16)];

    /// Goes on until everything up to a cycle has happened, or somewhat further, and logs it.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached>;

    /// Saves everything that decides what happens from now on.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    fn save(&self) -> Result<Saved>;

    /// Goes to where it was saved.
    ///
    /// # Errors
    /// When it was another machine.
    fn restore(&mut self, saved: &Saved) -> Result<()>;

    /// Estimates the bytes that it takes when it is saved.
    fn bytes(&self) -> u64;

    /// Lets its units be seen as they are at the end of a cycle that lies before where it is, until it
    /// runs or is restored; `from` was saved before that cycle. The log hears what leads there. A
    /// machine that [`run`](Self::run) leaves exactly in the cycle is never asked.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let _ = (from, cycle, log);
        Ok(())
    }

    /// Tells whether memory that it shows is that of the cycle it was asked to
    /// [`show`](Self::show), because units write it, too; else it is what harts have written where the
    /// machine is.
    fn units_write_memory(&self) -> bool;

    /// Gives a hart's integer registers as its core has them.
    fn registers(&self, hart: u32) -> [u64; REGISTERS];

    /// Gives a register of floating point as the core has it; `None` if there are none.
    fn float(&self, hart: u32, number: u8) -> Option<u64> {
        let _ = (hart, number);
        None
    }

    /// Gives the address of the instruction that a core executes next.
    fn pc(&self, hart: u32) -> u64;

    /// Gives a CSR as the core has it; `None` if there is none.
    fn csr(&self, hart: u32, number: u16) -> Option<u64>;

    /// Tells whether a CSR is a unit's, which is seen in the position's cycle, and no core's.
    fn is_of_a_unit(&self, number: u16) -> bool {
        let _ = number;
        false
    }

    /// Gives the privilege that a core runs at.
    fn privilege(&self, hart: u32) -> u8;

    /// Says what a hart works at.
    fn task(&self, hart: u32) -> Option<Task>;

    /// Gives the word that a hart's next read of its network register takes, in an instruction that is
    /// decoded behind a cycle; `None`: there is no such register, or nothing is there.
    fn head_word(&self, hart: u32, cycle: u64) -> Option<u64> {
        let _ = (hart, cycle);
        None
    }

    /// Gives the address that all harts have in common for one that a hart uses.
    fn common(&self, hart: u32, address: u64) -> u64 {
        let _ = hart;
        address
    }

    /// Gives every place, in common addresses, that an address means: several if it means each hart's
    /// own.
    fn places(&self, address: u64) -> Vec<u64> {
        vec![address]
    }

    /// Tells whether two harts see the same memory.
    fn shares_memory(&self, one: u32, other: u32) -> bool {
        let _ = (one, other);
        true
    }

    /// Reads memory at a common address; gives how many bytes there are.
    fn read(&self, hart: u32, address: u64, buffer: &mut [u8]) -> usize;

    /// Appends the bytes at a common address of all memories that have it; what is no memory is zero.
    fn append_bytes(&self, address: u64, bytes: u32, to: &mut Vec<u8>) {
        let _ = (address, bytes, to);
    }

    /// Lets [`run`](Self::run) stop exactly where it is told to, for memory that units write is compared
    /// in every cycle; or not.
    fn dwell(&mut self, in_every_cycle: bool) {
        let _ = in_every_cycle;
    }

    /// Finds bytes of a context's host memory, by the context's name: their address, and how many.
    ///
    /// # Errors
    /// Why there are none.
    fn host_range(&self, context: &str, offset: u64, bytes: u64) -> Said<(u64, u32)>;

    /// Reads host memory.
    fn read_host(&self, address: u64, buffer: &mut [u8]) {
        let _ = (address, buffer);
    }

    /// Tells names and numbers of the units' state.
    fn state(&self, tell: &mut dyn FnMut(&str, u64));

    /// Names a hart.
    fn name(&self, hart: u32) -> String;

    /// Says what a hart does or waits for.
    fn doing(&self, hart: u32) -> String;

    /// Tells whether harts work at packets, which have numbers; else it is messages.
    fn numbers_packets(&self) -> bool {
        true
    }

    /// Finds a context by its name.
    ///
    /// # Errors
    /// That there is none, and which there are.
    fn find_context(&self, name: &str) -> Said<u32>;

    /// Names a context.
    fn context_name(&self, context: u32) -> String;

    /// Says what is inside, packet by packet or message by message; `tasks` is what harts work at.
    fn packets(&self, tasks: &[(u32, Task)]) -> String;

    /// Says who writes memory beside harts.
    fn who_writes(&self) -> &'static str {
        "a unit of the NIC wrote it, not an HPU"
    }
}
