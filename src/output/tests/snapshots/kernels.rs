//! The kernel's locks for machines, word for word.

/// For each of its samples: its TOON and its JSON.
pub(super) const EXPECTED: [(&str, &str); 10] = [
    (
        r"status: blocked
lock_path: /r/.git/axm-integration.lock
holder_pid: 4242
holder_host: box
holder_since: 1764516415.25
holder_command: make test
timeout: 2.5
",
        r#"{
  "status": "blocked",
  "lock_path": "/r/.git/axm-integration.lock",
  "holder_pid": 4242,
  "holder_host": "box",
  "holder_since": 1764516415.25,
  "holder_command": "make test",
  "timeout": 2.5
}
"#,
    ),
    (
        r"status: blocked
lock_path: /tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
workspace: /r/wt
timeout: 0
",
        r#"{
  "status": "blocked",
  "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock",
  "workspace": "/r/wt",
  "timeout": 0.0
}
"#,
    ),
    (
        r"status: refused
reason: own_parent
lock_path: /r/.git/axm-integration.lock
holder_pid: 4242
holder_command: git-locks repo run -- make
",
        r#"{
  "status": "refused",
  "reason": "own_parent",
  "lock_path": "/r/.git/axm-integration.lock",
  "holder_pid": 4242,
  "holder_command": "git-locks repo run -- make"
}
"#,
    ),
    (
        r"status: free
lock_path: /r/.git/axm-integration.lock
",
        r#"{
  "status": "free",
  "lock_path": "/r/.git/axm-integration.lock"
}
"#,
    ),
    (
        r"status: held
lock_path: /r/.git/axm-integration.lock
holder_pid: 4242
holder_command: git-locks repo run -- make
holder_since: 1764516415.25
mine: false
keepers[1]{pid,since,command}:
  4243,1764516415.75,make
",
        r#"{
  "status": "held",
  "lock_path": "/r/.git/axm-integration.lock",
  "holder_pid": 4242,
  "holder_command": "git-locks repo run -- make",
  "holder_since": 1764516415.25,
  "mine": false,
  "keepers": [
    {
      "pid": 4243,
      "since": 1764516415.75,
      "command": "make"
    }
  ]
}
"#,
    ),
    (
        r"status: success
lock_path: /r/.git/axm-integration.lock
",
        r#"{
  "status": "success",
  "lock_path": "/r/.git/axm-integration.lock"
}
"#,
    ),
    (
        r"status: free
lock_path: /tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
workspace: /r/wt
class: stale
owner:
  pid: 99
  host: box
  since: 1764430740.25
  command: make
",
        r#"{
  "status": "free",
  "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock",
  "workspace": "/r/wt",
  "class": "stale",
  "owner": {
    "pid": 99,
    "host": "box",
    "since": 1764430740.25,
    "command": "make"
  }
}
"#,
    ),
    (
        r#"status: held
lock_path: "evil[2J\nx"
holder_pid: 4242
holder_command: "evil[2J\nx"
holder_since: 1764516415.25
mine: false
keepers[1]{pid,since,command}:
  4243,1764516415.75,make
workspace: "evil[2J\nx"
class: live
owner:
  pid: -1
  host: "evil[2J\nx"
  since: null
  command: "evil[2J\nx"
"#,
        r#"{
  "status": "held",
  "lock_path": "evil[2J\nx",
  "holder_pid": 4242,
  "holder_command": "evil[2J\nx",
  "holder_since": 1764516415.25,
  "mine": false,
  "keepers": [
    {
      "pid": 4243,
      "since": 1764516415.75,
      "command": "make"
    }
  ],
  "workspace": "evil[2J\nx",
  "class": "live",
  "owner": {
    "pid": -1,
    "host": "evil[2J\nx",
    "since": null,
    "command": "evil[2J\nx"
  }
}
"#,
    ),
    (
        r#"status: success
refreshed: 0
worktrees[4]{path,class,pid,host,since,command,lock_path}:
  /r,live,4242,box,1764516415.25,"make, all",/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
  /r/a,no-lock-file,null,null,null,null,/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
  /r/b,orphan,null,null,null,null,/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
  /r/c d,stale,4242,box,1764516415.25,"make, all",/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
"#,
        r#"{
  "status": "success",
  "refreshed": 0,
  "worktrees": [
    {
      "path": "/r",
      "class": "live",
      "pid": 4242,
      "host": "box",
      "since": 1764516415.25,
      "command": "make, all",
      "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock"
    },
    {
      "path": "/r/a",
      "class": "no-lock-file",
      "pid": null,
      "host": null,
      "since": null,
      "command": null,
      "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock"
    },
    {
      "path": "/r/b",
      "class": "orphan",
      "pid": null,
      "host": null,
      "since": null,
      "command": null,
      "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock"
    },
    {
      "path": "/r/c d",
      "class": "stale",
      "pid": 4242,
      "host": "box",
      "since": 1764516415.25,
      "command": "make, all",
      "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock"
    }
  ]
}
"#,
    ),
    (
        r#"status: refused
refreshed: 0
worktrees[1]{path,class,pid,host,since,command,lock_path}:
  "evil[2J\nx",stale,4242,box,1764516415.25,"make, all",/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock
reason: not_confirmed
hint: git locks worktree cleanup --refresh --yes
"#,
        r#"{
  "status": "refused",
  "refreshed": 0,
  "worktrees": [
    {
      "path": "evil[2J\nx",
      "class": "stale",
      "pid": 4242,
      "host": "box",
      "since": 1764516415.25,
      "command": "make, all",
      "lock_path": "/tmp/crucible-locks/37f3ed4cb0a46ff8953e83da5a1d1fd1.lock"
    }
  ],
  "reason": "not_confirmed",
  "hint": "git locks worktree cleanup --refresh --yes"
}
"#,
    ),
];
