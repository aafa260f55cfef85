//! Counts requests and how long they took, and writes that as Prometheus reads it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use afterthought::ErrorKind;
use afterthought::search::IndexView;
use afterthought::time::bound_ms;
use parking_lot::Mutex;

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [(f64, &str); 12] = [
    (0.001, "0.001"),
    (0.0025, "0.0025"),
    (0.005, "0.005"),
    (0.01, "0.01"),
    (0.025, "0.025"),
    (0.05, "0.05"),
    (0.1, "0.1"),
    (0.25, "0.25"),
    (0.5, "0.5"),
    (1.0, "1"),
    (2.5, "2.5"),
    (10.0, "10"),
];

/// What was asked so far. Routes are those of the contract, so it does not grow.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, Route>>,
    abandoned: AtomicU64,
}

#[derive(Default)]
struct Route {
    statuses: BTreeMap<u16, u64>,
    /// Those that took at most so long, each counted once, in the order of [`BOUNDS`].
    buckets: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    pub(crate) fn count(&self, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock();
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Route::default());
        }
        let Some(route) = routes.get_mut(route) else { return };
        *route.statuses.entry(status).or_default() += 1;
        let seconds = took.as_secs_f64();
        if let Some(at) = BOUNDS.iter().position(|(bound, _)| seconds <= *bound) {
            route.buckets[at] += 1;
        }
        route.count += 1;
        route.seconds += seconds;
    }

    /// Counts work that failed because nobody waited for it any more.
    pub(crate) fn ended_early(&self, kind: ErrorKind) {
        if kind == ErrorKind::Interrupted {
            self.abandoned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes all figures; `index` is missing where it cannot be read.
    pub(crate) fn text(&self, (running, waiting): (usize, usize), index: Option<&IndexView>) -> String {
        let mut text = String::new();
        let routes = self.routes.lock();
        head(&mut text, "afterthought_http_requests_total", "counter", "Requests by route and status.");
        for (route, counted) in &*routes {
            for (status, count) in &counted.statuses {
                text += &format!(
                    "afterthought_http_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}\n"
                );
            }
        }
        let name = "afterthought_http_request_seconds";
        head(&mut text, name, "histogram", "Time from a request's head to its answer's.");
        for (route, counted) in &*routes {
            push_histogram(&mut text, name, route, counted);
        }
        drop(routes);
        let name = "afterthought_searches_abandoned_total";
        head(&mut text, name, "counter", "Searches that ended early, as their client had gone.");
        text += &format!("{name} {}\n", self.abandoned.load(Ordering::Relaxed));
        let mut gauge = |name: &str, what: &str, value: u64| {
            head(&mut text, name, "gauge", what);
            text += &format!("{name} {value}\n");
        };
        gauge("afterthought_requests_running", "Requests that are worked on.", running as u64);
        gauge("afterthought_requests_waiting", "Requests that wait for their turn.", waiting as u64);
        gauge("afterthought_index_up", "Whether the index can be read.", u64::from(index.is_some()));
        let Some(index) = index else { return text };
        gauge("afterthought_index_rows", "Messages in the index.", index.rows);
        gauge("afterthought_index_rows_behind", "Rows of the archive that are not in it.", index.rows_behind);
        let synced_ms = index.last_sync.as_deref().and_then(|time| bound_ms(time, 0)).unwrap_or(0);
        let synced_s = u64::try_from(synced_ms / 1_000).unwrap_or(0);
        gauge(
            "afterthought_last_sync_timestamp_seconds",
            "When the last commit was made; 0 before it.",
            synced_s,
        );
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, what: &str) {
    *text += &format!("# HELP {name} {what}\n# TYPE {name} {kind}\n");
}

fn push_histogram(text: &mut String, name: &str, route: &str, counted: &Route) {
    let mut so_far = 0;
    for ((_, bound), count) in BOUNDS.iter().zip(counted.buckets) {
        so_far += count;
        *text += &format!("{name}_bucket{{route=\"{route}\",le=\"{bound}\"}} {so_far}\n");
    }
    let (count, seconds) = (counted.count, counted.seconds);
    *text += &format!("{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}\n");
    *text +=
        &format!("{name}_sum{{route=\"{route}\"}} {seconds}\n{name}_count{{route=\"{route}\"}} {count}\n");
}
