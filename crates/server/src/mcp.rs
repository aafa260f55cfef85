//! `/mcp`: the tools for agents, over the same engine and in the same line as everything else.

use std::sync::Arc;
use std::time::Duration;

use afterthought::limits::{SERVE_BODY_BYTES_MAX, SERVE_BODY_MS_MAX};
use afterthought_mcp::Held;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::ALLOW;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Limited};

use crate::answer::Refusal;
use crate::routes::Served;

pub(crate) const MCP: &str = "/mcp";

/// Answers a request of the protocol. It takes its turn when its body is there: a slow client holds up nobody.
pub(crate) async fn answer(
    State(served): State<Arc<Served>>,
    request: Request,
) -> std::result::Result<Response, Refusal> {
    let mut request = whole(request).await?;
    let turn = served.queue.turn().await?;
    request.extensions_mut().insert(Held(Arc::new(turn)));
    Ok(served.mcp.answer(request).await.into_response())
}

/// Says that there is no stream to listen to and no session to end: every answer is whole.
pub(crate) async fn only_posted() -> Response {
    let hint = "send a message of the protocol with POST";
    let message = "answer the request: the tools are called and not read";
    let refusal = Refusal::http(StatusCode::METHOD_NOT_ALLOWED, message, hint);
    ([(ALLOW, "POST")], refusal).into_response()
}

/// Reads the body, within bounds of size and time.
async fn whole(request: Request) -> std::result::Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let read = Limited::new(body, SERVE_BODY_BYTES_MAX).collect();
    let body = match tokio::time::timeout(Duration::from_millis(SERVE_BODY_MS_MAX), read).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => {
            let hint = "send all of it, with its length";
            return Err(Refusal::http(StatusCode::BAD_REQUEST, "read the request: its body broke off", hint));
        }
        Err(_) => {
            let message = "read the request: its body did not arrive in time";
            return Err(Refusal::http(StatusCode::REQUEST_TIMEOUT, message, "send it at once"));
        }
    };
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Refuses a body that is too large.
pub(crate) fn too_large() -> Refusal {
    let message = format!("read the request: its body is longer than {SERVE_BODY_BYTES_MAX} bytes");
    Refusal::http(StatusCode::PAYLOAD_TOO_LARGE, message, "ask for less in one request")
}
