//! Analogies: "man is to king as woman is to …", in the form of word2vec's questions-words.txt.
//!
//! ```text
//! : family
//! man woman king queen
//! ```
//!
//! A question a b c d is answered by the word that is most similar to b − a + c, other than these three, and is right
//! if that is d. Case is ignored. Questions with a word that is unknown are left out, as in gensim, which gives the
//! same numbers. Sections whose name starts with `gram` are syntactic, the others semantic.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;

use super::{WordVectors, normalise};
use crate::error::{Error, Place, Result};
use crate::io::read::text_lines;
use crate::platform::matrix::{PANEL, multiply, pack_rows_as_columns};
use crate::platform::pool;

/// Questions that a task answers at a time.
const QUESTIONS: usize = 32;

/// Words whose scores a task computes at a time.
const WORDS: usize = 2048;

/// How many questions were answered, and how many of these rightly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnalogySection {
    /// The name of the section.
    pub name: String,
    /// Number of right answers.
    pub correct: usize,
    /// Number of questions whose four words are known.
    pub covered: usize,
    /// Number of questions.
    pub questions: usize,
}

/// The results of a file of analogies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analogies {
    /// The sections in their order.
    pub sections: Vec<AnalogySection>,
}

impl AnalogySection {
    /// The share of right answers among the covered questions.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.covered.max(1) as f64
    }
}

impl Analogies {
    /// The sum over the semantic sections.
    pub fn semantic(&self) -> AnalogySection {
        self.sum("semantic", |section| !section.name.starts_with("gram"))
    }

    /// The sum over the syntactic sections.
    pub fn syntactic(&self) -> AnalogySection {
        self.sum("syntactic", |section| section.name.starts_with("gram"))
    }

    /// The sum over all sections.
    pub fn total(&self) -> AnalogySection {
        self.sum("total", |_| true)
    }

    fn sum(&self, name: &str, belongs: impl Fn(&AnalogySection) -> bool) -> AnalogySection {
        let mut sum = AnalogySection { name: name.into(), correct: 0, covered: 0, questions: 0 };
        for section in self.sections.iter().filter(|section| belongs(section)) {
            sum.correct += section.correct;
            sum.covered += section.covered;
            sum.questions += section.questions;
        }
        sum
    }
}

/// A question with known words, in a section.
struct Question {
    section: usize,
    given: [u32; 3],
    expected: String,
}

impl WordVectors {
    /// Answers the questions of a file, among the `limit` first words or all.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Input`] if a line is not a question.
    pub fn analogies(&self, path: &Path, limit: Option<usize>) -> Result<Analogies> {
        let limit = limit.unwrap_or(usize::MAX).min(self.words().len());
        let numbers = self.by_upper_case(limit);
        let (mut sections, mut questions) = (Vec::new(), Vec::new());
        for (line, text) in (1..).zip(text_lines(path)?) {
            if let Some(name) = text.strip_prefix(':') {
                sections.push(AnalogySection { name: name.trim().into(), correct: 0, covered: 0, questions: 0 });
                continue;
            }
            let words: Vec<String> = text.split_ascii_whitespace().map(str::to_uppercase).collect();
            let wrong = |message: &str| {
                let place = Place { path: path.to_owned(), line, column: 1 };
                Error::Input { place, message: message.to_owned() }
            };
            let [a, b, c, d] = &words[..] else {
                match words.is_empty() {
                    true => continue,
                    false => return Err(wrong("expected four words, or `: section`")),
                }
            };
            let Some(section) = sections.last_mut() else { return Err(wrong("expected `: section` before questions")) };
            section.questions += 1;
            if let (Some(&a), Some(&b), Some(&c), true) =
                (numbers.get(a), numbers.get(b), numbers.get(c), numbers.contains_key(d))
            {
                section.covered += 1;
                questions.push(Question { section: sections.len() - 1, given: [a, b, c], expected: d.clone() });
            }
        }
        for (question, is_right) in questions.iter().zip(self.answer(&questions, &numbers, limit)) {
            sections[question.section].correct += usize::from(is_right);
        }
        Ok(Analogies { sections })
    }

    /// Whether each question is answered rightly.
    fn answer(&self, questions: &[Question], numbers: &HashMap<String, u32>, limit: usize) -> Vec<bool> {
        let rank = self.rank;
        let mut columns = vec![0.0; limit.next_multiple_of(PANEL) * rank];
        pack_rows_as_columns(&self.units[..limit * rank], rank, &mut columns);
        // Only the first word of each upper-case form can be an answer.
        let mut is_answer = vec![false; limit];
        numbers.values().for_each(|&word| is_answer[word as usize] = true);
        let answers = |questions: &[Question]| -> Vec<bool> {
            let wanted: Vec<f32> = questions.iter().flat_map(|question| self.wanted(question.given)).collect();
            let mut best = vec![(f32::NEG_INFINITY, 0); questions.len()];
            let mut scores = vec![0.0; questions.len() * WORDS];
            for (block, columns) in columns.chunks(WORDS * rank).enumerate() {
                let (first, width) = (block * WORDS, columns.len() / rank);
                let scores = &mut scores[..questions.len() * width];
                multiply(&wanted, rank, rank, columns, scores);
                for ((scores, best), question) in scores.chunks(width).zip(&mut best).zip(questions) {
                    for (&score, word) in scores.iter().zip(first..limit) {
                        if score > best.0 && is_answer[word] && !question.given.contains(&(word as u32)) {
                            *best = (score, word);
                        }
                    }
                }
            }
            let is_right =
                |(&(_, word), question): (&(f32, usize), &Question)| numbers[&question.expected] as usize == word;
            best.iter().zip(questions).map(is_right).collect()
        };
        pool::run(|| questions.par_chunks(QUESTIONS).flat_map_iter(answers).collect())
    }

    /// b − a + c of unit vectors, at length one.
    fn wanted(&self, [a, b, c]: [u32; 3]) -> Vec<f32> {
        let (a, b, c) = (self.unit_of(a), self.unit_of(b), self.unit_of(c));
        let mut sum: Vec<f32> = a.iter().zip(b).zip(c).map(|((a, b), c)| b - a + c).collect();
        normalise(&mut sum);
        sum
    }
}
