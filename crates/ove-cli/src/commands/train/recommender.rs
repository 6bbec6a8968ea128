//! `ove train --format interactions`: trains a recommender.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use ove::data::Interactions;
use ove::train::{RecommenderEvent, Stop, fit_recommender};
use ove::{Error, Model};
use serde_json::{Value, json};

use super::Args;
use crate::commands::evaluate::recommender::{AT, print};
use crate::run::checkpoint::Keeper;
use crate::run::progress::bar;
use crate::run::{interrupt, memory};
use crate::terminal::{note, say};

/// Positions of the progress bar.
const STEPS: f64 = 10_000.0;

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let options = args.flags.recommender()?;
    for (name, is_given) in [
        ("cache", args.cache.is_some()),
        ("from", args.from.is_some()),
        ("vectors", args.vectors.is_some()),
        ("prune", args.prune.is_some()),
        ("class-weight", args.class_weight.is_some()),
    ] {
        if is_given {
            bail!("`{name}` must be left out for recommenders");
        }
    }
    args.check_files()?;
    let mut keeper = args.checkpoint.open()?;
    let data = args.input.read_interactions(&args.data)?;
    note!("{} users, {} items, {} interactions", data.len(), data.item_count(), data.pairs());
    let read_valid = |path| args.input.read_interactions_of(&data.users, &data.item_names, path);
    let valid = args.valid.as_deref().map(read_valid).transpose()?;
    let tune_on = args.tune_on.as_deref().map(read_valid).transpose()?;
    let start = Instant::now();
    let trained = interrupt::held(|| {
        let saved = keeper.take_saved();
        let mut follower = Follower { keeper: &mut keeper, bar: None, recall: None };
        let fitted =
            fit_recommender(&data, &options, tune_on.as_ref(), saved.as_ref(), &mut |event| follower.follow(event));
        follower.finish();
        let model = match fitted {
            Err(Error::Stopped) => return Ok(None),
            fitted => fitted?,
        };
        let output = args.output_of(&model);
        model.save(&output).context("saving the model")?;
        if output != args.output {
            note!("{} is kept as it was; the model so far is in {}", args.output.display(), output.display());
        }
        if model.card.finished || !interrupt::requested() {
            keeper.clear()?;
        }
        anyhow::Ok(Some(model))
    })?;
    match trained {
        Some(model) => report(args, &model, start.elapsed().as_secs_f64(), &data, valid.as_ref()),
        None if keeper.stopped() => {
            note!("stopped; a checkpoint was saved, use --resume to continue");
            Ok(())
        }
        None => {
            note!("stopped while the number of epochs was being chosen; no model was saved");
            Ok(())
        }
    }
}

fn report(args: &Args, model: &Model, seconds: f64, data: &Interactions, valid: Option<&Interactions>) -> Result<()> {
    let card = &model.card;
    let ranking = match valid {
        Some(valid) => Some(model.recommender()?.measure(valid, data, &AT)),
        None => None,
    };
    if !card.finished {
        note!("training was stopped before the end; the model is the best so far");
    }
    if args.json {
        let facts = json!({
            "model": args.output,
            "users": data.len(),
            "items": data.item_count(),
            "interactions": data.pairs(),
            "epochs": card.options.epochs,
            "finished": card.finished,
            "skipped_rows": data.skipped.count(),
            "train_seconds": seconds,
            "peak_memory_bytes": memory::peak_bytes(),
        });
        let mut object = facts.as_object().cloned().unwrap_or_default();
        object.extend(ranking.map(|ranking| ranking.by_name()).unwrap_or_default());
        say!("{}", Value::Object(object))?;
        return Ok(());
    }
    say!("model            {}", args.output.display())?;
    say!("train seconds    {seconds:.2} ({} epochs)", card.options.epochs.unwrap_or_default())?;
    ranking.map_or(Ok(()), |ranking| print(&ranking))
}

/// Observes the training: progress bar, checkpoints and Ctrl-C.
struct Follower<'a> {
    keeper: &'a mut Keeper,
    bar: Option<ProgressBar>,
    recall: Option<f64>,
}

impl Follower<'_> {
    fn follow(&mut self, event: RecommenderEvent<'_>) -> ControlFlow<Stop> {
        match event {
            RecommenderEvent::Choosing { progress } => {
                self.show("choosing the number of epochs", progress);
                if interrupt::requested() {
                    return ControlFlow::Break(Stop::Discard);
                }
            }
            RecommenderEvent::Measured { recall, .. } => self.recall = Some(recall.value),
            RecommenderEvent::Chosen { epochs, recall } => {
                self.finish();
                let (value, se) = (recall.value, recall.se);
                note!(
                    "{epochs} epochs: chosen on held-out interactions, recall@20 {value:.4} (standard error {se:.4})"
                );
            }
            RecommenderEvent::Step { training, progress } => {
                self.show("training", progress);
                if progress.done < 1.0 {
                    return self.keeper.keep(&|path| training.save(path), progress);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn show(&mut self, what: &str, progress: &ove::train::Progress) {
        let bar = self.bar.get_or_insert_with(|| bar(STEPS as u64, "{msg}"));
        if bar.is_hidden() {
            return;
        }
        let recall = self.recall.map_or(String::new(), |recall| format!("  held-out recall@20 {recall:.4}"));
        bar.set_message(format!("{what}  epoch {}{recall}", progress.epoch));
        bar.set_position((progress.done * STEPS) as u64);
    }

    fn finish(&mut self) {
        self.recall = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
