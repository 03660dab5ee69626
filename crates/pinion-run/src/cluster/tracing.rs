//! A trace of one node of a cluster: who hears that node, and which one it is.

use pinion_nanopu::event::{NanoPu, Told};
use pinion_sim::probe::Hears;

use crate::nanoservice::run::Settling;
use pinion_app::error::Result;
use pinion_observe::trace::Tracer;

/// Says which node is traced, and by whom.
pub struct Tracing<'a> {
    /// The node's number.
    pub node: usize,
    /// Who hears it.
    pub tracer: NodeTracer<'a>,
}

/// Hears everything that happens in a node.
pub enum NodeTracer<'a> {
    /// In a nanoPU.
    Nano(Box<dyn Settling + Send + 'a>),
    /// In a sPIN NIC.
    Spin(Box<dyn Tracer + Send + 'a>),
}

/// Hears a nanoPU through a box.
pub struct Boxed<'a>(pub(super) Box<dyn Settling + Send + 'a>);

impl Hears<NanoPu> for Boxed<'_> {
    fn hear(&mut self, told: &Told<'_>) {
        self.0.hear(told);
    }
}

impl Settling for Boxed<'_> {
    fn settle(&mut self, cycle: u64) -> Result<()> {
        self.0.settle(cycle)
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}
