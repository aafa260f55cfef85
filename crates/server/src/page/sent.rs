//! Sends pages, and refusals as pages.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use crate::answer::{Answer, Refusal};

use super::address::Address;
use super::filters::filters;
use super::layout::{Kind, document};

/// What a browser may do with a page: use this server's style, script and API, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page on its way: HTML with the status that it is sent with.
pub(super) struct Html(Response);

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let mut response = self.0;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

/// Says to a browser that nothing is at an address.
pub(crate) fn nowhere() -> Response {
    let message = "nothing is at this address";
    let refusal = Refusal::http(StatusCode::NOT_FOUND, message, "search above, or begin at the first page");
    sent("", Err::<Response, _>(refusal)).into_response()
}

/// Sends an answer as a page, and a refusal as one that says why.
pub(super) fn sent(query: &str, answered: std::result::Result<impl IntoResponse, Refusal>) -> Html {
    Html(answered.map_or_else(
        |refusal| {
            let body = html! {
                main #main.alone tabindex="-1" { (why(&refusal)) p { a href="/" { "To the first page" } } }
            };
            refused(refusal, document(Kind::Error, "Afterthought", query, None, &body))
        },
        IntoResponse::into_response,
    ))
}

/// Sends what is wrong with a search beside the filters, where it is mended.
pub(super) fn sent_search(address: &Address, answered: std::result::Result<Answer, Refusal>) -> Html {
    Html(answered.map_or_else(
        |refusal| {
            let body = html! {
                aside #filters aria-label="Filters" data-region { (filters(address, None)) }
                main #main tabindex="-1" aria-label="Results" data-region { (why(&refusal)) }
                section #reader aria-label="Conversation" data-region {}
            };
            refused(refusal, document(Kind::Search, "Afterthought", address.text("q"), None, &body))
        },
        IntoResponse::into_response,
    ))
}

fn why(refusal: &Refusal) -> Markup {
    html! {
        h1 #total { (refusal.status().canonical_reason().unwrap_or("It did not work")) }
        p.weak { (refusal.view().message) }
        @if let Some(hint) = &refusal.view().hint { p { (hint) } }
    }
}

fn refused(refusal: Refusal, page: Markup) -> Response {
    let mut response = refusal.into_response();
    *response.body_mut() = page.into_string().into();
    response
}
