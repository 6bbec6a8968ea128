//! How much work training may take: the number of trees, what is compared on held-out rows, and the terms of texts.

use super::{ScoreOptions, TrainOptions, TreeOptions};
use crate::data::{Kind, View};
use crate::platform::names::names;
use crate::text::{Language, TextOptions};

/// How much work training may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// Three trees alone; nothing is compared.
    Fast,
    /// Three trees with a second stage, or what else makes the fewest errors on held-out rows.
    #[default]
    Default,
    /// Nine trees on different views of a text, with a second stage.
    Best,
}

names!(Effort, "effort", { Fast => "fast", Default => "default", Best => "best" });

/// Number of trees of the best effort. Each view has three.
const TREES: usize = 9;

/// What trees on different views see, one after the other.
const VIEWS: [&[Kind]; 3] = [&[Kind::Words, Kind::Ngrams], &[Kind::Stems], &[Kind::Chars]];

impl Effort {
    /// The settings of trees that are not given.
    pub(super) fn trees(self) -> TreeOptions {
        let usual = TreeOptions::default();
        match self {
            Effort::Fast => TreeOptions { rivals: 0, ..usual },
            Effort::Default => usual,
            Effort::Best => TreeOptions { trees: TREES, ..usual },
        }
    }
}

/// The views that trees have in turn, given the kind of each feature; none if there is only one.
pub(crate) fn views(kinds: &[Kind]) -> Vec<View> {
    let is_there = |view: &&&[Kind]| view.iter().any(|kind| kinds.contains(kind));
    let views: Vec<View> = VIEWS.iter().filter(is_there).map(|view| View::of(view)).collect();
    if views.len() > 1 { views } else { Vec::new() }
}

impl TrainOptions {
    /// How texts become rows, as far as these settings say: with the best effort, words, their pairs and stems, and for
    /// short texts n-grams of characters. Kinds of terms are kept apart if trees see different ones.
    pub fn text(&self) -> TextOptions {
        let usual = TextOptions::default();
        let has_views = matches!(&self.scores, Some(ScoreOptions::Trees(trees)) if !trees.views.is_empty());
        let takes_views = self.scores.as_ref().is_none_or(|scores| matches!(scores, ScoreOptions::Trees(_)));
        match self.effort {
            Effort::Best if takes_views => TextOptions { ngrams: 2, stem: Some(Language::Auto), apart: true, ..usual },
            _ => TextOptions { apart: has_views, ..usual },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_the_kinds_that_there_are() {
        let names = |kinds: &[Kind]| views(kinds).iter().map(View::to_string).collect::<Vec<_>>();
        assert_eq!(names(&Kind::ALL.repeat(2)), ["words+ngrams", "stems", "chars"]);
        assert_eq!(names(&[Kind::Stems, Kind::Words]), ["words+ngrams", "stems"]);
        assert!(names(&[Kind::Ngrams, Kind::Words]).is_empty() && names(&[]).is_empty());
    }
}
