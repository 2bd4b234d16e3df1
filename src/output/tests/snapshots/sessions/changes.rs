//! What changes a lease, and who else is there.

/// For each sample of these: its TOON and its JSON.
pub(in super::super) const EXPECTED: [(&str, &str); 11] = [
    (
        r"status: success
session_id: 5a3f
action: reclaimed
replaced:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764509940.25
  last_heartbeat: 1764516240.25
  ttl_hours: 4
  semantic_session_id: the review
replaced_state: active
age_hours: 2
heartbeat_age_minutes: 15
ttl_hours: 4
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "reclaimed",
  "replaced": {
    "session_id": "91c2",
    "mode": "deep",
    "host": "box",
    "pid": 812,
    "started_at": 1764509940.25,
    "last_heartbeat": 1764516240.25,
    "ttl_hours": 4.0,
    "semantic_session_id": "the review"
  },
  "replaced_state": "active",
  "age_hours": 2.0,
  "heartbeat_age_minutes": 15.0,
  "ttl_hours": 4.0,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: success
session_id: 5a3f
action: reclaimed
replaced: null
replaced_state: corrupt
set_aside: /r/.orchestrator/session.lock.corrupt
ttl_hours: 4
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "reclaimed",
  "replaced": null,
  "replaced_state": "corrupt",
  "set_aside": "/r/.orchestrator/session.lock.corrupt",
  "ttl_hours": 4.0,
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: refused
session_id: 5a3f
reason: not_yours
existing:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764509940.25
  last_heartbeat: 1764516240.25
  ttl_hours: 4
  semantic_session_id: the review
state: active
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "refused",
  "session_id": "5a3f",
  "reason": "not_yours",
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
  "state": "active",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: refused
session_id: 5a3f
reason: not_confirmed
existing:
  session_id: 91c2
  mode: deep
  host: box
  pid: 812
  started_at: 1764509940.25
  last_heartbeat: 1764516240.25
  ttl_hours: 4
  semantic_session_id: the review
state: active
lock_path: /r/.orchestrator/session.lock
hint: git locks session take --yes --mode deep --session-id 5a3f
",
        r#"{
  "status": "refused",
  "session_id": "5a3f",
  "reason": "not_confirmed",
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
  "state": "active",
  "lock_path": "/r/.orchestrator/session.lock",
  "hint": "git locks session take --yes --mode deep --session-id 5a3f"
}
"#,
    ),
    (
        r"status: refused
session_id: 5a3f
reason: not_noted
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "refused",
  "session_id": "5a3f",
  "reason": "not_noted",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r#"status: refused
session_id: 5a3f
reason: changed
existing:
  session_id: "evil[2J\nx"
  mode: "evil[2J\nx"
  host: "evil[2J\nx"
  pid: null
  started_at: null
  last_heartbeat: null
  ttl_hours: 0.5
  semantic_session_id: "evil[2J\nx"
state: active
lock_path: /r/.orchestrator/session.lock
hint: "evil[2J\nx"
"#,
        r#"{
  "status": "refused",
  "session_id": "5a3f",
  "reason": "changed",
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
  "state": "active",
  "lock_path": "/r/.orchestrator/session.lock",
  "hint": "evil[2J\nx"
}
"#,
    ),
    (
        r"status: success
session_id: 5a3f
action: released
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "released",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: success
session_id: 5a3f
action: noop
lock_path: /r/.orchestrator/session.lock
",
        r#"{
  "status": "success",
  "session_id": "5a3f",
  "action": "noop",
  "lock_path": "/r/.orchestrator/session.lock"
}
"#,
    ),
    (
        r"status: success
live_peers: 1
peers[3]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  /r,null,lock,5a3f,null,null,box,true,1764509940.25,2,15,true,null,true
  /r/wt,topic,state-md,the review,null,deep,null,null,1764509940.25,2,null,true,3,false
  /r/wt,topic,lock,91c2,null,deep,elsewhere,false,1764509940.25,2,15,false,3,false
",
        r#"{
  "status": "success",
  "live_peers": 1,
  "peers": [
    {
      "worktree": "/r",
      "branch": null,
      "source": "lock",
      "session_id": "5a3f",
      "semantic_session_id": null,
      "mode": null,
      "host": "box",
      "same_host": true,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": true,
      "current_wave": null,
      "mine": true
    },
    {
      "worktree": "/r/wt",
      "branch": "topic",
      "source": "state-md",
      "session_id": "the review",
      "semantic_session_id": null,
      "mode": "deep",
      "host": null,
      "same_host": null,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": null,
      "live": true,
      "current_wave": 3,
      "mine": false
    },
    {
      "worktree": "/r/wt",
      "branch": "topic",
      "source": "lock",
      "session_id": "91c2",
      "semantic_session_id": null,
      "mode": "deep",
      "host": "elsewhere",
      "same_host": false,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": false,
      "current_wave": 3,
      "mine": false
    }
  ]
}
"#,
    ),
    (
        r"status: success
live_peers: 0
peers: []
",
        r#"{
  "status": "success",
  "live_peers": 0,
  "peers": []
}
"#,
    ),
    (
        r#"status: success
live_peers: 1
peers[1]{worktree,branch,source,session_id,semantic_session_id,mode,host,same_host,started_at,age_hours,heartbeat_age_minutes,live,current_wave,mine}:
  "evil[2J\nx","evil[2J\nx",lock,"evil[2J\nx","evil[2J\nx","evil[2J\nx","evil[2J\nx",false,1764509940.25,2,15,true,3,null
"#,
        r#"{
  "status": "success",
  "live_peers": 1,
  "peers": [
    {
      "worktree": "evil[2J\nx",
      "branch": "evil[2J\nx",
      "source": "lock",
      "session_id": "evil[2J\nx",
      "semantic_session_id": "evil[2J\nx",
      "mode": "evil[2J\nx",
      "host": "evil[2J\nx",
      "same_host": false,
      "started_at": 1764509940.25,
      "age_hours": 2.0,
      "heartbeat_age_minutes": 15.0,
      "live": true,
      "current_wave": 3,
      "mine": null
    }
  ]
}
"#,
    ),
];
