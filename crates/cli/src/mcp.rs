//! `aft mcp`: the archive's search as tools for agents, over standard input and output.

use std::io::{IsTerminal, stdin};

use afterthought_mcp::{Tools, serve_stdio};

use crate::args::{Global, Mcp};
use crate::fail::Failure;
use crate::{hosts, paths};

pub(crate) fn run(global: &Global, args: &Mcp) -> Result<u8, Failure> {
    let tools = Tools::named(&args.tools)?;
    if let Some(host) = args.print_config {
        return hosts::print(global, args, host);
    }
    if stdin().is_terminal() {
        tell!("aft: waiting for an MCP client on standard input; to set one up: aft mcp --help");
    }
    let mut options = paths::options(global)?;
    options.user.clone_from(&args.user);
    serve_stdio(&options, tools)?;
    Ok(0)
}
