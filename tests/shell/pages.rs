//! The pages themselves: in step with the command line, whole, and sound roff.

use std::process::Command;

use git_locks::cli::outline::outline;
use git_locks::manual;

use crate::common::required;
use crate::ground::source;

#[test]
fn the_committed_pages_are_in_step() {
    let dir = source().join("man");
    let pages = manual::pages();
    if std::env::var_os("GIT_LOCKS_UPDATE_MAN").is_some() {
        for page in &pages {
            std::fs::write(dir.join(format!("{}.1", page.name)), page.roff()).expect("a page");
        }
    }
    for page in &pages {
        let file = dir.join(format!("{}.1", page.name));
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == page.roff(),
            "{} is not what the command line says; set GIT_LOCKS_UPDATE_MAN=1 to rewrite it",
            file.display()
        );
    }
    let there = std::fs::read_dir(&dir).expect("man");
    let there = there.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name")
    });
    let mut there: Vec<String> = there.filter(|name| name.ends_with(".1")).collect();
    let mut expected: Vec<String> = pages
        .iter()
        .map(|page| format!("{}.1", page.name))
        .collect();
    there.sort();
    expected.sort();
    assert_eq!(
        there, expected,
        "pages that nobody makes, or that are missing"
    );
}

#[test]
fn mandoc_finds_nothing_wrong() {
    if !required("pages::mandoc_finds_nothing_wrong", "mandoc") {
        return;
    }
    for name in manual::names() {
        let page = source().join("man").join(format!("{name}.1"));
        let lint = Command::new("mandoc")
            .args(["-T", "lint", "-W", "warning"])
            .arg(&page)
            .output();
        let lint = lint.expect("mandoc runs");
        let said = String::from_utf8_lossy(&lint.stdout);
        assert!(lint.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn every_command_and_option_is_told_of() {
    let program = outline();
    let whole = manual::page("git-locks").expect("a page").text();
    for flag in &program.flags {
        for spelling in flag.spellings() {
            assert!(
                whole.contains(&spelling),
                "{spelling} is not in git-locks(1)"
            );
        }
    }
    for (names, leaf) in program.leaves() {
        let own = manual::page(names[0]).map(|page| page.text());
        let text = own.as_ref().unwrap_or(&whole);
        let call = format!("git locks {}", names.join(" "));
        assert!(text.contains(&call), "{call} is not told of");
        for spelling in leaf
            .flags
            .iter()
            .flat_map(git_locks::cli::outline::Flag::spellings)
        {
            assert!(
                text.contains(&spelling),
                "{spelling} of {call} is not told of"
            );
        }
    }
}

#[test]
fn every_setting_is_told_of() {
    let config = std::fs::read_to_string(source().join("doc/config.md")).expect("the settings");
    let page = manual::page("git-locks").expect("a page").text();
    let words = config.split('`').filter(|word| {
        let key = word
            .strip_prefix("locks.")
            .is_some_and(|key| key.chars().all(|c| c.is_ascii_alphabetic() || c == '.'));
        let variable = word.starts_with("GIT_LOCKS_") || word.starts_with("PLAN_");
        key || (variable && word.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    });
    let mut count = 0;
    for word in words {
        assert!(page.contains(word), "{word} is not in git-locks(1)");
        count += 1;
    }
    assert!(
        count > 20,
        "only {count} settings were found in doc/config.md"
    );
}
