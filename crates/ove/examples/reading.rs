//! How fast raw text becomes rows: reading a file and vectorising it, without anything after that.
//!
//! ```sh
//! cargo run --release -p ove --example reading -- titles.tsv [ngrams [chars]]
//! ```

use std::path::PathBuf;
use std::time::Instant;

use ove::io::read::{ReadOptions, read_texts};
use ove::text::TextOptions;

const RUNS: usize = 7;

fn main() -> ove::Result<()> {
    let mut words = std::env::args().skip(1);
    let Some(path) = words.next().map(PathBuf::from) else {
        println!("no file of texts given: nothing to read");
        return Ok(());
    };
    let ngrams = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let chars = words.next().map(|range| range.parse()).transpose()?;
    let options = TextOptions { ngrams, chars, ..TextOptions::default() };
    let megabytes = std::fs::metadata(&path).map_or(0.0, |facts| facts.len() as f64 / 1e6);
    let mut seconds = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let texts = read_texts(&path, &ReadOptions::default())?;
        let read = start.elapsed().as_secs_f64();
        let (text, data) = texts.fit(&options)?;
        let both = start.elapsed().as_secs_f64();
        println!(
            "{} texts, {} features: {read:.3} s to read, {:.3} s to vectorise, {:.0} MB/s",
            data.len(),
            text.len(),
            both - read,
            megabytes / both
        );
        seconds.push(both);
    }
    seconds.sort_by(f64::total_cmp);
    println!("median {:.0} MB/s, best {:.0} MB/s", megabytes / seconds[RUNS / 2], megabytes / seconds[0]);
    Ok(())
}
