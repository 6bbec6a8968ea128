//! What `--help` shows: of every command what most people need, each flag in a line or two; `--help-all` shows all
//! flags in full.

use clap::{Arg, ArgAction, Command};

/// The flags of `ove train` that stand first.
const FIRST: [&str; 5] = ["output", "text", "label", "label_separator", "valid"];

/// The others that `ove train --help` shows.
const SHOWN: [&str; 27] = [
    "data",
    "from",
    "prune",
    "json",
    "format",
    "first_label",
    "on_error",
    "class_weight",
    "label_names",
    "threads",
    "checkpoint",
    "resume",
    "watch",
    "log",
    "ngrams",
    "chars",
    "hash",
    "scores",
    "solver",
    "objective",
    "negatives",
    "sampler",
    "l2",
    "epochs",
    "learning_rate",
    "seed",
    "cache",
];

/// The command line with its help.
pub fn arranged(command: Command) -> Command {
    with_help(command).mut_subcommand("train", |train| {
        train.mut_args(|flag| match flag.get_id().as_str() {
            name if FIRST.contains(&name) => flag.help_heading(None),
            name => {
                let is_shown = SHOWN.contains(&name) || name.starts_with("help");
                let flag = if flag.get_help_heading().is_none() { flag.help_heading("More") } else { flag };
                flag.hide_short_help(!is_shown)
            }
        })
    })
}

/// The flags that show help, of a command and of its own commands.
fn with_help(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_help));
    command.disable_help_flag(true).arg(help("help", "Show this help", ArgAction::HelpShort).short('h')).arg(help(
        "help-all",
        "Show all flags, each in full",
        ArgAction::HelpLong,
    ))
}

fn help(name: &'static str, what: &'static str, action: ArgAction) -> Arg {
    Arg::new(name).long(name).help(what).action(action).help_heading("Help")
}
