//! `aft search`: brings the mirror up to date, asks, prints.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use afterthought::limits::PAGE_DEPTH_MAX;
use afterthought::search::{facet_line, workspace_path};
use afterthought::time::bound_now;
use afterthought::{
    ArchiveView, Engine, Facet, Federation, Filters, Freshness, Group, Hit, Level, Match, Opening, Options,
    Origin, Page, SearchRequest, Sort, Warning, Weights,
};

use crate::args::{Global, GroupArg, MatchArg, OriginArg, ProgressArg, Search, SortArg};
use crate::explain::push_explanation;
use crate::fail::{Failure, quoted};
use crate::paint::{DIM, color, local_time, marked, printable, push_facts, push_lines, styled, width};
use crate::paths;
use crate::profiles;
use crate::progress::Reporter;
use crate::stdout::{grouped, print_json, print_text};

pub(crate) fn run(global: &Global, args: &Search) -> Result<u8, Failure> {
    let is_several = args.all || !args.profiles.is_empty();
    if is_several {
        profiles::alone(global, if args.all { "--all" } else { "--profiles" })?;
    }
    let mut options = if is_several { paths::options_of_several(global)? } else { paths::options(global)? };
    // One question needs no thread to wait for it.
    options.readers = 0;
    // What a cursor continues must still be there.
    let no_sync = args.no_sync || args.cursor.is_some();
    if no_sync {
        options.index = Opening::Existing;
    }
    let request = request(args)?;
    let wait = Duration::try_from_secs_f64(args.wait)
        .map_err(|_| Failure::Usage(format!("--wait {}: not a number of seconds of 0 or more", args.wait)))?;
    if is_several {
        return several(global, args, &options, request, Some(wait).filter(|_| !no_sync));
    }
    let engine = Engine::open(&options)?;
    let began = Instant::now();
    let freshness = if no_sync { None } else { Some(refresh(&engine, wait)?) };
    let sync_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let mut page = engine.search(request)?;
    page.sync_ms = sync_ms;
    page.warnings.extend(freshness.as_ref().and_then(Freshness::warning));
    print(global, args, &page)?;
    if freshness.is_none_or(|freshness| matches!(freshness, Freshness::Fresh(report) if report.unchanged)) {
        engine.end_unwritten();
    }
    Ok(0)
}

fn print(global: &Global, args: &Search, page: &Page) -> Result<(), Failure> {
    if global.json {
        return print_json(page);
    }
    print_text(&as_text(global, page, args.group))?;
    print_notes(global, page);
    Ok(())
}

/// Searches several archives as one, after bringing them up to date where `wait` says how long that may take.
fn several(
    global: &Global,
    args: &Search,
    options: &Options,
    request: SearchRequest,
    wait: Option<Duration>,
) -> Result<u8, Failure> {
    let mut archives = Vec::new();
    let mut unreadable = Vec::new();
    for named in profiles::several(&args.profiles, args.all)? {
        match named.options(options) {
            Ok(options) => archives.push(options),
            Err(error) => unreadable.push((named.name, error)),
        }
    }
    if archives.is_empty()
        && let Some((_, error)) = unreadable.pop()
    {
        return Err(error.into());
    }
    let federation = Federation::of(archives)?;
    let began = Instant::now();
    let mut fresh = Vec::new();
    if let Some(wait) = wait {
        let mut reporter = Reporter::patient(ProgressArg::Auto);
        let watch = |engine: &Engine, progress| reporter.watch(|| engine.interrupt(), progress);
        fresh = federation.freshen(Level::Quick, wait, watch);
        finish(reporter)?;
    }
    let sync_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let mut page = federation.search(request)?;
    page.sync_ms = sync_ms;
    for (name, error) in &unreadable {
        let message = format!("{name} was left out: {error}");
        page.warnings.insert(0, Warning::new("archive-left-out", message));
        let view = ArchiveView { name: name.clone(), index: None, error: Some(error.into()) };
        page.archives.get_or_insert_default().push(view);
    }
    for (name, fresh) in federation.names().zip(&fresh) {
        let behind = match fresh {
            Ok(freshness) => freshness.warning().map(|warning| warning.message),
            Err(error) => Some(format!("not brought up to date: {error}")),
        };
        let is_left_out = |archive: &ArchiveView| archive.name == name && archive.error.is_some();
        // What was left out was said.
        let behind = behind.filter(|_| !page.archives.iter().flatten().any(is_left_out));
        page.warnings.extend(behind.map(|why| Warning::new("not-synced", format!("{name}: {why}"))));
    }
    print(global, args, &page)?;
    Ok(0)
}

/// Brings the index up to date. Returns what the caller should know if that did not succeed.
pub(crate) fn freshen(engine: &Engine, wait: Duration) -> Result<Option<Warning>, Failure> {
    Ok(refresh(engine, wait)?.warning())
}

fn refresh(engine: &Engine, wait: Duration) -> Result<Freshness, Failure> {
    let mut reporter = Reporter::patient(ProgressArg::Auto);
    let freshness =
        engine.freshen(Level::Quick, wait, |progress| reporter.watch(|| engine.interrupt(), progress))?;
    finish(reporter)?;
    Ok(freshness)
}

/// Fails if Ctrl-C was pressed meanwhile.
fn finish(reporter: Reporter) -> Result<(), Failure> {
    if reporter.finish() {
        return Err(Failure::Interrupted(
            "stopped; what was indexed stays, and the next run goes on".to_owned(),
        ));
    }
    Ok(())
}

fn request(args: &Search) -> Result<SearchRequest, Failure> {
    let mut request = SearchRequest::new(args.query.join(" "));
    request.origins = origins(&args.origins);
    request.matching = match args.matching {
        MatchArg::Any => Match::Any,
        MatchArg::All => Match::All,
    };
    request.sort = match args.sort {
        SortArg::Relevance => Sort::Relevance,
        SortArg::Newest => Sort::Newest,
        SortArg::Oldest => Sort::Oldest,
    };
    request.group = match args.group {
        GroupArg::None => Group::None,
        GroupArg::Session => Group::Session,
        GroupArg::Lineage => Group::Lineage,
    };
    request.cursor.clone_from(&args.cursor);
    request.tiers = !args.no_tiers;
    request.offset = args.offset;
    request.limit = args.limit;
    request.facets.clone_from(&args.facets);
    request.explain = args.explain;
    request.weights = weights(args);
    request.filters = Filters {
        roles: args.role.clone(),
        sources: args.source.clone(),
        exclude_sources: args.exclude_source.clone(),
        sessions: args.session.clone(),
        exclude_sessions: args.exclude_session.clone(),
        users: args.user.clone(),
        models: args.model.clone(),
        workspace: workspace(args.workspace.as_deref())?,
        branches: args.branch.clone(),
        tools: args.tool.clone(),
        current_session: args.current_session.clone(),
        since_ms: bound("--since", args.since.as_deref())?,
        until_ms: bound("--until", args.until.as_deref())?,
        include_inactive: args.include_inactive,
        include_copies: args.include_copies,
        confined_to: None,
    };
    Ok(request)
}

fn origins(args: &[OriginArg]) -> Vec<Origin> {
    let origin = |arg: &OriginArg| match arg {
        OriginArg::All => None,
        OriginArg::Said => Some(Origin::Said),
        OriginArg::Thought => Some(Origin::Thought),
        OriginArg::Did => Some(Origin::Did),
        OriginArg::Saw => Some(Origin::Saw),
        OriginArg::Titled => Some(Origin::Titled),
    };
    // "all" among others is all.
    args.iter().map(origin).collect::<Option<_>>().unwrap_or_default()
}

fn weights(args: &Search) -> Weights {
    let mut weights = args.weights.clone();
    weights.phrase = args.phrase_boost.unwrap_or(weights.phrase);
    args.boost.iter().for_each(|(name, factor)| _ = weights.set(name, *factor));
    weights
}

pub(crate) fn workspace(folder: Option<&str>) -> Result<Option<String>, Failure> {
    let path = folder.map(workspace_path).transpose();
    path.map_err(|why| Failure::Usage(format!("--workspace {}: {why}", quoted(folder.unwrap_or_default()))))
}

pub(crate) fn bound(flag: &str, text: Option<&str>) -> Result<Option<i64>, Failure> {
    let bound = text.map(bound_now).transpose();
    bound.map_err(|why| Failure::Usage(format!("{flag} {}: {why}", text.unwrap_or_default())))
}

/// Writes a page for people: who said it where and when, then the place that matched.
pub(crate) fn as_text(global: &Global, page: &Page, group: GroupArg) -> String {
    let mut text = String::new();
    for (place, hit) in page.results.iter().enumerate() {
        let archive = page.archives.is_some().then_some(&*hit.archive);
        push_hit(&mut text, page.offset + place + 1, hit, archive);
        if let Some(more @ 1..) = hit.more_in_session {
            let whose = if group == GroupArg::Lineage { "lineage" } else { "session" };
            let (session, query) = (quoted(&hit.session_id), quoted(&page.query));
            let command = format!("aft{} session {session} --search {query}", flags(global, archive));
            let line = format!("{} more in this {whose}: {}", grouped(more), printable(&command));
            push_facts(&mut text, &styled(&line, DIM), "   ", width());
        }
        text.push('\n');
    }
    push_facets(&mut text, page);
    text
}

fn push_facets(text: &mut String, page: &Page) {
    let name_width = Facet::ALL.map(|facet| facet.name().len()).into_iter().max().unwrap_or(0);
    for (facet, values) in page.facets.iter().flatten() {
        let more = page.facets_more.as_ref().and_then(|more| more.get(facet)).copied().unwrap_or(0);
        let name = styled(&format!("{:name_width$}", facet.name()), DIM);
        push_facts(text, &format!("{name}  {}", printable(&facet_line(values, more))), "", width());
    }
}

fn push_hit(text: &mut String, rank: usize, hit: &Hit, archive: Option<&str>) {
    let role = hit.role.as_deref().map_or_else(String::new, |role| format!(" {role}"));
    let id = hit.message_id.map_or_else(String::new, |id| format!("  #{id}"));
    let tier = hit.tier.filter(|tier| tier.name() != hit.source);
    let tier = tier.map_or_else(String::new, |tier| format!("  {}", tier.name()));
    let archive = archive.map_or_else(String::new, |archive| format!("{archive}  "));
    let facts = format!("{}  {archive}{}{id}{tier}", local_time(hit.timestamp.as_deref()), hit.source);
    let origin = styled(hit.origin.name(), color(hit.origin));
    push_facts(text, &format!("{rank}. {origin}{role}  {}", styled(&printable(&facts), DIM)), "", width());
    let title = hit.title.as_deref().filter(|_| hit.origin != Origin::Titled).unwrap_or("");
    let session =
        [title, &hit.session_id].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    push_facts(text, &styled(&printable(&session), DIM), "   ", width());
    push_lines(text, &marked(&hit.snippet, &hit.highlights), "   ", width());
    if let Some(explanation) = &hit.explain {
        push_explanation(text, explanation, "   ", width());
    }
}

/// Returns the flags that the next command needs to reach the same place, or one archive of several.
pub(crate) fn flags(global: &Global, archive: Option<&str>) -> String {
    let flag = |name: &str, path: &Option<PathBuf>| {
        path.as_ref().map_or(String::new(), |path| format!(" {name} {}", quoted(&path.display().to_string())))
    };
    let profile = archive.or(global.profile.as_deref());
    let profile = profile.map_or(String::new(), |name| format!(" --profile {}", quoted(name)));
    let copy = if global.allow_copy { " --allow-copy" } else { "" };
    let paths = [("--archive", &global.archive), ("--layout", &global.layout), ("--index", &global.index)];
    paths.into_iter().fold(profile, |flags, (name, path)| flags + &flag(name, path)) + copy
}

/// Tells on standard error what the caller should know.
pub(crate) fn print_warnings(warnings: &[Warning]) {
    for warning in warnings {
        tell!("{}", styled(&format!("note: {}", warning.message), DIM));
    }
}

/// Tells on standard error how many there are, how true that is, and how to see more.
fn print_notes(global: &Global, page: &Page) {
    print_warnings(&page.warnings);
    if let Some(work) = &page.work {
        tell!(
            "{DIM}work: {} postings in {} segments, {} phrase checks, {} archive rows read, {} bytes cut into snippets{DIM:#}",
            grouped(work.postings),
            work.segments,
            grouped(work.phrase_checks),
            work.archive_rows_read,
            grouped(work.snippet_bytes)
        );
    }
    let total = page.total.value;
    let behind = match page.index.rows_behind {
        0 => String::new(),
        rows => format!("; {} rows are not indexed yet", grouped(rows)),
    };
    if total == 0 {
        tell!("no hits{behind}");
        return;
    }
    let shown_to = page.offset + page.results.len();
    let one = if page.total_messages.is_some() { "group" } else { "hit" };
    let plural = if total == 1 { "" } else { "s" };
    let of = page.total_messages.map_or_else(String::new, |all| format!(" of {} hits", grouped(all.value)));
    let shown = page.results.len();
    let mut line = format!("{shown} of {} {one}{plural}{of} in {:.1} ms", grouped(total), page.elapsed_ms);
    if (shown_to as u64) < total && !page.results.is_empty() {
        line += &match &page.next_cursor {
            Some(cursor) if shown_to + page.limit > PAGE_DEPTH_MAX => {
                format!("; more with --cursor {cursor}")
            }
            _ => format!("; more with --offset {shown_to}"),
        };
    }
    if let Some((id, hit)) = page.results.iter().find_map(|hit| Some((hit.message_id?, hit))) {
        let archive = page.archives.is_some().then_some(&*hit.archive);
        line += &format!("; to read on: aft{} show {id} -C 3", flags(global, archive));
    }
    tell!("{}", styled(&(line + &behind), DIM));
}
