//! A report as Markdown that also reads well in a terminal: tables with aligned columns, and plots as
//! bars of characters.

use crate::report::Report;
use crate::story::{Block, Plot};

impl Report {
    /// Writes the report for people.
    #[must_use]
    pub fn markdown(&self) -> String {
        let facts: Vec<Vec<String>> =
            self.facts().into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        let blocks: String = self.story().iter().map(block).collect();
        format!("# aft bench\n\n{}{blocks}", table(&["", ""], &facts))
    }
}

fn block(block_: &Block) -> String {
    match block_ {
        Block::Heading(text) => format!("\n## {text}\n"),
        Block::Text(text) => format!("\n{text}\n"),
        Block::Points(points) => {
            let points: Vec<String> = points.iter().map(|point| format!("- {point}\n")).collect();
            format!("\n{}", points.concat())
        }
        Block::Table { head, rows } => format!("\n{}", table(head, rows)),
        Block::Plot(plot) => bars(plot),
        Block::Folded(title, blocks) => {
            format!("\n### {title}\n{}", blocks.iter().map(block).collect::<String>())
        }
    }
}

/// Characters of the longest bar.
const BAR_CHARS: u32 = 40;

fn bars(plot: &Plot) -> String {
    let length = |value: f64| if plot.ratios { value.max(1.0).ln() } else { value };
    let most = plot.bars.iter().map(|bar| length(bar.value)).fold(0.0, f64::max);
    let wide = plot.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let line = |bar: &crate::story::Bar| {
        let chars = if most > 0.0 { length(bar.value) / most * f64::from(BAR_CHARS) } else { 0.0 };
        let drawn: String =
            (0..BAR_CHARS).take_while(|at| f64::from(*at) + 0.5 < chars).map(|_| '█').collect();
        format!("{:<wide$} {drawn} {}\n", bar.label, bar.text)
    };
    let lines: String = plot.bars.iter().map(line).collect();
    let scale = if plot.ratios { " Logarithmic." } else { "" };
    format!("\n{} ({}).{scale}\n\n```text\n{lines}```\n", plot.title, plot.axis)
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
    use expect_test::expect_file;

    use crate::report::sample::{case, report};

    #[test]
    fn a_report_reads_as_text() {
        expect_file!["../tests/report.md"].assert_eq(&report(vec![case()]).markdown());
    }
}
