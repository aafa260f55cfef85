//! Lists the tools of `schema/mcp.json` and calls them.

use std::sync::{Arc, LazyLock};

use afterthought::{Error, ErrorKind};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;

use crate::answer::{Answer, answered, refused};
use crate::engine::LazyEngine;
use crate::search_messages;

const INSTRUCTIONS: &str = "Searches the archive in which an AI agent keeps its past sessions. \
    A result of origin \"thought\" was considered by the model and not said.";

/// The contract is the code: what is listed, and what arguments are read by, is this file.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Contract {
        tools: Vec<Tool>,
    }
    let contract: Contract =
        serde_json::from_str(include_str!("../../../schema/mcp.json")).expect("the file is constant");
    contract.tools
});

pub(crate) struct Server {
    engine: Arc<LazyEngine>,
}

impl Server {
    pub(crate) fn new(engine: Arc<LazyEngine>) -> Self {
        Self { engine }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("afterthought", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!("no tool \"{}\"; tools: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let (engine, given) = (Arc::clone(&self.engine), request.arguments.unwrap_or_default());
        let answer = tokio::task::spawn_blocking(move || call(&engine, tool, given)).await;
        let answer = answer.unwrap_or_else(|panic| {
            Err(Error::new(ErrorKind::Internal, "call", &request.name).because(panic))
        });
        Ok(match answer {
            Ok(answer) => answered(answer),
            Err(error) => refused(&error),
        }
        .into())
    }
}

fn call(engine: &LazyEngine, tool: &Tool, given: JsonObject) -> afterthought::Result<Answer> {
    match &*tool.name {
        search_messages::NAME => search_messages::call(engine, &tool.input_schema, given),
        name => unreachable!("schema/mcp.json lists {name}, which nothing here answers"),
    }
}
