//! `--follow`: what has happened, then what happens.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::turns::{Running, state, ticks, waits_for};
use crate::common::{DEADLINE, eventually};
use crate::pen::{Pen, append, merge, text};

/// What ends a process that is asked to: `HUP`, `INT`, `QUIT`, `TERM`.
const ENDING: [i32; 4] = [1, 2, 3, 15];

const STOP: i32 = Signal::SIGSTOP as i32;
const CONT: i32 = Signal::SIGCONT as i32;

fn follow(pen: &Pen, args: &str) -> Running {
    let call = pen.env.call(&pen.repo).args("--format json log --follow");
    call.args(args).start()
}

/// The ids that were given so far.
fn given(running: &Running) -> Vec<String> {
    let stdout = running.stdout();
    // The last line may still be on its way.
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).expect("one object a line");
            text(&entry, "id")
        })
        .collect()
}

#[track_caller]
fn gives(running: &Running, ids: &[&str]) {
    waits_for(&format!("{ids:?}"), DEADLINE, || {
        (given(running) == ids).then_some(())
    });
}

#[test]
fn what_is_there_comes_first_then_what_comes() {
    let pen = Pen::new();
    pen.write("2026-11-29", merge(0, "acquired", "a", "k=1"));
    pen.write("2026-11-30", merge(1, "released", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a", "a"]);
    pen.write(
        "2026-11-30",
        merge(2, "acquired", "b", "k=2") + &merge(3, "blocked", "c", ""),
    );
    gives(&running, &["a", "a", "b", "c"]);
    let last = running.stdout();
    let fields: Vec<Value> = last
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["fields"].clone())
        .collect();
    assert_eq!(fields[0]["k"], "1");
    assert_eq!(fields[2]["k"], "2");
}

#[test]
fn what_our_own_commands_do_is_told_as_they_do_it() {
    let pen = Pen::new();
    std::fs::remove_dir_all(pen.repo.join(".plan")).expect("removed");
    let running = follow(&pen, "--event acquired");
    pen.env.merge(&pen.repo, "acquire --as a").exits(0);
    gives(&running, &["a"]);
    pen.env.merge(&pen.repo, "release --as a").exits(0);
    pen.env.merge(&pen.repo, "acquire --as b").exits(0);
    gives(&running, &["a", "b"]);
}

#[test]
fn a_change_is_told_at_once() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    // It sleeps for a second when nothing wakes it: none of several may take that long.
    let mut fastest = Duration::MAX;
    for turn in 0..5 {
        let id = format!("b{turn}");
        let start = Instant::now();
        pen.write("2026-11-30", merge(1, "acquired", &id, ""));
        waits_for(&id, DEADLINE, || {
            given(&running).contains(&id).then_some(())
        });
        fastest = fastest.min(start.elapsed());
    }
    assert!(fastest < Duration::from_millis(500), "{fastest:?}");
}

#[test]
fn a_new_day_goes_on_in_its_file() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "-n 0");
    // Whatever comes before it has begun is not asked for.
    let mut ids: Vec<String> = Vec::new();
    waits_for("the first", DEADLINE, || {
        let id = format!("try{}", ids.len());
        pen.write("2026-11-30", merge(1, "acquired", &id, ""));
        ids.push(id);
        (!given(&running).is_empty()).then_some(())
    });
    pen.write("2026-12-01", merge(2, "acquired", "new-day", ""));
    eventually(DEADLINE, || {
        given(&running).last().is_some_and(|it| it == "new-day")
    });
    pen.write("2026-11-30", merge(3, "acquired", "late", ""));
    eventually(DEADLINE, || {
        given(&running).last().is_some_and(|it| it == "late")
    });
    pen.write("2026-12-01", merge(4, "acquired", "on", ""));
    eventually(DEADLINE, || {
        given(&running).last().is_some_and(|it| it == "on")
    });
}

#[test]
fn only_what_is_asked_for_is_told() {
    let pen = Pen::new();
    let some: String = (0..9)
        .map(|n| merge(n, "acquired", &format!("a{n}"), ""))
        .collect();
    pen.write("2026-11-30", some);
    let running = follow(&pen, "-n 2 --lock merge --since 2026-11-30T08:00:05");
    gives(&running, &["a7", "a8"]);
    pen.write(
        "2026-11-30",
        merge(4, "acquired", "too-old", "") + &merge(5, "acquired", "b", ""),
    );
    gives(&running, &["a7", "a8", "b"]);
}

#[test]
fn an_entry_that_comes_in_pieces_is_given_once_and_whole() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    // Where the machine is so busy that the pieces come too late, they come again.
    for turn in 0..20 {
        let id = format!("b{turn}");
        let whole = merge(1, "acquired", &id, "k=v");
        for piece in [&whole[..20], &whole[20..69], &whole[69..]] {
            pen.write("2026-11-30", piece);
            let end = Instant::now() + Duration::from_millis(10);
            waits_for("a moment", DEADLINE, || {
                (Instant::now() >= end).then_some(())
            });
        }
        waits_for(&id, DEADLINE, || {
            given(&running).contains(&id).then_some(())
        });
        let said = running.stdout();
        let last: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
        assert_eq!(text(&last, "id"), id, "{said}");
        if last["fields"]["k"] == "v" {
            return;
        }
    }
    panic!("it is never whole: {}", running.stdout());
}

#[test]
fn a_line_is_kept_until_its_end_comes() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    // What is open is given while the line after it has no end yet, so that its piece was seen.
    let whole = merge(2, "acquired", "c", "k=v");
    let (piece, rest) = whole.split_at(40);
    pen.write("2026-11-30", merge(1, "acquired", "b", "") + piece);
    gives(&running, &["a", "b"]);
    pen.write("2026-11-30", rest);
    gives(&running, &["a", "b", "c"]);
    let said = running.stdout();
    assert!(said.contains(r#"{"k":"v"}"#), "{said}");
    assert!(!running.stderr().contains("no sense"), "{said}");
}

#[test]
fn what_was_written_last_in_a_file_that_is_replaced_counts() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    let (file, aside) = (pen.file("2026-11-30"), pen.logs().join("aside"));
    running.signal(STOP);
    waits_for("it is stopped", DEADLINE, || {
        (state(running.pid()) == Some('T')).then_some(())
    });
    pen.write("2026-11-30", merge(1, "acquired", "b", ""));
    std::fs::rename(&file, &aside).expect("moved");
    pen.write("2026-11-30", merge(2, "acquired", "c", ""));
    running.signal(CONT);
    gives(&running, &["a", "b", "c"]);
}

#[test]
fn a_file_that_is_replaced_is_followed_on() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    let other = pen.env.path("other");
    append(&other, merge(1, "acquired", "b", ""));
    std::fs::rename(&other, pen.file("2026-11-30")).expect("replaced");
    gives(&running, &["a", "b"]);
    pen.write("2026-11-30", merge(2, "acquired", "c", ""));
    gives(&running, &["a", "b", "c"]);
}

#[test]
fn a_signal_ends_it_without_a_word() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    for signal in ENDING {
        let mut running = follow(&pen, "");
        gives(&running, &["a"]);
        running.signal(signal);
        let ended = running.wait(DEADLINE).exits(128 + signal);
        assert_eq!(ended.stderr, "", "{ended:#?}");
        assert_eq!(ended.stdout.lines().count(), 1, "{ended:#?}");
    }
}

/// The same with its standard output in a pipe.
fn piped(pen: &Pen, args: &str) -> Child {
    let call = pen.env.call(&pen.repo).args("--format json log --follow");
    let mut command: Command = call.args(args).into_command();
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("git-locks starts")
}

/// How the process ends and what it says on standard error.
#[track_caller]
fn end_of(mut child: Child) -> (Option<i32>, String) {
    let status = waits_for("its end", DEADLINE, || child.try_wait().expect("wait"));
    let mut said = String::new();
    let stderr = child.stderr.take().expect("a pipe");
    BufReader::new(stderr)
        .read_to_string(&mut said)
        .expect("text");
    (status.code(), said)
}

#[test]
fn nobody_reads_it_any_more_and_it_ends_without_a_word() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let mut child = piped(&pen, "");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert!(line.contains("\"a\""), "{line}");
    assert!(child.try_wait().expect("wait").is_none(), "it goes on");
    // Nothing more happens: it does not take an entry to find out.
    drop(out);
    assert_eq!(end_of(child), (Some(0), String::new()));
}

#[test]
fn a_reader_that_takes_nothing_keeps_it_from_no_end() {
    let pen = Pen::new();
    let many: String = (0..60)
        .map(|second| merge(second, "acquired", "a", ""))
        .collect();
    pen.write("2026-11-30", many.repeat(100));
    for signal in ENDING {
        let mut child = piped(&pen, "");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut String::new()).expect("it has begun");
        let pid = i32::try_from(child.id()).expect("a pid");
        // Once it makes no more progress, the pipe is full.
        let mut before = u64::MAX;
        let mut quiet = 0;
        waits_for("a full pipe", DEADLINE, || {
            let now = ticks(pid);
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
            (quiet > 20).then_some(())
        });
        crate::common::turns::send(pid, signal);
        assert_eq!(end_of(child), (Some(128 + signal), String::new()));
        drop(out);
    }
}

#[test]
fn following_costs_next_to_nothing() {
    let pen = Pen::new();
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "");
    gives(&running, &["a"]);
    pen.write("2026-11-30", merge(1, "released", "b", ""));
    gives(&running, &["a", "b"]);
    let before = ticks(running.pid());
    let end = Instant::now() + Duration::from_secs(2);
    waits_for("two seconds", DEADLINE, || {
        (Instant::now() >= end).then_some(())
    });
    let spent = ticks(running.pid()) - before;
    assert!(spent <= 5, "{spent} ticks in two seconds");
}

#[test]
fn each_form_has_one_piece_for_each_entry() {
    let pen = Pen::new();
    let text = merge(0, "acquired", "a", "k=v") + &merge(1, "released", "a", "");
    pen.write("2026-11-30", text);
    let toon = "time: 1796025600\nlevel: INFO\nlock: merge\nevent: acquired\nid: a\nfields:\n  k: v\n\n\
                time: 1796025601\nlevel: INFO\nlock: merge\nevent: released\nid: a\nfields:\n\n";
    let spaces = " ".repeat(29);
    let human = format!(
        "2026-11-30T08:00:00Z  merge:acquired       a{spaces}  k=v\n\
         2026-11-30T08:00:01Z  merge:released       a\n"
    );
    for (format, expected) in [("toon", toon), ("human", human.as_str())] {
        let call = pen
            .env
            .call(&pen.repo)
            .args("log --follow --format")
            .arg(format);
        let running = call.start();
        waits_for(format, DEADLINE, || {
            (running.stdout() == expected).then_some(())
        });
    }
}

#[test]
fn what_cannot_be_read_is_told_while_it_goes_on() {
    let pen = Pen::new();
    std::fs::create_dir(pen.file("2026-11-29")).expect("a directory");
    pen.write("2026-11-30", merge(0, "acquired", "a", ""));
    let running = follow(&pen, "-v");
    running.says("should be a regular file, but is a directory");
    gives(&running, &["a"]);
    pen.write(
        "2026-11-30",
        "nonsense\n".to_owned() + &merge(1, "acquired", "b", ""),
    );
    gives(&running, &["a", "b"]);
    running.says("1 line of the timeline makes no sense");
    assert_eq!(running.stderr().matches("a directory").count(), 1);
}
