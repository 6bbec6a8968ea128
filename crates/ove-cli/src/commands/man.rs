//! `ove man`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;

use crate::files;

/// Write the manual: a page for `man`, and one for each command
#[derive(clap::Args)]
#[command(after_help = "Example: ove man ~/.local/share/man/man1 && man ove-train")]
pub struct Args {
    /// Folder to write ove.1, ove-train.1 and the others to
    folder: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut command = crate::command_line().disable_help_subcommand(true);
    command.build();
    files::folder(&args.folder)?;
    write(&command, &args.folder)
}

/// Writes the page of a command and those of its own commands.
fn write(command: &Command, folder: &Path) -> Result<()> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    files::write(&folder.join(page.get_filename()), &text)?;
    command.get_subcommands().try_for_each(|command| write(command, folder))
}
