//! What a machine takes of a chip: its configuration comes in, area and power of each component go
//! out.
//!
//! The published machine's components (PsPIN paper, table III) are scaled by the configuration's
//! numbers; [`Sizes`] says what each component grows with and why, [`Costs`] holds the published
//! values. The published configuration gives the published values back. Further away the estimate
//! is of first order: it tells which of two machines is larger and about how much, not what a
//! synthesis will say.

mod costs;
mod sizes;
mod table;

#[cfg(test)]
mod tests;

use pinion_spin::Machine;
use pinion_spin::machine::CoreModel;

pub use costs::{Cost, Costs};
use pinion_app::error::Result;
pub use sizes::Sizes;
pub use table::rows;

/// Names a part of the machine, as table III does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// Everything.
    Pspin,
    /// The L2 memories: packet buffer, handler memory, program memory.
    L2,
    /// The interconnect between clusters, L2 and NIC, with the L2 memories' controllers.
    Interconnect,
    /// The inter-cluster scheduler: MPQ engine and task dispatcher.
    Scheduler,
    /// A cluster.
    Cluster,
    /// A cluster's L1 memory.
    L1,
    /// A core.
    Core,
    /// A cluster's instruction cache.
    InstructionCache,
    /// A cluster's interconnect between cores and L1 banks.
    ClusterInterconnect,
    /// The rest of a cluster: its scheduler, DMA engine and HPU drivers.
    ClusterRest,
}

impl Component {
    /// Lists the components in table III's order, parts behind their whole.
    pub const ALL: [Self; 10] = [
        Self::Pspin,
        Self::L2,
        Self::Interconnect,
        Self::Scheduler,
        Self::Cluster,
        Self::L1,
        Self::Core,
        Self::InstructionCache,
        Self::ClusterInterconnect,
        Self::ClusterRest,
    ];

    /// Gives its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pspin => "PsPIN",
            Self::L2 => "L2 memories",
            Self::Interconnect => "interconnect",
            Self::Scheduler => "scheduler",
            Self::Cluster => "cluster",
            Self::L1 => "L1",
            Self::Core => "core",
            Self::InstructionCache => "instruction cache",
            Self::ClusterInterconnect => "cluster interconnect",
            Self::ClusterRest => "scheduler, DMA, drivers",
        }
    }

    /// Gives the component it is a part of.
    pub fn whole(self) -> Option<Self> {
        match self {
            Self::Pspin => None,
            Self::L2 | Self::Interconnect | Self::Scheduler | Self::Cluster => Some(Self::Pspin),
            _ => Some(Self::Cluster),
        }
    }

    /// Counts the components around it.
    pub fn depth(self) -> usize {
        self.whole().map_or(0, |whole| whole.depth() + 1)
    }

    /// Tells what it grows with.
    pub fn grows_with(self) -> &'static str {
        match self {
            Self::Pspin => "",
            Self::L2 => "bytes of L2 and program memory",
            Self::Interconnect => "crossbars: masters × slaves × bytes a cycle",
            Self::Scheduler => "HERs that its queues hold",
            Self::Cluster => "its parts",
            Self::L1 => "bytes",
            Self::Core => "gates of the core model",
            Self::InstructionCache => "bytes × ports, one a core",
            Self::ClusterInterconnect => "crossbar: masters × banks",
            Self::ClusterRest => "HERs that the cluster holds",
        }
    }
}

/// Holds what one component takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Names it.
    pub component: Component,
    /// Number of it within its whole: cores of a cluster.
    pub count: u32,
    /// What one takes.
    pub each: Cost,
}

impl Part {
    /// Gives what all within one whole take.
    pub fn total(&self) -> Cost {
        self.each.times(f64::from(self.count))
    }
}

/// Holds what a machine takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Number of the machine's HPUs.
    pub hpus: u32,
    /// The components in the order of [`Component::ALL`].
    pub parts: Vec<Part>,
    /// What the reader must know about it.
    pub remarks: Vec<String>,
}

impl Estimate {
    /// Gives a component.
    pub fn part(&self, component: Component) -> &Part {
        let place = Component::ALL.iter().position(|other| *other == component);
        &self.parts[place.expect("ALL has every component, and parts has one for each")]
    }

    /// Gives what the whole machine takes.
    pub fn total(&self) -> Cost {
        self.part(Component::Pspin).total()
    }

    /// Counts a component in the whole machine: cores of all clusters.
    pub fn instances(&self, component: Component) -> u32 {
        let around = component.whole().map_or(1, |whole| self.instances(whole));
        around * self.part(component).count
    }

    /// Gives the area per processing element in mm², as the paper's table IV does: the whole
    /// machine's over its HPUs.
    pub fn area_per_hpu_mm2(&self) -> f64 {
        self.total().area_mm2 / f64::from(self.hpus.max(1))
    }
}

/// Estimates what a machine takes, with the published component values.
///
/// # Errors
/// When the file with the published values is wrong.
pub fn estimate(machine: &Machine) -> Result<Estimate> {
    Ok(Costs::published()?.estimate(machine))
}

impl Costs {
    /// Estimates what a machine takes.
    pub fn estimate(&self, machine: &Machine) -> Estimate {
        let (sizes, reference) = (Sizes::of(machine), &self.reference);
        let watts = self.power_at(machine.clock.frequency_mhz);
        let scaled = |component: Component, cost: Cost| {
            let size = sizes.of_component(component) / reference.of_component(component);
            let cost = cost.times(size);
            Cost { power_w: cost.power_w * watts, ..cost }
        };
        let core = scaled(Component::Core, self.core).times(self.gates(machine));
        let inside = [
            (Component::L1, 1, scaled(Component::L1, self.l1)),
            (Component::Core, machine.cluster.cores, core),
            (Component::InstructionCache, 1, {
                scaled(Component::InstructionCache, self.instruction_cache)
            }),
            (Component::ClusterInterconnect, 1, {
                scaled(Component::ClusterInterconnect, self.cluster_interconnect)
            }),
            (Component::ClusterRest, 1, scaled(Component::ClusterRest, self.cluster_rest())),
        ];
        let inside = inside.map(|(component, count, each)| Part { component, count, each });
        let around = [
            (Component::L2, 1, scaled(Component::L2, self.l2)),
            (Component::Interconnect, 1, scaled(Component::Interconnect, self.interconnect)),
            (Component::Scheduler, 1, scaled(Component::Scheduler, self.scheduler())),
            (Component::Cluster, machine.cluster.count, sum(&inside)),
        ];
        let around = around.map(|(component, count, each)| Part { component, count, each });
        let each = sum(&around);
        let whole = Part { component: Component::Pspin, count: machine.units.count, each };
        Estimate {
            hpus: machine.hpus_of_all_units(),
            parts: [whole].into_iter().chain(around).chain(inside).collect(),
            remarks: self.remarks(machine),
        }
    }

    /// Tells where an estimate leaves what was synthesized.
    fn remarks(&self, machine: &Machine) -> Vec<String> {
        let mut remarks = Vec::new();
        let (clock, closed) = (machine.clock.frequency_mhz, self.reference.frequency_mhz);
        if clock > closed {
            remarks.push(format!(
                "the published machine's timing was closed at {closed} MHz; at {clock} MHz it \
                 may take other cells, which is not estimated"
            ));
        }
        if machine.units.count > 1 {
            remarks.push("the scheduling level in front of the units is not estimated".to_owned());
        }
        if machine.core.model == CoreModel::Ibex {
            remarks.push(
                "the Ibex-like core is Ibex in its configuration small, without the PMP and the \
                 atomics it needs here; its power is RI5CY's by gates"
                    .to_owned(),
            );
        }
        remarks
    }
}

fn sum(parts: &[Part]) -> Cost {
    parts.iter().fold(Cost::default(), |sum, part| sum.plus(part.total()))
}
