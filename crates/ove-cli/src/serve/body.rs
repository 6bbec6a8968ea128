//! Reads the JSON body of a request, with limits on its length and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::timeout;

use super::answer::Fault;

/// Maximum length of a body.
pub const MOST_BYTES: usize = 4 << 20;

/// Maximum length of a body that is read and discarded, so that its sender receives the error.
const DISCARDED_BYTES: usize = 256 << 20;

/// Maximum time for a body to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads the JSON of a body.
pub async fn json(request: Request) -> Result<Value, Fault> {
    let (head, mut body) = request.into_parts();
    if !is_json(&head.headers) {
        let error = "the content type must be application/json";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
    }
    let waits = head.headers.contains_key(header::EXPECT);
    let bytes = match timeout(PATIENCE, read(&mut body, announced(&head.headers), waits)).await {
        Ok(bytes) => bytes?,
        Err(_) => {
            let error = format!("the body did not arrive within {} s", PATIENCE.as_secs());
            return Err(Fault::new(StatusCode::REQUEST_TIMEOUT, error));
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| Fault::new(StatusCode::BAD_REQUEST, format!("not JSON: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads the bytes of a body. With `Expect: 100-continue`, a body that is too long is rejected before it is sent.
async fn read(body: &mut Body, announced: Option<usize>, waits: bool) -> Result<Bytes, Fault> {
    let too_long = || {
        let error = format!("the body is too long: it may have at most {MOST_BYTES} bytes");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    };
    let announced = announced.unwrap_or(0);
    if announced > MOST_BYTES && (waits || announced > DISCARDED_BYTES) {
        return Err(too_long());
    }
    let (mut bytes, mut received) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Fault::new(StatusCode::BAD_REQUEST, format!("the body is incomplete: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        received += data.len();
        if received <= MOST_BYTES {
            bytes.extend_from_slice(&data);
        } else if received > DISCARDED_BYTES {
            return Err(too_long());
        }
    }
    if received > MOST_BYTES { Err(too_long()) } else { Ok(bytes.into()) }
}
