//! `ove completions`.

use std::io::Write;

use anyhow::Result;
use clap_complete::Shell;

/// Print what completes commands and flags in a shell
#[derive(clap::Args)]
#[command(after_help = "Example: ove completions bash > ~/.local/share/bash-completion/completions/ove")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command_line(), "ove", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
