//! `aft export`: an archive's messages as lines of JSON, or as a transcript to read. Needs no index.

mod markdown;
mod output;

use std::ops::ControlFlow;

use afterthought::archive::Reading;
use afterthought::export::{Exported, Selection, Step, Walked, export};
use afterthought::{Error, ErrorKind, Origin};

use crate::args::{Export, ExportFormat, Global, OriginArg};
use crate::fail::Failure;
use crate::paint::{DIM, styled};
use crate::paths;
use crate::search::bound;
use crate::stdout::grouped;

use markdown::Markdown;
use output::{Bar, Output};

pub(crate) fn run(global: &Global, args: &Export) -> Result<u8, Failure> {
    let selection = selection(args)?;
    let archive = paths::options(global)?.archive()?;
    let output = match &args.output {
        Some(path) => Output::file(path, args.force, &archive)?,
        // A writer would wait for whoever reads what we print.
        None if archive.condition()?.reading == Reading::Locked => Output::spool()?,
        None => Output::stdout(),
    };
    let mut writing = Writing { output, format: args.format, markdown: Markdown::default(), failure: None };
    let mut bar = Bar::new(args.output.is_some());
    let walked = export(&archive, &selection, |step| {
        bar.show(&step);
        writing.take(&step)
    })?;
    bar.finish();
    if let Some(failure) = writing.failure {
        return Err(failure);
    }
    writing.output.finish()?;
    if !global.json {
        tell!("{}", styled(&said(&walked, args), DIM));
    }
    Ok(0)
}

fn selection(args: &Export) -> Result<Selection, Failure> {
    let mut parts = Vec::new();
    for part in &args.parts {
        match part {
            OriginArg::All => parts.extend([Origin::Said, Origin::Thought, Origin::Did, Origin::Saw]),
            OriginArg::Said => parts.push(Origin::Said),
            OriginArg::Thought => parts.push(Origin::Thought),
            OriginArg::Did => parts.push(Origin::Did),
            OriginArg::Saw => parts.push(Origin::Saw),
            OriginArg::Titled => {
                return Err(Failure::Usage("a title is no part of a message: it comes with each".to_owned()));
            }
        }
    }
    Ok(Selection {
        sessions: args.session.clone(),
        sources: args.source.clone(),
        roles: args.role.clone(),
        parts,
        since_ms: bound("--since", args.since.as_deref())?,
        until_ms: bound("--until", args.until.as_deref())?,
        include_inactive: args.include_inactive,
        include_copies: args.include_copies,
    })
}

/// Writes the steps of one walk down.
struct Writing {
    output: Output,
    format: ExportFormat,
    markdown: Markdown,
    failure: Option<Failure>,
}

impl Writing {
    fn take(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let written = match step {
            Step::Begin(_) => self.begin(),
            Step::Message(message) => self.write(message),
            Step::LeftOut => Ok(()),
        };
        if let Err(failure) = written.and_then(|()| output::stopped()) {
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.markdown = Markdown::default();
        if self.output.empty()? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ArchiveUnsteady, "export", "the archive")
            .because("it changed meanwhile, and what was printed is not of one state")
            .hint("name a file with --output, which is begun again where that happens")
            .into())
    }

    fn write(&mut self, message: &Exported<'_>) -> Result<(), Failure> {
        match self.format {
            ExportFormat::Jsonl => {
                serde_json::to_writer(&mut self.output, message).map_err(std::io::Error::from)?;
                self.output.write(b"\n")
            }
            ExportFormat::Markdown => self.output.write(self.markdown.message(message).as_bytes()),
        }
    }
}

/// Says what was written and what was left out, and why.
fn said(walked: &Walked, args: &Export) -> String {
    let mut said = format!("{} messages of {} sessions", grouped(walked.messages), grouped(walked.sessions));
    if let Some(path) = &args.output {
        said += &format!(" in {}", path.display());
    }
    for (count, what) in [
        (walked.inactive, "taken back or hidden, left out: --include-inactive"),
        (walked.copies, "repeat another, left out: --include-copies"),
        (walked.damaged, "could be read only in part"),
    ] {
        if count > 0 {
            said += &format!("; {} {what}", grouped(count));
        }
    }
    said
}
