//! What looks like a mistake in data that can be read all the same: each finding with an example.

use std::fmt;

use super::labels::Labels;

/// One row in this many, from which on a finding is worth a warning.
const ONE_IN: usize = 10;

/// Fewer rows are too few to say that there are nearly as many classes.
const MIN_ROWS: usize = 20;

/// Words that name the columns of a file and are rarely texts or labels of their own.
const NAMES: [&str; 36] = [
    "abstract",
    "body",
    "categories",
    "category",
    "class",
    "classes",
    "comment",
    "content",
    "description",
    "document",
    "headline",
    "id",
    "intent",
    "keywords",
    "label",
    "labels",
    "message",
    "name",
    "query",
    "question",
    "review",
    "sentence",
    "sentiment",
    "subject",
    "subjects",
    "summary",
    "tag",
    "tags",
    "target",
    "text",
    "texts",
    "title",
    "titles",
    "topic",
    "topics",
    "tweet",
];

/// Something that looks like a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// The first line names columns.
    Header {
        /// The text and the label of the line.
        text: String,
        /// Its label.
        label: String,
    },
    /// Nearly every row has a class of its own.
    ManyClasses {
        /// Number of classes.
        classes: usize,
        /// Number of rows.
        rows: usize,
        /// The name of one of the classes.
        example: String,
    },
    /// Labels were split at spaces.
    Split {
        /// Number of rows with several labels.
        several: usize,
        /// Number of rows.
        rows: usize,
        /// The labels of one of them.
        example: Vec<String>,
    },
    /// Rows that are both trained on and held out.
    Shared {
        /// Number of held-out rows that are training rows too.
        shared: usize,
        /// Number of held-out rows.
        rows: usize,
        /// The number of the first one, from 1.
        first: usize,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Header { text, label } => {
                write!(f, "the first line, `{text}` with the label `{label}`, looks like a header")
            }
            Doubt::ManyClasses { classes, rows, example } => {
                write!(
                    f,
                    "{classes} classes for {rows} rows, such as `{}`; are texts and labels swapped?",
                    short(example)
                )
            }
            Doubt::Split { several, rows, example } => write!(
                f,
                "{several} of {rows} rows have several labels, split at spaces, such as `{}` with {} labels",
                short(&example.join(" ")),
                example.len()
            ),
            Doubt::Shared { shared, rows, first } => write!(
                f,
                "{shared} of {rows} held-out rows are training rows too, the first of them row {first}; what is measured on \
                 them says little about new rows"
            ),
        }
    }
}

/// The start of a text.
fn short(text: &str) -> String {
    const MOST: usize = 50;
    let cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

impl Doubt {
    /// Whether the first row of texts is a header: `text` is that of the row.
    pub(crate) fn header(text: &str, labels: &Labels, classes: &[String]) -> Option<Doubt> {
        let [label] = labels.iter().next()? else { return None };
        let name = &classes[*label as usize];
        let is_name = |text: &str| NAMES.contains(&text.trim().to_lowercase().as_str());
        let is_word = |text: &str| !text.trim().contains(char::is_whitespace);
        let looks_so = (is_name(text) && is_word(name)) || (is_name(name) && is_word(text));
        let is_only_one = || labels.all().iter().filter(|&other| other == label).count() == 1;
        (looks_so && labels.len() > 1 && is_only_one())
            .then(|| Doubt::Header { text: text.into(), label: name.clone() })
    }

    /// Whether many rows of texts have several labels, which were split at spaces.
    pub(crate) fn split(labels: &Labels, classes: &[String]) -> Option<Doubt> {
        let several = labels.iter().filter(|labels| labels.len() > 1).count();
        let first = labels.iter().find(|labels| labels.len() > 1)?;
        let example = first.iter().map(|&label| classes[label as usize].clone()).collect();
        (several * ONE_IN >= labels.len()).then_some(Doubt::Split { several, rows: labels.len(), example })
    }

    /// Whether there are nearly as many classes as rows.
    pub fn many_classes(classes: &[String], rows: usize) -> Option<Doubt> {
        let example = classes.first()?.clone();
        let is_so = rows >= MIN_ROWS && 4 * classes.len() >= 3 * rows;
        is_so.then_some(Doubt::ManyClasses { classes: classes.len(), rows, example })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Examples};

    /// Rows with one feature each.
    fn data(rows: &[(u32, &[u32])], classes: &[&str]) -> Dataset {
        let mut data = Dataset::new(0, classes.iter().map(|&name| name.into()).collect());
        for &(feature, labels) in rows {
            data.push_entry(feature, 1.0);
            data.end_row(labels);
        }
        data
    }

    fn header(text: &str, data: &Dataset) -> Option<Doubt> {
        Doubt::header(text, &data.labels, &data.classes)
    }

    fn split(data: &Dataset) -> Option<Doubt> {
        Doubt::split(&data.labels, &data.classes)
    }

    #[test]
    fn a_header_is_the_only_row_of_its_label() {
        let once = data(&[(0, &[1]), (1, &[0]), (2, &[0])], &["wood", "label"]);
        let found = header("text", &once).unwrap();
        assert_eq!(found.to_string(), "the first line, `text` with the label `label`, looks like a header");
        assert!(header("Title", &once).is_some() && header("produkt", &once).is_some());
        assert_eq!(header("Timber in the city", &once), None);
        assert_eq!(header("title", &data(&[(0, &[0]), (1, &[0])], &["label"])), None);
    }

    #[test]
    fn labels_that_were_split_and_classes_as_many_as_rows() {
        let rows: Vec<(u32, &[u32])> = (0..20).map(|n| (n, if n < 2 { &[0, 1][..] } else { &[0][..] })).collect();
        let several = data(&rows, &["new", "york"]);
        let found = split(&several).unwrap().to_string();
        assert_eq!(found, "2 of 20 rows have several labels, split at spaces, such as `new york` with 2 labels");
        assert_eq!(split(&data(&rows[1..], &["new", "york"])), None, "one of 19");
        let names: Vec<String> = (0..15).map(|n| format!("text {n}")).collect();
        assert!(Doubt::many_classes(&names, 20).is_some());
        assert_eq!(Doubt::many_classes(&names, 21), None);
        assert_eq!(Doubt::many_classes(&names[..3], 3), None, "too few rows");
    }

    #[test]
    fn rows_on_both_sides_are_found() {
        let train = data(&[(0, &[0]), (1, &[0]), (2, &[0])], &["a"]);
        let mut held_out = data(&[(5, &[0]), (1, &[0]), (2, &[0])], &["a"]);
        held_out.end_row(&[0]);
        let (found, new) = Examples::of(&held_out).shared_with(&Examples::of(&train)).unwrap();
        assert_eq!(found, Doubt::Shared { shared: 2, rows: 4, first: 2 });
        assert_eq!(new, [0, 3]);
        assert!(Examples::of(&data(&[(9, &[0])], &["a"])).shared_with(&Examples::of(&held_out)).is_none());
    }
}
