//! The numbers of a small core's pipeline, as a machine file gives them.

use serde::Deserialize;

/// Names the core models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoreModel {
    /// RI5CY: four stages, in order.
    Ri5cy,
    /// An Ibex-like core: two stages, in order.
    Ibex,
}

/// Says how long a division takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// A cycle more per leading zero of the divisor; of a negative one, of its complement but one.
    LeadingZeros,
    /// Always the same, but for a divisor of zero, which takes 2 cycles.
    Fixed,
}

/// Describes an in-order single-issue pipeline in cycles from one instruction to the next.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Extra cycles when the next instruction uses a load's result.
    pub load_use_cycles: u64,
    /// Extra cycles of each load, store and atomic: the pipeline waits for the response.
    pub response_cycles: u64,
    /// Taken branch.
    pub branch_taken_cycles: u64,
    /// Jump.
    pub jump_cycles: u64,
    /// Whether a jump's bubbles pass while the access before it waits: it leaves a stage earlier.
    pub jump_behind_access: bool,
    /// Whether a jump to a register waits until what is in it has been written back: nothing is
    /// forwarded to the program counter (RTL riscv_controller, `jr_stall_o`).
    pub jump_waits_for_register: bool,
    /// `mul`.
    pub mul_cycles: u64,
    /// `mulh` and its unsigned forms.
    pub mulh_cycles: u64,
    /// How the cycles of a division come about.
    pub division: Division,
    /// Division, beside what `division` adds.
    pub div_base_cycles: u64,
    /// CSR access.
    pub csr_cycles: u64,
    /// Access to `mstatus`, before which the pipeline empties.
    pub csr_status_cycles: u64,
    /// Extra cycles of taking an exception.
    pub trap_cycles: u64,
    /// `mret`.
    pub mret_cycles: u64,
}
