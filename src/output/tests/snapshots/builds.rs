//! The build queue for machines, word for word.

/// For each of its samples: its TOON and its JSON.
pub(super) const EXPECTED: [(&str, &str); 11] = [
    (
        r#"status: success
plan_id: beta
id: "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
admission: admitted
max_slots: 5
active_count: 2
waiting_count: 0
queue_path: /home/u/.plan-marshall/build-queue.json
slot: 2
expires_at: 1764520740.1875
"#,
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  "admission": "admitted",
  "max_slots": 5,
  "active_count": 2,
  "waiting_count": 0,
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "slot": 2,
  "expires_at": 1764520740.1875
}
"#,
    ),
    (
        r#"status: success
plan_id: beta
id: "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
admission: blocked
max_slots: 5
active_count: 5
waiting_count: 3
queue_path: /home/u/.plan-marshall/build-queue.json
position: 3
"#,
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  "admission": "blocked",
  "max_slots": 5,
  "active_count": 5,
  "waiting_count": 3,
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "position": 3
}
"#,
    ),
    (
        r"status: success
plan_id: beta
id: null
admission: blocked
max_slots: 5
active_count: 5
waiting_count: 0
queue_path: /home/u/.plan-marshall/build-queue.json
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": null,
  "admission": "blocked",
  "max_slots": 5,
  "active_count": 5,
  "waiting_count": 0,
  "queue_path": "/home/u/.plan-marshall/build-queue.json"
}
"#,
    ),
    (
        r#"status: success
plan_id: beta
id: "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
action: released
promoted: "gamma:6fa459ea-ee8a-4ca4-894e-db77e160355e"
max_slots: 5
active_count: 5
waiting_count: 1
queue_path: /home/u/.plan-marshall/build-queue.json
"#,
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  "action": "released",
  "promoted": "gamma:6fa459ea-ee8a-4ca4-894e-db77e160355e",
  "max_slots": 5,
  "active_count": 5,
  "waiting_count": 1,
  "queue_path": "/home/u/.plan-marshall/build-queue.json"
}
"#,
    ),
    (
        r"status: success
plan_id: beta
id: null
action: noop
promoted: null
max_slots: 5
active_count: 0
waiting_count: 0
queue_path: /home/u/.plan-marshall/build-queue.json
message: beta is not in the build queue
",
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": null,
  "action": "noop",
  "promoted": null,
  "max_slots": 5,
  "active_count": 0,
  "waiting_count": 0,
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "message": "beta is not in the build queue"
}
"#,
    ),
    (
        r#"status: refused
plan_id: beta
id: "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11"
reason: holder_present
queue_path: /home/u/.plan-marshall/build-queue.json
"#,
        r#"{
  "status": "refused",
  "plan_id": "beta",
  "id": "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11",
  "reason": "holder_present",
  "queue_path": "/home/u/.plan-marshall/build-queue.json"
}
"#,
    ),
    (
        r"status: refused
plan_id: beta
reason: lock_lost
queue_path: /home/u/.plan-marshall/build-queue.json
",
        r#"{
  "status": "refused",
  "plan_id": "beta",
  "reason": "lock_lost",
  "queue_path": "/home/u/.plan-marshall/build-queue.json"
}
"#,
    ),
    (
        r#"status: success
plan_id: beta
id: "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
action: renewed
queue_path: /home/u/.plan-marshall/build-queue.json
slot: 2
expires_at: 1764522540.25
"#,
        r#"{
  "status": "success",
  "plan_id": "beta",
  "id": "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  "action": "renewed",
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "slot": 2,
  "expires_at": 1764522540.25
}
"#,
    ),
    (
        r#"status: held
plan_id: beta
max_slots: 2
active_count: 2
waiting_count: 1
queue_path: /home/u/.plan-marshall/build-queue.json
user: u
mine: false
disagreeing_slots[3]: 2,3,5
active[2]{slot,id,plan_id,project_root,since,staleness,max_slots,expires_at,command,reason}:
  1,"alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11",alpha,/r,1764516415.25,fresh,5,null,make -j8,"nightly, all"
  null,"beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",beta,null,1764517135.25,unknown,null,null,null,null
waiting[1]{position,id,plan_id,project_root,since,staleness,max_slots,command,reason}:
  1,"gamma:6fa459ea-ee8a-4ca4-894e-db77e160355e",gamma,/r/other project,1764517050.25,fresh,3,cargo test,null
"#,
        r#"{
  "status": "held",
  "plan_id": "beta",
  "max_slots": 2,
  "active_count": 2,
  "waiting_count": 1,
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "user": "u",
  "mine": false,
  "disagreeing_slots": [
    2,
    3,
    5
  ],
  "active": [
    {
      "slot": 1,
      "id": "alpha:0f0e4c52-7a52-4a3e-9d6a-0d3b5f0c1a11",
      "plan_id": "alpha",
      "project_root": "/r",
      "since": 1764516415.25,
      "staleness": "fresh",
      "max_slots": 5,
      "expires_at": null,
      "command": "make -j8",
      "reason": "nightly, all"
    },
    {
      "slot": null,
      "id": "beta:1b4e28ba-2fa1-41d2-883f-0016d3cca427",
      "plan_id": "beta",
      "project_root": null,
      "since": 1764517135.25,
      "staleness": "unknown",
      "max_slots": null,
      "expires_at": null,
      "command": null,
      "reason": null
    }
  ],
  "waiting": [
    {
      "position": 1,
      "id": "gamma:6fa459ea-ee8a-4ca4-894e-db77e160355e",
      "plan_id": "gamma",
      "project_root": "/r/other project",
      "since": 1764517050.25,
      "staleness": "fresh",
      "max_slots": 3,
      "command": "cargo test",
      "reason": null
    }
  ]
}
"#,
    ),
    (
        r"status: free
plan_id: null
max_slots: 5
active_count: 0
waiting_count: 0
queue_path: /home/u/.plan-marshall/build-queue.json
user: u
mine: false
active: []
waiting: []
",
        r#"{
  "status": "free",
  "plan_id": null,
  "max_slots": 5,
  "active_count": 0,
  "waiting_count": 0,
  "queue_path": "/home/u/.plan-marshall/build-queue.json",
  "user": "u",
  "mine": false,
  "active": [],
  "waiting": []
}
"#,
    ),
    (
        r#"status: held
plan_id: null
max_slots: 2
active_count: 1
waiting_count: 1
queue_path: "/evil[2J\nx"
user: "evil[2J\nx"
mine: false
active[1]{slot,id,plan_id,project_root,since,staleness,max_slots,expires_at,command,reason}:
  null,"evil[2J\nx:,\"|- ","evil[2J\nx","evil[2J\nx",1764517135.25,unknown,null,null,"evil[2J\nx","evil[2J\nx"
waiting[1]{position,id,plan_id,project_root,since,staleness,max_slots,command,reason}:
  1,"evil[2J\nx","","evil[2J\nx",1764517050.25,fresh,3,"evil[2J\nx","evil[2J\nx"
"#,
        r#"{
  "status": "held",
  "plan_id": null,
  "max_slots": 2,
  "active_count": 1,
  "waiting_count": 1,
  "queue_path": "/evil[2J\nx",
  "user": "evil[2J\nx",
  "mine": false,
  "active": [
    {
      "slot": null,
      "id": "evil[2J\nx:,\"|- ",
      "plan_id": "evil[2J\nx",
      "project_root": "evil[2J\nx",
      "since": 1764517135.25,
      "staleness": "unknown",
      "max_slots": null,
      "expires_at": null,
      "command": "evil[2J\nx",
      "reason": "evil[2J\nx"
    }
  ],
  "waiting": [
    {
      "position": 1,
      "id": "evil[2J\nx",
      "plan_id": "",
      "project_root": "evil[2J\nx",
      "since": 1764517050.25,
      "staleness": "fresh",
      "max_slots": 3,
      "command": "evil[2J\nx",
      "reason": "evil[2J\nx"
    }
  ]
}
"#,
    ),
];
