//! The command line of labs: `pinion lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What `pinion lab --help` says at its end.
const LAB_NOTES: &str = "\
The client's namespace has the TAP device pin0, which is the NIC's wire, the host's has pinh0, which
is the NIC's host side; each knows the other's hardware address. Nothing else is made, and nothing of
yours is touched: `down` removes what `up` has noted, also when `up` was killed half way.

As root the namespaces have names that `ip netns` knows. Inside `unshare --user --map-root-user
--net` nothing may be mounted, so a small process holds each; `pinion lab run` finds them, and a TAP
device in one is named pin0@/proc/PID/ns/net, as `up` prints it.";

#[derive(Debug, Args)]
#[command(after_long_help = LAB_NOTES)]
pub struct LabArgs {
    /// Name of the lab: pinion, or pinion- and more
    #[arg(long, value_name = "NAME", default_value = "pinion", global = true)]
    pub name: String,
    #[command(subcommand)]
    pub command: LabVerb,
}

#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Make the namespaces, devices, addresses and neighbour entries, if they are not there
    Up,
    /// Remove what `up` made, and nothing else
    Down,
    /// Show what there is
    Status,
    /// Run a command inside one end
    Run {
        /// Which end
        #[arg(value_enum, value_name = "host|client")]
        end: LabEnd,
        /// The command, behind --
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Hold a namespace (what `up` starts where nothing may be mounted)
    #[command(hide = true)]
    Hold {
        /// The lab's record
        #[arg(value_name = "RECORD")]
        record: PathBuf,
    },
}

/// One end of a lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabEnd {
    /// Behind the NIC
    Host,
    /// At the other end of its wire
    Client,
}
