//! Data with the shape of AmazonCat-13K with one label per row, the paper's largest data set.
//!
//! **Classes** have the sizes of `classes`: the largest has 19 % of the rows, 15 have half, and hundreds have one
//! row. Eight classes of similar size form a group of *rivals*.
//!
//! **Features** are like the words of a text. The r-th most frequent (r from 0) has, by Zipf's law in Mandelbrot's
//! form,
//!
//! ```text
//! p(r) ∝ 1 / (r + 20)
//! ```
//!
//! A *topic* is 64 features drawn from p; the j-th of them (j from 1) is used with probability ∝ 1/j. Each class has
//! its own topic, and so has each group of rivals.
//!
//! **A row** of class y has a log-normal length. It is mixed with one of the rivals, z (which may be y itself), by an
//! ambiguity m, uniform in \[0, 0.85), and each of its words comes from
//!
//! ```text
//! 60 %              p, for any class
//! 15 %              the topic of the rivals
//! 25 % · (1 − m)    the topic of y
//! 25 % · m          the topic of z
//! ```
//!
//! The real data are similar: a product has five categories on average, and the one that is kept as its class is not
//! always the one that its text is about. If m > ½, the row resembles z, so that no model can separate rivals without
//! error: the best linear one has an error of about a third.
//!
//! **Values** are tf·idf at unit length, in thousandths: v_d ∝ count_d · ln(1/s_d), with s_d = 5/(r + 20), about the
//! share of rows that have the feature d of rank r by p alone.
//!
//! Every row has its own random stream, so rows can be generated in any order with the same bits. The numbering of
//! classes and features is random, too: as in real data, frequent ones are not adjacent in memory.

mod classes;

use std::ops::{ControlFlow, Range};
use std::path::Path;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::platform::elementary::{exp, ln};
use crate::platform::names::names;
use crate::platform::random::Stream;
use crate::synthetic::text::{self, Lines, Size, Written};
use classes::Labels;

/// Number of training rows of the real data set.
pub(crate) const TRAIN_ROWS: usize = 1_186_239;
/// Number of test rows of the real data set.
pub(crate) const TEST_ROWS: usize = 306_759;
/// Number of features.
pub(crate) const FEATURES: usize = 203_882;
/// Number of classes.
pub(crate) const CLASSES: usize = 2_919;

/// Number of classes in a group of rivals.
const RIVALS: usize = 8;
/// Number of features in a topic.
const TOPIC: usize = 64;
/// Mandelbrot's offset of the rank: the most frequent words of a language are left out of such data.
const SHIFT: f64 = 20.0;
/// s_d·(r + SHIFT).
const SPREAD: f64 = 5.0;
/// The share of words drawn from p.
const COMMON: f64 = 0.6;
/// The share of words from the topic of the rivals.
const SHARED: f64 = 0.15;
/// Maximum ambiguity m.
const MAX_AMBIGUITY: f64 = 0.85;
/// Median number of words per row, counted with repetition, and the standard deviation of its logarithm.
const WORDS: f64 = 73.0;
const WORDS_DEVIATION: f64 = 0.45;
/// Approximate number of distinct features per row.
const ENTRIES: usize = 73;
/// Values are multiples of 1/STEPS.
const STEPS: f64 = 1000.0;

/// The purpose of a random stream; the second part of its key, after the seed.
#[derive(Clone, Copy)]
enum Purpose {
    FeatureNumbers = 100,
    ClassNumbers,
    Order,
    Topic,
    SharedTopic,
    Row,
}

fn stream(seed: u64, purpose: Purpose, which: &[u64]) -> Stream {
    Stream::of(&[&[seed, purpose as u64], which].concat())
}

/// The part of a data set: training rows or test rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Training rows, with at least one row per class.
    Train,
    /// Test rows.
    Test,
}

names!(Part, "part", { Train => "train", Test => "test" });

/// A generator of rows for a seed and size.
#[derive(Debug, Clone)]
pub struct AmazonCat {
    seed: u64,
    labels: Labels,
    common: Zipf,
    within_topic: Zipf,
    /// Features from the most to the least frequent.
    by_rank: Vec<u32>,
    /// ln(1/s_d) of each feature.
    rarity: Vec<f32>,
    /// The features of each class's topic, concatenated.
    topics: Vec<u32>,
    /// The features of each rival group's topic, concatenated.
    shared_topics: Vec<u32>,
}

impl AmazonCat {
    /// A data set with `scale` times the rows of the real one and all of its features.
    ///
    /// It has all classes if there are four rows per class on average (from a scale of 0.0099), otherwise fewer.
    ///
    /// # Errors
    /// [`Error::Setting`] if the scale is out of range.
    pub fn new(seed: u64, scale: f64) -> Result<Self> {
        if !(1e-4..=10.0).contains(&scale) {
            return Err(Error::setting("scale", "be between 0.0001 and 10", scale));
        }
        let scaled = |rows: usize| (rows as f64 * scale).round() as usize;
        let labels = Labels::new(seed, scaled(TRAIN_ROWS), scaled(TEST_ROWS));
        let common = Zipf::new(FEATURES, SHIFT);

        let mut by_rank: Vec<u32> = (0..FEATURES as u32).collect();
        stream(seed, Purpose::FeatureNumbers, &[]).shuffle(&mut by_rank);
        let mut rarity = vec![0.0; FEATURES];
        for (rank, &feature) in by_rank.iter().enumerate() {
            rarity[feature as usize] = ln((rank as f64 + SHIFT) / SPREAD) as f32;
        }
        let draw_topics = |purpose, count: usize| {
            let topic = |which| {
                let mut random = stream(seed, purpose, &[which]);
                let (common, by_rank) = (&common, &by_rank);
                (0..TOPIC).map(move |_| by_rank[common.draw(&mut random)])
            };
            (0..count as u64).flat_map(topic).collect()
        };
        let topics = draw_topics(Purpose::Topic, labels.classes());
        let shared_topics = draw_topics(Purpose::SharedTopic, labels.classes().div_ceil(RIVALS));
        Ok(AmazonCat {
            seed,
            labels,
            common,
            within_topic: Zipf::new(TOPIC, 1.0),
            by_rank,
            rarity,
            topics,
            shared_topics,
        })
    }

    /// Number of rows of a part.
    pub fn rows(&self, part: Part) -> usize {
        self.labels.ranks(part).len()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        FEATURES
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.labels.classes()
    }

    /// The rows of a part in memory. Both parts list all classes, named by their numbers.
    pub fn dataset(&self, part: Part) -> Dataset {
        let mut data = Dataset::new(FEATURES, (0..self.classes()).map(|class| class.to_string()).collect());
        data.reserve(self.rows(part), self.rows(part) * ENTRIES);
        let make = |rows: Range<usize>| {
            let mut draft = Draft::default();
            rows.map(|n| (self.draw(part, n, &mut draft), draft.entries.clone())).collect::<Vec<_>>()
        };
        let take = |rows: Vec<(u32, Vec<Entry>)>| {
            for (label, entries) in rows {
                entries.iter().for_each(|entry| data.push_entry(entry.feature, entry.value()));
                data.end_row(&[label]);
            }
            Ok(())
        };
        text::in_chunks(self.rows(part), make, take).expect("adding rows in memory does not fail");
        data
    }

    /// Writes the rows of a part to a file, atomically.
    ///
    /// `watch` is called with the number of rows so far and may stop the work, which is an error.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written, or `watch` stopped the work.
    pub fn write(&self, part: Part, path: &Path, watch: &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Written> {
        let make = |rows: Range<usize>| {
            let (mut lines, mut draft) = (Lines::default(), Draft::default());
            for n in rows {
                let label = self.draw(part, n, &mut draft);
                lines.push(label, draft.entries.iter().map(|entry| (entry.feature, entry.steps)));
            }
            lines
        };
        let size = Size { rows: self.rows(part), features: self.features(), classes: self.classes() };
        text::write(path, size, make, watch)
    }

    /// Draws the entries of a row into the draft and returns its class.
    fn draw(&self, part: Part, n: usize, draft: &mut Draft) -> u32 {
        let rank = self.labels.ranks(part)[n] as usize;
        let mut random = stream(self.seed, Purpose::Row, &[part as u64, n as u64]);
        self.draw_words(rank, &mut random, &mut draft.words);
        draft.words.sort_unstable();
        self.weight(draft);
        self.labels.number(rank)
    }

    /// Draws the words of a row of the class with a given rank.
    fn draw_words(&self, class: usize, random: &mut Stream, words: &mut Vec<u32>) {
        let group = class / RIVALS;
        let rivals = group * RIVALS..self.classes().min((group + 1) * RIVALS);
        let rival = rivals.start + random.below(rivals.len() as u64) as usize;
        let ambiguity = MAX_AMBIGUITY * random.uniform();
        let count = (WORDS * exp(WORDS_DEVIATION * random.normal())).ceil() as usize;

        words.clear();
        words.extend((0..count).map(|_| {
            // The part of the unit interval that contains `source` is the source of the word.
            let source = random.uniform();
            let (topics, which) = if source < COMMON {
                return self.by_rank[self.common.draw(random)];
            } else if source < COMMON + SHARED {
                (&self.shared_topics, group)
            } else if source < 1.0 - (1.0 - COMMON - SHARED) * ambiguity {
                (&self.topics, class)
            } else {
                (&self.topics, rival)
            };
            topics[which * TOPIC + self.within_topic.draw(random)]
        }));
    }

    /// Converts the sorted words of a draft to entries weighted by tf·idf.
    fn weight(&self, draft: &mut Draft) {
        let same = || draft.words.chunk_by(|a, b| a == b);
        let weight = |same: &[u32]| same.len() as f64 * f64::from(self.rarity[same[0] as usize]);
        let length = same().map(|same| weight(same).powi(2)).sum::<f64>().sqrt();
        draft.entries.clear();
        draft.entries.extend(same().map(|same| {
            // At least 1: a value of 0 would not be an entry.
            let steps = (STEPS * weight(same) / length).round().max(1.0) as u32;
            Entry { feature: same[0], steps }
        }));
    }
}

/// Buffers for a row, reused from row to row.
#[derive(Default)]
struct Draft {
    words: Vec<u32>,
    entries: Vec<Entry>,
}

/// A feature with its value in multiples of 1/STEPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    feature: u32,
    steps: u32,
}

impl Entry {
    /// The float nearest to the decimals that [`text`] writes: both operands are exact, so the quotient is rounded
    /// once.
    fn value(self) -> f32 {
        self.steps as f32 / STEPS as f32
    }
}

/// Zipf's law on 0..n: k has a probability ∝ ln((k + 1 + shift)/(k + shift)), which is near 1/(k + shift).
#[derive(Debug, Clone)]
struct Zipf {
    n: usize,
    shift: f64,
    /// ln((n + shift)/shift).
    range: f64,
}

impl Zipf {
    fn new(n: usize, shift: f64) -> Self {
        Zipf { n, shift, range: ln((n as f64 + shift) / shift) }
    }

    #[inline]
    fn draw(&self, random: &mut Stream) -> usize {
        let x = self.shift * exp(random.uniform() * self.range) - self.shift;
        (x as usize).min(self.n - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::io::read::{ReadOptions, read};

    fn rows(data: &Dataset) -> Vec<(&str, &[u32], &[f32])> {
        let names = data.labels.iter().map(|labels| data.classes[labels[0] as usize].as_str());
        data.rows().iter(0..data.len()).zip(names).map(|(row, name)| (name, row.indices, row.values)).collect()
    }

    #[test]
    fn rows_are_like_those_of_the_real_set() {
        let data = AmazonCat::new(0, 0.02).unwrap().dataset(Part::Train);
        assert_eq!((data.len(), data.features(), data.classes.len()), (23_725, FEATURES, CLASSES));

        let entries = data.rows().entries() as f64 / data.len() as f64;
        assert!((entries - 71.0).abs() < 1.5, "{entries} features a row");
        let unit = |row: crate::Row<'_>| {
            let length: f64 = row.values.iter().map(|&v| f64::from(v).powi(2)).sum();
            (length - 1.0).abs() < 0.05 && row.values.iter().all(|&v| v > 0.0)
        };
        assert!(data.rows().iter(0..data.len()).all(unit));
    }

    /// Ten times the rank, a tenth of the frequency, for ranks much larger than the shift.
    #[test]
    fn features_follow_zipfs_law() {
        let data = AmazonCat::new(0, 0.02).unwrap().dataset(Part::Train);
        let mut counts = vec![0; FEATURES];
        for row in data.rows().iter(0..data.len()) {
            row.indices.iter().for_each(|&feature| counts[feature as usize] += 1);
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let near = |rank: usize| counts[rank * 9 / 10..rank * 11 / 10].iter().sum::<u32>() as f64 / (rank / 5) as f64;
        let slope = (near(10_000) / near(1_000)).log10();
        assert!((-1.2..-0.8).contains(&slope), "{slope}");
    }

    #[test]
    fn every_class_has_a_row_to_train_on() {
        for scale in [0.0001, 0.003, 0.01] {
            let mut data = AmazonCat::new(2, scale).unwrap().dataset(Part::Train);
            let classes = data.classes.len();
            data.drop_unused_classes();
            assert_eq!(data.classes.len(), classes, "{scale}");
        }
    }

    #[test]
    fn same_bits_for_any_number_of_threads_and_other_rows_for_another_seed() {
        let make = |seed, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| AmazonCat::new(seed, 0.005).unwrap().dataset(Part::Test))
        };
        let (one, three, other) = (make(0, 1), make(0, 3), make(1, 1));
        assert!(rows(&one) == rows(&three));
        assert!(rows(&one) != rows(&other));
    }

    #[test]
    fn text_reads_back_to_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let set = AmazonCat::new(0, 0.003).unwrap();
        for &part in Part::ALL {
            let path = folder.path().join(format!("{part}.txt"));
            let written = set.write(part, &path, &mut |_| ControlFlow::Continue(())).unwrap();
            let (text, memory) = (read(&path, &ReadOptions::default()).unwrap(), set.dataset(part));
            assert!(rows(&text) == rows(&memory), "{part}");
            assert_eq!(text.features(), FEATURES);
            assert_eq!((written.rows, written.entries), (memory.len(), memory.rows().entries()));
            assert_eq!(written.bytes, path.metadata().unwrap().len());
        }
    }

    #[test]
    fn a_stopped_writer_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.txt");
        let mut reported = 0;
        let stop = &mut |rows| {
            reported = rows;
            ControlFlow::Break(())
        };
        let error = AmazonCat::new(0, 0.01).unwrap().write(Part::Train, &path, stop).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error}");
        assert_eq!(reported, text::CHUNK);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn scale_has_a_range() {
        for scale in [0.0, -1.0, f64::NAN, 11.0] {
            let refused = AmazonCat::new(0, scale).err();
            assert!(matches!(refused, Some(Error::Setting { ref name, .. }) if name == "scale"), "{scale}");
        }
    }
}
