//! `aft audit`: what the archive holds that its agent's own search cannot find.

use std::time::Duration;

use afterthought::{Audit, Engine, WordAudit};

use crate::args::{self, Global};
use crate::fail::Failure;
use crate::paint::{BOLD, DIM, push_lines, styled, width};
use crate::paths;
use crate::search::{freshen, print_warnings};
use crate::stdout::{grouped, print_json, print_text};

pub(crate) fn run(global: &Global, args: &args::Audit) -> Result<u8, Failure> {
    let engine = Engine::open(&paths::options(global)?)?;
    // A half-built index would call words unsaid that are only unread.
    print_warnings(freshen(&engine, Duration::MAX)?.as_slice());
    let text = if let Some(word) = &args.word {
        let audit = engine.audit_word(word)?;
        if global.json {
            print_json(&audit)?;
            return Ok(0);
        }
        word_as_text(&audit)
    } else {
        let audit = engine.audit()?;
        if global.json {
            print_json(&audit)?;
            return Ok(0);
        }
        as_text(&audit)
    };
    print_text(&text)?;
    Ok(0)
}

fn word_as_text(audit: &WordAudit) -> String {
    let trigrams = audit.fts.trigrams.map_or("too short for it".to_owned(), grouped);
    format!(
        "{}\n  the agent's word index     {}\n  the agent's trigram index  {trigrams}\n  the agent's scan           {}\n  here                       {}, {} of them in reasoning\n",
        styled(&audit.word, BOLD),
        grouped(audit.fts.words),
        grouped(audit.fts.scan),
        grouped(audit.ours),
        grouped(audit.ours_in_reasoning),
    )
}

fn as_text(audit: &Audit) -> String {
    let figures = &audit.figures;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let list = |pairs: &[(String, u64)]| {
        let pairs: Vec<_> = pairs.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
        pairs.join(", ")
    };
    let mut text = format!(
        "messages             {}\nwith reasoning       {} ({})\nonly reasoning       {} with nothing said\ncontent              {} characters\nreasoning            {} characters, {} more than content alone\n",
        grouped(figures.rows),
        grouped(figures.rows_with_reasoning),
        percent(figures.reasoning_share),
        grouped(figures.empty_content_with_reasoning),
        grouped(figures.chars_content),
        grouped(figures.chars_reasoning),
        percent(figures.added_share),
    );
    push_lines(&mut text, &format!("by role              {}", list(&figures.by_role)), "", width());
    push_lines(&mut text, &format!("by source            {}", list(&figures.by_source)), "", width());
    text += &format!(
        "\n{}\n",
        styled("Thought, never said, and not to be found by the agent's own search:", BOLD)
    );
    for word in &audit.only_in_reasoning {
        let ids: Vec<_> = word.message_ids.iter().map(|id| format!("#{id}")).collect();
        let line = format!(
            "{:<24} {:>6} messages  {}",
            word.word,
            grouped(word.messages),
            styled(&ids.join(" "), DIM)
        );
        push_lines(&mut text, &line, "  ", width());
    }
    if audit.only_in_reasoning.is_empty() {
        text += "  no word: all that was thought was also said\n";
    }
    text
}
