//! Reads the body of a request, JSON or a form, with limits on its length and time, and on the bytes of all bodies
//! together.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::answer::Fault;

/// Maximum length of a body.
pub const MOST_BYTES: usize = 4 << 20;

/// Maximum length of a body that is read and discarded, so that its sender receives the error.
const DISCARDED_BYTES: usize = 256 << 20;

/// Maximum time for a body to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of bytes of all bodies that are held at a time.
const MOST_HELD: usize = 256 << 20;

/// The first bytes of a body do not count, so that short requests are answered while long ones take up the budget.
const FREE: usize = 4 << 10;

/// The bytes that the bodies of all requests may hold.
pub struct Budget(Semaphore);

impl Default for Budget {
    fn default() -> Self {
        Budget(Semaphore::new(MOST_HELD))
    }
}

impl Budget {
    /// Number of bytes that are held.
    pub fn held(&self) -> usize {
        MOST_HELD - self.0.available_permits()
    }
}

/// The share of a body in the budget. What is made of a body is about as large, so it is kept until the answer.
pub struct Share<'a>(#[expect(dead_code, reason = "returned to the budget when it is dropped")] SemaphorePermit<'a>);

/// Reads the JSON of a body.
pub async fn json(request: Request, budget: &Budget) -> Result<(Value, Share<'_>), Fault> {
    let (bytes, share) = content(request, "application/json", budget).await?;
    let value = serde_json::from_slice(&bytes);
    let value = value.map_err(|error| Fault::new(StatusCode::BAD_REQUEST, format!("not JSON: {error}")))?;
    Ok((value, share))
}

/// Reads the fields of a form.
pub async fn form(request: Request, budget: &Budget) -> Result<(Vec<(String, String)>, Share<'_>), Fault> {
    let (bytes, share) = content(request, "application/x-www-form-urlencoded", budget).await?;
    Ok((form_urlencoded::parse(&bytes).into_owned().collect(), share))
}

/// Reads a body of this type.
async fn content<'a>(request: Request, kind: &str, budget: &'a Budget) -> Result<(Vec<u8>, Share<'a>), Fault> {
    let (head, mut body) = request.into_parts();
    if !is_of_type(&head.headers, kind) {
        let error = format!("the content type must be {kind}");
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let waits = head.headers.contains_key(header::EXPECT);
    let Ok(read) = timeout(PATIENCE, read(&mut body, announced(&head.headers), waits, budget)).await else {
        let error = format!("the body did not arrive within {} s", PATIENCE.as_secs());
        return Err(Fault::new(StatusCode::REQUEST_TIMEOUT, error));
    };
    let Kept { bytes, share } = read?;
    Ok((bytes, Share(share)))
}

fn is_of_type(headers: &HeaderMap, kind: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.and_then(|given| given.split(';').next()).is_some_and(|given| given.trim().eq_ignore_ascii_case(kind))
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads the bytes of a body. With `Expect: 100-continue`, a body that is too long is rejected before it is sent.
async fn read<'a>(
    body: &mut Body,
    announced: Option<usize>,
    waits: bool,
    budget: &'a Budget,
) -> Result<Kept<'a>, Fault> {
    let announced = announced.unwrap_or(0);
    if announced > MOST_BYTES && (waits || announced > DISCARDED_BYTES) {
        return Err(too_long());
    }
    let (mut kept, mut received) = (Kept::new(budget), 0);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Fault::new(StatusCode::BAD_REQUEST, format!("the body is incomplete: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        received += data.len();
        if received > DISCARDED_BYTES {
            return Err(too_long());
        }
        // After an error nothing is kept.
        kept = kept.and_then(|kept| kept.with(&data, budget));
    }
    kept
}

/// The bytes of a body so far.
struct Kept<'a> {
    bytes: Vec<u8>,
    share: SemaphorePermit<'a>,
}

impl<'a> Kept<'a> {
    fn new(budget: &'a Budget) -> Result<Self, Fault> {
        Ok(Kept { bytes: Vec::new(), share: take(budget, 0)? })
    }

    fn with(mut self, data: &[u8], budget: &'a Budget) -> Result<Self, Fault> {
        let length = self.bytes.len() + data.len();
        if length > MOST_BYTES {
            return Err(too_long());
        }
        let counted = length.saturating_sub(FREE);
        if counted > self.share.num_permits() {
            self.share.merge(take(budget, counted - self.share.num_permits())?);
        }
        self.bytes.extend_from_slice(data);
        Ok(self)
    }
}

fn take(budget: &Budget, bytes: usize) -> Result<SemaphorePermit<'_>, Fault> {
    budget.0.try_acquire_many(bytes as u32).map_err(|_| {
        let error = "the server holds too many bytes of request bodies; try again later";
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, error)
    })
}

fn too_long() -> Fault {
    let error = format!("the body is too long: it may have at most {MOST_BYTES} bytes");
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, error)
}
