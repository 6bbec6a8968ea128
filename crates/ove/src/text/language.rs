//! The language of texts, by its most frequent words.

use super::Language;
use super::words::{each_word, lower_into};

/// Words that make up a large part of any text in a language and are rare in the others.
const FREQUENT: [(Language, &[&str]); 15] = [
    (Language::Danish, &["og", "det", "af", "ikke", "til", "en", "den", "som", "der", "et", "fra", "på"]),
    (Language::Dutch, &["de", "het", "een", "van", "en", "niet", "zijn", "voor", "met", "op", "aan", "uit"]),
    (Language::English, &["the", "of", "and", "in", "to", "a", "for", "is", "on", "with", "by", "from"]),
    (Language::Finnish, &["ja", "on", "ei", "että", "se", "oli", "mutta", "hän", "kuin", "ovat", "sekä", "suomen"]),
    (Language::French, &["le", "la", "les", "des", "et", "du", "une", "dans", "pour", "est", "sur", "à"]),
    (Language::German, &["der", "die", "und", "das", "des", "von", "für", "ein", "eine", "nicht", "mit", "im"]),
    (Language::Greek, &["και", "το", "η", "του", "της", "για", "την", "με", "που", "από", "των", "στην"]),
    (Language::Hungarian, &["a", "az", "és", "hogy", "nem", "egy", "is", "meg", "csak", "ez", "volt", "mint"]),
    (Language::Italian, &["il", "di", "che", "della", "e", "gli", "per", "una", "con", "nel", "del", "sono"]),
    (Language::Norwegian, &["og", "det", "ikke", "av", "til", "en", "den", "som", "for", "på", "fra", "jeg"]),
    (Language::Portuguese, &["o", "de", "que", "do", "da", "em", "um", "uma", "os", "não", "no", "para"]),
    (Language::Russian, &["и", "в", "не", "на", "что", "с", "по", "как", "из", "для", "это", "от"]),
    (Language::Spanish, &["el", "de", "que", "y", "los", "las", "en", "una", "por", "con", "del", "para"]),
    (Language::Swedish, &["och", "att", "det", "inte", "av", "till", "en", "den", "som", "för", "på", "från"]),
    (Language::Turkish, &["ve", "bir", "bu", "için", "ile", "da", "de", "olarak", "çok", "gibi", "daha", "olan"]),
];

/// Number of texts that are looked at, spread evenly.
const TEXTS: usize = 2000;

/// A language is found if at least this many words are among its frequent ones, ...
const FEWEST: usize = 3;

/// ... which is at least one word in this many, ...
const ONE_IN: usize = 20;

/// ... and this many times as many as of any other language, in percent.
const LEAD: usize = 130;

/// The language of texts; `None` if there is none that stands out.
pub(super) fn detect(texts: &[&str]) -> Option<Language> {
    let (mut lower, mut words, mut counts) = (String::new(), 0, [0; FREQUENT.len()]);
    for text in texts.iter().step_by(texts.len().div_ceil(TEXTS).max(1)) {
        lower_into(text, &mut lower);
        each_word(&lower, &mut |range| {
            words += 1;
            let word = &lower[range];
            let of_languages = FREQUENT.iter().zip(&mut counts).filter(|((_, frequent), _)| frequent.contains(&word));
            of_languages.for_each(|(_, count)| *count += 1);
        });
    }
    let best = (0..FREQUENT.len()).max_by_key(|&at| (counts[at], std::cmp::Reverse(at)))?;
    let second = (0..FREQUENT.len()).filter(|&at| at != best).map(|at| counts[at]).max()?;
    let is_common = counts[best] >= FEWEST && counts[best] * ONE_IN >= words;
    let stands_out = counts[best] * 100 >= second * LEAD;
    (is_common && stands_out).then_some(FREQUENT[best].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_by_their_frequent_words() {
        for (language, text) in [
            (Language::English, "The history of the city and its people, from the middle ages to the present"),
            (Language::German, "Die Geschichte der Stadt und ihrer Bewohner von den Anfängen bis in die Gegenwart"),
            (Language::Finnish, "Kaupungin historia ja sen asukkaat: mitä oli ennen, mutta ei ole enää, ja mitä on"),
            (Language::French, "Les habitants de la ville et leur histoire, dans les siècles passés et pour la suite"),
            (Language::Spanish, "La historia de la ciudad y los habitantes, por una parte, y el presente por otra"),
            (
                Language::Swedish,
                "Stadens historia och dess invånare, från medeltiden till nutiden, som det var för oss",
            ),
            (Language::Russian, "История города и его жителей, что было в нём и как это есть на сегодня"),
        ] {
            assert_eq!(detect(&[text]), Some(language), "{text}");
        }
    }

    #[test]
    fn names_have_no_language() {
        assert_eq!(detect(&["Casas Vila", "Sol'deu", "les Escaldes"]), None);
        assert_eq!(detect(&["", "!"]), None);
        assert_eq!(detect(&[]), None);
    }
}
