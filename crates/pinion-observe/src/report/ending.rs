//! How a run ended, whatever ran, and what every summary can tell.

use pinion_spin::Outcome;
use serde_json::Value;

use crate::words::count;

/// Tells how a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All is through: nothing happens any more, or all programs have ended that the run waited for.
    Finished,
    /// The program ended itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// The cycle when it did.
        at: u64,
    },
    /// The hardware would have stopped here (faithful machines only).
    Stopped {
        /// Why.
        why: String,
        /// The cycle when it would.
        at: u64,
    },
    /// A program of a cluster failed.
    Failed,
    /// Packets or messages are inside and nothing moves. Tells who waits for whom; nothing where the
    /// nodes of a cluster say it each.
    Stuck(String),
    /// The cycles that were allowed are over.
    CycleLimit,
    /// The user or a time limit ended it.
    Interrupted,
    /// The cluster's run ended before it had: another node had failed.
    CutOff,
}

impl Ending {
    /// Names it as JSON does.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Exited { .. } => "exited",
            Self::Stopped { .. } => "stopped",
            Self::Failed => "failed",
            Self::Stuck(_) => "stuck",
            Self::CycleLimit => "cycle_limit",
            Self::Interrupted => "interrupted",
            Self::CutOff => "cut_off",
        }
    }

    /// Says it behind the name of what ran; nothing where all went well.
    pub fn behind_name(&self) -> String {
        match self {
            Self::Finished => String::new(),
            Self::Exited { code, .. } => format!(", ended with exit code {code}"),
            Self::Stopped { why, at } => format!(", stopped in cycle {}: {why}", count(*at)),
            Self::Failed => ", failed".to_owned(),
            Self::Stuck(_) => ", stopped: nothing moves".to_owned(),
            Self::CycleLimit => ", stopped after the cycles given".to_owned(),
            Self::Interrupted => ", interrupted".to_owned(),
            Self::CutOff => ", cut off".to_owned(),
        }
    }

    /// Tells whether it is a failure of what ran.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Exited { code, .. } => *code != 0,
            Self::Stopped { .. } | Self::Failed | Self::Stuck(_) => true,
            Self::Finished | Self::CycleLimit | Self::Interrupted | Self::CutOff => false,
        }
    }
}

/// Maps the NIC's outcome at the end of a run.
impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Finished | Outcome::Idle => Self::Finished,
            Outcome::TimeReached => Self::Interrupted,
            Outcome::Stuck(report) => Self::Stuck(report),
        }
    }
}

/// What every summary of a run can tell.
pub trait Report {
    /// Gives it as JSON.
    fn to_json(&self) -> Value;

    /// Gives it as text in two parts: what was counted, and what troubles it.
    fn texts(&self) -> [String; 2];

    /// Tells whether something failed: a program, or the run.
    fn has_failures(&self) -> bool;

    /// Tells whether something came back otherwise than expected.
    fn has_differences(&self) -> bool {
        false
    }

    /// Gives it as text.
    fn to_text(&self) -> String {
        self.texts().concat()
    }
}
