//! Several archives, searched as one: one page, ranked as if all rows stood in one archive. An archive that
//! cannot be searched is left out, and the page says so.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::engine::{Engine, Options, Pinned, say_how_true};
use crate::error::{Error, ErrorKind, ErrorView, Result};
use crate::limits::{FEDERATION_ARCHIVES_MAX, SEARCH_WALL_MS_MAX};
use crate::mirror::{Freshness, Level, Progress};
use crate::model::Warning;
use crate::search::{
    ArchiveView, Deadline, IndexState, IndexView, Page, SearchRequest, Source, commits_of, search,
};

/// Archives with names, searched as one.
///
/// How rare a word is and how long a message is are counted over all of them, so that scores compare. Of
/// messages that are equally good and equally old, the order is that of their ids and then that of the archives.
pub struct Federation {
    members: Vec<Member>,
}

/// One archive. It is opened when it is first asked, and again as long as that fails.
struct Member {
    options: Options,
    engine: Mutex<Option<Arc<Engine>>>,
}

impl Member {
    fn engine(&self) -> Result<Arc<Engine>> {
        let mut engine = self.engine.lock();
        if let Some(engine) = &*engine {
            return Ok(Arc::clone(engine));
        }
        Ok(Arc::clone(engine.insert(Arc::new(Engine::open(&self.options)?))))
    }
}

impl Federation {
    /// Names the archives, whose hits bear the names in these options; opens none yet. Fails if there are none
    /// or too many, if two have one name or are one archive, or if they are not all for the same person.
    pub fn of(archives: Vec<Options>) -> Result<Self> {
        let refused = |thing: &str, why: String| Error::new(ErrorKind::Usage, "search", thing).because(why);
        if archives.is_empty() || archives.len() > FEDERATION_ARCHIVES_MAX {
            let why =
                format!("1 to {FEDERATION_ARCHIVES_MAX} can be searched, and {} are named", archives.len());
            return Err(refused("several archives", why));
        }
        let (mut names, mut paths) = (HashSet::new(), HashSet::new());
        for options in &archives {
            if options.user != archives[0].user {
                return Err(refused(&options.name, "it is confined to another person".to_owned())
                    .hint("search one person's archives at a time"));
            }
            // What is not there is no other archive either.
            let path = options.archive.canonicalize().unwrap_or_else(|_| options.archive.clone());
            if !names.insert(&options.name) || !paths.insert(path) {
                let why =
                    format!("another one has its name, or is the same file, {}", options.archive.display());
                return Err(refused(&options.name, why).hint("name every archive once"));
            }
        }
        let member = |options| Member { options, engine: Mutex::new(None) };
        Ok(Self { members: archives.into_iter().map(member).collect() })
    }

    /// Returns the names of the archives, in the order in which they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| &*member.options.name)
    }

    /// Returns one of the archives, opening it if it is not. Fails as not found if none has the name, and as
    /// [`Engine::open`] does.
    pub fn archive(&self, name: &str) -> Result<Arc<Engine>> {
        let Some(member) = self.members.iter().find(|member| member.options.name == name) else {
            let names: Vec<&str> = self.names().collect();
            return Err(Error::new(ErrorKind::NotFound, "find archive", name)
                .because("it is none of those that are searched")
                .hint(format!("name one of: {}", names.join(", "))));
        };
        member.engine()
    }

    /// Brings every index up to date, one after the other, waiting at most `wait` for all of them; see
    /// [`Engine::freshen`]. Returns what became of each; one that fails keeps no other from it.
    pub fn freshen(
        &self,
        level: Level,
        wait: Duration,
        mut watch: impl FnMut(&Engine, Option<Progress>),
    ) -> Vec<Result<Freshness>> {
        let began = Instant::now();
        let freshen = |member: &Member| {
            let engine = member.engine()?;
            let left = wait.saturating_sub(began.elapsed());
            engine.freshen(level, left, |progress| watch(&engine, progress))
        };
        self.members.iter().map(freshen).collect()
    }

    /// Answers a search from the last commit of every archive, or from those that its cursor continues. An
    /// archive that cannot be searched is left out with a warning; [`Page::archives`] says why. Fails if all
    /// are left out, with the error of the first, and as [`Engine::search`] does; as a stale cursor where an
    /// archive can no longer be searched that took part in the page before, since every score changes with it.
    pub fn search(&self, request: SearchRequest) -> Result<Page> {
        self.search_until(request, &Deadline::after(Duration::from_millis(SEARCH_WALL_MS_MAX)))
    }

    /// Does the same, until a deadline that the caller sets.
    pub fn search_until(&self, mut request: SearchRequest, deadline: &Deadline) -> Result<Page> {
        let began = Instant::now();
        let commits = request.cursor.as_deref().map(commits_of).filter(|all| all.len() == self.members.len());
        let mut searched = self.take_hold(commits.as_deref(), deadline)?;
        if let Some(person) = self.members.first().and_then(|member| member.options.user.clone()) {
            request.filters.confined_to = Some(person);
        }
        loop {
            if searched.iter().all(Result::is_err) {
                return Err(searched.into_iter().find_map(Result::err).expect("there is an archive"));
            }
            match self.ask(&searched, &request, deadline) {
                Ok(mut page) => {
                    self.describe(&mut page, &searched);
                    page.elapsed_ms = began.elapsed().as_secs_f64() * 1_000.0;
                    return Ok(page);
                }
                Err((Some(number), error)) if commits.is_some() => {
                    return Err(cannot_go_on(&self.members[number].options.name, &error));
                }
                Err((Some(number), error)) => searched[number] = Err(error),
                Err((None, error)) => return Err(error),
            }
        }
    }

    /// Takes hold of every archive, as far as it can be searched and took part in the page that a cursor of these
    /// commits continues. Fails if one took part and cannot be searched any more.
    fn take_hold(
        &self,
        commits: Option<&[Option<u64>]>,
        deadline: &Deadline,
    ) -> Result<Vec<Result<Searched>>> {
        let mut searched = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            let name = &member.options.name;
            let commit = commits.and_then(|all| all[number]);
            if commits.is_some() && commit.is_none() {
                searched.push(Err(was_left_out(name)));
                continue;
            }
            let in_time =
                deadline.check("its turn came after the deadline", "search fewer archives at a time");
            let of_member = in_time.and_then(|()| Searched::of(member.engine()?, commit));
            match &of_member {
                Err(error) if commit.is_some() => return Err(cannot_go_on(name, error)),
                _ => searched.push(of_member),
            }
        }
        Ok(searched)
    }

    /// Searches what can be searched. Fails with the number of the archive that is to blame, if one is.
    fn ask(
        &self,
        searched: &[Result<Searched>],
        request: &SearchRequest,
        deadline: &Deadline,
    ) -> std::result::Result<Page, (Option<usize>, Error)> {
        let unread = Cell::new(None);
        let unread = &unread;
        let mut fetches: Vec<_> = searched
            .iter()
            .enumerate()
            .map(|(number, one)| {
                move |ids: &[Option<i64>]| match one {
                    Ok(one) => one.engine.messages_by_id(ids).inspect_err(|_| unread.set(Some(number))),
                    Err(_) => Ok(Vec::new()),
                }
            })
            .collect();
        let names = self.names();
        let mut sources: Vec<Option<Source<'_>>> = Vec::new();
        for ((one, name), fetch) in searched.iter().zip(names).zip(&mut fetches) {
            sources.push(match one {
                Ok(one) => Some(Source { name, snapshot: &one.pinned.snapshot, fetch }),
                Err(_) => None,
            });
        }
        let error = match search(&mut sources, request, deadline) {
            Ok(page) => {
                if page.next_cursor.is_some() {
                    searched.iter().flatten().for_each(|one| one.engine.keep(&one.pinned));
                }
                return Ok(page);
            }
            Err(error) => error,
        };
        // Whose files are garbled, tantivy does not say.
        if matches!(error.kind(), ErrorKind::Internal | ErrorKind::IndexDamaged) {
            for (number, one) in searched.iter().enumerate() {
                if let Ok(one) = one
                    && let Err(damaged) = one.pinned.check_files()
                {
                    return Err((Some(number), damaged));
                }
            }
        }
        Err((unread.get(), error))
    }

    /// Says on a page how it stands with every archive.
    fn describe(&self, page: &mut Page, searched: &[Result<Searched>]) {
        let view = |(name, one): (&str, &Result<Searched>)| ArchiveView {
            name: name.to_owned(),
            index: one.as_ref().ok().map(|one| one.pinned.view.clone()),
            error: one.as_ref().err().map(ErrorView::from),
        };
        let archives: Vec<ArchiveView> = self.names().zip(searched).map(view).collect();
        page.index = all_together(archives.iter().filter_map(|archive| archive.index.as_ref()));
        say_how_true(page);
        let left_out = archives.iter().filter_map(|archive| Some((&archive.name, archive.error.as_ref()?)));
        let warnings = left_out.map(|(name, error)| {
            Warning::new("archive-left-out", format!("{name} was left out: {}", error.message))
        });
        page.warnings.splice(0..0, warnings.collect::<Vec<_>>());
        page.archives = Some(archives);
    }
}

/// An archive that is searched.
struct Searched {
    engine: Arc<Engine>,
    pinned: Pinned,
}

impl Searched {
    /// Takes hold of what is searched: the last commit, or the one of this identity if that is kept.
    fn of(engine: Arc<Engine>, commit: Option<u64>) -> Result<Self> {
        let pinned = engine.pin(commit)?;
        Ok(Self { engine, pinned })
    }
}

fn was_left_out(name: &str) -> Error {
    Error::new(ErrorKind::CursorStale, "continue the search in", name)
        .because("the first page was found without it")
        .hint("ask for the first page again, without the cursor")
}

fn cannot_go_on(name: &str, error: &Error) -> Error {
    Error::new(ErrorKind::CursorStale, "continue the search in", name)
        .because(error.to_string())
        .hint("ask for the first page again, without the cursor; it will leave this archive out")
}

/// Says how several indexes together stand to their archives: as the one that is furthest behind.
fn all_together<'a>(views: impl Iterator<Item = &'a IndexView>) -> IndexView {
    let together = |mut all: IndexView, one: &IndexView| {
        all.state = match (all.state, one.state) {
            (IndexState::Building, _) | (_, IndexState::Building) => IndexState::Building,
            (IndexState::Stale, _) | (_, IndexState::Stale) => IndexState::Stale,
            (IndexState::Ready, IndexState::Ready) => IndexState::Ready,
        };
        all.rows += one.rows;
        all.rows_behind += one.rows_behind;
        // Times of one form and zone compare as texts; what has none yet was never looked at.
        all.last_sync = all.last_sync.min(one.last_sync.clone());
        all.checked_at = all.checked_at.min(one.checked_at.clone());
        all
    };
    let mut views = views.cloned();
    let first = views.next().unwrap_or_default();
    let mut all = views.fold(first, |all, one| together(all, &one));
    if all.state == IndexState::Building {
        let percent = all.rows * 100 / (all.rows + all.rows_behind).max(1);
        all.percent = u8::try_from(percent.min(100)).unwrap_or(100);
    }
    all
}
