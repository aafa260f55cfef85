//! Decides which sessions the demo has, when they start and what happens in them.

use serde_json::json;

use super::script::Scene;
use super::world::{PROJECTS, Project, Slots, shuffled};
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

const WORKDAYS_COUNT: usize = 18;
const CRON_COUNT: usize = 8;
const DAY: u64 = 86_400;

/// One session to come.
pub(super) struct Plan {
    pub(super) session: Session,
    pub(super) started: u64,
    pub(super) project: Option<&'static Project>,
    pub(super) turns: Vec<Turn>,
    pub(super) ending: Ending,
}

/// A scene with its slots; a story's own scene keeps all its reasoning.
pub(super) struct Turn {
    pub(super) scene: Scene,
    pub(super) slots: Slots,
    pub(super) is_story: bool,
}

/// What happens to the rows of a session once they are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Plain,
    /// Its last prompt was a mistake and is taken back.
    Undone,
    /// Its context was full in the middle.
    Compacted,
}

/// Returns the demo's sessions, oldest first.
pub(super) fn all() -> Vec<Plan> {
    let mut random = Random::new(2_026);
    let mut plans: Vec<Plan> = Vec::new();
    for script in STORIES {
        plans.extend(Scene::read_all(script).into_iter().map(|scene| story(&mut random, scene)));
    }
    let workdays: Vec<Plan> = (0..WORKDAYS_COUNT).map(|at| workday(&mut random, at)).collect();
    plans.extend((0..CRON_COUNT).map(|at| cron(&mut random, at)));
    for (at, scene) in (0..2).flat_map(|_| Scene::read_all(DELEGATES)).enumerate() {
        plans.push(delegate(&mut random, scene, &workdays[at * 4 + 1]));
    }
    plans.extend(workdays);
    plans.sort_by_key(|plan| plan.started);
    plans
}

fn story(random: &mut Random, scene: Scene) -> Plan {
    let started = moment(scene.field(0));
    let (project, branch) = (Project::find(scene.field(2)), scene.field(3));
    let title = Some(scene.field(4)).filter(|title| !title.is_empty());
    let loops = scene.field(5).parse().unwrap_or(0);
    let session = Session {
        source: scene.field(1).to_owned(),
        title: title.map(str::to_owned),
        user_id: chat_user(scene.field(1), started),
        ..of_project(started, project, branch, scene.field(0))
    };
    let slots = Slots::draw(random, project, branch);
    let mut turns = vec![Turn { scene, slots, is_story: true }];
    if let Some(project) = project {
        turns.extend(work(random, project, branch, loops));
    }
    Plan { session, started, project, turns, ending: Ending::Plain }
}

/// A session of small things on one project; two of them are one conversation, cut by a full
/// context, one was compacted in place and one ends in a mistake.
fn workday(random: &mut Random, at: usize) -> Plan {
    let project = &PROJECTS[at % PROJECTS.len()];
    let mut openers = Scene::read_all(OPENERS);
    let scene = openers.swap_remove(at % openers.len());
    let day = u64::try_from(at).unwrap_or(0) * 19 / 2;
    let started = seconds(2026, 1, 6, 8, 0) + day * DAY + random.below(8 * 3_600);
    let branch = project.branch(random);
    let slots = Slots::draw(random, Some(project), branch);
    let title = slots.fill(random, scene.field(0), started);
    let mut session = of_project(started, Some(project), branch, &title);
    session.source = random.weighted(&[(6, "cli"), (2, "tui"), (1, "desktop")]).to_owned();
    session.archived = at == 0;
    session.title = Some(title);
    let mut turns = vec![Turn { scene, slots, is_story: false }];
    let loops = random.index(5) + 6;
    turns.extend(work(random, project, branch, loops));
    let ending = match at {
        2 => Ending::Compacted,
        7 => Ending::Undone,
        _ => Ending::Plain,
    };
    Plan { session, started, project: Some(project), turns, ending }
}

fn work(random: &mut Random, project: &Project, branch: &str, loops: usize) -> Vec<Turn> {
    let mut turn = |scene: Scene, random: &mut Random| {
        let slots = Slots::draw(random, Some(project), branch);
        Turn { scene, slots, is_story: false }
    };
    let mut scenes: Vec<Scene> = LOOPS.iter().flat_map(|script| Scene::read_all(script)).collect();
    shuffle(random, &mut scenes);
    scenes.truncate(loops);
    let mut closers = Scene::read_all(CLOSERS);
    scenes.push(closers.swap_remove(random.index(closers.len())));
    scenes.into_iter().map(|scene| turn(scene, random)).collect()
}

fn shuffle(random: &mut Random, scenes: &mut [Scene]) {
    for end in (1..scenes.len()).rev() {
        scenes.swap(end, random.index(end + 1));
    }
}
