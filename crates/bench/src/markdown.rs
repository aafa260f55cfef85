//! A report as Markdown that also reads well in a terminal: tables with aligned columns, what was
//! asked, and every place where another side is faster or finds more.

use crate::figures::{grouped, size};
use crate::report::{Build, Case, Figure, Report};

impl Report {
    /// Writes the report for people.
    #[must_use]
    pub fn markdown(&self) -> String {
        [
            self.heading(),
            self.build_table(),
            self.in_process_table(),
            self.whole_process_table(),
            self.totals_table(),
            self.verdicts(),
            self.conditions(),
        ]
        .concat()
    }

    fn heading(&self) -> String {
        let (versions, machine, archive) = (&self.versions, &self.machine, &self.archive);
        let debug = if versions.optimised { "" } else { ", **built without full optimisation**" };
        let memory =
            machine.memory_bytes.map_or(String::new(), |bytes| format!(", {} of memory", size(bytes)));
        let rows = [
            ("date", self.date.clone().unwrap_or_default()),
            (
                "machine",
                format!(
                    "{} cores, {}{memory}, {}",
                    machine.cores,
                    machine.cpu.as_deref().unwrap_or("unnamed processor"),
                    machine.system
                ),
            ),
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
        ];
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        format!("# aft bench\n\n{}", table(&["", ""], &rows))
    }

    fn build_table(&self) -> String {
        let row = |name: &str, build: &Build| {
            vec![
                name.to_owned(),
                format!("{:.1} s", build.seconds),
                grouped(whole(build.rows_per_s)),
                size(whole(build.text_bytes_per_s)),
                build.peak_anonymous_bytes.map_or_else(none, size),
                size(build.index_bytes),
                format!("{:.2}", build.index_bytes_per_text_byte),
            ]
        };
        let head = ["", "time", "rows/s", "text/s", "peak own memory", "index", "bytes per byte of text"];
        let rows = [row("ours", &self.build.ours), row("FTS5", &self.build.fts5)];
        format!(
            "\n## Building the index\n\n{}\nEach in a process of its own. FTS5: `rebuild` with 256 MB of cache; `optimize` takes {:.1} s more and is not counted. Ours analyzes on two threads, FTS5 on one.\n",
            table(&head, &rows),
            self.build.fts5_optimize_s
        )
    }

    fn in_process_table(&self) -> String {
        let rows = self.cases.iter().map(|case| {
            let times = &case.in_process;
            vec![
                label(case),
                figure(&times.ours),
                figure(&times.fts5),
                figure(&times.fts5_large_cache),
                figure(&times.fts5_page_only),
                times.scan.as_ref().map_or_else(none, figure),
                ratio(case.ratios.fts5),
                ratio(case.ratios.fts5_page_only),
            ]
        });
        let head = [
            "query",
            "ours",
            "FTS5, 2 MB cache",
            "FTS5, 256 MB cache",
            "FTS5, page only",
            "scan",
            "FTS5 / ours",
            "page only / ours",
        ];
        format!(
            "\n## A search in a process that stays, ms\n\n{}\nMedian [fastest–p99]; of fewer than 100 runs [fastest–slowest] and how many. Ratios are of medians, FTS5's with whichever cache served it better; above 1, ours is faster. \"Page only\" leaves out the total, which every other column has.\n",
            table(&head, &rows.collect::<Vec<_>>())
        )
    }

    fn whole_process_table(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .cases
            .iter()
            .filter_map(|case| {
                let times = case.whole_process.as_ref()?;
                Some(vec![
                    label(case),
                    figure(&times.ours),
                    figure(&times.fts5),
                    times.scan.as_ref().map_or_else(none, figure),
                    case.ratios.fts5_process.map_or_else(none, ratio),
                ])
            })
            .collect();
        if rows.is_empty() {
            return String::new();
        }
        format!(
            "\n## A search as a whole process, ms\n\n{}\nFrom start to the end of the answer as JSON. Ours is `aft search`, which also checks whether the archive changed. The others are twins inside the same program that open the database, ask, and print, with 2 MB of cache; they check nothing.\n",
            table(&["query", "ours", "FTS5", "scan", "FTS5 / ours"], &rows)
        )
    }

    fn totals_table(&self) -> String {
        let rows = self.cases.iter().map(|case| {
            let totals = &case.totals;
            vec![
                label(case),
                format!("`{}`", case.query),
                grouped(totals.ours),
                grouped(totals.fts5),
                totals.scan.map_or_else(none, grouped),
                if totals.agree { "equal" } else { "**differ**" }.to_owned(),
                case.about.clone(),
            ]
        });
        let head = ["query", "asked", "ours", "FTS5", "scan", "ours and FTS5", "chosen"];
        let mut text =
            format!("\n## What was asked and found\n\n{}", table(&head, &rows.collect::<Vec<_>>()));
        for left_out in &self.left_out {
            text += &format!("\nLeft out: {left_out}.\n");
        }
        text
    }

    /// Says where another side is faster or finds more. Nothing is weighed away.
    fn verdicts(&self) -> String {
        let mut lines = Vec::new();
        for case in &self.cases {
            let mut wins = Vec::new();
            if case.ratios.fts5 < 1.0 {
                wins.push("FTS5 is faster in process".to_owned());
            } else if case.ratios.fts5_page_only < 1.0 {
                wins.push("FTS5 is faster in process if the total is not wanted".to_owned());
            }
            if case.ratios.fts5_process.is_some_and(|ratio| ratio < 1.0) {
                wins.push("FTS5 is faster as a process".to_owned());
            }
            let totals = &case.totals;
            if totals.fts5 > totals.ours {
                wins.push(format!("FTS5 finds {} more", grouped(totals.fts5 - totals.ours)));
            } else if totals.fts5 < totals.ours && !wins.is_empty() {
                wins.push(format!("FTS5 finds {} fewer, though", grouped(totals.ours - totals.fts5)));
            }
            if case.ratios.scan.is_some_and(|ratio| ratio < 1.0) {
                wins.push("the scan is faster".to_owned());
            }
            if let Some(more) = totals.scan.and_then(|scan| scan.checked_sub(totals.ours)).filter(|n| *n > 0)
            {
                wins.push(format!("the scan finds {} more", grouped(more)));
            }
            if !wins.is_empty() {
                lines.push(format!("- {}: {}.\n", label(case), wins.join("; ")));
            }
        }
        if lines.is_empty() {
            lines.push("Nowhere here.\n".to_owned());
        }
        format!("\n## Where another side is faster or finds more\n\n{}", lines.concat())
    }

    fn conditions(&self) -> String {
        let settings = &self.settings;
        let mut text = format!(
            "\n## What was compared\n\n\
             - Equal work: the ten best messages (for the scan, the ten newest), read whole, each with a snippet, and the exact total. Visible messages only, repeated ones too, none of role `session_meta`; session titles, which only ours searches, left out.\n\
             - Equal rows: the archive was read once into a private copy, and every side reads that. Nothing is left of it.\n\
             - FTS5 has the agent's newest layout with reasoning as a fourth column, which no release ships; external content, `optimize` done, ids and flags before the texts. Of tool outputs it indexes 8,192 characters.\n\
             - The scan is the `LIKE` of the proposals to search reasoning: every row, newest by id first, substrings, no rank.\n\
             - Caches are warm: the first run of each search is not counted. Runs go by turns in an order that the seed shuffles (seed {}); at most {} in the process and {} as processes, fewer where a search spent its {} s, never fewer than 5 unless fewer were asked for.\n\
             - Queries were given, or chosen by the seed from the words and counts of the FTS5 index: what FTS5 cannot find is never asked for, and our index was not consulted.\n",
            settings.seed, settings.runs, settings.process_runs, settings.budget_s
        );
        let scan_differs =
            |totals: &crate::report::Totals| totals.scan.is_some_and(|scan| scan != totals.ours);
        if self.cases.iter().any(|case| !case.totals.agree || scan_differs(&case.totals)) {
            text += WHY_TOTALS_DIFFER;
        }
        text
    }
}

const WHY_TOTALS_DIFFER: &str = "
## Why totals can differ

- FTS5 takes a run of Han as one word, so a part of it is not found; ours finds it anywhere.
- FTS5 indexes JSON as it is stored: keys and call ids are words, escaped text (`\\u8bf7`) is none. Ours indexes the decoded values.
- FTS5 does not see a tool's output beyond 8,192 characters, nor one that is encoded JSON; nor reasoning that stands only in details. Ours does.
- Ours also finds the parts of `getUserById` and `v2`; FTS5 finds only the whole.
- The scan finds substrings: `port` in `report`. It does not look into encoded JSON, folds the case of ASCII only, and knows no accents.
";

fn label(case: &Case) -> String {
    case.role.as_ref().map_or_else(|| case.class.clone(), |role| format!("{}, {role}", case.class))
}

fn figure(figure: &Figure) -> String {
    let median = ms(figure.median_ms);
    match figure.p99_ms {
        Some(p99) => format!("{median} [{}–{}]", ms(figure.min_ms), ms(p99)),
        None => format!("{median} [{}–{}] {}×", ms(figure.min_ms), ms(figure.max_ms), figure.runs),
    }
}

fn ms(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn ratio(ratio: f64) -> String {
    format!("{} ×", ms(ratio))
}

fn none() -> String {
    "–".to_owned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates, shown without fractions")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Lays out a table whose columns are as wide as their widest cell.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let cell = |cell: &str| cell.replace('|', "\\|").replace('\n', " ");
    let wide = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).map(|row| cell(&row[column]).chars().count());
        cells.max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..head.len()).map(wide).collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(text, width)| format!(" {:<width$} |", cell(text)));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}|{}|\n{rows}", line(&head), rule.join("|"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::report::{
        ArchiveFacts, Builds, InProcess, Machine, Ratios, RunSettings, Totals, Versions, WholeProcess,
    };

    fn figure(runs: usize, median_ms: f64) -> Figure {
        let p99_ms = (runs >= 100).then_some(median_ms * 2.0);
        Figure { runs, min_ms: median_ms / 2.0, median_ms, p99_ms, max_ms: median_ms * 3.0 }
    }

    fn case() -> Case {
        Case {
            class: "common word".to_owned(),
            query: "lock|order".to_owned(),
            all: false,
            role: None,
            about: "in 60 % of rows".to_owned(),
            totals: Totals { ours: 1_234, fts5: 1_200, scan: Some(1_300), agree: false },
            in_process: InProcess {
                ours: figure(101, 2.0),
                fts5: figure(101, 40.0),
                fts5_large_cache: figure(101, 20.0),
                fts5_page_only: figure(101, 1.0),
                scan: Some(figure(5, 600.0)),
            },
            whole_process: Some(WholeProcess {
                ours: figure(21, 10.0),
                fts5: figure(21, 9.0),
                scan: Some(figure(5, 700.0)),
            }),
            ratios: Ratios { fts5: 10.0, fts5_page_only: 0.5, fts5_process: Some(0.9), scan: Some(300.0) },
        }
    }

    fn report(cases: Vec<Case>) -> Report {
        let build = Build {
            seconds: 20.0,
            rows_per_s: 15_000.0,
            text_bytes_per_s: 2e7,
            peak_anonymous_bytes: Some(400_000_000),
            index_bytes: 1_100_000_000,
            index_bytes_per_text_byte: 0.7,
        };
        Report {
            schema_version: 1,
            date: Some("2026-09-01T10:00:00Z".to_owned()),
            command: "aft bench".to_owned(),
            versions: Versions {
                aft: "0.1.0".to_owned(),
                tantivy: "0.27.0".to_owned(),
                sqlite: "3.50.0".to_owned(),
                optimised: true,
            },
            machine: Machine {
                cores: 2,
                cpu: None,
                memory_bytes: Some(8_000_000_000),
                system: "Linux".to_owned(),
            },
            archive: ArchiveFacts {
                path: "/a/state.db".to_owned(),
                bytes: 5_000_000,
                rows: 2_000,
                sessions: 30,
                text_bytes: 4_000_000,
                rows_cut: 3,
                rows_encoded: 0,
            },
            settings: RunSettings { seed: 7, runs: 101, process_runs: 21, budget_s: 5.0 },
            build: Builds { ours: build.clone(), fts5: build, fts5_optimize_s: 2.5 },
            cases,
            left_out: vec!["two Han characters: the archive holds no Han".to_owned()],
        }
    }

    #[test]
    fn a_report_reads_as_text() {
        expect![[r#"
            # aft bench

            |          |                                                                                                                    |
            |----------|--------------------------------------------------------------------------------------------------------------------|
            | date     | 2026-09-01T10:00:00Z                                                                                               |
            | machine  | 2 cores, unnamed processor, 8.00 GB of memory, Linux                                                               |
            | versions | aft 0.1.0, tantivy 0.27.0, SQLite 3.50.0                                                                           |
            | archive  | /a/state.db (5.0 MB)                                                                                               |
            | holds    | 2,000 messages in 30 sessions, 4.0 MB of text; 3 tool outputs longer than 8,192 characters, 0 rows of encoded JSON |
            | again    | `aft bench`                                                                                                        |

            ## Building the index

            |      | time   | rows/s | text/s  | peak own memory | index   | bytes per byte of text |
            |------|--------|--------|---------|-----------------|---------|------------------------|
            | ours | 20.0 s | 15,000 | 20.0 MB | 400.0 MB        | 1.10 GB | 0.70                   |
            | FTS5 | 20.0 s | 15,000 | 20.0 MB | 400.0 MB        | 1.10 GB | 0.70                   |

            Each in a process of its own. FTS5: `rebuild` with 256 MB of cache; `optimize` takes 2.5 s more and is not counted. Ours analyzes on two threads, FTS5 on one.

            ## A search in a process that stays, ms

            | query             | ours             | FTS5, 2 MB cache | FTS5, 256 MB cache | FTS5, page only  | scan              | FTS5 / ours | page only / ours |
            |-------------------|------------------|------------------|--------------------|------------------|-------------------|-------------|------------------|
            | common word       | 2.00 [1.00–4.00] | 40.0 [20.0–80.0] | 20.0 [10.0–40.0]   | 1.00 [0.50–2.00] | 600 [300–1800] 5× | 10.0 ×      | 0.50 ×           |
            | common word, user | 2.00 [1.00–4.00] | 40.0 [20.0–80.0] | 20.0 [10.0–40.0]   | 1.00 [0.50–2.00] | 600 [300–1800] 5× | 10.0 ×      | 0.50 ×           |

            Median [fastest–p99]; of fewer than 100 runs [fastest–slowest] and how many. Ratios are of medians, FTS5's with whichever cache served it better; above 1, ours is faster. "Page only" leaves out the total, which every other column has.

            ## A search as a whole process, ms

            | query             | ours                 | FTS5                 | scan              | FTS5 / ours |
            |-------------------|----------------------|----------------------|-------------------|-------------|
            | common word       | 10.0 [5.00–30.0] 21× | 9.00 [4.50–27.0] 21× | 700 [350–2100] 5× | 0.90 ×      |
            | common word, user | 10.0 [5.00–30.0] 21× | 9.00 [4.50–27.0] 21× | 700 [350–2100] 5× | 0.90 ×      |

            From start to the end of the answer as JSON. Ours is `aft search`, which also checks whether the archive changed. The others are twins inside the same program that open the database, ask, and print, with 2 MB of cache; they check nothing.

            ## What was asked and found

            | query             | asked         | ours  | FTS5  | scan  | ours and FTS5 | chosen          |
            |-------------------|---------------|-------|-------|-------|---------------|-----------------|
            | common word       | `lock\|order` | 1,234 | 1,200 | 1,300 | **differ**    | in 60 % of rows |
            | common word, user | `lock\|order` | 1,234 | 1,200 | 1,300 | **differ**    | in 60 % of rows |

            Left out: two Han characters: the archive holds no Han.

            ## Where another side is faster or finds more

            - common word: FTS5 is faster in process if the total is not wanted; FTS5 is faster as a process; FTS5 finds 34 fewer, though; the scan finds 66 more.
            - common word, user: FTS5 is faster in process if the total is not wanted; FTS5 is faster as a process; FTS5 finds 34 fewer, though; the scan finds 66 more.

            ## What was compared

            - Equal work: the ten best messages (for the scan, the ten newest), read whole, each with a snippet, and the exact total. Visible messages only, repeated ones too, none of role `session_meta`; session titles, which only ours searches, left out.
            - Equal rows: the archive was read once into a private copy, and every side reads that. Nothing is left of it.
            - FTS5 has the agent's newest layout with reasoning as a fourth column, which no release ships; external content, `optimize` done, ids and flags before the texts. Of tool outputs it indexes 8,192 characters.
            - The scan is the `LIKE` of the proposals to search reasoning: every row, newest by id first, substrings, no rank.
            - Caches are warm: the first run of each search is not counted. Runs go by turns in an order that the seed shuffles (seed 7); at most 101 in the process and 21 as processes, fewer where a search spent its 5 s, never fewer than 5 unless fewer were asked for.
            - Queries were given, or chosen by the seed from the words and counts of the FTS5 index: what FTS5 cannot find is never asked for, and our index was not consulted.

            ## Why totals can differ

            - FTS5 takes a run of Han as one word, so a part of it is not found; ours finds it anywhere.
            - FTS5 indexes JSON as it is stored: keys and call ids are words, escaped text (`\u8bf7`) is none. Ours indexes the decoded values.
            - FTS5 does not see a tool's output beyond 8,192 characters, nor one that is encoded JSON; nor reasoning that stands only in details. Ours does.
            - Ours also finds the parts of `getUserById` and `v2`; FTS5 finds only the whole.
            - The scan finds substrings: `port` in `report`. It does not look into encoded JSON, folds the case of ASCII only, and knows no accents.
        "#]]
            .assert_eq(&report(vec![case(), Case { role: Some("user".to_owned()), ..case() }]).markdown());
    }

    #[test]
    fn nothing_is_explained_where_nothing_differs() {
        let mut equal = case();
        equal.totals = Totals { ours: 5, fts5: 5, scan: Some(5), agree: true };
        equal.ratios = Ratios { fts5: 2.0, fts5_page_only: 1.5, fts5_process: None, scan: None };
        equal.whole_process = None;
        let text = report(vec![equal]).markdown();
        assert!(!text.contains("Why totals can differ") && !text.contains("whole process, ms"), "{text}");
        assert!(text.contains("Nowhere here."), "{text}");
    }
}
