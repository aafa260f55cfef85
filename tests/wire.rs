//! HTTP byte by byte: heads of requests written as they stand, and answers read as they came.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its head, without the empty line.
    pub head: String,
    /// Its body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Returns the first header of a name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Reads the body as JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends bytes as they stand.
#[must_use]
pub fn open(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    // The server may refuse before it has read everything.
    let _refused = stream.write_all(request.as_bytes());
    stream
}

/// Reads the one answer of a connection that is then closed.
#[must_use]
pub fn receive(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("the end of a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head in ASCII");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Reply { status, head, body: bytes.split_off(end + 4) }
}

/// Writes the head of a request that is the last of its connection.
#[must_use]
pub fn request(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")
}

/// Asks for a path, with further headers.
#[must_use]
pub fn get_with(address: SocketAddr, path: &str, headers: &str) -> Reply {
    receive(open(address, &request(path, &format!("Host: {address}\r\n{headers}"))))
}

/// Asks for a path.
#[must_use]
pub fn get(address: SocketAddr, path: &str) -> Reply {
    get_with(address, path, "")
}

/// Sends a body, with further headers.
#[must_use]
pub fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    receive(open(
        address,
        &format!(
            "POST {path} HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ),
    ))
}
