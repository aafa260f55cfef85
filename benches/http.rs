//! What a server answers under load: requests per second, how long they take, and what it keeps, with 1,
//! 2, 8 and 64 clients that ask without a pause, each over a connection of its own.
//!
//! ```text
//! ROWS=300000 REQUESTS=5000 LASTING=100000 cargo bench --workspace --bench http
//! ARCHIVE=state.db cargo bench --workspace --bench http
//! ```
//!
//! Then `LASTING` requests more (100,000) by eight clients, in ten parts, to show whether anything grows. Server and
//! clients share the machine and are two processes; memory is the server's, without mapped files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use afterthought::{Engine, Level, Options};
use afterthought_server::{Server, Settings};
use afterthought_tools::corpus::{self, Plan};

type Failed = Box<dyn std::error::Error + Send + Sync>;

const CLIENTS: [usize; 4] = [1, 2, 8, 64];
/// Makes this program the server of an archive.
const SERVE: &str = "serve";

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, verb, archive, index] = arguments.as_slice()
        && verb == SERVE
    {
        return serve(&Options::new(archive, index));
    }
    let folder = tempfile::tempdir()?;
    let (archive, index) = (archive(folder.path().join("state.db"))?, folder.path().join("index"));
    drop(Engine::open(&Options::new(&archive, &index))?.freshen(Level::Full, Duration::MAX, |_| {})?);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SERVE).arg(&archive).arg(&index).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Served(command.spawn()?);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let address = line.trim().parse()?;
    let (paths, requests, lasting) = (paths(), setting("REQUESTS", 5_000)?, setting("LASTING", 100_000)?);
    println!("a mix of {} requests:", paths.len());
    for path in &paths {
        println!("  {path}");
    }
    // What is read once stays out of the figures.
    ask(address, &paths, 8, paths.len() * 8)?;
    println!("clients  requests/s   p50 ms   p99 ms   busy   RssAnon MB before, after");
    for clients in CLIENTS {
        let before = server.anonymous_mb()?;
        let began = Instant::now();
        let (mut took, busy) = ask(address, &paths, clients, requests)?;
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let per_second = took.len() as f64 / began.elapsed().as_secs_f64();
        took.sort_unstable();
        let at = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
        let (p50, p99, after) = (at(50), at(99), server.anonymous_mb()?);
        println!("{clients:>7} {per_second:>11.0} {p50:>8.2} {p99:>8.2} {busy:>6} {before:>11.1} {after:.1}");
    }
    let mut grown = vec![format!("{:.1}", server.anonymous_mb()?)];
    for _ in 0..10 {
        ask(address, &paths, 8, lasting / 10)?;
        grown.push(format!("{:.1}", server.anonymous_mb()?));
    }
    println!("RssAnon MB, before and after each tenth of {lasting} requests more: {}", grown.join(" "));
    Ok(())
}

/// Serves until standard input ends.
fn serve(options: &Options) -> Result<(), Failed> {
    let server = Server::start(options.clone(), Settings::new(SocketAddr::from(([127, 0, 0, 1], 0))))?;
    println!("{}", server.address());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(server);
    Ok(())
}

/// The server's process; ended with the bench.
struct Served(Child);

impl Served {
    fn anonymous_mb(&self) -> Result<f64, Failed> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no Linux system")?;
        let kb: f64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
        Ok(kb / 1024.0)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

fn setting(name: &str, default: usize) -> Result<usize, Failed> {
    std::env::var(name).map_or(Ok(default), |value| Ok(value.parse()?))
}

fn archive(path: PathBuf) -> Result<PathBuf, Failed> {
    if let Some(there) = std::env::var_os("ARCHIVE") {
        return Ok(PathBuf::from(there));
    }
    corpus::write(&path, &Plan::new(setting("ROWS", 300_000)? as u64, 7), |_| {})?;
    Ok(path)
}

/// Returns a fixed mix of questions: a common word, three words, a phrase, the newest, groups, counts, lists,
/// messages, and pages for people.
fn paths() -> Vec<String> {
    let words = corpus::vocabulary();
    let search = |rest: &str| format!("/api/v1/search?q={rest}");
    let three = format!("{}+{}+{}", words[30], words[300], words[900]);
    vec![
        search(&words[3]),
        search(&three),
        search(&format!("%22{}+{}%22", words[0], words[1])),
        search(&format!("{}&sort=newest", words[3])),
        search(&format!("{three}&group=session")),
        search(&format!("{}&facets=role,source", words[30])),
        "/api/v1/sessions".to_owned(),
        "/api/v1/messages/100?before=3&after=3".to_owned(),
        format!("/?q={three}&open=100"),
        "/".to_owned(),
    ]
}

/// Asks until enough was answered. Returns how long each answer took, and how many requests found the line
/// full.
fn ask(
    address: SocketAddr,
    paths: &[String],
    clients: usize,
    requests: usize,
) -> Result<(Vec<Duration>, usize), Failed> {
    let (next, busy) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let client = || -> Result<Vec<Duration>, Failed> {
        let mut stream = BufReader::new(TcpStream::connect(address)?);
        let mut took = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= requests {
                return Ok(took);
            }
            let path = &paths[number % paths.len()];
            let began = Instant::now();
            match answer(&mut stream, address, path)? {
                200 => took.push(began.elapsed()),
                503 => drop(busy.fetch_add(1, Ordering::Relaxed)),
                status => return Err(format!("{path} was answered with {status}").into()),
            }
        }
    };
    let took: Result<Vec<_>, Failed> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().map_err(|_| "a client panicked")?).collect()
    });
    Ok((took?.concat(), busy.into_inner()))
}

/// Sends a request over a connection that stays, and reads its answer.
fn answer(stream: &mut BufReader<TcpStream>, address: SocketAddr, path: &str) -> Result<u16, Failed> {
    stream.get_mut().write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let (mut status, mut bytes) = (0, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest.split(' ').next().unwrap_or_default().parse()?;
        } else if let Some(length) = line.strip_prefix("content-length: ") {
            bytes = length.trim().parse()?;
        } else if line.trim().is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; bytes])?;
    Ok(status)
}
