//! The same tools over streamable HTTP: one answer for each request, and nothing that is kept of a client.
//! Who may ask, and how many at a time, is the matter of the server that this is a route of.

use std::any::Any;
use std::fmt::Display;
use std::sync::Arc;

use afterthought::limits::SERVE_BODY_BYTES_MAX;
use afterthought::{Engine, Options};
use afterthought_hermes::{LazyEngine, Waits};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::{Doors, Server, Tools};
use crate::session_search;

/// What answers requests with tools.
#[derive(Clone)]
pub struct Http(StreamableHttpService<Server, NeverSessionManager>);

/// What a call holds until it has ended, also where its client is gone by then: a place in a queue. Given as an
/// extension of the request.
#[derive(Clone)]
pub struct Held(pub Arc<dyn Any + Send + Sync>);

impl Http {
    /// Serves tools over an engine that is open, and was opened with these options.
    #[must_use]
    pub fn new(engine: Arc<Engine>, options: &Options, tools: Tools) -> Self {
        let engine = Arc::new(LazyEngine::given(engine, options.clone(), Waits::default()));
        let recall = session_search::recall(options, Arc::clone(&engine));
        let doors = Arc::new(Doors { engine, recall });
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(SERVE_BODY_BYTES_MAX)
            // The server has looked at them, and knows by which names it may be asked.
            .disable_allowed_hosts();
        let serve = move || Ok(Server::new(Arc::clone(&doors), tools.clone()));
        Self(StreamableHttpService::new(serve, Arc::default(), config))
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, std::convert::Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        self.0.handle(request).await
    }
}
