//! The commands, one module each.

mod analogy;
mod bound;
mod completions;
mod convert;
mod demo;
mod embed;
mod estimate;
mod evaluate;
mod export;
mod generate;
mod inspect;
mod man;
mod merge_shards;
mod predict;
mod recommend;
mod reproduce;
#[cfg(feature = "serve")]
mod serve;
mod similar;
mod train;

use anyhow::Result;
use clap::Subcommand;

/// A command with its arguments.
#[derive(Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Train(Box<train::Args>),
    Embed(Box<embed::Args>),
    Predict(predict::Args),
    Evaluate(evaluate::Args),
    Recommend(recommend::Args),
    Similar(similar::Args),
    Analogy(analogy::Args),
    Export(export::Args),
    Inspect(inspect::Args),
    MergeShards(merge_shards::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    Convert(convert::Args),
    Bound(bound::Args),
    Estimate(estimate::Args),
    Reproduce(reproduce::Args),
    Generate(generate::Args),
    Man(man::Args),
    Completions(completions::Args),
}

impl Command {
    /// Runs the command with the number of threads of its flag.
    pub fn run(self) -> Result<()> {
        match self.threads() {
            Some(threads) => ove::with_threads(threads, || self.run_here())?,
            None => self.run_here(),
        }
    }

    /// The value of `--threads`, for commands that work in parallel here; the server has its own threads.
    fn threads(&self) -> Option<usize> {
        match self {
            Command::Demo(args) => Some(args.threads.threads),
            Command::Train(args) => Some(args.threads.threads),
            Command::Embed(args) => Some(args.threads.threads),
            Command::Predict(args) => Some(args.threads.threads),
            Command::Evaluate(args) => Some(args.threads.threads),
            Command::Recommend(args) => Some(args.threads.threads),
            Command::Convert(args) => Some(args.threads.threads),
            Command::Estimate(args) => Some(args.threads.threads),
            Command::Reproduce(args) => Some(args.threads.threads),
            Command::Generate(_) => Some(0),
            _ => None,
        }
    }

    fn run_here(self) -> Result<()> {
        match self {
            Command::Demo(args) => demo::run(args),
            Command::Train(args) => train::run(*args),
            Command::Embed(args) => embed::run(*args),
            Command::Predict(args) => predict::run(args),
            Command::Evaluate(args) => evaluate::run(args),
            Command::Recommend(args) => recommend::run(args),
            Command::Similar(args) => similar::run(args),
            Command::Analogy(args) => analogy::run(args),
            Command::Export(args) => export::run(args),
            Command::Inspect(args) => inspect::run(args),
            Command::MergeShards(args) => merge_shards::run(args),
            #[cfg(feature = "serve")]
            Command::Serve(args) => serve::run(args),
            Command::Convert(args) => convert::run(args),
            Command::Bound(args) => bound::run(args),
            Command::Estimate(args) => estimate::run(args),
            Command::Reproduce(args) => reproduce::run(args),
            Command::Generate(args) => generate::run(args),
            Command::Man(args) => man::run(args),
            Command::Completions(args) => completions::run(args),
        }
    }

    /// Whether the command handles Ctrl-C and SIGTERM itself.
    pub fn handles_signals(&self) -> bool {
        match self {
            #[cfg(feature = "serve")]
            Command::Serve(_) => true,
            _ => false,
        }
    }
}
