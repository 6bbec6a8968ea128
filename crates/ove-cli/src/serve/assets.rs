//! The web page, included in the binary: `make page` builds `assets/page` from the folder `page` of the repository.

use axum::Router;
use axum::http::header::{self, HeaderName};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Allows only content from this server; charts set their width by a style attribute.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Routes of the page and of the files that it loads.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let html = || async { file("text/html; charset=utf-8", include_str!("../../assets/page/index.html")) };
    let script = || async { file("text/javascript; charset=utf-8", include_str!("../../assets/page/page.js")) };
    let style = || async { file("text/css; charset=utf-8", include_str!("../../assets/page/page.css")) };
    let theme = || async { file("text/css; charset=utf-8", ove_report::css()) };
    Router::new()
        .route("/", get(html))
        .route("/page.js", get(script))
        .route("/page.css", get(style))
        .route("/theme.css", get(theme))
}

fn file(kind: &'static str, text: impl IntoResponse) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // File names do not change between versions.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
