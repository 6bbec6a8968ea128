//! Titles of made-up books on a subject in a country: short texts of readable words, in a thousand classes.
//!
//! A class is a subject with a country, such as `birds-norway`. A title has one to three words of its subject and, most
//! of the time, one of its country; some words belong to two subjects, and some titles name no country, so that no
//! model can be sure of them.

use ove::platform::elementary::powf;
use ove::platform::random::Stream;

/// Texts with a label each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Titles {
    /// The titles.
    pub texts: Vec<String>,
    /// The class of each.
    pub labels: Vec<String>,
}

/// Number of classes of [`titles`].
pub const CLASSES: usize = SUBJECTS.len() * COUNTRIES.len();

/// The share of titles without a word of their country, and of those with a word of another subject.
const WITHOUT_COUNTRY: f64 = 0.12;
const WITH_OTHER: f64 = 0.15;

/// Subjects with their words; the first word is the name.
const SUBJECTS: [[&str; 7]; 32] = [
    ["birds", "owls", "nests", "flight", "herons", "feathers", "migration"],
    ["fish", "salmon", "herring", "nets", "rivers", "trout", "catch"],
    ["forests", "trees", "timber", "birch", "felling", "mushrooms", "paths"],
    ["houses", "timber", "roofs", "rooms", "walls", "kitchens", "brick"],
    ["ships", "sails", "harbours", "crews", "rivers", "anchors", "wrecks"],
    ["music", "songs", "choirs", "fiddles", "dances", "melodies", "concerts"],
    ["painting", "portraits", "colours", "galleries", "canvas", "landscapes", "light"],
    ["poetry", "verse", "poems", "rhymes", "songs", "ballads", "translations"],
    ["bread", "flour", "ovens", "bakers", "rye", "kitchens", "recipes"],
    ["wine", "vineyards", "cellars", "grapes", "harvest", "tasting", "barrels"],
    ["stars", "telescopes", "planets", "night", "light", "comets", "observatories"],
    ["weather", "storms", "rain", "clouds", "winters", "forecasts", "drought"],
    ["railways", "trains", "stations", "bridges", "timetables", "tunnels", "steam"],
    ["law", "courts", "judges", "contracts", "trials", "statutes", "justice"],
    ["schools", "teachers", "pupils", "lessons", "reading", "classrooms", "exams"],
    ["medicine", "doctors", "hospitals", "nurses", "epidemics", "surgery", "herbs"],
    ["gardens", "roses", "herbs", "lawns", "orchards", "seeds", "paths"],
    ["wars", "battles", "soldiers", "sieges", "treaties", "fortresses", "letters"],
    ["kings", "queens", "crowns", "courts", "dynasties", "palaces", "treaties"],
    ["churches", "bells", "monks", "choirs", "altars", "pilgrims", "towers"],
    ["mining", "copper", "shafts", "miners", "tunnels", "ore", "coal"],
    ["trade", "merchants", "markets", "prices", "salt", "contracts", "fairs"],
    ["theatre", "stages", "actors", "plays", "comedies", "masks", "audiences"],
    ["mountains", "glaciers", "climbing", "summits", "passes", "avalanches", "huts"],
    ["languages", "dialects", "grammar", "words", "dictionaries", "translations", "alphabets"],
    ["cheese", "milk", "dairies", "goats", "cellars", "pastures", "recipes"],
    ["football", "clubs", "stadiums", "goals", "matches", "trainers", "leagues"],
    ["newspapers", "journalists", "headlines", "printing", "editors", "letters", "censors"],
    ["elections", "parties", "voters", "parliaments", "campaigns", "ministers", "ballots"],
    ["textiles", "wool", "looms", "weavers", "linen", "colours", "patterns"],
    ["horses", "stables", "riders", "races", "saddles", "breeding", "fairs"],
    ["lighthouses", "coasts", "keepers", "lamps", "storms", "islands", "wrecks"],
];

/// Countries with their words; the first word is the name.
const COUNTRIES: [[&str; 5]; 32] = [
    ["norway", "norwegian", "oslo", "bergen", "fjords"],
    ["finland", "finnish", "helsinki", "turku", "lakeland"],
    ["sweden", "swedish", "stockholm", "uppsala", "gotland"],
    ["denmark", "danish", "copenhagen", "aarhus", "jutland"],
    ["iceland", "icelandic", "reykjavik", "akureyri", "geysers"],
    ["ireland", "irish", "dublin", "cork", "galway"],
    ["scotland", "scottish", "edinburgh", "glasgow", "highlands"],
    ["wales", "welsh", "cardiff", "swansea", "snowdonia"],
    ["england", "english", "london", "york", "cornwall"],
    ["france", "french", "paris", "lyon", "brittany"],
    ["spain", "spanish", "madrid", "seville", "catalonia"],
    ["portugal", "portuguese", "lisbon", "porto", "algarve"],
    ["italy", "italian", "rome", "venice", "tuscany"],
    ["greece", "greek", "athens", "crete", "aegean"],
    ["turkey", "turkish", "istanbul", "ankara", "anatolia"],
    ["germany", "german", "berlin", "hamburg", "bavaria"],
    ["austria", "austrian", "vienna", "salzburg", "tyrol"],
    ["switzerland", "swiss", "zurich", "geneva", "alps"],
    ["poland", "polish", "warsaw", "krakow", "silesia"],
    ["estonia", "estonian", "tallinn", "tartu", "baltic"],
    ["latvia", "latvian", "riga", "daugava", "baltic"],
    ["hungary", "hungarian", "budapest", "danube", "puszta"],
    ["romania", "romanian", "bucharest", "transylvania", "danube"],
    ["ukraine", "ukrainian", "kyiv", "lviv", "steppe"],
    ["russia", "russian", "moscow", "siberia", "volga"],
    ["egypt", "egyptian", "cairo", "alexandria", "nile"],
    ["morocco", "moroccan", "marrakesh", "fez", "atlas"],
    ["india", "indian", "delhi", "mumbai", "ganges"],
    ["china", "chinese", "beijing", "shanghai", "yangtze"],
    ["japan", "japanese", "tokyo", "kyoto", "hokkaido"],
    ["brazil", "brazilian", "salvador", "amazon", "bahia"],
    ["canada", "canadian", "montreal", "yukon", "ontario"],
];

/// What stands around the words, with one place for each.
const FORMS: [[&str; 4]; 8] = [
    ["", " and ", " of ", ""],
    ["A history of ", " and ", ", ", ""],
    ["The ", " and the ", " in ", ""],
    ["Old ", ", new ", ": ", " from the archives"],
    ["On ", " without ", " near ", ""],
    ["", ", ", " and ", " for beginners"],
    ["Between ", " and ", ": essays on ", ""],
    ["The last ", ", the first ", " and ", ""],
];

/// Titles with their classes, which follow Zipf's law. Different values of `part` give training and test titles.
pub fn titles(rows: usize, seed: u64, part: u64) -> Titles {
    let mut titles = Titles { texts: Vec::with_capacity(rows), labels: Vec::with_capacity(rows) };
    // Every subject is frequent in some countries.
    let mut order: Vec<usize> = (0..CLASSES).collect();
    Stream::of(&[seed, 5]).shuffle(&mut order);
    for n in 0..rows {
        let mut random = Stream::of(&[seed, 4, part, n as u64]);
        let class = order[zipf(&mut random)];
        let (subject, country) = (&SUBJECTS[class / COUNTRIES.len()], &COUNTRIES[class % COUNTRIES.len()]);
        titles.texts.push(title(subject, country, &mut random));
        titles.labels.push(format!("{}-{}", subject[0], country[0]));
    }
    titles
}

/// A rank below [`CLASSES`] with a probability near ∝ rank^−0.6, by inversion of the continuous distribution.
fn zipf(random: &mut Stream) -> usize {
    let share = 1.0 + random.uniform() * (powf(CLASSES as f64 + 1.0, 0.4) - 1.0);
    (powf(share, 2.5) as usize - 1).min(CLASSES - 1)
}

fn title(subject: &[&str], country: &[&str], random: &mut Stream) -> String {
    fn one<'a>(words: &[&'a str], random: &mut Stream) -> &'a str {
        words[random.below(words.len() as u64) as usize]
    }
    let mut words = [one(subject, random), one(subject, random), one(country, random)];
    if random.uniform() < WITH_OTHER {
        words[1] = one(&SUBJECTS[random.below(SUBJECTS.len() as u64) as usize], random);
    }
    if random.uniform() < WITHOUT_COUNTRY {
        words[2] = one(subject, random);
    }
    let form = FORMS[random.below(FORMS.len() as u64) as usize];
    // Names of places and their adjectives, as they are written.
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let written = words.map(|word| if country.contains(&word) { capital(word) } else { word.to_owned() });
    let [before, between, at, after] = form;
    let text = format!("{before}{}{between}{}{at}{}{after}", written[0], written[1], written[2]);
    capital(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_have_words_of_their_class() {
        let made = titles(2000, 0, 0);
        assert_eq!(made, titles(2000, 0, 0));
        assert_ne!(made, titles(2000, 0, 1));
        let mut with_country = 0;
        for (text, label) in made.texts.iter().zip(&made.labels) {
            let (subject, country) = label.split_once('-').unwrap();
            let text = text.to_lowercase();
            let words = |names: &[&str]| names.iter().any(|word| text.contains(word));
            assert!(words(SUBJECTS.iter().find(|words| words[0] == subject).unwrap()), "{label}: {text}");
            with_country += usize::from(words(COUNTRIES.iter().find(|words| words[0] == country).unwrap()));
        }
        assert!((1700..1850).contains(&with_country), "{with_country}");
        let classes: std::collections::HashSet<&String> = made.labels.iter().collect();
        assert!(classes.len() > CLASSES / 2, "{} classes", classes.len());
    }
}
