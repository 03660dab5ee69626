//! The published values. In: the parameters of `figures/pspin-table3.toml`, each with its source.
//! Out: what one of each component takes in the published configuration.

use pinion_spin::Machine;
use pinion_spin::machine::CoreModel;

use super::Sizes;
use pinion_app::error::Result;
use pinion_observe::plot::{Definition, Parameters};

/// The figure whose file has the values.
pub const FIGURE: &str = "pspin-table3";

/// Holds an area and a power.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The area in mm².
    pub area_mm2: f64,
    /// The power in W, at most.
    pub power_w: f64,
}

impl Cost {
    /// Gives so many times as much.
    pub fn times(self, count: f64) -> Self {
        Self { area_mm2: self.area_mm2 * count, power_w: self.power_w * count }
    }

    /// Adds another.
    pub fn plus(self, other: Self) -> Self {
        Self { area_mm2: self.area_mm2 + other.area_mm2, power_w: self.power_w + other.power_w }
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other.times(-1.0))
    }
}

/// Holds what each component of the published configuration takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Everything.
    pub whole: Cost,
    /// All of L2.
    pub l2: Cost,
    /// The interconnect between clusters.
    pub interconnect: Cost,
    /// One cluster.
    pub cluster: Cost,
    /// One L1.
    pub l1: Cost,
    /// One core.
    pub core: Cost,
    /// One instruction cache.
    pub instruction_cache: Cost,
    /// One cluster's interconnect.
    pub cluster_interconnect: Cost,
    /// The part of the power that grows with the clock.
    pub dynamic_share: f64,
    /// The Ibex-like core's number of gates over RI5CY's.
    pub ibex_gates: f64,
    /// The published configuration.
    pub reference: Sizes,
}

impl Costs {
    /// Loads the published values.
    ///
    /// # Errors
    /// When their file is wrong.
    pub fn published() -> Result<Self> {
        Self::read(&Definition::load(FIGURE, &[])?.parameters(FIGURE, false, &[]))
    }

    /// Takes the values from a figure's parameters.
    ///
    /// # Errors
    /// When one is missing or no number.
    pub fn read(parameters: &Parameters) -> Result<Self> {
        let number = |name: &str| parameters.number(name);
        let cost = |name: &str| -> Result<Cost> {
            Ok(Cost {
                area_mm2: number(&format!("{name}_mm2"))?,
                power_w: number(&format!("{name}_w"))?,
            })
        };
        let kge = number("core_kge")?;
        Ok(Self {
            whole: cost("whole")?,
            l2: cost("l2")?,
            interconnect: cost("interconnect")?,
            cluster: cost("cluster")?,
            l1: cost("l1")?,
            core: Cost {
                area_mm2: kge * 1000.0 * number("gate_um2")? / 1e6,
                power_w: number("core_w")?,
            },
            instruction_cache: cost("instruction_cache")?,
            cluster_interconnect: cost("cluster_interconnect")?,
            dynamic_share: number("dynamic_share")?,
            ibex_gates: number("ibex_core_kge")? / kge,
            reference: Sizes::read(parameters)?,
        })
    }

    /// Gives the inter-cluster scheduler: what table III's parts leave of the whole.
    pub fn scheduler(&self) -> Cost {
        let clusters = self.cluster.times(f64::from(self.reference.clusters));
        self.whole.minus(self.l2).minus(self.interconnect).minus(clusters)
    }

    /// Gives what table III's parts of a cluster leave of it.
    pub fn cluster_rest(&self) -> Cost {
        let cores = self.core.times(f64::from(self.reference.cores));
        let memories = self.l1.plus(self.instruction_cache);
        self.cluster.minus(cores).minus(memories).minus(self.cluster_interconnect)
    }

    /// Gives the power at a clock over that at the published one: charging a gate or a bit line
    /// takes the same energy each time, leakage flows all the time.
    pub(super) fn power_at(&self, frequency_mhz: u64) -> f64 {
        let clock = frequency_mhz as f64 / self.reference.frequency_mhz as f64;
        self.dynamic_share * clock + 1.0 - self.dynamic_share
    }

    /// Gives the gates of the machine's cores over those of RI5CY.
    pub(super) fn gates(&self, machine: &Machine) -> f64 {
        match machine.core.model {
            CoreModel::Ri5cy => 1.0,
            CoreModel::Ibex => self.ibex_gates,
        }
    }
}
