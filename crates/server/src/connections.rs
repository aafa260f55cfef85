//! Accepts connections and speaks HTTP/1.1 on each, within bounds of number, size and time.

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use afterthought::limits::{SERVE_HEAD_BYTES_MAX, SERVE_HEADERS_MAX};
use afterthought::{Error, ErrorKind, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::routes::{Served, router};

/// After the system refused a connection, such as for want of descriptors, it is asked again this much later.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts a thread that accepts connections until `stop`, and then waits for their answers.
pub(crate) fn start(
    listener: TcpListener,
    served: Arc<Served>,
    stop: CancellationToken,
) -> Result<JoinHandle<()>> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, "serve", "HTTP").because(error);
    // Answers are written here and compressed; what blocks has threads of its own.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).thread_name("aft-http").enable_all().build().map_err(failed)?;
    let listener = runtime.block_on(async { tokio::net::TcpListener::from_std(listener) }).map_err(failed)?;
    crate::thread("aft-serve", move || {
        let ending = served.settings.ending;
        runtime.block_on(accept(&listener, served, stop));
        // A search that nobody waits for any more has its own deadline.
        runtime.shutdown_timeout(ending);
    })
}

async fn accept(listener: &tokio::net::TcpListener, served: Arc<Served>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(served.settings.connections));
    let bounds = Bounds::of(&served.settings);
    let router = router(served);
    let mut connections = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place.expect("nobody closes the semaphore"),
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    speak(stream, router, bounds, stop).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    while connections.join_next().await.is_some() {}
}

/// How long things may take on one connection.
#[derive(Clone, Copy)]
struct Bounds {
    head: Duration,
    life: Duration,
    ending: Duration,
}

impl Bounds {
    fn of(settings: &Settings) -> Self {
        Self { head: settings.head, life: settings.life, ending: settings.ending }
    }
}

async fn speak(stream: TcpStream, router: Router, bounds: Bounds, stop: CancellationToken) {
    // Answers are written whole; waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small answers may be slower");
    }
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_headers(SERVE_HEADERS_MAX)
        .max_buf_size(SERVE_HEAD_BYTES_MAX);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled() => None,
        () = tokio::time::sleep(bounds.life) => None,
    };
    let ended = if let Some(ended) = ended {
        Ok(ended)
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::time::timeout(bounds.ending, connection).await
    };
    if let Ok(Err(error)) = ended {
        // Clients come and go; what they sent is not repeated here.
        tracing::debug!(
            incomplete = error.is_incomplete_message(),
            timeout = error.is_timeout(),
            "a connection broke"
        );
    }
}
