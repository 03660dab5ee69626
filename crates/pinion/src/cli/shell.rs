//! The command line of what makes the command at home in a shell: completions and manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// What `pinion completions --help` says at its end.
const COMPLETIONS_NOTES: &str = "\
For bash: pinion completions bash > ~/.local/share/bash-completion/completions/pinion
For zsh:  pinion completions zsh > DIR/_pinion, where DIR is in $fpath
For fish: pinion completions fish > ~/.config/fish/completions/pinion.fish";

#[derive(Debug, Args)]
#[command(after_long_help = COMPLETIONS_NOTES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write pinion.1, pinion-run.1 and so on into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
