//! Stands before every route: refuses what may not be asked, counts the rest, and says on every answer
//! what a browser must not do with it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use afterthought::limits::{SERVE_BODY_BYTES_MAX, SERVE_URL_BYTES_MAX};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN,
    REFERRER_POLICY, TRANSFER_ENCODING, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;

use crate::Settings;
use crate::answer::Refusal;
use crate::mcp::{MCP, too_large};
use crate::routes::{HEALTH, Served};

/// What stands on every answer: nothing is fetched, framed, guessed or shared, and whoever keeps an answer
/// asks again before using it.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (CACHE_CONTROL, "private, no-cache"),
];

/// What lets a browser ask a person: any name, and the token as the password.
const ASK: &str = "Basic realm=\"Afterthought: the token is the password\", charset=\"UTF-8\"";

pub(crate) async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let matched = request.extensions().get::<MatchedPath>();
    // A path that somebody made up is told of by no name.
    let route = matched.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let mut response = match check(&served.settings, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        // A browser asks its person for the token, and brings it from then on.
        response.headers_mut().append(WWW_AUTHENTICATE, HeaderValue::from_static(ASK));
    }
    let (status, took) = (response.status().as_u16(), began.elapsed());
    served.metrics.count(&route, status, took);
    tracing::info!(%method, route, status, ?took, "answered");
    response
}

fn check(settings: &Settings, request: &Request) -> Result<(), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    if uri.path_and_query().is_some_and(|path| path.as_str().len() > SERVE_URL_BYTES_MAX) {
        let message = format!("read the address: it is longer than {SERVE_URL_BYTES_MAX} bytes");
        return Err(Refusal::http(StatusCode::URI_TOO_LONG, message, "ask with fewer words"));
    }
    let length = headers.get(CONTENT_LENGTH);
    if uri.path() == MCP {
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > SERVE_BODY_BYTES_MAX) {
            return Err(too_large());
        }
    } else if headers.contains_key(TRANSFER_ENCODING) || length.is_some_and(|length| length != "0") {
        let hint = "send parameters in the address";
        return Err(Refusal::http(StatusCode::PAYLOAD_TOO_LARGE, "read the request: it has a body", hint));
    }
    let host = host(uri, headers)?;
    if !is_ours(settings, host.host()) {
        let hint = "use the address that aft serve prints, or start it with --allow-host NAME";
        return Err(Refusal::http(StatusCode::FORBIDDEN, "read Host: it is no name of this server", hint));
    }
    if is_foreign(headers, &host) {
        let hint = "only pages of this server may ask it";
        return Err(Refusal::http(StatusCode::FORBIDDEN, "read Origin: another page asks", hint));
    }
    if uri.path() != HEALTH && !has_token(settings, headers) {
        let hint = "send the token that the server was started with as Authorization: Bearer TOKEN, or as the \
                    password that a browser asks for";
        let is_there = headers.contains_key(AUTHORIZATION);
        let why = if is_there {
            "it does not bring the token"
        } else {
            "it is not there, and a token is asked for"
        };
        return Err(Refusal::http(StatusCode::UNAUTHORIZED, format!("read Authorization: {why}"), hint));
    }
    Ok(())
}

/// Returns the host that a request names: only one, and without a person before it.
fn host(uri: &Uri, headers: &HeaderMap) -> Result<Authority, Refusal> {
    let mut named = headers.get_all(HOST).iter();
    let host = match (uri.authority(), named.next(), named.next()) {
        (Some(authority), _, None) => Some(authority.clone()),
        (None, Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
        _ => None,
    };
    host.filter(|host| !host.as_str().contains('@')).ok_or_else(|| {
        let message = "read Host: there must be one, as a name or an address";
        Refusal::http(StatusCode::BAD_REQUEST, message, "use the address that aft serve prints")
    })
}

/// Tells whether a host stands for this server. A page of another site can make its own name lead here, but
/// no address, and none of the names that we allow.
fn is_ours(settings: &Settings, host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        let listen = settings.listen.ip();
        return ip.is_loopback() || ip == listen || listen.is_unspecified();
    }
    let is = |name: &str| host.eq_ignore_ascii_case(name);
    is("localhost") || settings.hosts.iter().any(|name| is(name))
}

/// Tells whether a page that is not ours asks. Following a link to us is no such thing.
fn is_foreign(headers: &HeaderMap, host: &Authority) -> bool {
    let is_own = |origin: &HeaderValue| {
        let own = ["http", "https"].map(|scheme| format!("{scheme}://{host}"));
        origin.to_str().is_ok_and(|origin| own.iter().any(|own| own.eq_ignore_ascii_case(origin)))
    };
    if !headers.get_all(ORIGIN).iter().all(is_own) {
        return true;
    }
    let says = |name: &str, values: &[&str]| {
        headers.get(name).is_some_and(|value| values.iter().any(|known| value == known))
    };
    says("sec-fetch-site", &["cross-site", "same-site"]) && !says("sec-fetch-mode", &["navigate"])
}

fn has_token(settings: &Settings, headers: &HeaderMap) -> bool {
    let Some(token) = &settings.token else { return true };
    let brought = headers.get(AUTHORIZATION).and_then(|brought| brought.to_str().ok());
    let Some((scheme, brought)) = brought.and_then(|brought| brought.split_once(' ')) else { return false };
    if scheme.eq_ignore_ascii_case("Basic") {
        let brought = STANDARD.decode(brought).ok().and_then(|brought| String::from_utf8(brought).ok());
        let password = brought.as_deref().and_then(|brought| brought.split_once(':'));
        return password.is_some_and(|(_, password)| token.is(password.as_bytes()));
    }
    scheme.eq_ignore_ascii_case("Bearer") && token.is(brought.as_bytes())
}
