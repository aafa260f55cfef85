//! `/mcp`: the tools for agents, over the same engine and in the same line as everything else.

use std::sync::Arc;
use std::time::Duration;

use afterthought::limits::SERVE_BODY_BYTES_MAX;
use afterthought_mcp::Held;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::ALLOW;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Value, json};

use crate::answer::{Refusal, as_json, write};
use crate::routes::Served;

pub(crate) const MCP: &str = "/mcp";

/// Answers a request of the protocol. It takes its turn when its body is there: a slow client holds up nobody.
pub(crate) async fn answer(
    State(served): State<Arc<Served>>,
    request: Request,
) -> std::result::Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let body = whole(body, served.settings.head).await?;
    if let Some(refused) = refused(&body)? {
        return Ok(refused);
    }
    let mut request = Request::from_parts(parts, Body::from(body));
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

/// Reads a body, within bounds of size and time.
async fn whole(body: Body, wait: Duration) -> std::result::Result<Bytes, Refusal> {
    let read = Limited::new(body, SERVE_BODY_BYTES_MAX).collect();
    match tokio::time::timeout(wait, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            let message = "read the request: its body broke off";
            Err(Refusal::http(StatusCode::BAD_REQUEST, message, "send all of it, with its length"))
        }
        Err(_) => {
            let message = "read the request: its body did not arrive in time";
            Err(Refusal::http(StatusCode::REQUEST_TIMEOUT, message, "send it at once"))
        }
    }
}

/// Refuses what is no message, with the protocol's own errors.
fn refused(body: &[u8]) -> afterthought::Result<Option<Response>> {
    let (code, message) = match serde_json::from_slice(body) {
        Ok(Value::Object(_)) => return Ok(None),
        Ok(_) => (-32600, "a message is an object; several are sent one by one".to_owned()),
        Err(error) => (-32700, format!("the body is no JSON: {error}")),
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    Ok(Some((StatusCode::BAD_REQUEST, as_json(write(&error)?)).into_response()))
}

/// Refuses a body that is too large.
pub(crate) fn too_large() -> Refusal {
    let message = format!("read the request: its body is longer than {SERVE_BODY_BYTES_MAX} bytes");
    Refusal::http(StatusCode::PAYLOAD_TOO_LARGE, message, "ask for less in one request")
}
