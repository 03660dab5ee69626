//! Clusters: many nodes on one network.
//!
//! A file `cluster.toml` names groups of nodes, what runs on them and the network between them. It
//! makes a [`Plan`]; [`run`] builds this rank's share of it on a [`pinion_net::fabric::Fabric`], runs
//! it, and gives a [`Summary`] at rank 0.

mod arguments;
mod check;
mod curve;
mod end;
mod frames_end;
mod gauges;
#[cfg(target_os = "linux")]
pub mod live;
mod load_end;
mod mail;
mod manifest;
mod nano_end;
mod network;
mod nothing;
mod observe;
mod perfetto;
mod plan;
mod rows;
mod run;
mod sources;
mod spin_end;
mod summary;
mod text;
mod tracing;
#[cfg(target_os = "linux")]
mod watched;
mod words;

pub use check::check;
pub use curve::{Curve, CurvePoint};
pub use end::End;
pub use frames_end::FramesEnd;
pub use gauges::ClusterGauges;
pub use load_end::LoadEnd;
pub use nano_end::NanoEnd;
pub use network::Network;
pub use observe::ended;
pub use perfetto::ClusterTrace;
pub use plan::{FramesFrom, Group, OUTSIDE, OtherSide, Plan, Target};
pub use rows::{CableRow, LoadRow, NodeRow, QueueTrace, SwitchRow};
pub use run::{RunOptions, build, run, trace};
pub use spin_end::SpinEnd;
pub use summary::{Cluster, Summary};
pub use tracing::{LoadTracer, NetworkTracer, NodeTracer, Tracing};
pub use words::{drop_words, place_name, port_name};

use std::path::{Path, PathBuf};

use pinion_app::app::Options;
use pinion_app::error::{Error, Result};

use crate::nanoservice::has_programs;
pub use pinion_app::manifest::CLUSTER_FILE_NAME as FILE_NAME;

/// Gives the name that a cluster's file has in its text, changed by overrides.
///
/// # Errors
/// What is wrong with the text or with an override, but for those of machines.
pub fn name(origin: &str, text: &str, overrides: &[String]) -> Result<String> {
    Ok(manifest::load(origin, text, overrides)?.0.value.cluster.name)
}

/// Says whether sPIN NICs, or nanoPUs with P4 programs, are among the nodes of a cluster's file, changed by
/// overrides.
///
/// # Errors
/// What is wrong with the text, with an override, or with what a node's folder says.
pub fn is_translated(file: &Path, options: &Options) -> Result<bool> {
    let text = pinion_input::text(file).map_err(|error| Error::file("read", file, error))?;
    let (loaded, machines) =
        manifest::load(&file.display().to_string(), &text, &options.overrides)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    for node in &loaded.value.node {
        let app = pinion_app::manifest::load(&folder.join(&node.app))?;
        let options = node.options(&machines, app.nanoservice().is_some(), options);
        if app.nanoservice().is_none() || has_programs(&app, &options)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds the file of a cluster: `path` is a folder that holds one, or the file itself. `None`: this is
/// no cluster.
pub fn locate(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        let file = path.join(FILE_NAME);
        return file.is_file().then_some(file);
    }
    // A pipe gives what it has but once.
    let text = path.is_file().then(|| pinion_input::text(path).ok())??;
    let is_cluster = text.lines().any(|line| line.trim() == "[cluster]");
    is_cluster.then(|| path.to_owned())
}
