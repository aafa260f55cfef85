//! Decides which sessions the demo has, when they start and what happens in them.

use serde_json::json;

use super::script::Scene;
use super::world::{PROJECTS, Project, Slots};
use crate::archive::{Session, seconds, session_id};
use crate::random::{Random, seed};

const LOOPS: [&str; 2] = [include_str!("text/loops_code.txt"), include_str!("text/loops_ops.txt")];
const STORIES: [&str; 4] = [
    include_str!("text/stories_a.txt"),
    include_str!("text/stories_b.txt"),
    include_str!("text/foreign.txt"),
    include_str!("text/chats.txt"),
];
const OPENERS: &str = include_str!("text/openers.txt");
const CLOSERS: &str = include_str!("text/closers.txt");
const CRON: &str = include_str!("text/cron.txt");
const DELEGATES: &str = include_str!("text/delegates.txt");

const UNDONE: &str = include_str!("text/undone.txt");

const WORKDAYS_COUNT: usize = 18;
const CRON_COUNT: usize = 8;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// One session to come.
pub(super) struct Plan {
    pub(super) session: Session,
    pub(super) started: u64,
    pub(super) turns: Vec<Turn>,
    pub(super) ending: Ending,
    project: Option<&'static Project>,
}

/// A scene with its slots; a story's own scene keeps all its reasoning.
pub(super) struct Turn {
    pub(super) scene: Scene,
    pub(super) slots: Slots,
    pub(super) is_story: bool,
}

/// What happens to rows of a session after they are told.
pub(super) enum Ending {
    Plain,
    /// This last exchange was a mistake and is taken back.
    Undone(Turn),
    /// The context was full after so many turns, and these were summarized.
    Compacted(usize),
}

/// Returns the demo's sessions, oldest first.
pub(super) fn all() -> Vec<Plan> {
    let mut random = Random::new(2_026);
    let mut plans: Vec<Plan> = Vec::new();
    for script in STORIES {
        plans.extend(Scene::read_all(script).into_iter().map(|scene| story(&mut random, scene)));
    }
    let mut workdays: Vec<Plan> = (0..WORKDAYS_COUNT).map(|at| workday(&mut random, at)).collect();
    plans.push(continued(&mut random, &mut workdays[5], "compression"));
    plans.push(continued(&mut random, &mut workdays[12], "branched"));
    for (at, scene) in (0..2).flat_map(|_| Scene::read_all(DELEGATES)).enumerate() {
        plans.push(delegate(&mut random, scene, &workdays[at * 5 + 1]));
    }
    plans.extend(workdays);
    plans.extend((0..CRON_COUNT).map(|at| cron(&mut random, at)));
    // A child starts after its parent, so each parent is there when its children come.
    plans.sort_by_key(|plan| plan.started);
    plans
}

fn story(random: &mut Random, scene: Scene) -> Plan {
    let started = moment(scene.field(0));
    let (project, branch) = (Project::find(scene.field(2)), scene.field(3));
    let title = Some(scene.field(4)).filter(|title| !title.is_empty());
    let session = Session {
        source: scene.field(1).to_owned(),
        title: title.map(str::to_owned),
        user_id: chat_user(scene.field(1)),
        ..session(started, scene.field(0), project, branch)
    };
    let loops = scene.field(5).parse().unwrap_or(0);
    let mut turns = vec![turn(random, scene, project, branch, true)];
    turns.extend(work(random, project, branch, loops));
    Plan { session, started, turns, ending: Ending::Plain, project }
}

/// A session of small things on one project. One of them was compacted in place, one ends in a
/// mistake, one was put away.
fn workday(random: &mut Random, at: usize) -> Plan {
    let project = Some(&PROJECTS[at % PROJECTS.len()]);
    let mut openers = Scene::read_all(OPENERS);
    let opener = openers.swap_remove(at % openers.len());
    let days = u64::try_from(at).unwrap_or(0) * 19 / 2;
    let started = seconds(2026, 1, 6, 8, 0) + days * DAY + random.below(8 * HOUR);
    let branch = PROJECTS[at % PROJECTS.len()].branch(random);
    let first = turn(random, opener, project, branch, false);
    let title = first.slots.fill(random, first.scene.field(0), started);
    let session = Session {
        source: random.weighted(&[(6, "cli"), (2, "tui"), (1, "desktop")]).to_owned(),
        archived: at == 0,
        ..session(started, &title, project, branch)
    };
    let mut turns = vec![first];
    let loops = random.index(4) + 10;
    turns.extend(work(random, project, branch, loops));
    let ending = match at {
        2 => Ending::Compacted(turns.len() / 2),
        7 => Ending::Undone(turn(random, only(UNDONE), project, branch, true)),
        _ => Ending::Plain,
    };
    Plan { session: Session { title: Some(title), ..session }, started, turns, ending, project }
}

/// Ends `parent` for `reason` and goes on from it in a session of its own.
fn continued(random: &mut Random, parent: &mut Plan, reason: &str) -> Plan {
    let started = parent.started + 5 * HOUR;
    let from = &mut parent.session;
    from.end_reason = Some(reason.to_owned());
    from.ended_at = Some(whole(started));
    let branch = from.git_branch.clone().unwrap_or_default();
    let title = format!("{} #2", from.title.as_deref().unwrap_or_default());
    let config = json!({"_branched_from": from.id});
    let session = Session {
        model_config: Some(config.to_string()).filter(|_| reason == "branched"),
        parent_session_id: Some(from.id.clone()),
        ..session(started, &title, parent.project, &branch)
    };
    let turns = work(random, parent.project, &branch, 3);
    let session = Session { title: Some(title), ..session };
    Plan { session, started, turns, ending: Ending::Plain, project: parent.project }
}

fn delegate(random: &mut Random, scene: Scene, parent: &Plan) -> Plan {
    let started = parent.started + HOUR / 2;
    let branch = parent.session.git_branch.clone().unwrap_or_default();
    let task = turn(random, scene, parent.project, &branch, false);
    let title = task.slots.fill(random, task.scene.field(0), started);
    let session = Session {
        source: "subagent".to_owned(),
        model_config: Some(json!({"_delegate_from": parent.session.id}).to_string()),
        parent_session_id: Some(parent.session.id.clone()),
        ..session(started, &title, parent.project, &branch)
    };
    let session = Session { title: Some(title), ..session };
    Plan { session, started, turns: vec![task], ending: Ending::Plain, project: parent.project }
}

fn cron(random: &mut Random, at: usize) -> Plan {
    let mut jobs = Scene::read_all(CRON);
    let scene = jobs.swap_remove(at % jobs.len());
    let days = u64::try_from(at).unwrap_or(0) * 21;
    let started = moment(&format!("2026-01-10 {}", scene.field(0))) + days * DAY;
    let project = Project::find(scene.field(1));
    let session = Session { source: "cron".to_owned(), ..session(started, scene.field(2), project, "main") };
    let turns = vec![turn(random, scene, project, "main", false)];
    Plan { session, started, turns, ending: Ending::Plain, project }
}

/// Draws `loops` exchanges, none twice, and a farewell; nothing where there is no project.
fn work(random: &mut Random, project: Option<&'static Project>, branch: &str, loops: usize) -> Vec<Turn> {
    if project.is_none() || loops == 0 {
        return Vec::new();
    }
    let mut scenes: Vec<Scene> = LOOPS.iter().flat_map(|script| Scene::read_all(script)).collect();
    random.shuffle(&mut scenes);
    scenes.truncate(loops);
    let mut closers = Scene::read_all(CLOSERS);
    scenes.push(closers.swap_remove(random.index(closers.len())));
    scenes.into_iter().map(|scene| turn(random, scene, project, branch, false)).collect()
}

fn turn(
    random: &mut Random,
    scene: Scene,
    project: Option<&'static Project>,
    branch: &str,
    is_story: bool,
) -> Turn {
    Turn { scene, slots: Slots::draw(random, project, branch), is_story }
}

/// A session with an id as the agent forms it; `key` decides its last six digits, so that a
/// session keeps its id whatever is added before it.
fn session(started: u64, key: &str, project: Option<&'static Project>, branch: &str) -> Session {
    let cwd = project.map(Project::cwd);
    Session {
        model: Some("example-large".to_owned()),
        git_branch: Some(branch.to_owned()).filter(|branch| !branch.is_empty()),
        git_repo_root: cwd.clone(),
        cwd,
        started_at: whole(started),
        ..Session::new(&session_id(started, seed(key)))
    }
}

fn chat_user(source: &str) -> Option<String> {
    matches!(source, "telegram" | "discord").then(|| format!("{source}:5521"))
}

fn only(script: &'static str) -> Scene {
    Scene::read_all(script).swap_remove(0)
}

/// Reads `YYYY-MM-DD HH:MM`.
fn moment(text: &str) -> u64 {
    let parts = text.split(['-', ' ', ':']).map(|part| part.parse().expect("a date is numbers"));
    let parts: Vec<u64> = parts.collect();
    seconds(parts[0], parts[1], parts[2], parts[3], parts[4])
}

fn whole(seconds: u64) -> f64 {
    f64::from(u32::try_from(seconds).expect("the demo plays in 2026"))
}
