//! The cores of a machine: which model, and the cycles of its pipeline.

pub use pinion_cores::pulp::section::{CoreModel, Division, Pipeline};
use serde::Deserialize;

/// Says what an atomic outside the own cluster's L1 answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteAmo {
    /// What was there before, as RISC-V has it.
    #[default]
    Old,
    /// 1, whatever was there (RTL `per2axi`: the read response is dropped, and the code of the write
    /// response answers).
    One,
}

/// Describes the cores: which model, and each model's pipeline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The model that the HPUs are.
    pub model: CoreModel,
    /// Whether they have Xpulp v2, PULP's instructions beyond RISC-V; RI5CY only.
    #[serde(default)]
    pub xpulp: bool,
    /// What atomics outside the own cluster's L1 answer.
    #[serde(default)]
    pub remote_amo: RemoteAmo,
    /// The pipeline of RI5CY.
    pub ri5cy: Pipeline,
    /// The pipeline of the Ibex-like core.
    pub ibex: Pipeline,
}

impl Core {
    /// Gives the pipeline of the model that the HPUs are.
    pub const fn pipeline(&self) -> &Pipeline {
        match self.model {
            CoreModel::Ri5cy => &self.ri5cy,
            CoreModel::Ibex => &self.ibex,
        }
    }
}
