//! The door over HTTP: one engine that follows its archive, and the routes of `schema/openapi.json` over
//! it. Holds no search logic, and logs no query, token or message.

mod answer;
mod audits;
mod connections;
mod contract;
mod counted;
mod guard;
mod live;
mod mcp;
mod metrics;
mod page;
mod parameters;
mod queue;
mod requests;
mod routes;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use afterthought::limits::{
    SEARCH_QUEUE_MAX, SERVE_CONNECTION_MS_MAX, SERVE_CONNECTIONS_MAX, SERVE_ENDING_MS_MAX, SERVE_HEAD_MS_MAX,
    SERVE_RUNNING_MAX, SERVE_RUNNING_MIN, SERVE_TOKEN_BYTES_MIN, SERVE_TURN_MS_MAX,
};
use afterthought::{Engine, Error, ErrorKind, Event, Options, Result, follow};
use afterthought_mcp::{Http, Tools};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use live::Live;
use routes::Served;

pub use contract::{OPENAPI, openapi};

/// Where to listen, and for whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// What every request must bring; needed where others than this machine may ask.
    pub token: Option<Token>,
    /// The tools that agents are offered at `/mcp`.
    pub tools: Tools,
    /// Names that `Host` may have beside the address and `localhost`.
    pub hosts: Vec<String>,
    /// Requests that are worked on at a time.
    pub running: usize,
    /// Requests that may wait for their turn; one more is refused as busy.
    pub waiting: usize,
    /// Longest time that a request waits for its turn.
    pub turn: Duration,
    /// Connections at a time; further ones wait.
    pub connections: usize,
    /// Longest time that the head of a request may take to arrive, and a body after it.
    pub head: Duration,
    /// Longest life of a connection; an answer under way is finished first.
    pub life: Duration,
    /// Longest time that answers under way may take when a connection or the server ends.
    pub ending: Duration,
}

impl Settings {
    /// Listens on an address, everything else as by default.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            listen,
            token: None,
            tools: Tools::default(),
            hosts: Vec::new(),
            running: cores.clamp(SERVE_RUNNING_MIN, SERVE_RUNNING_MAX),
            waiting: SEARCH_QUEUE_MAX,
            turn: Duration::from_millis(SERVE_TURN_MS_MAX),
            connections: SERVE_CONNECTIONS_MAX,
            head: Duration::from_millis(SERVE_HEAD_MS_MAX),
            life: Duration::from_millis(SERVE_CONNECTION_MS_MAX),
            ending: Duration::from_millis(SERVE_ENDING_MS_MAX),
        }
    }

    /// Fails where others than this machine could ask without a token.
    fn check(&self) -> Result<()> {
        if self.token.is_some() || self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, "listen on", self.listen)
            .because("other machines could read the archive, and no token is asked for")
            .hint("give a token by --token-file or AFTERTHOUGHT_TOKEN, or listen on 127.0.0.1"))
    }
}

/// A secret that requests bring as `Authorization: Bearer`. Never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a token without the white space around it. Fails if it is short, or could stand in no header.
    pub fn new(text: &str) -> Result<Self> {
        let token = text.trim();
        let refused = |why: String| Error::new(ErrorKind::Usage, "use", "the token").because(why);
        if token.len() < SERVE_TOKEN_BYTES_MIN {
            return Err(refused(format!("it has less than {SERVE_TOKEN_BYTES_MIN} characters"))
                .hint("make one with: openssl rand -hex 32"));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refused("it holds more than letters, digits and signs of ASCII".to_owned()));
        }
        Ok(Self(token.to_owned()))
    }

    /// Tells whether what was brought is the token, in a time that tells nothing of where they differ.
    fn is(&self, brought: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(brought).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Returns the status of HTTP that a kind of error is answered with; `schema/errors.json` states the same.
#[must_use]
pub fn status_of(kind: ErrorKind) -> u16 {
    answer::status(kind).as_u16()
}

/// A server under way. Dropped, it ends in good order.
pub struct Server {
    address: SocketAddr,
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
}

/// Asks a server to end. Cheap to clone.
#[derive(Clone, Default)]
pub struct Stop {
    connections: CancellationToken,
    mirror: Arc<AtomicBool>,
}

impl Stop {
    /// Accepts nothing more and lets answers under way finish.
    pub fn now(&self) {
        self.mirror.store(true, Ordering::Relaxed);
        self.connections.cancel();
    }

    /// Tells whether the server was asked to end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.connections.is_cancelled()
    }
}

impl Server {
    /// Opens the archive, listens, and follows the archive, all on threads of its own. Fails where the
    /// archive or the address cannot be used, and as usage without a token where one is needed.
    pub fn start(options: Options, settings: Settings) -> Result<Self> {
        settings.check()?;
        let options = Options { readers: settings.running.max(1), ..options };
        let engine = Arc::new(Engine::open(&options)?);
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Usage, "listen on", settings.listen)
                .because(error)
                .hint("name another address with --listen")
        };
        let listener = TcpListener::bind(settings.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Stop::default();
        let live = Live::new(stop.connections.clone(), engine.person().is_none());
        let tools = settings.tools.clone();
        let mcp = Http::new(Arc::clone(&engine), &options, tools);
        let served = Arc::new(Served::new(engine, Settings { listen: address, ..settings }, live, mcp));
        let serving = connections::start(listener, Arc::clone(&served), stop.connections.clone())?;
        let mirror = Arc::clone(&stop.mirror);
        let following = thread("aft-follow", move || follow_until(&served, &mirror))?;
        Ok(Self { address, stop, threads: vec![serving, following] })
    }

    /// Returns the address that is listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what ends the server.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits until the server was asked to end and has ended.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the server panicked");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop.now();
            self.join();
        }
    }
}

fn follow_until(served: &Served, stop: &AtomicBool) {
    let followed = follow(&served.engine, stop, |event| match event {
        Event::Synced { report, took } => {
            tracing::debug!(docs_added = report.stats.docs_added, ?took, "synced");
        }
        Event::Behind(error) => {
            tracing::warn!(%error, "the index is behind");
            served.live.changed();
        }
        Event::Recovered => {
            tracing::info!("the index is up to date again");
            served.live.changed();
        }
        Event::Current => served.live.changed(),
        Event::Progress(_) => served.live.progressed(),
    });
    if let Err(error) = followed {
        tracing::error!(%error, "the archive is not followed any more; every answer still looks at it");
    }
}

/// Starts a thread with a name.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::new(ErrorKind::Internal, "start", "a thread").because(error))
}
