//! The requests of Annif's `http` backend, which asks another server for the subjects of a text:
//!
//! ```text
//! GET  /v1/projects/NAME            whether the project is trained, and when
//! POST /v1/projects/NAME/suggest    text=…&limit=…  →  {"results": [{"uri": …, "label": …, "notation": null, "score": …}]}
//! ```
//!
//! The labels of the model are the URIs of subjects, and their display names the labels. As Annif's own backends do, a
//! text without a word that the model knows has no subjects.

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::answer::{Fault, json};
use super::request::{Input, MOST_CLASSES, Predict, Wanted};
use super::served::Served;
use super::work::Found;
use super::{Server, body};

/// The paths of this module in the metrics, which have no names of projects.
pub const PATHS: [&str; 2] = ["/v1/projects/{project}", "/v1/projects/{project}/suggest"];

/// What Annif calls the model that is served.
#[derive(Debug, Clone)]
pub struct Project(pub String);

impl FromStr for Project {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !name.is_empty() && name.bytes().all(is_plain) {
            return Ok(Project(name.to_owned()));
        }
        Err(format!("must have only letters, digits, `-` and `_`, got `{name}`"))
    }
}

/// A form, as far as it is of interest; Annif's fields for metadata are not.
#[derive(Debug, PartialEq)]
struct Form {
    text: String,
    limit: usize,
    threshold: f64,
}

/// The routes of a project.
pub fn routes() -> Router<Arc<Server<Served>>> {
    let [project, suggestions] = PATHS;
    Router::new().route(project, get(describe)).route(suggestions, post(suggest))
}

/// The path in the metrics.
pub fn counted_as(path: &str) -> Option<&'static str> {
    let rest = path.strip_prefix("/v1/projects/")?;
    Some(if rest.ends_with("/suggest") { PATHS[1] } else { PATHS[0] })
}

async fn describe(State(server): State<Arc<Server<Served>>>, Path(name): Path<String>) -> Result<Response, Fault> {
    let served = server.served();
    check(&served, &name)?;
    let time = served.saved.map(|time| humantime::format_rfc3339_seconds(time).to_string());
    Ok(json(&json!({
        "project_id": name,
        "name": served.title(),
        // Undetermined: a model does not know the language of its texts.
        "language": "und",
        "backend": { "backend_id": "ove" },
        "is_trained": true,
        "modification_time": time,
    })))
}

async fn suggest(
    State(server): State<Arc<Server<Served>>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Fault> {
    let served = server.served();
    check(&served, &name)?;
    let (fields, _share) = body::form(request, &server.bodies).await?;
    let form = Form::read(&fields)?;
    // Annif allows a limit of 0.
    let asked = Predict { input: Input::Texts(vec![form.text]), wanted: Wanted::Top(form.limit.max(1)) };
    let found = server.work.predict(&served, asked, &server.metrics).await?;
    let mut results = Vec::new();
    for Found { top, known } in &found {
        let enough = top.iter().take_while(|found| found.probability >= form.threshold && found.probability > 0.0);
        for found in enough.take(if *known == 0 { 0 } else { form.limit }) {
            let uri = served.label(found.class);
            results.push(json!({
                "uri": uri,
                "label": served.name(found.class).unwrap_or(uri),
                "notation": null,
                // A sum in floating point may be a little larger.
                "score": found.probability.min(1.0),
            }));
        }
    }
    Ok(json(&json!({ "results": results })))
}

impl Form {
    fn read(fields: &[(String, String)]) -> Result<Form, Fault> {
        let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let text = field("text").ok_or_else(|| bad("`text` must be given"))?.to_owned();
        let limit = match field("limit") {
            None => 10,
            Some(value) => match value.parse() {
                Ok(limit) if limit <= MOST_CLASSES => limit,
                _ => {
                    return Err(bad(format!("`limit` must be a whole number from 0 to {MOST_CLASSES}, got `{value}`")));
                }
            },
        };
        let threshold = match field("threshold") {
            None => 0.0,
            Some(value) => match value.parse() {
                Ok(threshold) if (0.0..=1.0).contains(&threshold) => threshold,
                _ => return Err(bad(format!("`threshold` must be a number from 0 to 1, got `{value}`"))),
            },
        };
        Ok(Form { text, limit, threshold })
    }
}

/// As Annif answers it.
fn bad(error: impl Into<String>) -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, error)
}

/// An error for any other project.
fn check(served: &Served, name: &str) -> Result<(), Fault> {
    match &served.project {
        Some(Project(project)) if project == name => Ok(()),
        Some(Project(project)) => {
            Err(Fault::new(StatusCode::NOT_FOUND, format!("no project `{name}`; this server has `{project}`")))
        }
        None => Err(Fault::new(StatusCode::NOT_FOUND, "no project; start the server with --annif-project NAME")),
    }
}

/// The paths of a project in the OpenAPI description.
pub fn described(Project(name): &Project, error: impl Fn(&str) -> Value) -> [(String, Value); 2] {
    let string = || json!({ "type": "string" });
    let project = json!({
        "type": "object",
        "required": ["project_id", "name", "language", "backend", "is_trained", "modification_time"],
        "properties": {
            "project_id": { "const": name },
            "name": string(),
            "language": { "const": "und" },
            "backend": { "type": "object", "required": ["backend_id"], "properties": { "backend_id": { "const": "ove" } } },
            "is_trained": { "const": true },
            "modification_time": { "type": ["string", "null"] },
        },
        "additionalProperties": false,
    });
    let results = json!({
        "type": "object",
        "required": ["results"],
        "properties": { "results": { "type": "array", "items": {
            "type": "object",
            "required": ["uri", "label", "notation", "score"],
            "properties": {
                "uri": { "type": "string", "description": "The label of a class, as in the training data." },
                "label": { "type": "string", "description": "Its display name; if it has none, the same." },
                "notation": { "type": "null" },
                "score": { "type": "number", "minimum": 0, "maximum": 1 },
            },
            "additionalProperties": false,
        } } },
        "additionalProperties": false,
    });
    let form = json!({
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": string(),
            "limit": { "type": "integer", "minimum": 0, "maximum": MOST_CLASSES, "default": 10 },
            "threshold": { "type": "number", "minimum": 0, "maximum": 1, "default": 0 },
        },
        "additionalProperties": string(),
    });
    let done =
        |schema: Value| json!({ "description": "Done.", "content": { "application/json": { "schema": schema } } });
    let get = json!({
        "operationId": "annifProject",
        "summary": "What Annif's http backend asks about the project",
        "responses": {
            "200": done(project),
            "401": error("The token is missing or wrong."),
            "421": error("The host is not this server."),
        },
    });
    let post = json!({
        "operationId": "annifSuggest",
        "summary": "The most probable classes of a text, as Annif's http backend asks for them",
        "requestBody": { "required": true, "content": { "application/x-www-form-urlencoded": { "schema": form } } },
        "responses": {
            "200": done(results),
            "400": error("A field is missing or invalid."),
            "401": error("The token is missing or wrong."),
            "408": error("The body took too long to arrive."),
            "413": error("The body is too long."),
            "415": error("The content type is not application/x-www-form-urlencoded."),
            "421": error("The host is not this server."),
            "503": error("Too many requests are waiting, or their bodies are too long together."),
        },
    });
    [
        (format!("/v1/projects/{name}"), json!({ "get": get })),
        (format!("/v1/projects/{name}/suggest"), json!({ "post": post })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_projects_fit_in_a_path() {
        for name in ["yso", "ove-en_2"] {
            assert_eq!(name.parse::<Project>().unwrap().0, name);
        }
        for name in ["", "a/b", "a b", "{a}", "é", ".."] {
            assert!(name.parse::<Project>().is_err(), "{name}");
        }
    }

    #[test]
    fn forms_have_the_fields_of_annif() {
        let read = |fields: &[(&str, &str)]| {
            let owned: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Form::read(&owned)
        };
        let form = read(&[("metadata_title", "x"), ("text", "a b"), ("limit", "3"), ("threshold", "0.5")]).unwrap();
        assert_eq!(form, Form { text: "a b".into(), limit: 3, threshold: 0.5 });
        assert_eq!(read(&[("text", "")]).unwrap(), Form { text: String::new(), limit: 10, threshold: 0.0 });
        for wrong in [("limit", "-1"), ("limit", "1001"), ("limit", "x"), ("threshold", "1.5"), ("threshold", "nan")] {
            assert_eq!(read(&[("text", "a"), wrong]).unwrap_err().status(), StatusCode::BAD_REQUEST, "{wrong:?}");
        }
        assert!(read(&[("limit", "3")]).is_err());
    }
}
