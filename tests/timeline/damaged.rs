//! Files that are not as they should be: never a failure.

use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{chmod, needs_root};
use crate::pen::{Pen, ids, merge};

/// Another user.
const ANN: u32 = 41_001;

#[test]
fn damaged_lines_are_skipped_counted_and_told_on_request() {
    let pen = Pen::new();
    let mut text = b"cut off] [INFO] [0123ab] [LOCK] (merge:acquired) x\n  lost: 1\n".to_vec();
    text.extend(merge(0, "acquired", "a", "k=v").bytes());
    text.extend(b"\xff\xfe\x00\x1b[2J\n[yesterday] [INFO] [1] [LOCK] (merge:acquired) x\n");
    text.extend(merge(1, "released", "a", "").bytes());
    text.extend(b"[2026-11-30T08:00:02Z] [INFO] [0123ab] [LOCK] (merge:acq");
    pen.write("2026-11-30", &text);
    pen.write("2026-12-01", merge(3, "acquired", "b", ""));
    for (args, says) in [
        ("", false),
        ("-v", true),
        ("--report", false),
        ("--report -v", true),
    ] {
        let run = pen.log(args).exits(0).says(&[("skipped_lines", json!(5))]);
        let told = run.stderr.contains("5 lines of the timeline make no sense");
        assert_eq!(told, says, "{run:#?}");
        assert!(!run.stdout.contains('\u{1b}'));
    }
    assert_eq!(pen.ids(""), ["a", "a", "b"]);
}

#[test]
fn lines_of_other_programs_end_as_they_like() {
    let pen = Pen::new();
    let text = merge(0, "acquired", "a", "k=v").replace('\n', "\r\n");
    pen.write("2026-11-30", text.trim_end());
    let run = pen.log("").exits(0).says(&[("skipped_lines", json!(0))]);
    assert_eq!(run.get("entries")[0]["fields"], json!({"k": "v"}));
}

#[test]
fn only_regular_files_are_read() {
    let pen = Pen::new();
    let elsewhere = pen.env.path("secret");
    std::fs::write(&elsewhere, merge(0, "acquired", "secret", "")).expect("a file");
    std::os::unix::fs::symlink(&elsewhere, pen.file("2026-11-01")).expect("a link");
    let fifo = Command::new("mkfifo").arg(pen.file("2026-11-02")).status();
    assert!(fifo.expect("mkfifo").success());
    let _socket = UnixListener::bind(pen.file("2026-11-03")).expect("a socket");
    std::fs::create_dir(pen.file("2026-11-04")).expect("a directory");
    pen.write("2026-11-05", merge(0, "acquired", "a", ""));
    pen.write("2026-11-5", merge(0, "acquired", "no day", ""));
    for args in ["", "--report"] {
        let run = pen.log(args).exits(0);
        for what in ["a symbolic link", "a FIFO", "a socket", "a directory"] {
            assert!(run.stderr.contains(what), "{run:#?}");
        }
        assert_eq!(run.stderr.lines().count(), 4, "{run:#?}");
        assert!(!run.stdout.contains("secret"), "{run:#?}");
    }
    assert_eq!(pen.ids(""), ["a"]);
}

#[test]
fn a_file_that_may_not_be_read_keeps_none_of_the_others() {
    // Nothing is forbidden to root itself.
    if !needs_root("a_file_that_may_not_be_read_keeps_none_of_the_others") {
        return;
    }
    let pen = Pen::new();
    pen.write("2026-11-29", merge(0, "acquired", "a", ""));
    pen.write("2026-11-30", merge(0, "acquired", "b", ""));
    chmod(&pen.file("2026-11-29"), 0);
    let call = pen.env.call(&pen.repo).args("--format json log");
    let run = call.user(&pen.env, ANN, ANN).run().exits(0);
    assert!(run.stderr.contains("warning: not read: "), "{run:#?}");
    assert_eq!(ids(&run), ["b"]);
}

#[test]
fn a_huge_file_takes_bounded_memory_and_time() {
    let pen = Pen::new();
    let some: String = (0..60)
        .map(|second| merge(second, "blocked", "b", "holder=a"))
        .collect();
    let line = "x".repeat(100) + "\n";
    let mut block = some + &line.repeat(100) + &"y".repeat(1 << 20);
    block.push('\n');
    for _ in 0..100 {
        pen.write("2026-11-30", &block);
    }
    pen.write("2026-11-30", merge(61, "acquired", "b", ""));
    // 100 MiB of it, in an address space that could not hold it.
    for args in ["-n 1", "--report", "--event acquired"] {
        let script = format!(
            "ulimit -v 90000; exec {} --format json log {args}",
            crate::common::turns::quoted_bin()
        );
        let start = Instant::now();
        let mut command = pen.env.command("bash");
        let output = command
            .current_dir(&pen.repo)
            .args(["-c", &script])
            .output();
        let output = output.expect("bash");
        assert!(output.status.success(), "{output:?}");
        assert!(start.elapsed() < Duration::from_secs(30));
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(said.contains("\"skipped_lines\": 10100"), "{said}");
    }
}
