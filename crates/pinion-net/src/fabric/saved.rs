//! The state of a whole fabric: that of its components, and the frames under way.

use std::sync::PoisonError;

use pinion_sim::node::{Node, RestoreError, SaveError, Saved, tell_part};

use super::Fabric;
use super::component::lock;
use crate::link::Wire;
use crate::topology::Place;

/// What is saved of a fabric.
struct State {
    components: Vec<Saved>,
    wires: Vec<Wire>,
    now: u64,
    windows: u64,
}

impl<N: Node + Send> Fabric<N> {
    /// Saves this rank's components and the frames between them; every rank has to, in the same cycle.
    ///
    /// # Errors
    /// When a node cannot be saved; the error says which.
    pub fn save(&self) -> Result<Saved, SaveError> {
        let saved = self.components.iter().enumerate().map(|(index, component)| {
            lock(component).node.save().map_err(|source| {
                let (part, source) = (self.component_name(index), Box::new(source));
                SaveError::Part { part, source }
            })
        });
        Ok(Saved::new(State {
            components: saved.collect::<Result<_, _>>()?,
            wires: self.shared.wires.iter().map(|wire| lock(wire).clone()).collect(),
            now: self.now,
            windows: self.windows,
        }))
    }

    /// Goes back, or forward, to where a fabric of the same components was saved.
    ///
    /// # Errors
    /// When it was another fabric's state; the error says which component differs, and what comes
    /// before it is restored.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let state: &State = saved.get()?;
        let (ours, theirs) = (self.components.len(), state.components.len());
        if ours != theirs || self.shared.wires.len() != state.wires.len() {
            let what = format!("{theirs} nodes and switches, not {ours}, or other cables");
            return Err(RestoreError::BuiltDifferently { what });
        }
        for (index, saved) in state.components.iter().enumerate() {
            let component = self.components[index].get_mut();
            let restored = component.unwrap_or_else(PoisonError::into_inner).node.restore(saved);
            restored.map_err(|source| {
                let (part, source) = (self.component_name(index), Box::new(source));
                RestoreError::Part { part, source }
            })?;
        }
        for (number, wire) in state.wires.iter().enumerate() {
            let mut ours = lock(&self.shared.wires[number]);
            ours.clone_from(wire);
            self.shared.announce(number, ours.next());
        }
        (self.now, self.windows) = (state.now, state.windows);
        Ok(())
    }

    /// Tells names and numbers of the state of this rank's components: `node.3.` and `switch.0.` stand
    /// in front.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        for (index, component) in self.components.iter().enumerate() {
            let part = match self.topology.place(index) {
                Place::Node(number) => format!("node.{number}"),
                Place::Switch(number) => format!("switch.{number}"),
            };
            tell_part(&part, tell, |tell| lock(component).node.state(tell));
        }
    }

    fn component_name(&self, index: usize) -> String {
        match self.topology.place(index) {
            Place::Node(number) => format!("node {number}"),
            Place::Switch(number) => format!("switch {number}"),
        }
    }
}
