//! `ove embed`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use ove::bound::EmbeddingObjective;
use ove::io::Corpus;
use ove::options::EmbeddingOptions;
use ove::text::CharRange;
use ove::train::{EmbeddingEvent, Progress, Stop, fit_embedding};
use ove::{Error, Model};
use serde::Serialize;
use serde_json::json;

use crate::files;
use crate::flags::{ThreadFlags, choice};
use crate::run::checkpoint::{CheckpointFlags, Keeper};
use crate::run::progress::{bar, counter};
use crate::run::{interrupt, memory};
use crate::terminal::{note, say};

/// Positions of the progress bar.
const STEPS: f64 = 10_000.0;

/// Learn vectors of words from text
///
/// A word predicts the words around it, and so words that occur in the same places get similar vectors. The text is
/// streamed from disk as often as there are epochs; words are what stands between blanks, as they are, and a sentence
/// is a line. Any symbols will do: products of baskets, nodes of walks. The same seed gives the same vectors for any
/// number of threads. Ctrl-C stops training and saves the result so far: as a checkpoint with --checkpoint, otherwise
/// as a model.
#[derive(clap::Args)]
#[command(
    after_help = "Example: ove embed text.txt -o vectors.model\n         ove similar vectors.model france\n         \
                        ove analogy vectors.model man king woman"
)]
pub struct Args {
    /// Text: words separated by blanks, a sentence per line; may be gzipped
    text: PathBuf,
    /// Model file to write
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    #[command(flatten)]
    settings: Settings,
    /// Memory for counts and vectors, such as 8GB [default: half of that of the machine]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    checkpoint: CheckpointFlags,
}

/// Flags that are settings of the library, with its defaults.
#[derive(clap::Args, Serialize)]
struct Settings {
    /// Length of the vectors [default: 100]
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
    /// Largest distance between neighbours; that of each word is drawn from 1 to this [default: 5]
    #[arg(long, value_name = "N")]
    window: Option<usize>,
    /// Leave out words that occur less often [default: 5]
    #[arg(long, value_name = "N")]
    min_count: Option<u64>,
    /// Subsample words that are a larger share of the text than this; 0 to keep all [default: 0.001]
    #[arg(long, value_name = "SHARE")]
    sample: Option<f64>,
    /// Number of negatives that each neighbour is compared with [default: 5]
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,
    /// Objective to maximise [default: sampled-softmax]
    ///
    /// sampled-softmax picks the neighbour out of itself and the negatives, and one-vs-each compares it with each of
    /// them; normalised also keeps a running normalising constant per word; negative-sampling is the objective of
    /// word2vec.
    #[arg(long, value_parser = choice!(EmbeddingObjective))]
    objective: Option<EmbeddingObjective>,
    /// Also learn vectors of n-grams of these lengths, such as 3-6, which give vectors to unknown words
    #[arg(long, value_name = "N-M", value_parser = lengths)]
    subwords: Option<CharRange>,
    /// Number of buckets that n-grams are hashed into [default: 2000000]
    #[arg(long, value_name = "N", requires = "subwords")]
    buckets: Option<usize>,
    /// Predict a word from the mean of the words around it (CBOW) instead of the other way round
    #[arg(long)]
    cbow: bool,
    /// Number of passes over the text [default: 5]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Learning rate at the start, from which it falls to zero [default: 0.05]
    #[arg(long, value_name = "R")]
    learning_rate: Option<f64>,
    /// Seed of all random numbers [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn lengths(text: &str) -> Result<CharRange, String> {
    text.parse().map_err(|_| format!("`subwords` must be two lengths, such as 3-6, got `{text}`"))
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut settings = serde_json::to_value(&args.settings)?;
    settings["memory"] = args.memory.clone().into();
    let options = EmbeddingOptions::from_settings(&settings)?;
    args.check_files()?;
    let mut keeper = args.checkpoint.open()?;
    let start = Instant::now();
    let trained = interrupt::held(|| {
        let saved = keeper.take_saved();
        let mut follower = Follower { keeper: &mut keeper, counting: None, bar: None, shown: start, before: 0 };
        let corpus = Corpus::File(args.text.clone());
        let fitted = fit_embedding(corpus, &options, saved.as_ref(), &mut |event| follower.follow(event));
        follower.finish();
        let model = match fitted {
            Err(Error::Stopped) => return Ok(None),
            fitted => fitted?,
        };
        model.save(&args.output).context("saving the model")?;
        if model.card.finished || !interrupt::requested() {
            keeper.clear()?;
        }
        anyhow::Ok(Some(model))
    })?;
    match trained {
        Some(model) => args.report(&model, start.elapsed().as_secs_f64()),
        None if keeper.stopped() => {
            note!("stopped; a checkpoint was saved, use --resume to continue");
            Ok(())
        }
        None => {
            note!("stopped while words were counted; no model was saved");
            Ok(())
        }
    }
}

impl Args {
    /// Checks before training that the model file can be created, and that it is not the text.
    fn check_files(&self) -> Result<()> {
        let path = &self.output;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() || path.file_name().is_none() {
            bail!("{}: is a folder; the model must be a file", path.display());
        }
        if !folder.is_dir() {
            bail!("{}: there is no folder {}", path.display(), folder.display());
        }
        files::separate(&[("--output", Some(path))], &[("the text", Some(&self.text))])
    }

    fn report(&self, model: &Model, seconds: f64) -> Result<()> {
        let card = &model.card;
        if !card.finished {
            note!("training was stopped before the end; the model is that so far");
        }
        let bound = card.trace.last().map(|point| point.bound / card.rows as f64);
        let epochs = card.options.epochs.unwrap_or_default();
        let passed = card.trace.last().map_or(0, |point| point.updates);
        if self.json {
            let object = json!({
                "model": self.output,
                "words": model.classes(),
                "text_words": card.rows,
                "epochs": epochs,
                "finished": card.finished,
                "objective": bound,
                "train_seconds": seconds,
                "words_per_second": passed as f64 / seconds,
                "peak_memory_bytes": memory::peak_bytes(),
            });
            say!("{object}")?;
            return Ok(());
        }
        say!("model            {}", self.output.display())?;
        say!("words            {} in a text of {}", model.classes(), card.rows)?;
        say!("train seconds    {seconds:.2} ({epochs} epochs, {:.0} words per second)", passed as f64 / seconds)?;
        if let Some(bound) = bound {
            say!("objective        {bound:.4} per neighbour in the last epoch")?;
        }
        Ok(())
    }
}

/// Observes the training: progress bar, checkpoints and Ctrl-C.
struct Follower<'a> {
    keeper: &'a mut Keeper,
    counting: Option<ProgressBar>,
    bar: Option<ProgressBar>,
    shown: Instant,
    /// Words that were passed before this program began, of a resumed run.
    before: u64,
}

impl Follower<'_> {
    fn follow(&mut self, event: EmbeddingEvent<'_>) -> ControlFlow<Stop> {
        match event {
            EmbeddingEvent::Counting { words } => {
                let bar = self.counting.get_or_insert_with(|| counter("{spinner} counting words: {pos}"));
                bar.set_position(words);
                if interrupt::requested() {
                    return ControlFlow::Break(Stop::Discard);
                }
            }
            EmbeddingEvent::Counted { training } => {
                self.finish();
                note!("{} words in a text of {}", training.words().words().len(), training.tokens());
                self.before = training.passed();
            }
            EmbeddingEvent::Step { training, progress } => {
                self.show(progress);
                if progress.done < 1.0 {
                    return self.keeper.keep(&|path| training.save(path), progress);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn show(&mut self, progress: &Progress) {
        let bar = self.bar.get_or_insert_with(|| bar(STEPS as u64, "{msg}"));
        if bar.is_hidden() || self.shown.elapsed() < Duration::from_millis(100) {
            return;
        }
        self.shown = Instant::now();
        let rate = (progress.updates - self.before) as f64 / bar.elapsed().as_secs_f64();
        bar.set_message(format!("epoch {}  {rate:.0} words/s", progress.epoch));
        bar.set_position((progress.done * STEPS) as u64);
    }

    fn finish(&mut self) {
        [self.counting.take(), self.bar.take()].into_iter().flatten().for_each(|bar| bar.finish_and_clear());
    }
}
