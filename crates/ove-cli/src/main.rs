//! `ove`: train, use and inspect softmax models with very many classes.
//!
//! Results go to stdout, messages to stderr. Exit codes: 0 success, 2 invalid input or arguments, 130 stopped by
//! Ctrl-C.

#![deny(clippy::print_stderr, clippy::print_stdout, reason = "they panic when the pipe is closed: see terminal.rs")]

mod commands;
mod files;
mod flags;
mod help;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod terminal;

use std::panic;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use ove::io::read::is_of_a_decoder;

use commands::Command;
use run::interrupt;
use terminal::note;

/// Train and use softmax models with very many classes: one-vs-each and other bounds, sampled softmax, trees.
#[derive(Parser)]
#[command(name = "ove", version, arg_required_else_help = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands and flags, with their help.
fn command_line() -> clap::Command {
    help::arranged(Cli::command())
}

fn main() -> ExitCode {
    be_silent_about_decoders();
    let matches = command_line().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let listening = if cli.command.handles_signals() { Ok(()) } else { interrupt::install() };
    let done = listening.and_then(|()| cli.command.run());
    match done {
        Ok(()) if interrupt::requested() => ExitCode::from(130),
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` that closes stdout early is not an error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            note!("error: {}", message(&error));
            ExitCode::from(if interrupt::requested() { 130 } else { 2 })
        }
    }
}

/// Lets panics of decoders pass in silence: the reader reports that the file is damaged.
fn be_silent_about_decoders() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !is_of_a_decoder(panic) {
            print(panic);
        }
    }));
}

/// The error with its causes; a cause that the message before it ends with is not repeated.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}
