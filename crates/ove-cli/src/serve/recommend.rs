//! The server of a recommender: recommendations to users and for lists of items, with reasons, and similar items.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use ove::Model;
use ove::io::read::label_names;
use ove::model::{Prepared, Recommendation, Recommending, User};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Fault, json};
use super::request::{Top, parse};
use super::routes::{Answer, asked, at_most, common};
use super::{Hosts, Server, body, openapi};

type Served = State<Arc<Server<ServedRecommender>>>;

/// The default number of recommendations and of similar items.
pub const TOP: usize = 10;

/// The most items of a request.
pub const MOST_ITEMS: usize = 1000;

/// The number of reasons for a recommendation.
pub const REASONS: usize = 3;

/// The number of users that the page offers to try.
const EXAMPLES: usize = 5;

/// The served recommender.
pub struct ServedRecommender {
    model: Model,
    prepared: Arc<Prepared>,
    /// What it is called: its file without the extension.
    title: String,
    /// The display names of each item.
    names: Option<Vec<Vec<String>>>,
    users: HashMap<String, u32>,
    items: HashMap<String, u32>,
}

impl ServedRecommender {
    /// Whether a model file is that of a recommender.
    pub fn is_in(path: &Path) -> Result<bool> {
        Ok(Model::map(path)?.card.recommender.is_some())
    }

    /// Loads a recommender and the display names of its items.
    pub fn load(path: &Path, names: Option<&Path>) -> Result<Self> {
        let title = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let model = Model::map(path)?;
        model.recommender()?;
        let names = names.map(|path| label_names::read(path)?.of(&model.card.classes)).transpose()?;
        let numbers = |names: &[String]| names.iter().cloned().zip(0..).collect();
        let (users, items) = (numbers(&model.card.feature_names), numbers(&model.card.classes));
        Ok(ServedRecommender { model, prepared: Arc::default(), title, names, users, items })
    }

    fn recommender(&self) -> Recommending<'_> {
        self.model.recommender_with(self.prepared.clone()).expect("checked when it was loaded")
    }

    fn user(&self, user: &str) -> Result<u32, Fault> {
        let error = || format!("user: the model has no `{user}`; GET /users?search= lists those it has");
        self.users.get(user).copied().ok_or_else(|| Fault::new(StatusCode::NOT_FOUND, error()))
    }

    fn item(&self, item: &str) -> Result<u32, Fault> {
        let error = || format!("item: the model has no `{item}`; GET /items?search= lists those it has");
        self.items.get(item).copied().ok_or_else(|| Fault::new(StatusCode::NOT_FOUND, error()))
    }

    /// Users that the page offers to try, spread over all.
    pub fn examples(&self) -> Vec<&str> {
        let users = &self.model.card.feature_names;
        let mut places: Vec<usize> = (0..EXAMPLES).map(|n| n * users.len() / EXAMPLES).collect();
        places.dedup();
        places.into_iter().map(|at| users[at].as_str()).collect()
    }

    /// An item, for the examples of the description.
    pub fn first_item(&self) -> &str {
        &self.model.card.classes[0]
    }

    /// Number of users and of items.
    pub fn counts(&self) -> [usize; 2] {
        [self.model.card.feature_names.len(), self.model.classes()]
    }

    fn json(&self) -> Value {
        let (recommender, [users, items]) = (self.recommender(), self.counts());
        json!({
            "name": self.title,
            "users": users,
            "items": items,
            "interactions": recommender.seen().pairs(),
            "rank": recommender.options().rank,
            "finished": self.model.card.finished,
            "options": recommender.options(),
            "examples": self.examples(),
        })
    }

    /// An item by its label, with its display name if it has one.
    fn named(&self, item: u32) -> Value {
        let mut value = json!({ "item": self.model.card.classes[item as usize] });
        if let Some(name) = self.names.as_ref().and_then(|names| names[item as usize].first()) {
            value["name"] = name.as_str().into();
        }
        value
    }

    fn scored(&self, one: Recommendation) -> Value {
        let mut value = self.named(one.item);
        value["score"] = one.score.into();
        value
    }

    /// Whether this is true of the label of an item or of one of its names.
    fn any_name(&self, item: usize, is: impl Fn(&str) -> bool) -> bool {
        let mut names = self.names.iter().flat_map(|names| &names[item]);
        is(&self.model.card.classes[item]) || names.any(|name| is(name))
    }

    fn recommend(&self, asked: &Recommend) -> Value {
        let recommender = self.recommender();
        let user = match &asked.whom {
            Whom::User(user) => recommender.user(*user),
            Whom::Items(items) => recommender.new_user(items),
        };
        let mut seen: Vec<u32> = user.items.iter().map(|&(item, _)| item).filter(|_| asked.exclude_seen).collect();
        seen.sort_unstable();
        let (User { items, .. }, top) = (user.clone(), recommender.top(&[user], &[&seen], asked.top).remove(0));
        let shares = recommender.shares(&items);
        let recommended = top.into_iter().map(|one| {
            let reasons = recommender.explain_with(&shares, &items, one.item);
            let reasons = reasons.into_iter().filter(|reason| reason.score > 0.0).take(REASONS);
            let because: Vec<Value> = reasons.map(|reason| self.scored(reason)).collect();
            let mut value = self.scored(one);
            value["because"] = because.into();
            value
        });
        let recommended: Vec<Value> = recommended.collect();
        let has: Vec<Value> = items.iter().map(|&(item, _)| self.named(item)).collect();
        json!({ "items": recommended, "has": has })
    }
}

/// `POST /recommend`.
struct Recommend {
    whom: Whom,
    top: usize,
    exclude_seen: bool,
}

/// A user of the model, or somebody with these items.
enum Whom {
    User(u32),
    Items(Vec<(u32, f32)>),
}

/// The body of `POST /recommend`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecommendBody {
    user: Option<String>,
    items: Option<Vec<String>>,
    top: Option<Top>,
    exclude_seen: Option<bool>,
}

impl Recommend {
    fn read(value: Value, served: &ServedRecommender) -> Result<Self, Fault> {
        let RecommendBody { user, items, top, exclude_seen } = parse(value)?;
        let whom = match (user, items) {
            (Some(user), None) => Whom::User(served.user(&user)?),
            (None, Some(items)) => {
                if !(1..=MOST_ITEMS).contains(&items.len()) {
                    let error = format!("items: expected 1 to {MOST_ITEMS} items, got {}", items.len());
                    return Err(Fault::unprocessable(error));
                }
                let mut numbers = items.iter().map(|item| served.item(item)).collect::<Result<Vec<u32>, _>>()?;
                numbers.sort_unstable();
                numbers.dedup();
                Whom::Items(numbers.into_iter().map(|item| (item, 1.0)).collect())
            }
            (Some(_), Some(_)) => return Err(Fault::unprocessable("only one of `user` and `items` may be given")),
            (None, None) => return Err(Fault::unprocessable("`user` or `items` must be given")),
        };
        Ok(Recommend { whom, top: top.map_or(TOP, |Top(top)| top), exclude_seen: exclude_seen.unwrap_or(true) })
    }
}

/// The router of all endpoints.
pub fn router(server: Arc<Server<ServedRecommender>>, hosts: Hosts) -> Router {
    let own = Router::new()
        .route("/recommend", post(recommend))
        .route("/similar", get(similar))
        .route("/users", get(users))
        .route("/items", get(items))
        .route("/model", get(async |State(server): Served| json(&server.served().json())))
        .route("/openapi.json", get(description));
    common(own, "recommender", server, hosts)
}

async fn description(State(server): Served) -> Response {
    json(&openapi::recommend::describe(&server.served(), server.token.is_some()))
}

async fn recommend(State(server): Served, request: Request) -> Answer {
    let (value, _share) = body::json(request, &server.bodies).await?;
    let served = server.served();
    let asked = Recommend::read(value, &served)?;
    Ok(json(&server.work.run(move || served.recommend(&asked)).await?))
}

#[derive(Deserialize)]
struct SimilarQuery {
    item: String,
    top: Option<usize>,
}

/// The items most similar to an item, without itself.
async fn similar(State(server): Served, query: Result<Query<SimilarQuery>, QueryRejection>) -> Answer {
    let Query(SimilarQuery { item, top }) = asked(query)?;
    let top = at_most("top", top.unwrap_or(TOP))?;
    let served = server.served();
    let item = served.item(&item)?;
    let found = server.work.run(move || {
        let similar = served.recommender().similar_items(item, top + 1);
        let others = similar.into_iter().filter(|one| one.item != item).take(top);
        let others: Vec<Value> = others.map(|one| served.scored(one)).collect();
        let mut value = served.named(item);
        value["count"] = served.model.card.counts[item as usize].into();
        value["similar"] = others.into();
        value
    });
    Ok(json(&found.await?))
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    search: String,
    limit: Option<usize>,
}

/// Users whose name has a text in it, case-insensitive, in the order of the model.
async fn users(State(server): Served, query: Result<Query<ListQuery>, QueryRejection>) -> Answer {
    let Query(ListQuery { search, limit }) = asked(query)?;
    let limit = at_most("limit", limit.unwrap_or(20))?;
    let served = server.served();
    let found = server.work.run(move || {
        let (search, seen) = (search.to_lowercase(), &served.recommender());
        let names = served.model.card.feature_names.iter().enumerate();
        let found: Vec<(usize, &String)> = names.filter(|(_, name)| name.to_lowercase().contains(&search)).collect();
        let listed = found.iter().take(limit);
        let listed: Vec<Value> =
            listed.map(|&(user, name)| json!({ "user": name, "count": seen.seen().items_of(user).len() })).collect();
        json!({ "users": listed, "total": found.len() })
    });
    Ok(json(&found.await?))
}

/// Items whose label or name has a text in it, case-insensitive, the most frequent first.
async fn items(State(server): Served, query: Result<Query<ListQuery>, QueryRejection>) -> Answer {
    let Query(ListQuery { search, limit }) = asked(query)?;
    let limit = at_most("limit", limit.unwrap_or(20))?;
    let served = server.served();
    let found = server.work.run(move || {
        let (search, counts) = (search.to_lowercase(), &served.model.card.counts);
        let is_found = |&item: &usize| served.any_name(item, |name| name.to_lowercase().contains(&search));
        let mut found: Vec<usize> = (0..served.model.classes()).filter(is_found).collect();
        found.sort_by_key(|&item| (std::cmp::Reverse(counts[item]), item));
        let listed = found.iter().take(limit).map(|&item| {
            let mut value = served.named(item as u32);
            value["count"] = counts[item].into();
            value
        });
        let listed: Vec<Value> = listed.collect();
        json!({ "items": listed, "total": found.len() })
    });
    Ok(json(&found.await?))
}
