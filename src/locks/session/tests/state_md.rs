//! What a `STATE.md` says, by example and by chance.

use proptest::prelude::*;

use super::{HOUR, NOW};
use crate::locks::session::LIMIT;
use crate::locks::session::state_md::{Witness, front_matter};

fn witness() -> Witness {
    Witness {
        status: "active".to_owned(),
        session: "main-1".to_owned(),
        started_at: Some(NOW),
        mode: Some("deep".to_owned()),
        current_wave: Some(3),
    }
}

const USUAL: &str = "status: active\nsession: main-1\nstarted_at: 2026-05-27T10:00:00Z\nmode: deep\ncurrent_wave: 3\n";

fn read(lines: &str) -> Option<Witness> {
    front_matter(&format!("---\n{lines}---\n\n# State\n"))
}

#[test]
fn the_usual_front_matter_is_read() {
    assert_eq!(read(USUAL), Some(witness()));
    let windows = format!("\u{feff}---\n{USUAL}---  \n").replace('\n', "\r\n");
    assert_eq!(front_matter(&windows), Some(witness()));
    // Nothing need follow.
    assert_eq!(front_matter(&format!("---\n{USUAL}---")), Some(witness()));
}

#[test]
fn quotes_and_comments_are_those_of_yaml() {
    let text = "# a comment\n\nstatus: \"active\" # quoted\nsession: 'main-1'   \nstarted_at: '2026-05-27T12:00:00.000+02:00'\nmode: deep # not shallow\ncurrent_wave: \"3\"\n  # indented\n";
    assert_eq!(read(text), Some(witness()));
    let session =
        |value: &str| read(&format!("status: x\nsession: {value}\n")).map(|it| it.session);
    let cases = [
        ("it's", "it's"),
        ("'it''s'", "it's"),
        ("'a # b'", "a # b"),
        (r#""a \"b\" \u00e9""#, "a \"b\" é"),
        ("a#b", "a#b"),
        ("a:b", "a:b"),
        ("-1", "-1"),
        ("two words", "two words"),
    ];
    for (value, expected) in cases {
        assert_eq!(session(value).as_deref(), Some(expected), "{value}");
    }
}

#[test]
fn what_is_nested_under_another_key_is_skipped() {
    let others = "issues: [1, 2] # two\nbranch: main\nmap: {a: b}\ntasks:\n  - one: 1\n    two: [\n- three\nnote: |\n  status: done\n  # no comment\nempty:\n";
    assert_eq!(read(&format!("{others}{USUAL}")), Some(witness()));
    assert_eq!(read(&format!("{USUAL}{others}")), Some(witness()));
}

#[test]
fn whatever_else_is_malformed() {
    let lines = [
        "status: done\n",
        "mode: deep\n",
        "a\n",
        "a:b\n",
        ": a\n",
        "  a: b\n",
        "- a\n",
        "\ta: b\n",
        "'a': b\n",
        "a : b\n",
        "...\n",
        "a: \"b\n",
        "a: 'b\n",
        "a: 'b' c\n",
        "a: 'b'# c\n",
        "a: \"b\" c\n",
        "a: \"\\x41\"\n",
        "a: [1\n",
        "a: [1] 2\n",
        "a: b: c\n",
        "a: b:\n",
        "a: - b\n",
        "a: -\n",
        "a: &b c\n",
        "a: *b\n",
        "a: !b c\n",
        "a: %b\n",
        "a: @b\n",
        "a: `b\n",
        "a: b\n  c\n",
        "a: 1\na: 2\n",
    ];
    for line in lines {
        assert_eq!(read(&format!("{USUAL}{line}")), None, "{line}");
    }
    let nested = ["[a]", "{a: b}", "|\n  a", "\n  a", "# c\n- a", ">", "*a"];
    for value in nested {
        for key in ["status", "mode"] {
            let others = USUAL.lines().filter(|line| !line.starts_with(key));
            let others = others.collect::<Vec<_>>().join("\n");
            let text = format!("{others}\n{key}: {value}\n");
            assert_eq!(read(&text), None, "{text}");
        }
    }
}

#[test]
fn without_fences_status_or_session_it_is_malformed() {
    let texts = [
        String::new(),
        USUAL.to_owned(),
        format!("---\n{USUAL}"),
        format!("\n---\n{USUAL}---\n"),
        format!("----\n{USUAL}---\n"),
        format!("---\n{USUAL}----\n"),
        "---\nstatus: active\n---\n".to_owned(),
        "---\nsession: a\n---\n".to_owned(),
        "---\nstatus: active\nsession:\n---\n".to_owned(),
        "---\nstatus: active\nsession: ''\n---\n".to_owned(),
        "---\nstatus: active\nsession: null\n---\n".to_owned(),
        "---\nstatus: ~\nsession: a\n---\n".to_owned(),
    ];
    for text in texts {
        assert_eq!(front_matter(&text), None, "{text}");
    }
}

#[test]
fn odd_values_of_the_rest_are_missing() {
    let text =
        "status: active\nsession: main-1\nstarted_at: yesterday\nmode:\ncurrent_wave: third\n";
    let expected = Witness {
        started_at: None,
        mode: None,
        current_wave: None,
        ..witness()
    };
    assert_eq!(read(text), Some(expected.clone()));
    assert_eq!(read("status: active\nsession: main-1\n"), Some(expected));
}

#[test]
fn what_ends_past_the_limit_is_malformed() {
    let limit = usize::try_from(LIMIT).expect("a small number");
    let head = format!("---\n{USUAL}#");
    let text = |length: usize| format!("{head}{}\n---\n", "x".repeat(length - head.len() - 5));
    assert_eq!(front_matter(&text(limit)), Some(witness()));
    assert_eq!(front_matter(&text(limit + 1)), None);
}

#[test]
fn only_another_active_and_young_session_is_a_peer() {
    let now = NOW + HOUR;
    assert!(witness().is_peer(None, None, now));
    assert!(witness().is_peer(Some("raw"), Some("label"), now));
    assert!(!witness().is_peer(Some("main-1"), None, now));
    assert!(!witness().is_peer(Some("raw"), Some("main-1"), now));
    assert!(witness().is_peer(None, None, NOW - HOUR));
    assert!(witness().is_peer(None, None, NOW + 3.99 * HOUR));
    assert!(!witness().is_peer(None, None, NOW + 4.0 * HOUR));
    for status in ["completed", "Active", "paused"] {
        let other = Witness {
            status: status.to_owned(),
            ..witness()
        };
        assert!(!other.is_peer(None, None, now), "{status}");
    }
    let unknown = Witness {
        started_at: None,
        ..witness()
    };
    assert!(!unknown.is_peer(None, None, now));
}

proptest! {
    #[test]
    fn any_text_can_be_looked_at(text in any::<String>(), lines in "[-#:'\"|a \n\t\u{e9}\\[\\]{}&*]{0,60}") {
        let _ = front_matter(&text);
        let _ = read(&lines);
        let _ = read(&format!("status: {lines}\nsession: {text}\n"));
    }

    #[test]
    fn a_quoted_session_is_read_as_it_was_written(session in "\\PC{1,30}") {
        let doubled = format!("'{}'", session.replace('\'', "''"));
        for quoted in [serde_json::Value::from(session.as_str()).to_string(), doubled] {
            let found = read(&format!("status: x\nsession: {quoted} # c\n"));
            prop_assert_eq!(found.map(|it| it.session), Some(session.clone()));
        }
    }
}
