//! The command line of `pinion dap`.

use clap::Args;

/// What `pinion dap --help` says at its end.
const DAP_NOTES: &str = "\
Editors start it: VS Code by the extension in tools/vscode, others as a debug adapter on standard input and
output. A launch configuration has \"app\", the application's folder; \"args\", further words of `pinion
debug`: packets, machine, how it is compiled; \"cwd\", where paths begin; and \"stopOnEntry\".

Threads are the HPUs; all of them stop together. Steps, continue and breakpoints go backwards, too. In the
debug console `monitor help` lists what editors have no commands for.";

#[derive(Debug, Args)]
#[command(after_long_help = DAP_NOTES)]
pub struct DapArgs {
    /// Wait for an editor that connects, instead of standard input; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
}
