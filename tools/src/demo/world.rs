//! The imaginary projects the demo's agent works on, and the words that stand for them in a
//! script. No person, company or machine here exists.

use super::noise;
use crate::archive::calendar;
use crate::random::Random;

/// What a script's `{{…}}` can name.
pub(super) struct Project {
    pub(super) name: &'static str,
    ticket: &'static str,
    test: &'static str,
    test_of: &'static str,
    lint: &'static str,
    pub(super) files: [&'static str; 5],
    pub(super) functions: [&'static str; 5],
    pub(super) tables: [&'static str; 3],
    hosts: [&'static str; 3],
    branches: [&'static str; 3],
}

pub(super) const PROJECTS: [Project; 8] = [
    Project {
        name: "harbor",
        ticket: "HRB",
        test: "cargo test",
        test_of: "cargo test",
        lint: "cargo clippy",
        files: ["src/release/gate.rs", "src/rollout/plan.rs", "src/probe.rs", "src/lease.rs", "src/trust.rs"],
        functions: ["plan_rollout", "waitForProbe", "renew_lease", "pick_canary", "drainNode"],
        tables: ["releases", "rollouts", "leases"],
        hosts: ["deploy-01", "staging-02", "staging-03"],
        branches: ["probe-timeouts", "canary-by-zone", "main"],
    },
    Project {
        name: "tally",
        ticket: "TAL",
        test: "pytest -q",
        test_of: "pytest -q -k",
        lint: "ruff check .",
        files: [
            "exports/monthly.py",
            "exports/csv_writer.py",
            "ledger/period.py",
            "jobs/nightly.py",
            "ledger/fees.py",
        ],
        functions: ["close_period", "write_row", "match_payments", "feeForPlan", "carry_over"],
        tables: ["invoices", "invoice_lines", "payments"],
        hosts: ["batch-02", "db-02", "batch-legacy"],
        branches: ["month-end", "fees-by-plan", "main"],
    },
    Project {
        name: "ferry",
        ticket: "FER",
        test: "go test ./...",
        test_of: "go test ./... -run",
        lint: "go vet ./...",
        files: [
            "consumer/ack.go",
            "consumer/batch.go",
            "broker/lease.go",
            "broker/dial.go",
            "cmd/ferry/main.go",
        ],
        functions: ["handleBatch", "splitBody", "leaseQueue", "signBody", "dialBroker"],
        tables: ["outbox", "deliveries", "receivers"],
        hosts: ["queue-03", "queue-04", "queue-05"],
        branches: ["smaller-batches", "signed-bodies", "main"],
    },
    Project {
        name: "lantern",
        ticket: "LAN",
        test: "npm test",
        test_of: "npm test --",
        lint: "npm run lint",
        files: [
            "src/api/client.ts",
            "src/pages/orders.tsx",
            "src/hooks/useSession.ts",
            "src/pages/parts.tsx",
            "src/format.ts",
        ],
        functions: ["renderInvoice", "useOrders", "formatMoney", "mergePages", "guardRoute"],
        tables: ["orders", "sessions", "carts"],
        hosts: ["web-01", "web-02", "web-03"],
        branches: ["order-filters", "dark-header", "main"],
    },
    Project {
        name: "weir",
        ticket: "WEI",
        test: "cargo test",
        test_of: "cargo test",
        lint: "cargo clippy",
        files: ["src/limiter.rs", "src/backend.rs", "src/route.rs", "src/headers.rs", "src/window.rs"],
        functions: ["admit_call", "rollWindow", "match_route", "count_shared", "stripHeaders"],
        tables: ["plans", "counters", "routes"],
        hosts: ["gw-01", "gw-02", "gw-03"],
        branches: ["limits-in-config", "route-table", "main"],
    },
    Project {
        name: "quarry",
        ticket: "QRY",
        test: "pytest -q",
        test_of: "pytest -q -k",
        lint: "ruff check .",
        files: [
            "quarry/rebuild.py",
            "quarry/rank.py",
            "quarry/synonyms.py",
            "quarry/reader.py",
            "quarry/codes.py",
        ],
        functions: ["part_key", "rank_hits", "expandSynonyms", "read_block", "normalize_code"],
        tables: ["parts", "synonyms", "suppliers"],
        hosts: ["search-01", "search-02", "search-03"],
        branches: ["codes-first", "smaller-blocks", "main"],
    },
    Project {
        name: "almanac",
        ticket: "ALM",
        test: "pytest -q",
        test_of: "pytest -q -k",
        lint: "ruff check .",
        files: [
            "almanac/daily.py",
            "almanac/range.py",
            "almanac/mail.py",
            "almanac/collector.py",
            "almanac/chart.py",
        ],
        functions: ["week_of", "send_report", "drawChart", "collect_lines", "merge_days"],
        tables: ["reports", "readings", "recipients"],
        hosts: ["batch-02", "batch-03", "mail-01"],
        branches: ["fewer-mails", "charts", "main"],
    },
    Project {
        name: "beacon",
        ticket: "BEA",
        test: "make check",
        test_of: "make check ONLY",
        lint: "make lint",
        files: [
            "zones/int.zone",
            "deploy/hosts.yaml",
            "scripts/zone_copy.py",
            "scripts/fleet.py",
            "deploy/alerts.yaml",
        ],
        functions: ["copy_zone", "listHosts", "renew_certificate", "check_serial", "drainHost"],
        tables: ["hosts", "records", "certificates"],
        hosts: ["dns-01", "dns-02", "mail-01"],
        branches: ["resolver-limits", "fleet-inventory", "main"],
    },
];

impl Project {
    pub(super) fn find(name: &str) -> Option<&'static Project> {
        PROJECTS.iter().find(|project| project.name == name)
    }

    pub(super) fn cwd(&self) -> String {
        format!("/home/dev/src/{}", self.name)
    }

    pub(super) fn branch(&self, random: &mut Random) -> &'static str {
        random.pick(&self.branches)
    }
}

/// What the slots of one scene mean; drawn once, so that a number an answer repeats is the
/// number the tool printed.
pub(super) struct Slots {
    values: Vec<(&'static str, String)>,
    project: Option<&'static Project>,
}

impl Slots {
    /// Draws the slots of a scene that takes place in `project`; without one it has only times.
    pub(super) fn draw(random: &mut Random, project: Option<&'static Project>, branch: &str) -> Slots {
        let mut values = numbers(random);
        if let Some(project) = project {
            let (file, file2) = two(random, &project.files);
            let (function, function2) = two(random, &project.functions);
            values.extend([
                ("svc", project.name.to_owned()),
                ("SVC", project.name.to_uppercase()),
                ("cwd", project.cwd()),
                ("branch", branch.to_owned()),
                ("test", project.test.to_owned()),
                ("test_of", project.test_of.to_owned()),
                ("lint", project.lint.to_owned()),
                ("file", file.to_owned()),
                ("file2", file2.to_owned()),
                ("fn", function.to_owned()),
                ("fn2", function2.to_owned()),
                ("table", random.pick(&project.tables).to_owned()),
                ("host", random.pick(&project.hosts).to_owned()),
                ("ticket", format!("{}-{}", project.ticket, random.between(101, 498))),
            ]);
        }
        Slots { values, project }
    }

    /// Replaces `{{slot}}` by its meaning and `{{this|or that}}` by one of them, innermost first.
    pub(super) fn fill(&self, random: &mut Random, text: &str, now: u64) -> String {
        let mut text = text.to_owned();
        while let Some(end) = text.find("}}") {
            let start = text[..end].rfind("{{").expect("a script closes only what it opened");
            let inner = &text[start + 2..end];
            let value = if inner.contains('|') {
                random.pick(&inner.split('|').collect::<Vec<_>>()).to_owned()
            } else {
                self.value(random, inner, now)
            };
            text.replace_range(start..end + 2, &value);
        }
        text
    }

    fn value(&self, random: &mut Random, name: &str, now: u64) -> String {
        let [year, month, day, hour, minute, second] = calendar(now);
        match (name, self.project) {
            ("log", Some(project)) => noise::log(random, project, now),
            ("tests", Some(project)) => noise::tests(random, project),
            ("clock", _) => format!("{hour:02}:{minute:02}:{second:02}"),
            ("day", _) => format!("{year:04}-{month:02}-{day:02}"),
            _ => {
                let found = self.values.iter().find(|(slot, _)| *slot == name);
                found.expect("a script names only slots that exist").1.clone()
            }
        }
    }
}

fn numbers(random: &mut Random) -> Vec<(&'static str, String)> {
    let mut number = |low, high| random.between(low, high).to_string();
    vec![
        ("n1", number(112, 989)),
        ("n2", number(41, 870)),
        ("n3", number(3, 40)),
        ("ms1", number(420, 2_900)),
        ("ms2", number(20, 380)),
        ("p1", number(11, 39)),
        ("full", number(86, 98)),
        ("line1", number(12, 340)),
        ("port1", number(8_001, 8_990)),
        ("h1", format!("{:08x}", random.bits() >> 32)),
        ("h2", format!("{:08x}", random.bits() >> 32)),
    ]
}

fn two(random: &mut Random, names: &[&'static str; 5]) -> (&'static str, &'static str) {
    let first = random.index(5);
    let second = (first + 1 + random.index(4)) % 5;
    (names[first], names[second])
}
