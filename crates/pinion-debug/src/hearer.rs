//! Who knows what the events of a kind of node mean. What it knows belongs to what is saved of the node.

/// What is known of a node from what was heard of it.
pub trait Hearer: Clone + Send + Sync + 'static {
    /// What is looked at.
    type Node: Clone;

    /// Begins with a node that has done something already.
    fn meet(&mut self, node: &Self::Node) {
        let _ = node;
    }

    /// Learns from how a node is what was not heard.
    fn learn(&mut self, node: &Self::Node) {
        let _ = node;
    }
}
