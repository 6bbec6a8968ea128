//! `ove`: train, use and look into softmax models with very many classes.
//!
//! Results go to stdout, words to stderr. Exit code 0: done; 2: something was wrong with what was given; 130: stopped by Ctrl-C.

/// `println!` whose failure is an error: a reader that has gone away must not end in a panic.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout(), $($what)*)
    }};
}

mod bound;
mod boundaries;
mod chart;
mod checkpoint;
mod convert;
mod demo;
mod estimate;
mod evaluate;
mod experiment;
mod files;
mod fit;
mod from;
mod generate;
mod held_out;
mod input;
mod inspect;
mod interrupt;
mod log;
mod markup;
mod memory;
mod page;
mod pictures;
mod predict;
mod progress;
mod record;
mod report;
mod reproduce;
mod serve;
mod settings;
mod table;
mod theme;
mod train;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Softmax models with very many classes, trained through the one-vs-each bound.
#[derive(Parser)]
#[command(name = "ove", version, arg_required_else_help = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Train(Box<train::Args>),
    Predict(predict::Args),
    Evaluate(evaluate::Args),
    Inspect(inspect::Args),
    Serve(serve::Args),
    Convert(convert::Args),
    Bound(bound::Args),
    Estimate(estimate::Args),
    Reproduce(reproduce::Args),
    Generate(generate::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A server has its own way with signals.
    let listening = if matches!(cli.command, Command::Serve(_)) { Ok(()) } else { interrupt::install() };
    let done = listening.and_then(|()| match cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Train(args) => train::run(*args),
        Command::Predict(args) => predict::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Bound(args) => bound::run(args),
        Command::Estimate(args) => estimate::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Generate(args) => generate::run(args),
    });
    match done {
        Ok(()) if interrupt::requested() => ExitCode::from(130),
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` that has seen enough is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if interrupt::requested() { 130 } else { 2 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}
