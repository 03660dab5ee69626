//! A trace of one node of a cluster: who hears that node, and which one it is.

use crate::nanoservice::run::Settling;
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
