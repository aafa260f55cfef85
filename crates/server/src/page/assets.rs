//! The style, the script and the icon, compiled in.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::routes::Served;

pub(super) fn routes() -> Router<Arc<Served>> {
    let asset = |kind: &'static str, text: &'static str| {
        get(move |headers: HeaderMap| async move { sent(kind, text, &headers) })
    };
    Router::new()
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("../../page/style.css")))
        .route("/script.js", asset("text/javascript; charset=utf-8", include_str!("../../page/script.js")))
        .route("/icon.svg", asset("image/svg+xml", include_str!("../../page/icon.svg")))
}

/// Sends a file, unless the browser has it as it stands in this program.
fn sent(kind: &'static str, text: &'static str, headers: &HeaderMap) -> Response {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    // What compresses an answer makes its tag weak.
    let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(CONTENT_TYPE, kind.to_owned()), (ETAG, tag)], text).into_response()
}
