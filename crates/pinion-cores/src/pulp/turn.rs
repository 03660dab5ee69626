//! Turns of a loop that a core makes from a line to the same line again, one like the other.
//!
//! In: how a core stood at the line the last time, and how it stands there now. Out: as many further turns
//! as take the same way, executed without a look at cycles. What a core does next, and when, follows from
//! how it stands and from what branches find: where it stands as before, and finds the same, it takes as
//! long.

use super::code::{Code, Kind, MicroOp};
use super::prefetch_buffer::PrefetchBuffer;
use super::{Core, Stalls};

/// Most micro-operations of a turn.
const MOST: u64 = 256;

/// Turns between which registers are kept, to come back to.
const MANY: u64 = 64;

/// How a core stood when it came to a line and had fetched it.
#[derive(Clone, Debug)]
pub(super) struct Stand {
    /// When it came there.
    pub came: u64,
    /// When it executes there.
    executes: u64,
    x: [u32; 32],
    pc: u32,
    instret: u64,
    loaded: u8,
    jumped: bool,
    waited: bool,
    left: u64,
    stalls: Stalls,
    buffer: PrefetchBuffer,
}

/// A micro-operation of a turn.
struct Step {
    one: MicroOp,
    /// Of a branch: whether it is taken.
    is_taken: Option<bool>,
}

impl Stand {
    /// Notes how a core stands.
    pub fn of(core: &Core, came: u64, executes: u64) -> Self {
        Self {
            came,
            executes,
            x: core.hart.x,
            pc: core.hart.pc,
            instret: core.hart.instret,
            loaded: core.loaded,
            jumped: core.jumped,
            waited: core.waited,
            left: core.left,
            stalls: core.stalls,
            buffer: core.buffer.clone(),
        }
    }

    /// Says whether a core stands like this, some cycles later.
    fn is_that_of(&self, core: &Core, cycles: u64) -> bool {
        let mut buffer = self.buffer.clone();
        buffer.go_on(cycles);
        self.pc == core.hart.pc
            && self.left + cycles == core.left
            && (self.loaded, self.jumped, self.waited) == (core.loaded, core.jumped, core.waited)
            && buffer == core.buffer
    }

    /// Lets a core that came to a line again at `came`, and executes there at `executes`, make further
    /// turns as from here to there, but come to the line no later than `until`. Gives how many turns, and
    /// the cycles of each.
    pub fn repeat(
        &self,
        core: &mut Core,
        code: &Code,
        (came, executes): (u64, u64),
        until: u64,
    ) -> (u64, u64) {
        let cycles = came - self.came;
        if cycles == 0 || executes - self.executes != cycles || !self.is_that_of(core, cycles) {
            return (0, cycles);
        }
        let Some(steps) = self.steps_to(core, code) else { return (0, cycles) };
        let turns = repeat(&steps, &mut core.hart.x, (until.saturating_sub(came)) / cycles);
        core.hart.instret += (core.hart.instret - self.instret) * turns;
        core.stalls.repeat(&self.stalls, turns);
        core.left += cycles * turns;
        core.buffer.go_on(cycles * turns);
        (turns, cycles)
    }

    /// Gives the steps from here to where a core is now; `None`: there are others than such as always
    /// take the same cycles.
    fn steps_to(&self, core: &Core, code: &Code) -> Option<Vec<Step>> {
        let count = core.hart.instret - self.instret;
        let first = code.place(self.pc);
        let (mut place, mut x) = (first, self.x);
        let mut steps = Vec::new();
        for _ in 0..(count <= MOST).then_some(count)? {
            let mut one = *code.micro().get(place as usize)?;
            let behind = place + u32::from(one.step);
            let is_taken = one.is_taken(&x);
            place = if is_taken == Some(true) || one.kind == Kind::Jal { one.imm } else { behind };
            if one.kind == Kind::Jal {
                (one.kind, one.imm) = (Kind::Set, code.base().wrapping_add(behind << 1));
            }
            if is_taken.is_none() {
                (one.kind.computes() || one.kind == Kind::Mul).then_some(())?;
                let value = one.value(&x);
                one.rd.set(&mut x, value);
            }
            steps.push(Step { one, is_taken });
        }
        (place == first && x == core.hart.x).then_some(steps)
    }
}

impl MicroOp {
    /// Gives the value of one that does nothing but [compute](Kind::computes) it, and of a multiplication; 0
    /// for any other.
    #[inline(always)]
    pub(super) fn value(&self, x: &[u32; 32]) -> u32 {
        let (a, b) = (self.rs1.of(x), || self.rs2.of(x));
        match self.kind {
            Kind::Set => self.imm,
            Kind::Addi => a.wrapping_add(self.imm),
            Kind::Slti => u32::from((a as i32) < self.imm as i32),
            Kind::Sltiu => u32::from(a < self.imm),
            Kind::Xori => a ^ self.imm,
            Kind::Ori => a | self.imm,
            Kind::Andi => a & self.imm,
            Kind::Slli => a.wrapping_shl(self.imm),
            Kind::Srli => a.wrapping_shr(self.imm),
            Kind::Srai => (a as i32).wrapping_shr(self.imm) as u32,
            Kind::Add => a.wrapping_add(b()),
            Kind::Sub => a.wrapping_sub(b()),
            Kind::Sll => a.wrapping_shl(b()),
            Kind::Slt => u32::from((a as i32) < b() as i32),
            Kind::Sltu => u32::from(a < b()),
            Kind::Xor => a ^ b(),
            Kind::Srl => a.wrapping_shr(b()),
            Kind::Sra => (a as i32).wrapping_shr(b()) as u32,
            Kind::Or => a | b(),
            Kind::And => a & b(),
            Kind::Mul => a.wrapping_mul(b()),
            _ => 0,
        }
    }

    /// Says whether a branch is taken; `None`: it is none.
    #[inline(always)]
    pub(super) fn is_taken(&self, x: &[u32; 32]) -> Option<bool> {
        let (a, b) = (self.rs1.of(x), self.rs2.of(x));
        Some(match self.kind {
            Kind::Beq => a == b,
            Kind::Bne => a != b,
            Kind::Blt => (a as i32) < b as i32,
            Kind::Bge => a as i32 >= b as i32,
            Kind::Bltu => a < b,
            Kind::Bgeu => a >= b,
            _ => return None,
        })
    }
}

/// Executes turns until one takes another way, which it does not; gives how many, `most` at most.
fn repeat(steps: &[Step], x: &mut [u32; 32], most: u64) -> u64 {
    let mut done = 0;
    while done < most {
        let before = *x;
        let many = MANY.min(most - done);
        let right = (0..many).take_while(|_| make_turn(steps, x)).count() as u64;
        done += right;
        if right < many {
            // Back to the end of the last one that went the same way.
            *x = before;
            (0..right).for_each(|_| _ = make_turn(steps, x));
            break;
        }
    }
    done
}

/// Executes a turn; `false`: it takes another way.
#[inline(always)]
fn make_turn(steps: &[Step], x: &mut [u32; 32]) -> bool {
    for Step { one, is_taken } in steps {
        if is_taken.is_none() {
            let value = one.value(x);
            one.rd.set(x, value);
        } else if one.is_taken(x) != *is_taken {
            return false;
        }
    }
    true
}
