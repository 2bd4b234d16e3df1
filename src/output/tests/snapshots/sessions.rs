//! The session leases for machines, word for word.

pub(super) mod changes;

/// For each sample of those that ask and look: its TOON and its JSON.
pub(super) const EXPECTED: [(&str, &str); 16] = [
    (
        r"status: success
session_id: 5a3f
action: acquired
mode: feature
started_at: 1764517140.25
last_heartbeat: 1764517140.25
ttl_hours: 4
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "acquired",
  "mode": "feature",
  "started_at": 1764517140.25,
  "last_heartbeat": 1764517140.25,
  "ttl_hours": 4.0,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: success
session_id: 5a3f
action: renewed
mode: null
started_at: 1764517080.25
last_heartbeat: 1764517140.25
ttl_hours: 4
semantic_session_id: the review
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "renewed",
  "mode": null,
  "started_at": 1764517080.25,
  "last_heartbeat": 1764517140.25,
  "ttl_hours": 4.0,
  "semantic_session_id": "the review",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: active
existing:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764509940.25
  last_heartbeat: 1764516240.25
  ttl_hours: 4
  semantic_session_id: the review
age_hours: 2
heartbeat_age_minutes: 15
same_host: true
recommendation: abort
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "active",
  "existing": {
    "session_id": "91c2",
    "mode": "deep",
    "host": "box",
    "pid": 812,
    "started_at": 1764509940.25,
    "last_heartbeat": 1764516240.25,
    "ttl_hours": 4.0,
    "semantic_session_id": "the review"
  },
  "age_hours": 2.0,
  "heartbeat_age_minutes": 15.0,
  "same_host": true,
  "recommendation": "abort",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: stale-heartbeat
existing:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764481140.25
  last_heartbeat: 1764499140.25
  ttl_hours: 4
age_hours: 10
heartbeat_age_minutes: 300
same_host: true
recommendation: reclaim
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "stale-heartbeat",
  "existing": {
    "session_id": "91c2",
    "mode": "deep",
    "host": "box",
    "pid": 812,
    "started_at": 1764481140.25,
    "last_heartbeat": 1764499140.25,
    "ttl_hours": 4.0
  },
  "age_hours": 10.0,
  "heartbeat_age_minutes": 300.0,
  "same_host": true,
  "recommendation": "reclaim",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: stale-heartbeat
existing:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764481140.25
  last_heartbeat: 1764499140.25
  ttl_hours: 4
age_hours: 10
heartbeat_age_minutes: 300
same_host: false
recommendation: abort
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "stale-heartbeat",
  "existing": {
    "session_id": "91c2",
    "mode": "deep",
    "host": "box",
    "pid": 812,
    "started_at": 1764481140.25,
    "last_heartbeat": 1764499140.25,
    "ttl_hours": 4.0
  },
  "age_hours": 10.0,
  "heartbeat_age_minutes": 300.0,
  "same_host": false,
  "recommendation": "abort",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: corrupt
recommendation: abort
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "corrupt",
  "recommendation": "abort",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r#"status: blocked
session_id: "evil[2J\nx"
reason: stale-heartbeat
existing:
  session_id: "evil[2J\nx"
  mode: "evil[2J\nx"
  host: "evil[2J\nx"
  pid: null
  started_at: null
  last_heartbeat: null
  ttl_hours: 0.5
  semantic_session_id: "evil[2J\nx"
heartbeat_age_minutes: 300
same_host: false
recommendation: abort
lock_path: "evil[2J\nx"
"#,
        r#"{
  "status": "blocked",
  "session_id": "evil[2J\nx",
  "reason": "stale-heartbeat",
  "existing": {
    "session_id": "evil[2J\nx",
    "mode": "evil[2J\nx",
    "host": "evil[2J\nx",
    "pid": null,
    "started_at": null,
    "last_heartbeat": null,
    "ttl_hours": 0.5,
    "semantic_session_id": "evil[2J\nx"
  },
  "heartbeat_age_minutes": 300.0,
  "same_host": false,
  "recommendation": "abort",
  "lock_path": "evil[2J\nx"
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: active-compatible-parallel
blocking_session_id: 91c2
blocking_mode: deep
blocking_worktree: /r/wt
peers[1]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  /r/wt,topic,lock,91c2,null,deep,box,true,1764509940.25,2,15,true,3,false
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "active-compatible-parallel",
  "blocking_session_id": "91c2",
  "blocking_mode": "deep",
  "blocking_worktree": "/r/wt",
  "peers": [
    {
      "worktree": "/r/wt",
      "branch": "topic",
      "source": "lock",
      "session_id": "91c2",
      "semantic_session_id": null,
      "mode": "deep",
      "host": "box",
      "same_host": true,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": true,
      "current_wave": 3,
      "mine": false
    }
  ]
}
"#,
    ),
    (
        r"status: blocked
session_id: 5a3f
reason: active-incompatible-exclusive
blocking_session_id: 91c2
blocking_mode: housekeeping
blocking_worktree: /r/wt
peers[1]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  /r/wt,topic,lock,91c2,null,deep,box,true,1764509940.25,2,15,true,3,false
",
        r#"{
  "status": "blocked",
  "session_id": "5a3f",
  "reason": "active-incompatible-exclusive",
  "blocking_session_id": "91c2",
  "blocking_mode": "housekeeping",
  "blocking_worktree": "/r/wt",
  "peers": [
    {
      "worktree": "/r/wt",
      "branch": "topic",
      "source": "lock",
      "session_id": "91c2",
      "semantic_session_id": null,
      "mode": "deep",
      "host": "box",
      "same_host": true,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": true,
      "current_wave": 3,
      "mine": false
    }
  ]
}
"#,
    ),
    (
        r"status: success
session_id: 5a3f
reason: active-readonly-bypass
action: noop
blocking_session_id: 91c2
blocking_mode: deep
blocking_worktree: /r/wt
peers[1]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  /r/wt,topic,lock,91c2,null,deep,box,true,1764509940.25,2,15,true,3,false
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "reason": "active-readonly-bypass",
  "action": "noop",
  "blocking_session_id": "91c2",
  "blocking_mode": "deep",
  "blocking_worktree": "/r/wt",
  "peers": [
    {
      "worktree": "/r/wt",
      "branch": "topic",
      "source": "lock",
      "session_id": "91c2",
      "semantic_session_id": null,
      "mode": "deep",
      "host": "box",
      "same_host": true,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": true,
      "current_wave": 3,
      "mine": false
    }
  ]
}
"#,
    ),
    (
        r#"status: degraded
session_id: 5a3f
reason: fs-error
error: "cannot create '/r/.orchestrator': Read-only file system"
lock_path: /r/.orchestrator/session.lock
"#,
        r#"{
  "status": "degraded",
  "session_id": "5a3f",
  "reason": "fs-error",
  "error": "cannot create '/r/.orchestrator': Read-only file system",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: free
mine: false
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "free",
  "mine": false,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: held
mine: null
session_id: 91c2
mode: deep
host: box
pid: 812
started_at: 1764509940.25
last_heartbeat: 1764516240.25
ttl_hours: 4
semantic_session_id: the review
age_hours: 2
heartbeat_age_minutes: 15
state: active
same_host: true
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "held",
  "mine": null,
  "session_id": "91c2",
  "mode": "deep",
  "host": "box",
  "pid": 812,
  "started_at": 1764509940.25,
  "last_heartbeat": 1764516240.25,
  "ttl_hours": 4.0,
  "semantic_session_id": "the review",
  "age_hours": 2.0,
  "heartbeat_age_minutes": 15.0,
  "state": "active",
  "same_host": true,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: held
mine: true
session_id: 91c2
mode: deep
host: box
pid: 812
started_at: 1764509940.25
last_heartbeat: 1764516240.25
ttl_hours: 4
semantic_session_id: the review
age_hours: 2
heartbeat_age_minutes: 15
state: stale
same_host: false
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "held",
  "mine": true,
  "session_id": "91c2",
  "mode": "deep",
  "host": "box",
  "pid": 812,
  "started_at": 1764509940.25,
  "last_heartbeat": 1764516240.25,
  "ttl_hours": 4.0,
  "semantic_session_id": "the review",
  "age_hours": 2.0,
  "heartbeat_age_minutes": 15.0,
  "state": "stale",
  "same_host": false,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: corrupt
mine: false
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "corrupt",
  "mine": false,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: unreadable
mine: false
error: '/r/.orchestrator/session.lock' is not a regular file
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "unreadable",
  "mine": false,
  "error": "'/r/.orchestrator/session.lock' is not a regular file",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
];
