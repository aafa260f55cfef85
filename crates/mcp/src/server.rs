//! Lists the tools of `schema/mcp.json` and calls them.

use std::sync::{Arc, LazyLock};

use afterthought::{Error, ErrorKind};
use afterthought_hermes::Recall;
use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;

use crate::answer::{Answer, answered, refused};
use crate::http::Held;
use crate::{
    get_message, get_session, index_status, list_sessions, search_messages, search_reasoning, session_search,
};
use afterthought_hermes::LazyEngine;

const INSTRUCTIONS: &str = "Searches the archive in which an AI agent keeps its past sessions: search first, then \
    get_message or get_session to read on from a hit. What was \"thought\" was considered by the model and not said.";

/// The contract is the code: what is listed, and what arguments are read by, are these files.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Contract {
        tools: Vec<Tool>,
    }
    let contract: Contract =
        serde_json::from_str(include_str!("../../../schema/mcp.json")).expect("the file is constant");
    contract.tools.into_iter().chain([session_search::TOOL.clone()]).collect()
});

/// The tools that a client is shown.
#[derive(Clone)]
pub struct Tools(Vec<&'static Tool>);

impl Default for Tools {
    fn default() -> Self {
        Self::named::<&str>(&[]).expect("the tools by default have names that are there")
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| &tool.name)).finish()
    }
}

impl Tools {
    /// Those that are shown unless others are asked for: the one of another agent only by its name.
    pub const DEFAULT: [&str; 6] = [
        search_messages::NAME,
        search_reasoning::NAME,
        get_message::NAME,
        get_session::NAME,
        list_sessions::NAME,
        index_status::NAME,
    ];

    /// Returns the tools of these names, in their order; those by default where there is no name. Fails if there
    /// is no tool of a name.
    pub fn named<S: AsRef<str>>(names: &[S]) -> afterthought::Result<Self> {
        if names.is_empty() {
            return Self::named(&Self::DEFAULT);
        }
        let (all, mut tools) = (Self(TOOLS.iter().collect()), Vec::new());
        for name in names {
            let tool = all.get(name.as_ref().trim());
            let tool = tool.map_err(|why| Error::new(ErrorKind::Usage, "offer", "tools").because(why))?;
            // A client cannot tell two of one name apart.
            if !tools.iter().any(|known: &&Tool| known.name == tool.name) {
                tools.push(tool);
            }
        }
        Ok(Self(tools))
    }

    /// Returns a tool by its name. Fails with the names there are.
    fn get(&self, name: &str) -> std::result::Result<&'static Tool, String> {
        self.0.iter().copied().find(|tool| tool.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|tool| &*tool.name).collect();
            format!("no tool \"{name}\"; tools: {}", names.join(", "))
        })
    }
}

/// What answers the tools.
pub(crate) struct Doors {
    pub(crate) engine: Arc<LazyEngine>,
    pub(crate) recall: Recall,
}

#[derive(Clone)]
pub(crate) struct Server {
    doors: Arc<Doors>,
    tools: Tools,
}

impl Server {
    pub(crate) fn new(doors: Arc<Doors>, tools: Tools) -> Self {
        Self { doors, tools }
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
        Ok(ListToolsResult::with_all_items(self.tools.0.iter().copied().cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let held =
            context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Held>()).cloned();
        let tool = self.tools.get(&request.name).map_err(|why| ErrorData::invalid_params(why, None))?;
        let (doors, given) = (Arc::clone(&self.doors), request.arguments.unwrap_or_default());
        let answer = tokio::task::spawn_blocking(move || {
            let _held = held;
            call(&doors, tool, given)
        });
        let answer = answer.await;
        let failed = |panic| refused(&Error::new(ErrorKind::Internal, "call", &request.name).because(panic));
        Ok(answer.unwrap_or_else(failed).into())
    }
}

fn call(doors: &Doors, tool: &Tool, given: JsonObject) -> CallToolResult {
    if tool.name == session_search::NAME {
        return session_search::call(&doors.recall, &given);
    }
    own(&doors.engine, tool, given).map_or_else(|error| refused(&error), answered)
}

fn own(engine: &LazyEngine, tool: &Tool, given: JsonObject) -> afterthought::Result<Answer> {
    let schema = &tool.input_schema;
    match &*tool.name {
        search_messages::NAME => search_messages::call(engine, schema, given),
        search_reasoning::NAME => search_reasoning::call(engine, schema, given),
        get_message::NAME => get_message::call(engine, schema, given),
        get_session::NAME => get_session::call(engine, schema, given),
        list_sessions::NAME => list_sessions::call(engine, schema, given),
        index_status::NAME => index_status::call(engine, schema, given),
        name => unreachable!("schema/mcp.json lists {name}, which nothing here answers"),
    }
}
