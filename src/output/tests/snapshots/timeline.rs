//! What has happened for machines, word for word.

/// For each of its samples: its TOON and its JSON.
pub(super) const EXPECTED: [(&str, &str); 7] = [
    (
        r#"status: success
log_dir: /r/.plan/logs
omitted: 3
skipped_lines: 1
entries[4]:
  - time: 1764516415
    level: INFO
    lock: merge
    event: acquired
    id: alpha
    fields:
      waiting_count: "1"
  - time: 1764516415
    level: INFO
    lock: merge
    event: blocked
    id: beta
    fields:
      lock_file: /r/.plan/local/merge.lock
      holder: alpha
      waiter: beta
      waiting_count: "2"
  - time: 1764516415
    level: WARNING
    lock: build
    event: reaped-stale
    id: "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11"
    fields:
      held: "1300.5"
      threshold: "1200"
  - time: 1764516415
    level: INFO
    lock: merge
    event: released
    id: alpha
    fields:
"#,
        r#"{
  "status": "success",
  "log_dir": "/r/.plan/logs",
  "omitted": 3,
  "skipped_lines": 1,
  "entries": [
    {
      "time": 1764516415.0,
      "level": "INFO",
      "lock": "merge",
      "event": "acquired",
      "id": "alpha",
      "fields": {
        "waiting_count": "1"
      }
    },
    {
      "time": 1764516415.0,
      "level": "INFO",
      "lock": "merge",
      "event": "blocked",
      "id": "beta",
      "fields": {
        "lock_file": "/r/.plan/local/merge.lock",
        "holder": "alpha",
        "waiter": "beta",
        "waiting_count": "2"
      }
    },
    {
      "time": 1764516415.0,
      "level": "WARNING",
      "lock": "build",
      "event": "reaped-stale",
      "id": "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11",
      "fields": {
        "held": "1300.5",
        "threshold": "1200"
      }
    },
    {
      "time": 1764516415.0,
      "level": "INFO",
      "lock": "merge",
      "event": "released",
      "id": "alpha",
      "fields": {}
    }
  ]
}
"#,
    ),
    (
        r#"status: success
log_dir: /r/.plan/logs
omitted: 0
skipped_lines: 0
entries[2]{time,level,lock,event,id,fields{lock_file,holder,waiter,waiting_count}}:
  1764516415,INFO,merge,blocked,beta,/r/.plan/local/merge.lock,alpha,beta,"2"
  1764516415,INFO,merge,blocked,beta,/r/.plan/local/merge.lock,alpha,beta,"2"
"#,
        r#"{
  "status": "success",
  "log_dir": "/r/.plan/logs",
  "omitted": 0,
  "skipped_lines": 0,
  "entries": [
    {
      "time": 1764516415.0,
      "level": "INFO",
      "lock": "merge",
      "event": "blocked",
      "id": "beta",
      "fields": {
        "lock_file": "/r/.plan/local/merge.lock",
        "holder": "alpha",
        "waiter": "beta",
        "waiting_count": "2"
      }
    },
    {
      "time": 1764516415.0,
      "level": "INFO",
      "lock": "merge",
      "event": "blocked",
      "id": "beta",
      "fields": {
        "lock_file": "/r/.plan/local/merge.lock",
        "holder": "alpha",
        "waiter": "beta",
        "waiting_count": "2"
      }
    }
  ]
}
"#,
    ),
    (
        r"status: success
log_dir: /r/.plan/logs
omitted: 0
skipped_lines: 0
entries: []
",
        r#"{
  "status": "success",
  "log_dir": "/r/.plan/logs",
  "omitted": 0,
  "skipped_lines": 0,
  "entries": []
}
"#,
    ),
    (
        r#"status: success
log_dir: "evil[2J\nx"
omitted: 0
skipped_lines: 0
entries[1]{time,level,lock,event,id,fields{"evil[2J\nx"}}:
  1764516415,"evil[2J\nx","evil[2J\nx","evil[2J\nx","evil[2J\nx","evil[2J\nx"
"#,
        r#"{
  "status": "success",
  "log_dir": "evil[2J\nx",
  "omitted": 0,
  "skipped_lines": 0,
  "entries": [
    {
      "time": 1764516415.0,
      "level": "evil[2J\nx",
      "lock": "evil[2J\nx",
      "event": "evil[2J\nx",
      "id": "evil[2J\nx",
      "fields": {
        "evil[2J\nx": "evil[2J\nx"
      }
    }
  ]
}
"#,
    ),
    (
        r"status: success
log_dir: /r/.plan/logs
since: 1764430740.25
entry_count: 42
skipped_lines: 0
locks[3]{lock,waits,wait_p50,wait_p95,wait_longest,holds,hold_p50,hold_p95,hold_longest,turnless,turnless_longest,turnless_id,turnless_since,turnless_waiting,reclaims}:
  merge,12,3,125.5,725,1,40,40,40,2,725.25,beta,1764516415,true,2
  build,0,null,null,null,0,null,null,null,0,null,null,null,null,0
  rate-window,0,null,null,null,0,null,null,null,0,null,null,null,null,0
reclaimed[2]{time,lock,id,by}:
  1764513540,merge,gone,beta
  1764513540,build,gone,null
",
        r#"{
  "status": "success",
  "log_dir": "/r/.plan/logs",
  "since": 1764430740.25,
  "entry_count": 42,
  "skipped_lines": 0,
  "locks": [
    {
      "lock": "merge",
      "waits": 12,
      "wait_p50": 3.0,
      "wait_p95": 125.5,
      "wait_longest": 725.0,
      "holds": 1,
      "hold_p50": 40.0,
      "hold_p95": 40.0,
      "hold_longest": 40.0,
      "turnless": 2,
      "turnless_longest": 725.25,
      "turnless_id": "beta",
      "turnless_since": 1764516415.0,
      "turnless_waiting": true,
      "reclaims": 2
    },
    {
      "lock": "build",
      "waits": 0,
      "wait_p50": null,
      "wait_p95": null,
      "wait_longest": null,
      "holds": 0,
      "hold_p50": null,
      "hold_p95": null,
      "hold_longest": null,
      "turnless": 0,
      "turnless_longest": null,
      "turnless_id": null,
      "turnless_since": null,
      "turnless_waiting": null,
      "reclaims": 0
    },
    {
      "lock": "rate-window",
      "waits": 0,
      "wait_p50": null,
      "wait_p95": null,
      "wait_longest": null,
      "holds": 0,
      "hold_p50": null,
      "hold_p95": null,
      "hold_longest": null,
      "turnless": 0,
      "turnless_longest": null,
      "turnless_id": null,
      "turnless_since": null,
      "turnless_waiting": null,
      "reclaims": 0
    }
  ],
  "reclaimed": [
    {
      "time": 1764513540.0,
      "lock": "merge",
      "id": "gone",
      "by": "beta"
    },
    {
      "time": 1764513540.0,
      "lock": "build",
      "id": "gone",
      "by": null
    }
  ]
}
"#,
    ),
    (
        r#"status: success
log_dir: "evil[2J\nx"
since: null
entry_count: 42
skipped_lines: 0
locks[1]{lock,waits,wait_p50,wait_p95,wait_longest,holds,hold_p50,hold_p95,hold_longest,turnless,turnless_longest,turnless_id,turnless_since,turnless_waiting,reclaims}:
  merge,12,3,125.5,725,1,40,40,40,2,725.25,"evil[2J\nx",1764516415,true,2
reclaimed[1]{time,lock,id,by}:
  0,merge,"evil[2J\nx","evil[2J\nx"
"#,
        r#"{
  "status": "success",
  "log_dir": "evil[2J\nx",
  "since": null,
  "entry_count": 42,
  "skipped_lines": 0,
  "locks": [
    {
      "lock": "merge",
      "waits": 12,
      "wait_p50": 3.0,
      "wait_p95": 125.5,
      "wait_longest": 725.0,
      "holds": 1,
      "hold_p50": 40.0,
      "hold_p95": 40.0,
      "hold_longest": 40.0,
      "turnless": 2,
      "turnless_longest": 725.25,
      "turnless_id": "evil[2J\nx",
      "turnless_since": 1764516415.0,
      "turnless_waiting": true,
      "reclaims": 2
    }
  ],
  "reclaimed": [
    {
      "time": 0.0,
      "lock": "merge",
      "id": "evil[2J\nx",
      "by": "evil[2J\nx"
    }
  ]
}
"#,
    ),
    (
        r"status: success
log_dir: /r/.plan/logs
since: null
entry_count: 0
skipped_lines: 0
locks[1]{lock,waits,wait_p50,wait_p95,wait_longest,holds,hold_p50,hold_p95,hold_longest,turnless,turnless_longest,turnless_id,turnless_since,turnless_waiting,reclaims}:
  build,0,null,null,null,0,null,null,null,0,null,null,null,null,0
reclaimed: []
",
        r#"{
  "status": "success",
  "log_dir": "/r/.plan/logs",
  "since": null,
  "entry_count": 0,
  "skipped_lines": 0,
  "locks": [
    {
      "lock": "build",
      "waits": 0,
      "wait_p50": null,
      "wait_p95": null,
      "wait_longest": null,
      "holds": 0,
      "hold_p50": null,
      "hold_p95": null,
      "hold_longest": null,
      "turnless": 0,
      "turnless_longest": null,
      "turnless_id": null,
      "turnless_since": null,
      "turnless_waiting": null,
      "reclaims": 0
    }
  ],
  "reclaimed": []
}
"#,
    ),
];
