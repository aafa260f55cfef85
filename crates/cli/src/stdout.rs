//! Writes data to standard output; a closed pipe ends the command quietly.

pub(crate) use afterthought_bench::figures::{grouped, size};

use std::io::{Write, stdout};

use serde::Serialize;

use crate::fail::Failure;

/// Prints a value as one JSON document.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    // Written whole or not at all: an error must leave standard output empty.
    let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
    line.push(b'\n');
    print_bytes(&line)
}

/// Prints what is no text for people.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Prints text; colours are dropped where they are not wanted.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a line on standard error, for people and not for pipes.
pub(crate) fn tell(line: &str) {
    let _closed = writeln!(anstream::stderr(), "{line}");
}
