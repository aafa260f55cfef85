//! The door for agents: tools over one archive, by the Model Context Protocol. Holds no search logic, and nothing but protocol reaches standard output.

mod answer;
mod arguments;
mod budget;
mod found;
mod get_message;
mod get_session;
mod http;
mod index_status;
mod list_sessions;
mod merge;
mod messages;
mod search_messages;
mod search_reasoning;
mod server;
mod session_search;

use std::sync::Arc;

use afterthought::{Error, ErrorKind, Options, Result};
use afterthought_hermes::Waits;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

pub use budget::{json_tokens, tokens};
pub use http::{Held, Http};
pub use server::Tools;

use afterthought_hermes::LazyEngine;
use server::{Doors, Server};

/// Serves one client over standard input and output until it closes standard input. Opens nothing
/// before the first call. Fails as interrupted at Ctrl-C or SIGTERM, whose handler it sets for
/// the process. Calls under way are waited for, five seconds at the end of input and two at a signal;
/// one that takes longer is not answered.
pub fn serve_stdio(options: &Options, tools: Tools) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(|error| failed(Box::new(error)))?;
    let stop = CancellationToken::new();
    stop_at_signals(stop.clone());
    let engine = Arc::new(LazyEngine::new(options.clone(), Waits::default()));
    let recall = session_search::recall(options, Arc::clone(&engine));
    let doors = Arc::new(Doors { engine, recall });
    let served = runtime.block_on(serve(Server::new(Arc::clone(&doors), tools), stop));
    // Nobody waits any longer: neither for calls that are still at work, nor for a read of standard input,
    // which cannot be called off.
    runtime.shutdown_background();
    // Here a sync under way commits what it has.
    drop(doors);
    served
}

async fn serve(server: Server, stop: CancellationToken) -> Result<()> {
    // A token of its own: the service cancels what it was given whenever it ends.
    match server.serve_with_ct(stdio_pipes(), stop.child_token()).await {
        Ok(running) => drop(running.waiting().await.map_err(|error| failed(Box::new(error)))?),
        // A client may leave before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
        Err(error) => return Err(failed(Box::new(error))),
    }
    if stop.is_cancelled() {
        return Err(Error::new(ErrorKind::Interrupted, "serve", "standard input").because("stopped"));
    }
    Ok(())
}

fn stop_at_signals(stop: CancellationToken) {
    let set = ctrlc::set_handler(move || {
        // Calls under way have two seconds to be answered; a second signal does not wait for them.
        if stop.is_cancelled() {
            std::process::exit(130);
        }
        stop.cancel();
    });
    if let Err(error) = set {
        tracing::warn!(%error, "Ctrl-C will end the server at once");
    }
}

fn failed(cause: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Internal, "serve", "standard input").because(cause)
}
