//! `git locks status` in the three formats, word for word.

use super::samples::HOSTILE;
use super::*;
use crate::report::*;

const TOON: &str = r#"status: degraded
repository: /r
merge:
  status: held
  lock_path: /r/.plan/local/merge.lock
  waiting_count: 1234
  holders[1]{plan_id,fence,since,where,staleness,evidence,mid_recovery,expires_at,pid,reason}:
    alpha,7,1764516420.25,/home/you/alpha,fresh,lease,false,1764520020.25,null,nightly
  waiting[1]{position,plan_id,since,where,staleness,evidence,reason}:
    1,w1,null,null,unknown,ticket,null
repo:
  status: unreadable
  lock_path: /r/.git/axm-integration.lock
  holders: []
  error: '/r/.git/axm-integration.lock' is not a regular file
worktrees[2]{status,path,class,pid,host,since,staleness,evidence,command,lock_path,error}:
  held,/r,live,812,box,1764517020.25,fresh,kernel,make,/tmp/crucible-locks/r.lock,null
  free,/r/wt,stale,812,box,1764517020.25,null,null,make,/tmp/crucible-locks/r/wt.lock,null
rate_windows[1]{status,bot_kind,holder,staleness,evidence,expires_at,pr_number,attempts,attempt_cap,error}:
  held,reviewer,alpha,stale,plan,1764517200.25,7,1,2,null
sessions[1]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  /r,main,lock,s-1,null,deep,null,null,1764509940.25,2,null,true,null,null
session_errors[1]: '/r/wt/.orchestrator/session.lock' makes no sense
build:
  status: free
  max_slots: 2
  active_count: 1
  waiting_count: 1
  queue_path: /home/you/.plan-marshall/build-queue.json
  user: you
  active[1]{slot,id,plan_id,project_root,since,staleness,max_slots,expires_at,command,reason,evidence}:
    1,"beta:1",beta,/home/you/shop,1764517135.25,fresh,2,null,make -j8,null,presence
  waiting[1]{position,id,plan_id,project_root,since,staleness,max_slots,command,reason,evidence}:
    1,"gamma:2",gamma,null,1764517139.25,fresh,null,null,null,ticket
"#;

const JSON: &str = r#"{
  "status": "degraded",
  "repository": "/r",
  "merge": {
    "status": "held",
    "lock_path": "/r/.plan/local/merge.lock",
    "waiting_count": 1234,
    "holders": [
      {
        "plan_id": "alpha",
        "fence": 7,
        "since": 1764516420.25,
        "where": "/home/you/alpha",
        "staleness": "fresh",
        "evidence": "lease",
        "mid_recovery": false,
        "expires_at": 1764520020.25,
        "pid": null,
        "reason": "nightly"
      }
    ],
    "waiting": [
      {
        "position": 1,
        "plan_id": "w1",
        "since": null,
        "where": null,
        "staleness": "unknown",
        "evidence": "ticket",
        "reason": null
      }
    ]
  },
  "repo": {
    "status": "unreadable",
    "lock_path": "/r/.git/axm-integration.lock",
    "holders": [],
    "error": "'/r/.git/axm-integration.lock' is not a regular file"
  },
  "worktrees": [
    {
      "status": "held",
      "path": "/r",
      "class": "live",
      "pid": 812,
      "host": "box",
      "since": 1764517020.25,
      "staleness": "fresh",
      "evidence": "kernel",
      "command": "make",
      "lock_path": "/tmp/crucible-locks/r.lock",
      "error": null
    },
    {
      "status": "free",
      "path": "/r/wt",
      "class": "stale",
      "pid": 812,
      "host": "box",
      "since": 1764517020.25,
      "staleness": null,
      "evidence": null,
      "command": "make",
      "lock_path": "/tmp/crucible-locks/r/wt.lock",
      "error": null
    }
  ],
  "rate_windows": [
    {
      "status": "held",
      "bot_kind": "reviewer",
      "holder": "alpha",
      "staleness": "stale",
      "evidence": "plan",
      "expires_at": 1764517200.25,
      "pr_number": 7,
      "attempts": 1,
      "attempt_cap": 2,
      "error": null
    }
  ],
  "sessions": [
    {
      "worktree": "/r",
      "branch": "main",
      "source": "lock",
      "session_id": "s-1",
      "semantic_session_id": null,
      "mode": "deep",
      "host": null,
      "same_host": null,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": null,
      "live": true,
      "current_wave": null,
      "mine": null
    }
  ],
  "session_errors": [
    "'/r/wt/.orchestrator/session.lock' makes no sense"
  ],
  "build": {
    "status": "free",
    "max_slots": 2,
    "active_count": 1,
    "waiting_count": 1,
    "queue_path": "/home/you/.plan-marshall/build-queue.json",
    "user": "you",
    "active": [
      {
        "slot": 1,
        "id": "beta:1",
        "plan_id": "beta",
        "project_root": "/home/you/shop",
        "since": 1764517135.25,
        "staleness": "fresh",
        "max_slots": 2,
        "expires_at": null,
        "command": "make -j8",
        "reason": null,
        "evidence": "presence"
      }
    ],
    "waiting": [
      {
        "position": 1,
        "id": "gamma:2",
        "plan_id": "gamma",
        "project_root": null,
        "since": 1764517139.25,
        "staleness": "fresh",
        "max_slots": null,
        "command": null,
        "reason": null,
        "evidence": "ticket"
      }
    ]
  }
}
"#;

fn overview() -> Overview {
    Overview {
        status: Status::Degraded,
        repository: Some("/r".into()),
        merge: Some(MergeOverview {
            status: Status::Held,
            lock_path: "/r/.plan/local/merge.lock".into(),
            waiting_count: Some(1234),
            holders: vec![MergeHolder {
                plan_id: Some("alpha".into()),
                fence: Some(7),
                since: Some(NOW - 720.0),
                workplace: Some("/home/you/alpha".into()),
                staleness: Staleness::Fresh,
                evidence: Grounds::Lease,
                mid_recovery: false,
                expires_at: Some(NOW + 2880.0),
                pid: None,
                reason: Some("nightly".into()),
            }],
            waiting: (1..=11).map(waiter).collect(),
            error: None,
        }),
        repo: Some(RepoOverview {
            status: Status::Unreadable,
            lock_path: Some("/r/.git/axm-integration.lock".into()),
            holders: Vec::new(),
            error: Some("'/r/.git/axm-integration.lock' is not a regular file".into()),
        }),
        worktrees: Some(vec![worktree("/r", true), worktree("/r/wt", false)]),
        rate_windows: Some(vec![WindowOverview {
            status: Status::Held,
            bot_kind: Some("reviewer".into()),
            holder: Some("alpha".into()),
            staleness: Some(Staleness::Stale),
            evidence: Some(Grounds::Plan),
            expires_at: Some(NOW + 60.0),
            pr_number: Some(7),
            attempts: Some(1),
            attempt_cap: 2,
            error: None,
        }]),
        sessions: Some(vec![session()]),
        session_errors: vec!["'/r/wt/.orchestrator/session.lock' makes no sense".into()],
        build: build(),
    }
}

fn waiter(position: usize) -> MergeWaiter {
    MergeWaiter {
        position,
        plan_id: format!("w{position}"),
        since: (position > 1).then_some(NOW - 60.0),
        workplace: None,
        staleness: Staleness::Unknown,
        evidence: Grounds::Ticket,
        reason: None,
    }
}

fn worktree(path: &str, held: bool) -> WorktreeOverview {
    WorktreeOverview {
        status: if held { Status::Held } else { Status::Free },
        path: path.into(),
        class: Some(if held {
            WorktreeClass::Live
        } else {
            WorktreeClass::Stale
        }),
        pid: Some(812),
        host: Some("box".into()),
        since: Some(NOW - 120.0),
        staleness: held.then_some(Staleness::Fresh),
        evidence: held.then_some(Grounds::Kernel),
        command: Some("make".into()),
        lock_path: Some(format!("/tmp/crucible-locks{path}.lock")),
        error: None,
    }
}

fn session() -> SessionPeer {
    SessionPeer {
        worktree: "/r".into(),
        branch: Some("main".into()),
        source: SessionSource::Lock,
        session_id: "s-1".into(),
        semantic_session_id: None,
        mode: Some("deep".into()),
        host: None,
        same_host: None,
        started_at: Some(NOW - 7200.0),
        age_hours: Some(2.0),
        heartbeat_age_minutes: None,
        live: true,
        current_wave: None,
        mine: None,
    }
}

fn build() -> BuildOverview {
    let holder = BuildHolder {
        slot: Some(1),
        id: "beta:1".into(),
        plan_id: "beta".into(),
        project_root: Some("/home/you/shop".into()),
        since: Some(NOW - 5.0),
        staleness: Staleness::Fresh,
        max_slots: Some(2),
        expires_at: None,
        command: Some("make -j8".into()),
        reason: None,
    };
    let waiter = BuildWaiter {
        position: 1,
        id: "gamma:2".into(),
        plan_id: "gamma".into(),
        project_root: None,
        since: NOW - 1.0,
        staleness: Staleness::Fresh,
        max_slots: None,
        command: None,
        reason: None,
    };
    BuildOverview {
        status: Status::Free,
        max_slots: Some(2),
        active_count: Some(1),
        waiting_count: Some(1),
        queue_path: Some("/home/you/.plan-marshall/build-queue.json".into()),
        user: "you".into(),
        disagreeing_slots: Vec::new(),
        active: vec![Evident {
            who: holder,
            evidence: Grounds::Presence,
        }],
        waiting: vec![Evident {
            who: waiter,
            evidence: Grounds::Ticket,
        }],
        error: None,
    }
}

fn report(overview: Overview) -> Report {
    Report::Overview(Box::new(overview))
}

#[test]
fn a_person_reads_one_table() {
    reads(
        &report(overview()),
        &[
            "LOCK      WHO               FOR  STATE             WHERE            WHAT",
            "merge     alpha             12m  fresh (lease)     /home/you/alpha  ends in 48m; nightly",
            "  1       w1                     unknown (ticket)",
            "  2       w2                1m   unknown (ticket)",
            "  3       w3                1m   unknown (ticket)",
            "  4       w4                1m   unknown (ticket)",
            "  5       w5                1m   unknown (ticket)",
            "  6       w6                1m   unknown (ticket)",
            "  7       w7                1m   unknown (ticket)",
            "  8       w8                1m   unknown (ticket)",
            "  9       w9                1m   unknown (ticket)",
            "  10      w10               1m   unknown (ticket)",
            "  …       … and 1,224 more",
            "build                            free                               1 of 2 slots taken",
            "  slot 1  beta              5s   fresh (presence)  /home/you/shop   make -j8",
            "  1       gamma             1s   fresh (ticket)",
            "repo                             unreadable",
            "worktree  process 812       2m   fresh (kernel)    /r               make; on box",
            "worktree                         free                               1 worktree",
            "window    alpha                  stale (plan)                       reviewer; pull request 7; ends in 1m",
            "session   s-1               2h   live              /r               deep; main",
            "warning: '/r/.git/axm-integration.lock' is not a regular file",
            "warning: '/r/wt/.orchestrator/session.lock' makes no sense",
            "To see what speaks for whom: git locks doctor",
        ],
    );
}

#[test]
fn a_narrow_terminal_loses_what_it_needs_least() {
    let shown = |columns| {
        let style = Style {
            columns: Some(columns),
            ..PLAIN
        };
        let text = render(&report(overview()), Format::Human, &style);
        let table = text.lines().filter(|line| !line.contains(": "));
        table.map(str::to_owned).collect::<Vec<_>>()
    };
    for columns in [50, 60, 70, 80, 100] {
        let lines = shown(columns);
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{columns}: {lines:#?}");
    }
}

#[test]
fn outside_a_repository_there_is_the_machine_alone() {
    let outside = Overview {
        status: Status::Success,
        repository: None,
        merge: None,
        repo: None,
        worktrees: None,
        rate_windows: None,
        sessions: None,
        session_errors: Vec::new(),
        build: BuildOverview {
            active: Vec::new(),
            active_count: Some(0),
            waiting: Vec::new(),
            waiting_count: Some(0),
            ..build()
        },
    };
    let outside = report(outside);
    reads(
        &outside,
        &["LOCK   STATE  WHAT", "build  free   0 of 2 slots taken"],
    );
    let expected = r"status: success
repository: null
build:
  status: free
  max_slots: 2
  active_count: 0
  waiting_count: 0
  queue_path: /home/you/.plan-marshall/build-queue.json
  user: you
  active: []
  waiting: []
";
    assert_eq!(toon(&outside), expected);
}

#[test]
fn machines_read_every_field() {
    let mut short = overview();
    if let Some(merge) = &mut short.merge {
        merge.waiting.truncate(1);
    }
    let report = report(short);
    assert_eq!(toon(&report), TOON);
    assert_eq!(json(&report), JSON);
}

#[test]
fn what_others_wrote_steers_no_terminal() {
    let mut evil = overview();
    if let Some(merge) = &mut evil.merge {
        for holder in &mut merge.holders {
            holder.plan_id = Some(HOSTILE.into());
            holder.workplace = Some(HOSTILE.into());
            holder.reason = Some(HOSTILE.into());
        }
        merge.error = Some(HOSTILE.into());
    }
    for row in evil.worktrees.iter_mut().flatten() {
        row.path = HOSTILE.into();
        row.host = Some(HOSTILE.into());
        row.command = Some(HOSTILE.into());
    }
    for row in evil.sessions.iter_mut().flatten() {
        row.session_id = HOSTILE.into();
        row.branch = Some(HOSTILE.into());
        row.mode = Some(HOSTILE.into());
    }
    for row in evil.rate_windows.iter_mut().flatten() {
        row.bot_kind = Some(HOSTILE.into());
        row.holder = Some(HOSTILE.into());
    }
    for row in &mut evil.build.active {
        row.who.plan_id = HOSTILE.into();
        row.who.command = Some(HOSTILE.into());
    }
    let lines = human(&report(overview())).lines().count() + 1;
    let text = human(&report(evil));
    assert_eq!(text.lines().count(), lines, "{text}");
    let odd = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(odd), "{text:?}");
}
