//! `aft mcp`: the archive's search as a tool for agents, over standard input and output.

use std::io::{IsTerminal, stdin};

use afterthought_mcp::serve_stdio;

use crate::args::Global;
use crate::fail::Failure;
use crate::paths;

pub(crate) fn run(global: &Global) -> Result<u8, Failure> {
    if stdin().is_terminal() {
        tell!("aft: waiting for an MCP client on standard input; to set one up: aft mcp --help");
    }
    serve_stdio(paths::options(global)?)?;
    Ok(0)
}
