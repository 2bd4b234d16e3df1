//! Presence files and processes.

use std::fs::File;
use std::process::Child;

use super::*;

use Evidence::{Absent, Alive, Unobservable};

/// This machine after a restart, this boot in another pid namespace, another machine.
fn other_hosts(here: &Host) -> [(&'static str, Host, Evidence); 4] {
    [
        (
            "another boot",
            Host {
                boot_id: Some("before".to_owned()),
                machine_id: Some("this".to_owned()),
                ..here.clone()
            },
            Absent,
        ),
        (
            "an unknown boot",
            Host {
                boot_id: None,
                machine_id: Some("this".to_owned()),
                ..here.clone()
            },
            Unobservable,
        ),
        (
            "another pid namespace",
            Host {
                pid_ns: Some(1),
                ..here.clone()
            },
            Unobservable,
        ),
        (
            "another machine",
            Host {
                boot_id: Some("theirs".to_owned()),
                machine_id: Some("theirs".to_owned()),
                ..here.clone()
            },
            Unobservable,
        ),
    ]
}

fn ground() -> Ground {
    let mut ground = Ground::new();
    ground.host.machine_id = Some("this".to_owned());
    ground.host.boot_id.get_or_insert("now".to_owned());
    ground
}

/// A process that ends when its standard input does.
fn waiting_child() -> Child {
    Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("cat runs")
}

fn process_of(child: &Child) -> ProcessId {
    let pid = i32::try_from(child.id()).expect("a pid");
    match process::look(pid) {
        Sight::Running(start) => ProcessId { pid, start },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_process_runs_until_it_ends_even_as_a_zombie() {
    let ground = ground();
    let world = ground.world();
    let mut child = waiting_child();
    let process = process_of(&child);
    assert_eq!(world.process(&process, &ground.host), Alive);
    drop(child.stdin.take());
    // It has ended, and nobody has asked how: a zombie bears the number.
    until("the child ends", || {
        world.process(&process, &ground.host) == Absent
    });
    child.wait().expect("ended");
    assert_eq!(world.process(&process, &ground.host), Absent);
}

#[test]
fn a_number_used_again_is_another_process() {
    let ground = ground();
    let me = process::me().expect("this process");
    assert_eq!(ground.world().process(&me, &ground.host), Alive);
    let earlier = ProcessId {
        start: format!("{}0", me.start),
        ..me
    };
    assert_eq!(ground.world().process(&earlier, &ground.host), Absent);
}

#[test]
fn a_process_of_another_host_is_judged_by_what_can_be_known() {
    let ground = ground();
    let me = process::me().expect("this process");
    for (name, host, expected) in other_hosts(&ground.host) {
        assert_eq!(ground.world().process(&me, &host), expected, "{name}");
    }
}

#[test]
fn numbers_that_are_no_process_are_absent() {
    let ground = ground();
    for pid in [0, -1, i32::MIN, i32::MAX] {
        let process = ProcessId {
            pid,
            start: "1".to_owned(),
        };
        assert_eq!(ground.world().process(&process, &ground.host), Absent);
    }
}

#[test]
fn presence_is_a_lock_that_somebody_holds() {
    let ground = ground();
    let look = |name| ground.world().presence(name, &ground.host);
    assert_eq!(look("me"), Absent, "no file");
    make_file(&ground.presence.join("me"), b"");
    assert_eq!(look("me"), Absent, "not locked");
    let held = File::open(ground.presence.join("me")).expect("there");
    held.lock().expect("locked");
    assert_eq!(look("me"), Alive);
    assert_eq!(look("me"), Alive, "looking does not let go");
    drop(held);
    assert_eq!(look("me"), Absent);
}

#[test]
fn many_who_look_at_once_are_not_taken_for_a_holder() {
    let ground = ground();
    make_file(&ground.presence.join("me"), b"");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(ground.world().presence("me", &ground.host), Absent);
                }
            });
        }
    });
}

#[test]
fn presence_of_another_host_is_judged_by_what_can_be_known() {
    let ground = ground();
    make_file(&ground.presence.join("me"), b"");
    let held = File::open(ground.presence.join("me")).expect("there");
    held.lock().expect("locked");
    for (name, host, expected) in other_hosts(&ground.host) {
        // The kernel tells of locks across pid namespaces, and whichever boot it is.
        let expected = match name {
            "another pid namespace" | "an unknown boot" => Alive,
            _ => expected,
        };
        assert_eq!(ground.world().presence("me", &host), expected, "{name}");
    }
}

#[test]
fn a_presence_file_is_never_looked_for_outside_its_directory() {
    let ground = ground();
    let outside = ground.root().join("x");
    make_file(&outside, b"");
    let held = File::open(&outside).expect("there");
    held.lock().expect("locked");
    let absolute = outside.to_str().expect("plain");
    for odd in ["../x", "", ".", "..", "a/../../x", "/", absolute, ".hidden"] {
        let found = ground.world().presence(odd, &ground.host);
        assert_eq!(found, Absent, "{odd:?}");
    }
    let nul = ground.world().presence("a\0b", &ground.host);
    assert_ne!(nul, Alive);
}

#[test]
fn what_is_no_plain_file_is_no_presence_but_proves_nothing() {
    let ground = ground();
    link("/nowhere/at/all", &ground.presence.join("link"));
    make_dir(&ground.presence.join("dir"));
    let look = |name| ground.world().presence(name, &ground.host);
    assert_eq!(look("link"), Unobservable);
    assert_ne!(look("dir"), Alive);
    let gone = Surroundings {
        registry: std::cell::RefCell::default(),
        presence: ground.root().join("gone"),
        ..ground.world()
    };
    assert_eq!(gone.presence("me", &ground.host), Absent);
}

#[test]
fn a_start_read_in_another_time_namespace_proves_no_other_process() {
    let ground = ground();
    let world = ground.world();
    let elsewhere = Host {
        time_ns: Some(1),
        ..ground.host.clone()
    };
    let me = process::me().expect("this process");
    let shifted = ProcessId {
        start: format!("{}0", me.start),
        ..me.clone()
    };
    assert_eq!(world.process(&shifted, &ground.host), Absent);
    assert_eq!(world.process(&shifted, &elsewhere), Unobservable);
    // No number, no process, whatever the clock.
    let mut child = waiting_child();
    let ended = process_of(&child);
    drop(child.stdin.take());
    child.wait().expect("ended");
    assert_eq!(world.process(&ended, &elsewhere), Absent);
}
