//! A report as one page that needs nothing else: styles and plots stand inside it, nothing is loaded.

use afterthought::Result;
use plotters::style::RGBColor;

use crate::failed;
use crate::plot::{INK, LINE, OURS, THEIRS, svg};
use crate::report::Report;
use crate::story::{Block, Plot};

/// Widths at which plots are drawn: beside text, and on a phone.
const WIDE: u32 = 860;
const NARROW: u32 = 360;

impl Report {
    /// Writes the report as a page. Fails only if a plot cannot be drawn.
    pub fn html(&self) -> Result<String> {
        let fact = |(name, value): (&str, String)| format!("<dt>{name}</dt><dd>{}</dd>\n", inline(&value));
        let facts = self.facts().into_iter().map(fact).collect::<Vec<_>>().concat();
        let mut body = String::new();
        let story = self.story();
        let (short, rest) = story.split_at(story.len().min(1));
        for block in short {
            body += &format!("<section class=\"short\">{}</section>\n", html(block)?);
        }
        body += &format!("<dl>\n{facts}</dl>\n");
        for block in rest {
            body += &html(block)?;
        }
        let style = style();
        let rows = crate::figures::grouped(self.archive.rows);
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>aft bench: {rows} messages</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
             <h1>Afterthought and SQLite FTS5 on {rows} messages</h1>\n{body}</main>\n</body>\n</html>\n"
        ))
    }
}

fn html(block: &Block) -> Result<String> {
    Ok(match block {
        Block::Heading(text) => format!("<h2>{}</h2>\n", escaped(text)),
        Block::Text(text) => format!("<p>{}</p>\n", inline(text)),
        Block::Points(points) => {
            let points: Vec<String> =
                points.iter().map(|point| format!("<li>{}</li>\n", inline(point))).collect();
            format!("<ul>\n{}</ul>\n", points.concat())
        }
        Block::Table { head, rows } => table(head, rows),
        Block::Plot(plot) => figure(plot)?,
        Block::Folded(title, blocks) => {
            let inside = blocks.iter().map(html).collect::<Result<String>>()?;
            format!("<details><summary>{}</summary>\n{inside}</details>\n", escaped(title))
        }
    })
}

/// Draws a plot twice; the style sheet shows the one that fits.
fn figure(plot: &Plot) -> Result<String> {
    let draw = |width| svg(plot, width).map_err(|error| failed("draw", &plot.title)(error.to_string()));
    Ok(format!(
        "<figure>\n<figcaption>{}</figcaption>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n</figure>\n",
        inline(&plot.title),
        draw(WIDE)?,
        draw(NARROW)?
    ))
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let numbers: Vec<bool> = (0..head.len()).map(|column| is_numeric(rows, column)).collect();
    let class = |column: usize| if numbers[column] { " class=\"n\"" } else { "" };
    let head = head.iter().enumerate();
    let head = head.map(|(column, cell)| format!("<th{}>{}</th>", class(column), inline(cell)));
    let head = head.collect::<Vec<_>>().concat();
    let row = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, cell)| format!("<td{}>{}</td>", class(column), inline(cell)));
        let cells = cells.collect::<Vec<_>>().concat();
        // A row without a name belongs to the one above.
        let kind = if row[0].is_empty() { " class=\"more\"" } else { "" };
        format!("<tr{kind}>{cells}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// Tells whether a column is read as numbers.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let is_number = |cell: &str| {
        let first = cell.trim_start_matches(['-', '–']).chars().next();
        first.is_none_or(|first| first.is_ascii_digit()) && cell.chars().count() <= 30
    };
    rows.iter().all(|row| is_number(&row[column])) && rows.iter().any(|row| !row[column].is_empty())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escapes a text and dresses what stands between backquotes and between pairs of stars.
fn inline(text: &str) -> String {
    let mut dressed = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            dressed += &format!("<code>{}</code>", escaped(part));
            continue;
        }
        for (at, part) in part.split("**").enumerate() {
            let part = escaped(part);
            dressed += &if at % 2 == 1 { format!("<strong>{part}</strong>") } else { part };
        }
    }
    dressed
}

fn style() -> String {
    let names = [(OURS, "ours"), (THEIRS, "theirs"), (INK, "ink"), (LINE, "line")];
    let hex = |color: RGBColor| format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2);
    let colors = names.map(|(color, name)| {
        let hex = hex(color);
        format!(
            "svg [fill=\"{hex}\"] {{ fill: var(--{name}); }}\nsvg [stroke=\"{hex}\"] {{ stroke: var(--{name}); }}\n"
        )
    });
    STYLE.to_owned() + &colors.concat()
}

const STYLE: &str = "\
:root { --paper: #fff; --ink: #222223; --soft: #5b5b60; --line: #d8d8d9; --wash: #f4f5f7;
  --ours: #2a78b5; --theirs: #c45c1a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e6e6e8; --soft: #a3a5ab; --line: #3a3d43; --wash: #1f2227;
    --ours: #63b1ec; --theirs: #ee9355; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
p { color: var(--soft); font-size: .93rem; }
ul { padding-left: 1.2rem; }
li { margin: .3rem 0; }
.short { background: var(--wash); border-left: 4px solid var(--ours); padding: .4rem 1rem; border-radius: 4px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: .88rem;
  color: var(--soft); }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, \"DejaVu Sans Mono\", monospace; background: var(--wash); padding: .05em .25em;
  border-radius: 3px; overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
figcaption { font-weight: 600; margin-bottom: .25rem; }
svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; min-width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-top: 1px solid var(--line); }
th { border-top: 0; color: var(--soft); font-weight: 600; white-space: nowrap; }
td:first-child { min-width: 9rem; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.more td { border-top: 0; }
details { margin: .75rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media (max-width: 640px) {
  main { padding: 1rem .8rem 3rem; }
  h1 { font-size: 1.35rem; }
  dl { display: block; }
  dd { margin-bottom: .4rem; }
  .wide { display: none; }
  .narrow { display: block; }
}
";

#[cfg(test)]
mod tests {
    use crate::report::sample::{case, report};

    #[test]
    fn a_page_needs_nothing_else_and_trusts_no_text() {
        let page = report(vec![case()]).html().expect("a page");
        for word in ["http:", "https:", "src=", "<script", "<link", "@import", "url("] {
            let without_names = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_names.contains(word), "{word}");
        }
        assert!(page.contains("lock|order &lt;b&gt;") && !page.contains("<b>"), "{page}");
    }

    #[test]
    fn a_page_says_what_the_text_says() {
        let report = report(vec![case()]);
        let (page, text) = (report.html().expect("a page"), report.markdown());
        for heading in text.lines().filter_map(|line| line.strip_prefix("## ")) {
            assert!(page.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        for number in ["10.0 ×", "Han inside a run", "60 % of rows", "4.00", "180.0"] {
            assert!(page.contains(number) && text.contains(number), "{number}");
        }
    }

    #[test]
    fn colours_of_plots_follow_the_page() {
        let page = report(vec![case()]).html().expect("a page");
        let (style, body) = page.split_once("</style>").expect("a style sheet");
        let colors = body.split("fill=\"#").skip(1).filter_map(|after| after.split('"').next());
        for color in colors.filter(|color| !color.is_empty()) {
            assert!(style.contains(&format!("[fill=\"#{color}\"]")), "{color}");
        }
    }

    #[test]
    fn nothing_asked_is_still_a_report() {
        let mut empty = report(Vec::new());
        empty.builds.truncate(1);
        empty.readers.clear();
        empty.agreements.clear();
        empty.settings.against.clear();
        assert!(empty.html().expect("a page").contains("How fast"));
    }
}
