//! `aft serve`: the archive's search over HTTP, until it is told to stop.

use afterthought_mcp::Tools;
use afterthought_server::{Server, Settings, Token};

use crate::args::{Global, Serve};
use crate::fail::Failure;
use crate::paths;

/// The token, where no file is named.
const TOKEN: &str = "AFTERTHOUGHT_TOKEN";

pub(crate) fn run(global: &Global, args: &Serve) -> Result<u8, Failure> {
    let settings = Settings {
        token: token(args)?,
        tools: Tools::named(&args.tools)?,
        hosts: args.allow_host.clone(),
        ..Settings::new(args.listen)
    };
    let mut options = paths::options(global)?;
    options.user.clone_from(&args.user);
    let archive = options.archive.display().to_string();
    let server = Server::start(options, settings)?;
    let stop = server.stop();
    let set = ctrlc::set_handler(move || {
        // The first lets answers under way finish, a second does not wait for them.
        if stop.is_asked() {
            std::process::exit(130);
        }
        stop.now();
    });
    if let Err(error) = set {
        tell!("aft: Ctrl-C will end the server at once: {error}");
    }
    tell!("serving {archive} at http://{}; Ctrl-C ends it", server.address());
    server.wait();
    Ok(0)
}

fn token(args: &Serve) -> Result<Option<Token>, Failure> {
    let text = match &args.token_file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.map_err(|error| Failure::Usage(format!("read {}: {error}", path.display())))?)
        }
        None => match std::env::var(TOKEN) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(error) => return Err(Failure::Usage(format!("read {TOKEN}: {error}"))),
        },
    };
    Ok(text.map(|text| Token::new(&text)).transpose()?)
}
