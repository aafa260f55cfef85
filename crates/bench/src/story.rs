//! What a report says, in the order in which a person wants to know it: one list of headings, texts,
//! tables and plots, which Markdown and HTML only dress. Nothing is weighed away.

use crate::figures::{grouped, size};
use crate::report::{Answered, Build, Case, Figure, Report};

/// A piece of a report. Texts may hold `code` between backquotes and **strong** words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Heading(&'static str),
    Text(String),
    Points(Vec<String>),
    Table {
        head: Vec<&'static str>,
        rows: Vec<Vec<String>>,
    },
    Plot(Plot),
    /// Raw numbers, folded away where the form can.
    Folded(&'static str, Vec<Block>),
}

/// Bars beside each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// What a value means.
    pub(crate) axis: &'static str,
    pub(crate) bars: Vec<Bar>,
    /// Ratios: the scale is logarithmic and bars begin at 1.
    pub(crate) ratios: bool,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) text: String,
    /// Whether it speaks for us.
    pub(crate) ours: bool,
}

impl Report {
    /// Returns the whole report.
    pub(crate) fn story(&self) -> Vec<Block> {
        [
            self.in_short(),
            self.speed(),
            self.as_well(),
            self.found(),
            self.processes(),
            self.many_readers(),
            self.indexes(),
            self.writing(),
            self.conditions(),
            self.raw(),
        ]
        .concat()
    }

    /// Returns the rival that headlines speak of: the strongest that was asked.
    fn rival(&self) -> Option<&str> {
        self.settings.against.first().map(String::as_str)
    }

    fn in_short(&self) -> Vec<Block> {
        let mut points = Vec::new();
        if let Some(rival) = self.rival() {
            let compare = |ratios: Vec<f64>, kind: &str| {
                let (least, most) = (fold(&ratios, f64::min)?, fold(&ratios, f64::max)?);
                Some(format!(
                    "{kind}: {} takes **{}** our time on average over {} questions, from {} to {}.",
                    title(rival),
                    times(mean(&ratios)),
                    ratios.len(),
                    times(least),
                    times(most)
                ))
            };
            points.extend(compare(self.ratios(rival, |ratios| Some(ratios.warm)), "In a process that stays"));
            points
                .extend(compare(self.ratios(rival, |ratios| ratios.cold), "From the disk, in a new process"));
            let faster = self.ratios(rival, |ratios| Some(ratios.warm)).iter().filter(|r| **r > 1.0).count();
            points.push(format!("We are faster at {faster} of {} questions.", self.cases.len()));
        }
        if let (Some(ours), theirs) = (self.build("ours"), self.index_of_best())
            && let Some((bytes, seconds)) = theirs
        {
            points.push(format!(
                "Our index takes {} and {:.1} s to build; FTS5's, with trigrams, {} and {:.1} s.",
                size(ours.index_bytes),
                ours.seconds,
                size(bytes),
                seconds
            ));
        }
        let layouts = &self.appends.layouts;
        let added =
            layouts.iter().find(|layout| Some(layout.side.as_str()) == self.rival()).or(layouts.last());
        let added = added.map(|last| {
            format!(
                "A row that the agent writes costs it nothing with us, and {} ms more with {}'s triggers.",
                ms(last.added_ms.max(0.0)),
                title(&last.side)
            )
        });
        points.extend(added);
        vec![Block::Points(points)]
    }

    fn ratios(&self, side: &str, of: impl Fn(crate::report::Ratios) -> Option<f64>) -> Vec<f64> {
        self.cases.iter().filter_map(|case| of(case.side(side)?.ratios?)).collect()
    }

    /// Returns the bytes and seconds of everything that FTS5 needs to find as much as we do.
    fn index_of_best(&self) -> Option<(u64, f64)> {
        let pieces: Vec<&Build> = self.builds.iter().filter(|build| build.side.starts_with("best")).collect();
        (pieces.len() > 1).then(|| {
            let seconds = pieces.iter().map(|build| build.seconds).sum();
            (pieces.iter().map(|build| build.index_bytes).sum(), seconds)
        })
    }

    fn speed(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading("How fast")];
        let Some(rival) = self.rival() else { return blocks };
        if self.cases.is_empty() {
            blocks.push(Block::Text("Nothing could be asked.".to_owned()));
            return blocks;
        }
        blocks.push(ratio_plot(self, rival, "in a process that stays", |side| side.ratios.map(|r| r.warm)));
        blocks.extend(self.warm_table(rival));
        blocks.extend(self.ways_table(rival));
        blocks.extend(self.others_table(rival));
        blocks
    }

    fn warm_table(&self, rival: &str) -> Vec<Block> {
        let rows = self.cases.iter().filter_map(|case| {
            let (ours, theirs) = (case.side("ours")?, case.side(rival)?);
            let three = |figure: &Figure| {
                [Some(figure.median_ms), figure.p95_ms, figure.p99_ms].map(|time| time.map_or_else(none, ms))
            };
            let mut row = vec![label(case)];
            row.extend(three(&ours.warm));
            row.extend(three(&theirs.warm));
            row.push(theirs.page_only.as_ref().map_or_else(none, |page| ms(page.median_ms)));
            row.push(theirs.ratios.map_or_else(none, |ratios| times(ratios.warm)));
            Some(row)
        });
        let head =
            vec!["question, ms", "ours p50", "p95", "p99", "FTS5 p50", "p95", "p99", "no total", "/ ours"];
        let about = format!(
            "FTS5 here is {}. Above 1 ×, ours is faster. \"No total\" leaves the count out, where that can save FTS5 time; ours always has it. A 95th percentile needs 20 runs, a 99th 100.",
            title(rival)
        );
        vec![Block::Table { head, rows: rows.collect() }, Block::Text(about)]
    }

    /// Says which way to ask won, where there were several.
    fn ways_table(&self, rival: &str) -> Vec<Block> {
        let tried = self.cases.iter().filter(|case| !case.ways.is_empty());
        let rows = tried.filter_map(|case| {
            let won = case.side(rival)?.way.clone()?;
            let times = case.ways.iter().filter(|tried| tried.total).map(|tried| tried.median_ms);
            let times: Vec<f64> = times.collect();
            let worst = fold(&times, f64::max).map_or_else(none, ms);
            Some(vec![label(case), won, fold(&times, f64::min).map_or_else(none, ms), worst])
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let head = vec!["question", "fastest way to ask FTS5", "its ms", "slowest way's ms"];
        vec![Block::Folded("Which way to ask FTS5 won", vec![Block::Table { head, rows }])]
    }

    fn others_table(&self, rival: &str) -> Vec<Block> {
        let others: Vec<&str> =
            self.settings.against.iter().map(String::as_str).filter(|other| *other != rival).collect();
        if others.is_empty() {
            return Vec::new();
        }
        let mut head = vec!["question, ms", "ours"];
        head.extend(others.iter().flat_map(|other| [title(other), "/ ours"]));
        let rows = self.cases.iter().map(|case| {
            let ours = case.side("ours").map_or_else(none, |ours| ms(ours.warm.median_ms));
            let mut row = vec![label(case), ours];
            for other in &others {
                let side = case.side(other);
                row.push(side.map_or_else(none, |side| ms(side.warm.median_ms)));
                row.push(side.and_then(|side| side.ratios).map_or_else(none, |ratios| times(ratios.warm)));
            }
            row
        });
        vec![Block::Folded("The other rivals", vec![Block::Table { head, rows: rows.collect() }])]
    }

    /// Names every figure in which another side is as good as ours or better.
    fn as_well(&self) -> Vec<Block> {
        let Some(rival) = self.rival() else { return Vec::new() };
        let mut points: Vec<String> =
            self.cases.iter().flat_map(|case| case_points(case, |side| side == rival)).collect();
        points.extend(self.build_points());
        points.extend(self.reader_points(|side| side == rival));
        points.push("FTS5 needs nothing beside the database, and a row is found the moment its transaction ends; our index is a folder of its own that follows by a sync.".to_owned());
        points.push("FTS5's triggers are SQL that the agent already runs; ours is another program to install and to trust.".to_owned());
        let mut blocks = vec![Block::Heading("What FTS5 does as well or better"), Block::Points(points)];
        let mut others: Vec<String> =
            self.cases.iter().flat_map(|case| case_points(case, |side| side != rival)).collect();
        others.extend(self.reader_points(|side| side != rival));
        if !others.is_empty() {
            blocks.push(Block::Folded("The same of the other rivals", vec![Block::Points(others)]));
        }
        blocks
    }

    fn build_points(&self) -> Vec<String> {
        let Some(ours) = self.build("ours") else { return Vec::new() };
        let mut points = Vec::new();
        for other in self.builds.iter().filter(|other| !matches!(other.side.as_str(), "ours" | "best-flags"))
        {
            let mut wins = Vec::new();
            if other.seconds <= ours.seconds {
                wins.push(format!("is built in {:.1} s, ours in {:.1} s", other.seconds, ours.seconds));
            }
            if other.index_bytes <= ours.index_bytes {
                wins.push(format!("takes {}, ours {}", size(other.index_bytes), size(ours.index_bytes)));
            }
            if let (Some(theirs), Some(ours)) = (other.peak_anonymous_bytes, ours.peak_anonymous_bytes)
                && theirs <= ours
            {
                wins.push(format!("is built in {} of memory, ours in {}", size(theirs), size(ours)));
            }
            if !wins.is_empty() {
                points.push(format!("Building: {} {}.", piece_title(&other.side), wins.join("; ")));
            }
        }
        points
    }

    fn reader_points(&self, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
        let mut points = Vec::new();
        for ours in self.readers.iter().filter(|readers| readers.side == "ours") {
            let others = self.readers.iter().filter(|other| other.side != "ours" && is_asked(&other.side));
            for other in others.filter(|other| other.threads == ours.threads) {
                if other.searches_per_s >= ours.searches_per_s {
                    points.push(format!(
                        "Searches a second with {}: {} {:.1}, ours {:.1}.",
                        threads(ours.threads),
                        title(&other.side),
                        other.searches_per_s,
                        ours.searches_per_s
                    ));
                }
                if let (Some(theirs), Some(our)) = (other.peak_anonymous_bytes, ours.peak_anonymous_bytes)
                    && theirs <= our
                {
                    points.push(format!(
                        "Memory while searching with {}: {} {}, ours {}.",
                        threads(ours.threads),
                        title(&other.side),
                        size(theirs),
                        size(our)
                    ));
                }
            }
        }
        points
    }

    fn found(&self) -> Vec<Block> {
        let sides: Vec<&str> =
            std::iter::once("ours").chain(self.settings.against.iter().map(String::as_str)).collect();
        let rows = self.cases.iter().map(|case| {
            let totals = sides.iter().map(|side| {
                let total = case.side(side).map_or_else(none, |side| grouped(side.total));
                match case.match_total.filter(|_| *side == "best") {
                    Some(matched) => format!("{total} by scan; MATCH {}", grouped(matched)),
                    None => total,
                }
            });
            let mut row = vec![label(case), asked(case)];
            row.extend(totals);
            row.push(case.about.clone());
            row
        });
        let mut head = vec!["question", "asked"];
        head.extend(sides.iter().map(|side| title(side)));
        head.push("how it was chosen");
        let mut blocks =
            vec![Block::Heading("What was asked and found"), Block::Table { head, rows: rows.collect() }];
        if !self.left_out.is_empty() {
            let points = self.left_out.iter().map(|left_out| format!("Left out: {left_out}."));
            blocks.push(Block::Points(points.collect()));
        }
        blocks.push(Block::Points(WHY_TOTALS_DIFFER.map(str::to_owned).to_vec()));
        blocks.extend(self.agreement());
        blocks
    }

    fn agreement(&self) -> Vec<Block> {
        if self.agreements.is_empty() {
            return Vec::new();
        }
        let rows = self.agreements.iter().map(|agreement| {
            let compared = |count: u64| if agreement.compared { grouped(count) } else { none() };
            let reasons: Vec<String> = agreement
                .reasons
                .iter()
                .map(|reason| {
                    let side = if reason.side == "ours" { "only ours" } else { "only FTS5" };
                    format!("{side}: {} × {} (message {})", reason.rows, reason.why, reason.example)
                })
                .collect();
            vec![
                format!("`{}`", agreement.query),
                grouped(agreement.ours),
                grouped(agreement.fts5),
                compared(agreement.only_ours),
                compared(agreement.only_fts5),
                if !agreement.compared {
                    "too many to compare one by one".to_owned()
                } else if reasons.is_empty() {
                    "the same messages".to_owned()
                } else {
                    format!("{}; {} looked at", reasons.join("; "), agreement.examined)
                },
            ]
        });
        vec![
            Block::Heading("Are the answers the same"),
            Block::Text("Queries that need every word, drawn from messages of the archive, compared to the last message with FTS5's strongest layout.".to_owned()),
            Block::Table {
                head: vec!["query", "ours", "FTS5", "only ours", "only FTS5", "why"],
                rows: rows.collect(),
            },
        ]
    }

    fn processes(&self) -> Vec<Block> {
        let mut rows = Vec::new();
        for case in &self.cases {
            for side in case.sides.iter().filter(|side| side.process.is_some()) {
                rows.push(vec![
                    if side.side == "ours" { label(case) } else { String::new() },
                    title(&side.side).to_owned(),
                    side.process.as_ref().map_or_else(none, |figure| ms(figure.median_ms)),
                    side.ratios.and_then(|ratios| ratios.process).map_or_else(none, times),
                    side.cold.as_ref().map_or_else(none, |figure| ms(figure.median_ms)),
                    side.ratios.and_then(|ratios| ratios.cold).map_or_else(none, times),
                ]);
            }
        }
        let (Some(rival), false) = (self.rival(), rows.is_empty()) else { return Vec::new() };
        let mut blocks = vec![Block::Heading("A new process for each search")];
        if !self.ratios(rival, |ratios| ratios.cold).is_empty() {
            let cold = |side: &Answered| side.ratios.and_then(|ratios| ratios.cold);
            blocks.push(ratio_plot(self, rival, "in a new process, from the disk", cold));
        }
        blocks.push(Block::Table {
            head: vec!["question", "side", "warm, ms", "/ ours", "from disk, ms", "/ ours"],
            rows,
        });
        blocks.push(Block::Text("Medians, from start to the end of the answer as JSON. Ours is `aft search`, which also checks whether the archive changed; the others open the database, ask in their fastest way and print, and check nothing. From disk: every file of the copy and of the index had left the page cache.".to_owned()));
        blocks
    }

    fn many_readers(&self) -> Vec<Block> {
        if self.readers.is_empty() {
            return Vec::new();
        }
        let rows = self.readers.iter().map(|readers| {
            vec![
                title(&readers.side).to_owned(),
                readers.threads.to_string(),
                format!("{:.1}", readers.searches_per_s),
                grouped(readers.searches),
                format!("{:.1}", readers.seconds),
                readers.peak_anonymous_bytes.map_or_else(none, size),
            ]
        });
        vec![
            Block::Heading("Searches a second, and memory"),
            Block::Table {
                head: vec!["side", "threads", "searches/s", "searches", "seconds", "peak own memory"],
                rows: rows.collect(),
            },
            Block::Text("The same mix of questions over and over, in a process of its own; FTS5 with a connection of 256 MB for each thread, ours with one engine. Own memory leaves mapped files out (RssAnon).".to_owned()),
        ]
    }

    fn indexes(&self) -> Vec<Block> {
        let bar = |build: &Build, value: f64, text: String| Bar {
            label: piece_title(&build.side).to_owned(),
            value,
            text,
            ours: build.side == "ours",
        };
        let plot = |title: &str, axis, bars| {
            Block::Plot(Plot { title: title.to_owned(), axis, bars, ratios: false })
        };
        let bytes = self
            .builds
            .iter()
            .map(|build| bar(build, crate::build::number(build.index_bytes) / 1e6, size(build.index_bytes)));
        let seconds =
            self.builds.iter().map(|build| bar(build, build.seconds, format!("{:.1} s", build.seconds)));
        let rows = self.builds.iter().map(|build| {
            let spread = if build.builds > 1 {
                format!(" [{:.1}–{:.1}] {}×", build.seconds_min, build.seconds_max, build.builds)
            } else {
                String::new()
            };
            vec![
                piece_title(&build.side).to_owned(),
                format!("{:.1} s{spread}", build.seconds),
                grouped(whole(build.rows_per_s)),
                size(whole(build.text_bytes_per_s)),
                build.peak_anonymous_bytes.map_or_else(none, size),
                size(build.index_bytes),
                format!("{:.2}", build.index_bytes_per_text_byte),
                build.optimize_s.map_or_else(none, |seconds| format!("{seconds:.1} s")),
            ]
        });
        vec![
            Block::Heading("Size and building"),
            plot("Size of the index", "MB", bytes.collect()),
            plot("Time to build it", "seconds", seconds.collect()),
            Block::Table {
                head: vec!["index", "time", "rows/s", "text/s", "peak own memory", "size", "bytes per byte of text", "optimize"],
                rows: rows.collect(),
            },
            Block::Text("Each built by a process of its own, by turns. FTS5 with 256 MB of cache and one thread; its `optimize` is not counted in the time. Ours analyzes on two threads.".to_owned()),
        ]
    }

    fn writing(&self) -> Vec<Block> {
        let appends = &self.appends;
        let row = |name: &str, figure: &Figure, added: String| {
            vec![
                name.to_owned(),
                ms(figure.median_ms),
                figure.p99_ms.map_or_else(none, ms),
                ms(figure.max_ms),
                added,
            ]
        };
        let mut rows = vec![row("no index in the database; so with us", &appends.bare, "0".to_owned())];
        rows.extend(appends.layouts.iter().map(|layout| {
            row(&format!("{}, triggers", title(&layout.side)), &layout.insert, ms(layout.added_ms))
        }));
        rows.push(row("our sync of one row, which nobody waits for", &appends.our_sync, none()));
        vec![
            Block::Heading("What writing costs the agent"),
            Block::Table { head: vec!["a row is appended with", "median, ms", "p99", "slowest", "added, ms"], rows },
            Block::Text("Rows of the archive, appended once more, each in a transaction of its own, `synchronous = NORMAL`, by turns. Updates and deletes are not measured; releases index a row anew for every flag.".to_owned()),
        ]
    }

    fn conditions(&self) -> Vec<Block> {
        let settings = &self.settings;
        let points = [
            "Equal work: ten messages read whole, each with a snippet, and the exact total; where it is asked for also sessions or counts. The best by each side's own rank, for the scan the newest. Visible messages only, repeated ones too, none of role `session_meta`; session titles, which only ours searches, left out.".to_owned(),
            "Equal rows: the archive was read once into a private copy, and every side reads that. Nothing is left of it.".to_owned(),
            "**best** is the agent's newest layout with reasoning as a fourth column, which no release ships, and trigrams over the same columns for Han. It was asked in several ways (FTS5's own rank; with weights; every match once with `bm25()`, the program keeping the ten best and the count; each also with an ordinary index of the flags, so that rows need not be looked up among the texts), with 2 MB of cache and with 256 MB and the file mapped. The fastest counts, question by question. `optimize` was done.".to_owned(),
            "**v30** is that layout as the agent's newest version has it, **shipped** that of its releases (two tables with copies of the text); both by FTS5's own rank with the default cache. Neither indexes reasoning.".to_owned(),
            "**scan** is the `LIKE` of the proposals to search reasoning: every row in one pass, newest by id first, substrings, no rank. For Han too short for trigrams it is how every FTS5 side answers, as the agent does.".to_owned(),
            format!(
                "Warm figures leave the first run of each search out. Runs go by turns in an order that the seed shuffles (seed {}); at most {} in the process and {} as processes, fewer where a search spent its {} s, never fewer than 5 unless fewer were asked for.",
                settings.seed, settings.runs, settings.process_runs, settings.budget_s
            ),
            "Queries were given, or chosen by the seed from the words and counts of FTS5's index: what FTS5 cannot find is never asked for, and our index was not consulted.".to_owned(),
        ];
        vec![Block::Heading("How it was measured"), Block::Points(points.to_vec())]
    }

    fn raw(&self) -> Vec<Block> {
        let mut rows = Vec::new();
        for case in &self.cases {
            for tried in &case.ways {
                rows.push(vec![
                    label(case),
                    tried.way.clone(),
                    if tried.total { "yes" } else { "no" }.to_owned(),
                    ms(tried.median_ms),
                    tried.runs.to_string(),
                ]);
            }
        }
        let spread = self.cases.iter().flat_map(|case| {
            case.sides.iter().flat_map(|side| {
                let figures = [
                    ("warm", Some(&side.warm)),
                    ("no total", side.page_only.as_ref()),
                    ("as the agent asks", side.as_agent.as_ref()),
                    ("new process", side.process.as_ref()),
                    ("from disk", side.cold.as_ref()),
                ];
                let row = |(kind, figure): (&str, Option<&Figure>)| {
                    let figure = figure?;
                    let mut row = vec![label(case), title(&side.side).to_owned(), kind.to_owned()];
                    row.extend([figure.runs.to_string(), ms(figure.min_ms), ms(figure.median_ms)]);
                    row.extend([figure.p95_ms.map_or_else(none, ms), figure.p99_ms.map_or_else(none, ms)]);
                    row.push(ms(figure.max_ms));
                    Some(row)
                };
                figures.into_iter().filter_map(row).collect::<Vec<_>>()
            })
        });
        let figures = Block::Table {
            head: vec!["question", "side", "measured", "runs", "fastest", "median", "p95", "p99", "slowest"],
            rows: spread.collect(),
        };
        let mut blocks =
            vec![Block::Heading("All numbers"), Block::Folded("Every search, in ms", vec![figures])];
        if !rows.is_empty() {
            let head = vec!["question", "way to ask FTS5", "total", "median, ms", "runs"];
            blocks.push(Block::Folded("Ways that were tried", vec![Block::Table { head, rows }]));
        }
        blocks
    }

    /// Returns what the report is about, as names and values.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let (versions, machine, archive) = (&self.versions, &self.machine, &self.archive);
        let debug = if versions.optimised { "" } else { ", **built without full optimisation**" };
        let cpu = machine.cpu.as_deref().unwrap_or("unnamed processor");
        let memory =
            machine.memory_bytes.map_or(String::new(), |bytes| format!(", {} of memory", size(bytes)));
        vec![
            ("date", self.date.clone().unwrap_or_default()),
            ("machine", format!("{} cores, {cpu}{memory}, {}", machine.cores, machine.system)),
            (
                "versions",
                format!(
                    "aft {}{debug}, tantivy {}, SQLite {}",
                    versions.aft, versions.tantivy, versions.sqlite
                ),
            ),
            ("archive", format!("{} ({})", archive.path, size(archive.bytes))),
            (
                "holds",
                format!(
                    "{} messages in {} sessions, {} of text; {} tool outputs longer than 8,192 characters, {} rows of encoded JSON",
                    grouped(archive.rows),
                    grouped(archive.sessions),
                    size(archive.text_bytes),
                    grouped(archive.rows_cut),
                    grouped(archive.rows_encoded)
                ),
            ),
            ("again", format!("`{}`", self.command)),
        ]
    }
}

const WHY_TOTALS_DIFFER: [&str; 6] = [
    "Ours also finds forms of a word (`failing` for `fail`) unless every word is asked for or quoted, and counts them.",
    "FTS5 takes a run of Han as one word, so a part of it is not found but by trigrams or a scan; ours finds it anywhere.",
    "FTS5 indexes JSON as it is stored: keys and call ids are words, escaped text (`\\u8bf7`) is none. Ours indexes the decoded values.",
    "The newest layouts of FTS5 do not see a tool's output beyond 8,192 characters; none sees reasoning that stands only in details. Ours does.",
    "Ours also finds the parts of `getUserById` and `v2`; FTS5 finds only the whole.",
    "The scan finds substrings: `port` in `report`. It does not look into encoded JSON, folds the case of ASCII only, and knows no accents.",
];

/// Below this, a rival is as fast as we are: the rest is noise.
const AS_FAST: f64 = 1.1;

fn case_points(case: &Case, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
    let mut points = Vec::new();
    let Some(ours) = case.side("ours") else { return points };
    for side in case.sides.iter().skip(1).filter(|side| is_asked(&side.side)) {
        let Some(ratios) = side.ratios else { continue };
        let mut wins = Vec::new();
        if ratios.warm <= AS_FAST {
            wins.push(format!("takes {} our time", times(ratios.warm)));
        } else if let Some(page) = ratios.page_only.filter(|page| *page <= AS_FAST) {
            wins.push(format!("takes {} our time if the total is not wanted", times(page)));
        }
        if let Some(process) = ratios.process.filter(|ratio| *ratio <= AS_FAST) {
            wins.push(format!("takes {} as a new process", times(process)));
        }
        if let Some(cold) = ratios.cold.filter(|ratio| *ratio <= AS_FAST) {
            wins.push(format!("takes {} from the disk", times(cold)));
        }
        if side.total > ours.total {
            wins.push(format!("finds {} more", grouped(side.total - ours.total)));
        } else if side.total < ours.total && !wins.is_empty() {
            wins.push(format!("finds {} fewer, though", grouped(ours.total - side.total)));
        }
        if !wins.is_empty() {
            points.push(format!("{}: {} {}.", label(case), title(&side.side), wins.join("; ")));
        }
    }
    points
}

fn ratio_plot(report: &Report, rival: &str, kind: &str, of: impl Fn(&Answered) -> Option<f64>) -> Block {
    let bars = report.cases.iter().filter_map(|case| {
        let value = of(case.side(rival)?)?;
        Some(Bar { label: label(case), value, text: times(value), ours: value > 1.0 })
    });
    Block::Plot(Plot {
        title: format!("Time of {} as a multiple of ours, {kind}", title(rival)),
        axis: "times our time; right of 1 ours is faster",
        bars: bars.collect(),
        ratios: true,
    })
}

fn label(case: &Case) -> String {
    case.class.clone()
}

fn asked(case: &Case) -> String {
    let all = if case.all { ", all words" } else { "" };
    let role = case.role.as_ref().map_or(String::new(), |role| format!(", role {role}"));
    format!("`{}`{all}{role}", case.query)
}

/// Names a side in a sentence.
fn title(side: &str) -> &'static str {
    match side {
        "ours" => "ours",
        "best" => "best FTS5",
        "best without trigrams" => "best FTS5 without trigrams",
        "v30" => "newest FTS5",
        "shipped" => "shipped FTS5",
        _ => "scan",
    }
}

fn piece_title(side: &str) -> &'static str {
    match side {
        "ours" => "ours",
        "best" => "best FTS5: words with reasoning",
        "best-trigram" => "best FTS5: its trigrams",
        "best-flags" => "best FTS5: an index of flags",
        "v30" => "newest FTS5, both tables",
        _ => "shipped FTS5, both tables",
    }
}

fn threads(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

fn fold(values: &[f64], of: fn(f64, f64) -> f64) -> Option<f64> {
    values.iter().copied().reduce(of)
}

/// Returns the geometric mean, as ratios are averaged.
fn mean(ratios: &[f64]) -> f64 {
    let count = crate::build::number(ratios.len() as u64).max(1.0);
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count).exp()
}

fn ms(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn times(ratio: f64) -> String {
    format!("{} ×", ms(ratio))
}

fn none() -> String {
    "–".to_owned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates, shown without fractions")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{case, report};

    fn said(report: &Report) -> String {
        report.markdown()
    }

    #[test]
    fn what_fts5_does_better_is_said() {
        let mut better = case();
        better.sides[1].ratios.as_mut().expect("ratios").warm = 0.8;
        let text = said(&report(vec![better]));
        assert!(text.contains("common word: best FTS5 takes 0.80 × our time; takes 0.90 × as a new process; finds 34 fewer, though."), "{text}");
        assert!(
            text.contains("best FTS5: words with reasoning is built in 10.0 s, ours in 20.0 s"),
            "{text}"
        );
        assert!(text.contains("We are faster at 0 of 1 questions."), "{text}");
    }

    #[test]
    fn means_of_ratios_are_geometric() {
        assert!((mean(&[0.5, 2.0]) - 1.0).abs() < 1e-9);
        assert!((mean(&[8.0, 2.0]) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn ways_to_ask_are_told_apart() {
        let text = said(&report(vec![case()]));
        assert!(text.contains("Which way to ask FTS5 won"), "{text}");
    }
}
