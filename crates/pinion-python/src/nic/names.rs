//! Names and numbers of nodes, contexts and networks.

use std::net::Ipv4Addr;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use super::stepped::Program;
use super::{Nic, SHOWN_NODES};
use crate::errors;

impl Nic {
    /// Gives the names of a NIC's contexts.
    pub(super) fn contexts(&self) -> Vec<String> {
        match &self.programs[..] {
            [Some(Program::Handlers(app))] => app.context_names(),
            _ => Vec::new(),
        }
    }

    /// Gives the program of a node.
    pub(super) fn program(&self, py: Python<'_>, node: usize) -> PyResult<Program> {
        self.programs.get(node).cloned().flatten().ok_or_else(|| {
            let name = self.nodes.get(node).map_or("", String::as_str);
            errors::usage(py, &format!("node {name} runs no program"))
        })
    }

    /// Lists the nodes that run programs.
    pub(super) fn listed(&self) -> String {
        let runs = self.nodes.iter().zip(&self.programs).filter(|(_, program)| program.is_some());
        let names: Vec<&str> = runs.map(|(name, _)| name.as_str()).take(SHOWN_NODES).collect();
        format!("programs run on {}", names.join(", "))
    }

    /// Gives address and bytes of a context's host memory.
    pub(super) fn host_range(&self, py: Python<'_>, name: &str) -> PyResult<(u64, u64)> {
        let [Some(Program::Handlers(app))] = &self.programs[..] else {
            let what =
                format!("{} has no host memory: that is a NIC's with packet handlers", self.name);
            return Err(errors::usage(py, &what));
        };
        let context = app.context(name).ok_or_else(|| {
            let names = self.contexts().join(", ");
            PyKeyError::new_err(format!("there is no context {name}, but {names}"))
        })?;
        Ok((context.host_memory_address, context.host_memory_bytes.into()))
    }
}

/// Reads an address and the bits of its network.
pub(super) fn parsed(py: Python<'_>, text: &str) -> PyResult<(Ipv4Addr, u8)> {
    let found = text.split_once('/').and_then(|(address, bits)| {
        let bits = bits.parse().ok().filter(|bits| *bits <= 32);
        Some((address.parse().ok()?, bits?))
    });
    found.ok_or_else(|| {
        errors::usage(py, &format!("address={text}: an address and its network's bits, 10.0.0.1/8"))
    })
}
