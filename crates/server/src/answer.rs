//! What a request gets back: JSON, or an error as JSON with the status of its kind.

use afterthought::{Error, ErrorKind, ErrorView};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

/// Seconds after which a request that came at a bad time is worth another try.
const RETRY_S: u64 = 1;

/// Why a request gets no answer.
pub(crate) struct Refusal {
    status: StatusCode,
    view: ErrorView,
}

impl Refusal {
    /// Refuses a request for what HTTP itself says of it.
    pub(crate) fn http(status: StatusCode, message: impl Into<String>, hint: &str) -> Self {
        let kind = if status == StatusCode::NOT_FOUND { ErrorKind::NotFound } else { ErrorKind::Usage };
        Self { status, view: ErrorView::new(kind, message, Some(hint)) }
    }
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn view(&self) -> &ErrorView {
        &self.view
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { status: status(error.kind()), view: ErrorView::from(&error) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = match write(&json!({ "error": self.view })) {
            Ok(body) => as_json(body),
            Err(_) => Body::empty().into_response(),
        };
        *response.status_mut() = self.status;
        if self.view.retryable && self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_S));
        }
        response
    }
}

/// Returns the status of a kind of error.
pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Usage | ErrorKind::CursorInvalid | ErrorKind::CursorMismatch => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::CursorStale => StatusCode::GONE,
        ErrorKind::ArchiveUnavailable
        | ErrorKind::ArchiveUnrecognized
        | ErrorKind::ArchiveNeedsCopy
        | ErrorKind::ArchiveUnsteady
        | ErrorKind::IndexMissing
        | ErrorKind::IndexUnavailable
        | ErrorKind::IndexIncompatible
        | ErrorKind::IndexLocked
        | ErrorKind::Busy
        | ErrorKind::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::IndexDamaged | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// An answer, written.
pub(crate) struct Answer {
    /// `None`: the client has it already.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) tag: Option<String>,
}

impl Answer {
    /// Says that the answer stands at another address.
    pub(crate) fn elsewhere(address: &'static str) -> Response {
        (StatusCode::SEE_OTHER, [(LOCATION, address)]).into_response()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = match self.body {
            Some(body) => as_json(body),
            None => StatusCode::NOT_MODIFIED.into_response(),
        };
        if let Some(tag) = self.tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// Writes a value as JSON, with a line end as `aft` does.
pub(crate) fn write(value: &impl Serialize) -> afterthought::Result<Vec<u8>> {
    let mut body = serde_json::to_vec(value)
        .map_err(|error| Error::new(ErrorKind::Internal, "write", "the answer").because(error))?;
    body.push(b'\n');
    Ok(body)
}

pub(crate) fn as_json(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
