//! `git locks status` for people: one table, then what could not be read, then the next command.

mod words;

use owo_colors::Style as Paint;

use super::table::{Cell, Column, Row, lines};
use super::{Style, quote};
use crate::report::{
    BuildHolder, BuildOverview, BuildWaiter, Evident, MergeHolder, MergeOverview, MergeWaiter,
    Overview, RepoHolder, RepoOverview, SessionPeer, Staleness, Status, WindowOverview,
    WorktreeOverview,
};
use crate::text;
use words::{ends, grouped, name_of, painted, place, process, state, verdict};

/// How many of those who wait are shown.
const SHOWN: usize = 10;

const COLUMNS: [Column; 6] = [
    column("LOCK", None, 0),
    column("WHO", Some(10), 0),
    column("FOR", None, 3),
    column("STATE", None, 0),
    Column {
        keeps_end: true,
        ..column("WHERE", Some(14), 2)
    },
    column("WHAT", Some(10), 1),
];

const fn column(head: &'static str, least: Option<usize>, leaves: usize) -> Column {
    Column {
        head,
        least,
        keeps_end: false,
        leaves,
    }
}

/// One row before it is laid out.
#[derive(Default)]
struct Line {
    lock: String,
    who: String,
    since: Option<f64>,
    state: Cell,
    place: Option<String>,
    what: Vec<String>,
}

impl Line {
    fn of(lock: impl Into<String>, state: Cell) -> Self {
        Self {
            lock: lock.into(),
            state,
            ..Self::default()
        }
    }

    fn cells(self, style: &Style) -> Row<6> {
        let bold = Some(Paint::new().bold());
        let since = self.since.map(|since| text::span(style.now - since));
        let place = self.place.map(|place| quote(&place));
        [
            Cell::plain(self.lock),
            Cell {
                text: self.who,
                paint: bold,
            },
            Cell::plain(since.unwrap_or_default()),
            self.state,
            Cell::plain(place.unwrap_or_default()),
            Cell::plain(self.what.join("; ")),
        ]
    }
}

pub(super) fn overview(it: &Overview, style: &Style) -> Vec<String> {
    let mut rows = Vec::new();
    rows.extend(it.merge.iter().flat_map(|merge| self::merge(merge, style)));
    rows.extend(build(&it.build, style));
    rows.extend(it.repo.iter().flat_map(repo));
    rows.extend(worktrees(it.worktrees.as_deref().unwrap_or_default()));
    let windows = it.rate_windows.iter().flatten();
    rows.extend(windows.filter_map(|it| window(it, style)));
    rows.extend(it.sessions.iter().flatten().map(session));
    let rows: Vec<Row<6>> = rows.into_iter().map(|row| row.cells(style)).collect();
    let mut page = lines(&COLUMNS, &rows, style);
    page.extend(troubles(it).map(|why| format!("{} {}", style.wait("warning:"), quote(why))));
    if asks_for_a_doctor(it) {
        page.push("To see what speaks for whom: git locks doctor".to_owned());
    }
    page
}

fn merge(it: &MergeOverview, style: &Style) -> Vec<Line> {
    let mut rows: Vec<Line> = it
        .holders
        .iter()
        .map(|it| merge_holder(it, style))
        .collect();
    if rows.is_empty() {
        rows.push(Line::of("merge", state(it.status)));
    }
    rows.extend(it.waiting.iter().take(SHOWN).map(merge_waiter));
    rows.extend(more(it.waiting_count.unwrap_or(0)));
    rows
}

fn merge_holder(it: &MergeHolder, style: &Style) -> Line {
    let name = it.plan_id.as_deref();
    let mid_recovery = it.mid_recovery.then(|| "its plan is gone".to_owned());
    let end = it.expires_at.map(|end| ends(end, style));
    let process = it.pid.map(|pid| format!("process {pid}"));
    Line {
        who: name.map_or_else(|| "not named yet".to_owned(), name_of),
        since: it.since,
        place: it.workplace.clone(),
        what: [end, mid_recovery, process, it.reason.as_deref().map(quote)]
            .into_iter()
            .flatten()
            .collect(),
        ..Line::of("merge", verdict(it.staleness, it.evidence))
    }
}

fn merge_waiter(it: &MergeWaiter) -> Line {
    Line {
        who: name_of(&it.plan_id),
        since: it.since,
        place: it.workplace.clone(),
        what: it.reason.iter().map(|reason| quote(reason)).collect(),
        ..Line::of(place(it.position), verdict(it.staleness, it.evidence))
    }
}

fn build(it: &BuildOverview, style: &Style) -> Vec<Line> {
    let taken = it.active_count.zip(it.max_slots);
    let taken = taken.map(|(active, slots)| format!("{active} of {slots} slots taken"));
    let mut rows = vec![Line {
        what: taken.into_iter().collect(),
        ..Line::of("build", state(it.status))
    }];
    rows.extend(it.active.iter().map(|it| build_holder(it, style)));
    rows.extend(it.waiting.iter().take(SHOWN).map(build_waiter));
    rows.extend(more(it.waiting_count.unwrap_or(0)));
    rows
}

fn build_holder(it: &Evident<BuildHolder>, style: &Style) -> Line {
    let who = &it.who;
    let slot = who.slot.map(|slot| format!("  slot {slot}"));
    let end = who.expires_at.map(|end| ends(end, style));
    let said = [&who.command, &who.reason].into_iter().flatten();
    Line {
        who: name_of(&who.plan_id),
        since: who.since,
        place: who.project_root.clone(),
        what: end
            .into_iter()
            .chain(said.map(|said| quote(said)))
            .collect(),
        ..Line::of(
            slot.unwrap_or_else(|| "  a slot".to_owned()),
            verdict(who.staleness, it.evidence),
        )
    }
}

fn build_waiter(it: &Evident<BuildWaiter>) -> Line {
    let who = &it.who;
    let said = [&who.command, &who.reason].into_iter().flatten();
    Line {
        who: name_of(&who.plan_id),
        since: Some(who.since).filter(|&since| since > 0.0),
        place: who.project_root.clone(),
        what: said.map(|said| quote(said)).collect(),
        ..Line::of(place(who.position), verdict(who.staleness, it.evidence))
    }
}

fn repo(it: &RepoOverview) -> Vec<Line> {
    if it.holders.is_empty() {
        return vec![Line::of("repo", state(it.status))];
    }
    let row = |(index, it): (usize, &RepoHolder)| Line {
        who: process(it.pid),
        since: it.since,
        what: it.command.iter().map(|command| quote(command)).collect(),
        ..Line::of(
            if index == 0 { "repo" } else { "  kept by" },
            verdict(it.staleness, it.evidence),
        )
    };
    it.holders.iter().enumerate().map(row).collect()
}

/// Those whose lock is held or cannot be read; the others are counted.
fn worktrees(all: &[WorktreeOverview]) -> Vec<Line> {
    let (free, told): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.status == Status::Free);
    let mut rows: Vec<Line> = told.into_iter().map(worktree).collect();
    if !free.is_empty() {
        let what = match free.len() {
            1 => "1 worktree".to_owned(),
            more => format!("{} worktrees", grouped(more)),
        };
        rows.push(Line {
            what: vec![what],
            ..Line::of("worktree", state(Status::Free))
        });
    }
    rows
}

fn worktree(it: &WorktreeOverview) -> Line {
    let held = it.staleness.zip(it.evidence);
    let host = it.host.as_deref().map(|host| format!("on {}", quote(host)));
    let command = it.command.as_deref().map(quote);
    Line {
        who: held.map_or_else(String::new, |_| process(it.pid)),
        since: it.since,
        place: Some(it.path.clone()),
        what: command.into_iter().chain(host).collect(),
        ..Line::of(
            "worktree",
            held.map_or_else(|| state(it.status), |(it, grounds)| verdict(it, grounds)),
        )
    }
}

/// A window that somebody has.
fn window(it: &WindowOverview, style: &Style) -> Option<Line> {
    if it.status == Status::Free {
        return None;
    }
    let Some((staleness, evidence)) = it.staleness.zip(it.evidence) else {
        return Some(Line::of("window", state(it.status)));
    };
    let bot = it.bot_kind.as_deref().map(quote);
    let request = it.pr_number.map(|number| format!("pull request {number}"));
    let end = it.expires_at.map(|end| ends(end, style));
    Some(Line {
        who: it.holder.as_deref().map_or_else(String::new, name_of),
        what: [bot, request, end].into_iter().flatten().collect(),
        ..Line::of("window", verdict(staleness, evidence))
    })
}

fn session(it: &SessionPeer) -> Line {
    let name = it.semantic_session_id.as_ref().unwrap_or(&it.session_id);
    let live = if it.live {
        painted("live", Paint::new().green())
    } else {
        painted("stale", Paint::new().yellow())
    };
    let said = [&it.mode, &it.branch].into_iter().flatten();
    Line {
        who: name_of(name),
        since: it.started_at,
        place: Some(it.worktree.clone()),
        what: said.map(|said| quote(said)).collect(),
        ..Line::of("session", live)
    }
}

/// "… and 9,990 more", where not all are shown.
fn more(all: usize) -> Option<Line> {
    let rest = all.checked_sub(SHOWN).filter(|&rest| rest > 0)?;
    Some(Line {
        who: format!("… and {} more", grouped(rest)),
        ..Line::of("  …", Cell::default())
    })
}

/// What could not be read, each once.
fn troubles(it: &Overview) -> impl Iterator<Item = &str> {
    let merge = it.merge.iter().filter_map(|it| it.error.as_deref());
    let build = it.build.error.as_deref();
    let repo = it.repo.iter().filter_map(|it| it.error.as_deref());
    let worktrees = it.worktrees.iter().flatten();
    let worktrees = worktrees.filter_map(|it| it.error.as_deref());
    let windows = it.rate_windows.iter().flatten();
    let windows = windows.filter_map(|it| it.error.as_deref());
    let sessions = it.session_errors.iter().map(String::as_str);
    let all = merge.chain(build).chain(repo).chain(worktrees);
    let mut told: Vec<&str> = Vec::new();
    for why in all.chain(windows).chain(sessions) {
        if !told.contains(&why) {
            told.push(why);
        }
    }
    told.into_iter()
}

/// Whether somebody who has a lock is not there for certain, or something could not be read.
fn asks_for_a_doctor(it: &Overview) -> bool {
    let merge = it.merge.iter().flat_map(|it| &it.holders);
    let build = it.build.active.iter().map(|it| it.who.staleness);
    let mut holders = merge.map(|it| it.staleness).chain(build);
    it.status != Status::Success || holders.any(|it| it != Staleness::Fresh)
}
