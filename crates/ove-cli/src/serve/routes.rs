//! The endpoints and their handlers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Fault, json};
use super::explain::{self, described};
use super::host::{self, Hosts};
use super::metrics::Gauges;
use super::request::{Explain, Predict};
use super::served::Served;
use super::work::Found;
use super::{Server as ServerOf, annif, assets, body, openapi};

pub(super) type Answer = Result<Response, Fault>;

type Server = ServerOf<Served>;

/// Paths with their own metrics; the others are counted together.
const PATHS: [&str; 12] = [
    "/predict",
    "/explain",
    "/recommend",
    "/similar",
    "/analogy",
    "/words",
    "/users",
    "/items",
    "/model",
    "/classes",
    "/health",
    "/metrics",
];

/// Maximum time of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum number of classes, words, users or items in a list.
pub const MOST_LISTED: usize = 100;

/// The router of all endpoints.
pub fn router(server: Arc<Server>, hosts: Hosts) -> Router {
    let own = Router::new()
        .route("/predict", post(predict))
        .route("/explain", post(explain_class))
        .route("/model", get(model))
        .route("/classes", get(classes))
        .route("/card", get(card))
        .route("/openapi.json", get(description))
        .merge(annif::routes());
    common(own, "model", server, hosts)
}

/// Own endpoints with what every server has: metrics, the health check, the page, the token and the limits.
pub(super) fn common<S: Send + Sync + 'static>(
    own: Router<Arc<ServerOf<S>>>,
    serves: &'static str,
    server: Arc<ServerOf<S>>,
    hosts: Hosts,
) -> Router {
    own.route("/metrics", get(metrics::<S>))
        // The routes below need no token: the health check, and the page, which prompts for it.
        .route_layer(middleware::from_fn_with_state(server.clone(), with_token::<S>))
        .route("/health", get(move |State(server): State<Arc<ServerOf<S>>>| health(serves, server)))
        .merge(assets::routes())
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::from_fn_with_state(Arc::new(hosts), host::check))
        .layer(middleware::from_fn_with_state(server.clone(), counted::<S>))
        .with_state(server)
}

async fn with_token<S>(State(server): State<Arc<ServerOf<S>>>, request: Request, next: Next) -> Answer {
    match &server.token {
        Some(token) if !token.is_in(request.headers()) => {
            Err(Fault::new(StatusCode::UNAUTHORIZED, "a token is required: `Authorization: Bearer TOKEN`"))
        }
        _ => Ok(next.run(request).await),
    }
}

async fn counted<S>(State(server): State<Arc<ServerOf<S>>>, request: Request, next: Next) -> Response {
    let (start, path) = (Instant::now(), request.uri().path());
    let known = PATHS.into_iter().find(|known| *known == path);
    let path = known.or_else(|| annif::counted_as(path)).unwrap_or("other");
    let response = match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Fault::new(StatusCode::SERVICE_UNAVAILABLE, "the request took too long").into_response(),
    };
    server.metrics.answered(path, response.status().as_u16(), start.elapsed());
    response
}

async fn predict(State(server): State<Arc<Server>>, request: Request) -> Answer {
    let (value, _share) = body::json(request, &server.bodies).await?;
    let served = server.served();
    let asked = Predict::read(value, &served)?;
    let predictions = server.work.predict(&served, asked, &server.metrics).await?;
    let predictions: Vec<Value> = predictions.iter().map(|found| labelled(&served, found)).collect();
    Ok(json(&json!({ "predictions": predictions })))
}

/// A prediction as in `ove predict --json`, with the number of known features, and display names if there are any.
fn labelled(served: &Served, Found { top, known }: &Found) -> Value {
    let labels: Vec<&str> = top.iter().map(|p| served.label(p.class)).collect();
    let probabilities: Vec<f64> = top.iter().map(|p| p.probability).collect();
    let mut value = json!({ "labels": labels, "probabilities": probabilities, "known": known });
    if served.has_names() {
        value["names"] = top.iter().map(|p| served.name(p.class).unwrap_or(served.label(p.class))).collect();
    }
    value
}

async fn explain_class(State(server): State<Arc<Server>>, request: Request) -> Answer {
    let (value, _share) = body::json(request, &server.bodies).await?;
    let served = server.served();
    let asked = Explain::read(value, &served)?;
    Ok(json(&server.work.run(move || explain::explain(&served, &asked)).await?))
}

async fn model(State(server): State<Arc<Server>>) -> Response {
    json(&server.served().json())
}

/// The parameters of a query.
pub(super) fn asked<T>(query: Result<T, QueryRejection>) -> Result<T, Fault> {
    query.map_err(|error| Fault::new(StatusCode::BAD_REQUEST, error.body_text()))
}

/// A number of things to list.
pub(super) fn at_most(name: &str, count: usize) -> Result<usize, Fault> {
    if (1..=MOST_LISTED).contains(&count) {
        return Ok(count);
    }
    Err(Fault::new(StatusCode::BAD_REQUEST, format!("`{name}` must be a number from 1 to {MOST_LISTED}, got {count}")))
}

#[derive(Deserialize)]
struct ClassesQuery {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    search: String,
    limit: Option<usize>,
}

/// Classes whose label or name starts with a prefix and contains a text, case-insensitive, the most frequent first.
async fn classes(State(server): State<Arc<Server>>, query: Result<Query<ClassesQuery>, QueryRejection>) -> Answer {
    let Query(ClassesQuery { prefix, search, limit }) = asked(query)?;
    let limit = at_most("limit", limit.unwrap_or(20))?;
    let served = server.served();
    let found = server.work.run(move || {
        let (prefix, search) = (prefix.to_lowercase(), search.to_lowercase());
        let is_found = |text: &str| {
            let text = text.to_lowercase();
            text.starts_with(&prefix) && text.contains(&search)
        };
        let all = 0..served.model.classes() as u32;
        let mut found: Vec<u32> = all.filter(|&class| served.any_name(class, is_found)).collect();
        found.sort_by_key(|&class| (std::cmp::Reverse(served.model.card.counts[class as usize]), class));
        let listed: Vec<Value> = found.iter().take(limit).map(|&class| described(&served, class)).collect();
        json!({ "classes": listed, "total": found.len() })
    });
    Ok(json(&found.await?))
}

async fn metrics<S>(State(server): State<Arc<ServerOf<S>>>) -> Response {
    let gauges =
        Gauges { waiting: server.work.waiting(), connections: server.room.taken(), body_bytes: server.bodies.held() };
    let text = server.metrics.text(&gauges);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

async fn card(State(server): State<Arc<Server>>) -> Answer {
    let served = server.served();
    let html = server.work.run(move || served.card().to_owned()).await?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// The health check; also tells the page what is served, and whether it needs a token.
async fn health<S>(serves: &str, server: Arc<ServerOf<S>>) -> Response {
    json(&json!({ "status": "ok", "serves": serves, "token": server.token.is_some() }))
}

async fn description(State(server): State<Arc<Server>>) -> Response {
    json(&openapi::describe(&server.served(), server.token.is_some()))
}

async fn not_found() -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "no such path; see /openapi.json")
}

async fn not_allowed() -> Fault {
    Fault::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not support this method; see /openapi.json")
}
