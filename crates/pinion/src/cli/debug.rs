//! The command line of `pinion debug`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;

use super::{CHANGES, CLUSTER, ENGINE, OUTPUTS, PACKETS, PROGRAM, RUN_APP, RunArgs, SERVICE, hide};

/// What `pinion debug --help` says at its end.
const DEBUG_NOTES: &str = "\
gdb's threads are the HPUs of a NIC or the harts of a nanoPU, named with the packet or message that they
work at; all of them stop together. Of a cluster, --node says whose they are; the other nodes run beside
it. Beside break, watch, step and continue gdb knows reverse-step, reverse-next, reverse-continue and
reverse-finish: the run is the same each time, so it can be gone back in. `monitor help` lists what gdb has
no commands for: stops at a packet, a message, a context, a command, a fault or a drop, the queues, what is
inside, why a packet takes so long, the way to a packet or message. Ctrl-C stops the run.

--nic attaches to what runs live, of a cluster to a node (--node): simulated time stands while it is stopped,
frames wait, and when gdb leaves or is lost it goes on. What `pinion up` runs can be gone back in as far as the
moment at which gdb came.

The run is that of `pinion run` with the same options, and stays it: registers and memory cannot be
written. gdb is gdb-multiarch or another one that knows RISC-V. Programs are optimised; --build-type debug
compiles them with -Og, so that variables are there.";

/// What `pinion debug --nic` has no use for.
pub const ATTACHED_REFUSES: [&[&str]; 6] =
    [&ENGINE, &PROGRAM, &CHANGES, &PACKETS, &SERVICE, &CLUSTER];

/// Options of `pinion run` that `pinion debug` does not take; the engine's have their own reason.
pub const DEBUG_REFUSES: [&[&str]; 4] = [
    &ENGINE,
    &OUTPUTS,
    &["--json", "--quiet"],
    &["--threads", "--pcap", "--queue", "--histogram", "--curve"],
];

#[derive(Debug, Args)]
#[command(
    after_long_help = DEBUG_NOTES,
    mut_arg("app", |app| {
        let app = app.help(RUN_APP).required(false).required_unless_present("nic");
        app.default_value_if("nic", ArgPredicate::IsPresent, ".").conflicts_with("nic")
    }),
    mut_args(|arg| hide(arg, &DEBUG_REFUSES))
)]
pub struct DebugArgs {
    /// Wait for a debugger that connects, instead of starting one; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "gdb", help_heading = "Debugger")]
    pub listen: Option<String>,
    /// The gdb to start [default: gdb-multiarch, or another one that knows RISC-V]
    #[arg(long, value_name = "PATH", help_heading = "Debugger")]
    pub gdb: Option<PathBuf>,
    /// Attach to a NIC that runs: the device of `pinion nic`, or the TAP device or interface of `pinion up`
    #[arg(long, value_name = "NAME", help_heading = "Debugger")]
    pub nic: Option<String>,
    /// This node of a cluster
    #[arg(long, value_name = "NAME", help_heading = "Debugger")]
    pub node: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
    /// Further arguments of gdb, as in -- -batch -x commands.gdb
    #[arg(
        last = true,
        index = 2,
        value_name = "GDB ARGUMENTS",
        conflicts_with = "listen",
        help_heading = "Debugger"
    )]
    pub more: Vec<String>,
}
