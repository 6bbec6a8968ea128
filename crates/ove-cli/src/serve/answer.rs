//! JSON responses; errors have a status and a message.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error response.
#[derive(Debug)]
pub struct Fault {
    status: StatusCode,
    error: String,
}

impl Fault {
    /// An error with a status and a message.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Fault { status, error: error.into() }
    }

    /// The status.
    #[cfg(test)]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// An error for valid JSON that does not match the schema.
    pub fn unprocessable(error: impl Into<String>) -> Self {
        Fault::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = (self.status, json(&json!({ "error": self.error }))).into_response();
        let also = match self.status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, "1")),
            _ => None,
        };
        if let Some((name, value)) = also {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// A JSON response.
pub fn json(value: &Value) -> Response {
    let mut response = value.to_string().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
