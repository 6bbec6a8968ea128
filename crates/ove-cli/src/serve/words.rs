//! The server of word vectors: neighbours, analogies, and a map of what was found.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use ove::Model;
use ove::model::WordVectors;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Fault, json};
use super::routes::{Answer, asked, at_most, common};
use super::{Hosts, Server, openapi};

type Words = State<Arc<Server<ServedWords>>>;

/// The words that the page offers to try stand at these parts of all words, whose frequency falls: neither those
/// without a meaning of their own nor rare ones.
const PARTS: [usize; 5] = [300, 100, 50, 30, 20];

/// The served vectors.
pub struct ServedWords {
    vectors: WordVectors,
    /// What they are called: their file without the extension.
    title: String,
    /// The settings and the text of the model; files of others have none.
    trained: Value,
}

impl ServedWords {
    /// Whether a file has word vectors, and not a model that predicts classes.
    pub fn are_in(path: &Path) -> Result<bool> {
        Ok(!WordVectors::is_model(path)? || Model::map(path)?.card.embedding.is_some())
    }

    /// Loads the model of an embedding, or vectors in a form of others.
    pub fn load(path: &Path) -> Result<Self> {
        let title = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !WordVectors::is_model(path)? {
            let what = || format!("{} is neither a model nor a file of word vectors", path.display());
            let vectors = WordVectors::open(path).with_context(what)?;
            return Ok(ServedWords { vectors, title, trained: Value::Null });
        }
        let model = Model::load(path)?;
        let card = &model.card;
        let options = card.embedding.as_ref().map(|embedding| &embedding.options);
        let trained = json!({ "options": options, "text_words": card.rows, "finished": card.finished });
        Ok(ServedWords { vectors: model.word_vectors()?, title, trained })
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.vectors.words().len()
    }

    /// Words that the page offers to try.
    pub fn examples(&self) -> Vec<&str> {
        let mut places = PARTS.map(|part| self.len() / part).to_vec();
        places.dedup();
        places.into_iter().map(|at| self.vectors.words()[at].as_str()).collect()
    }

    fn json(&self) -> Value {
        json!({
            "name": self.title,
            "words": self.len(),
            "rank": self.vectors.rank(),
            "examples": self.examples(),
            "trained": self.trained,
        })
    }

    /// The words that are most similar to some words minus others, and a map of all of them: those that were asked for
    /// come first.
    fn found(&self, [positive, negative]: [&[&str]; 2], all: &[&str], top: usize) -> Result<Value, Fault> {
        let unknown = |error: ove::Error| Fault::new(StatusCode::NOT_FOUND, error.to_string());
        let found = self.vectors.most_similar(positive, negative, top).map_err(unknown)?;
        let words: Vec<&str> = found.iter().map(|one| self.vectors.words()[one.word as usize].as_str()).collect();
        let scores: Vec<f32> = found.iter().map(|one| one.score).collect();
        let shown: Vec<&str> = all.iter().chain(&words).copied().collect();
        let map = self.vectors.map(&shown).map_err(unknown)?;
        Ok(json!({ "words": words, "scores": scores, "map": map }))
    }
}

/// The router of all endpoints.
pub fn router(server: Arc<Server<ServedWords>>, hosts: Hosts) -> Router {
    let own = Router::new()
        .route("/similar", get(similar))
        .route("/analogy", get(analogy))
        .route("/words", get(words))
        .route("/model", get(async |State(server): Words| json(&server.served().json())))
        .route("/openapi.json", get(description));
    common(own, "words", server, hosts)
}

async fn description(State(server): Words) -> Response {
    json(&openapi::words::describe(&server.served(), server.token.is_some()))
}

/// The default of `top`.
pub const TOP: usize = 10;

#[derive(Deserialize)]
struct SimilarQuery {
    word: String,
    top: Option<usize>,
}

/// The neighbours of a word.
async fn similar(State(server): Words, query: Result<Query<SimilarQuery>, QueryRejection>) -> Answer {
    let Query(SimilarQuery { word, top }) = asked(query)?;
    let top = at_most("top", top.unwrap_or(TOP))?;
    let served = server.served();
    let found = server.work.run(move || served.found([&[&word], &[]], &[&word], top));
    Ok(json(&found.await??))
}

#[derive(Deserialize)]
struct AnalogyQuery {
    a: String,
    b: String,
    c: String,
    top: Option<usize>,
}

/// A is to B as C is to these words.
async fn analogy(State(server): Words, query: Result<Query<AnalogyQuery>, QueryRejection>) -> Answer {
    let Query(AnalogyQuery { a, b, c, top }) = asked(query)?;
    let top = at_most("top", top.unwrap_or(TOP))?;
    let served = server.served();
    let found = server.work.run(move || served.found([&[&b, &c], &[&a]], &[&a, &b, &c], top));
    Ok(json(&found.await??))
}

#[derive(Deserialize)]
struct WordsQuery {
    #[serde(default)]
    prefix: String,
    limit: Option<usize>,
}

/// Words that start with a prefix, in the order of the vectors.
async fn words(State(server): Words, query: Result<Query<WordsQuery>, QueryRejection>) -> Answer {
    let Query(WordsQuery { prefix, limit }) = asked(query)?;
    let limit = at_most("limit", limit.unwrap_or(20))?;
    let served = server.served();
    let found = server.work.run(move || {
        let found: Vec<&String> = served.vectors.words().iter().filter(|word| word.starts_with(&prefix)).collect();
        json!({ "words": found[..limit.min(found.len())], "total": found.len() })
    });
    Ok(json(&found.await?))
}
