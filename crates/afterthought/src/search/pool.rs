//! The reader pool: a few threads and a bounded queue before them, or none for who asks one thing. A full queue
//! answers busy at once instead of growing.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Snapshot;
use crate::limits::SEARCH_QUEUE_MAX;

use super::deadline::Deadline;
use super::hydrate::Source;
use super::kept::Kept;
use super::page::Page;
use super::request::SearchRequest;
use super::run::search;

/// How often a thread that nothing is asked of looks around.
const IDLE: Duration = Duration::from_secs(20);

/// Threads that answer searches.
pub struct Pool {
    archive: Archive,
    name: Arc<str>,
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

struct Job {
    snapshot: Arc<Snapshot>,
    request: SearchRequest,
    deadline: Deadline,
    reply: Sender<Result<Page>>,
}

impl Pool {
    /// Starts the threads, which also look after `kept` when nothing is asked. Without any, whoever asks
    /// does the work. Fails only if the system refuses them.
    pub fn start(archive: &Archive, name: &str, readers: usize, kept: &Arc<Kept>) -> Result<Self> {
        let name: Arc<str> = name.into();
        let (jobs, inbox) = bounded(SEARCH_QUEUE_MAX);
        let mut threads = Vec::new();
        for number in 0..readers {
            let (archive, name) = (archive.clone(), Arc::clone(&name));
            let (inbox, kept) = (inbox.clone(), Arc::clone(kept));
            let thread = std::thread::Builder::new()
                .name(format!("aft-reader-{number}"))
                .spawn(move || serve(&archive, &name, &inbox, &kept))
                .map_err(|error| {
                    Error::new(ErrorKind::Internal, "start", "a reader thread").because(error)
                })?;
            threads.push(thread);
        }
        Ok(Self { archive: archive.clone(), name, jobs: Some(jobs), threads })
    }

    /// Answers a request, or fails as busy or at the deadline.
    pub fn search(
        &self,
        snapshot: Arc<Snapshot>,
        request: SearchRequest,
        deadline: Deadline,
    ) -> Result<Page> {
        let (reply, result) = bounded(1);
        let job = Job { snapshot, request, deadline, reply };
        if self.threads.is_empty() {
            return answer(&self.archive, &self.name, &job);
        }
        let jobs = self.jobs.as_ref().expect("the sender lives until drop");
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Error::new(ErrorKind::Busy, "search", "the index")
                .because("too many searches wait already")
                .hint("try again in a moment"),
            TrySendError::Disconnected(_) => Error::new(ErrorKind::Internal, "search", "the index")
                .because("every reader thread has ended"),
        })?;
        result.recv().unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Internal, "search", "the index").because(error))
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader thread panicked");
            }
        }
    }
}

fn serve(archive: &Archive, name: &str, inbox: &Receiver<Job>, kept: &Kept) {
    loop {
        let job = match inbox.recv_timeout(IDLE) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => {
                kept.sweep();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let in_time = job.deadline.check("its turn came after the deadline", "try again in a moment");
        let page = in_time.and_then(|()| answer(archive, name, &job));
        // The caller may have given up; its page is dropped with it.
        let _gone = job.reply.send(page);
    }
}

fn answer(archive: &Archive, name: &str, job: &Job) -> Result<Page> {
    let mut fetch = |ids: &[Option<i64>]| archive.messages(ids);
    let source = Source { name, snapshot: &job.snapshot, fetch: &mut fetch };
    search(&mut [Some(source)], &job.request, &job.deadline)
}
