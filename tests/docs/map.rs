//! The map of the house, in `src/lib.rs`: every module is in it, and arrows point down only.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::pages::root;

/// Each module, and the row of the map that it stands in.
fn rows(lib: &str) -> BTreeMap<String, usize> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | [`"));
    let modules = rows.enumerate().flat_map(|(row, line)| {
        let cell = line.split(" |").next().unwrap_or_default();
        let names = cell.split("[`").map(|name| {
            let end = name.find('`').expect("a name in backticks");
            name[..end].to_owned()
        });
        names.map(move |name| (name, row)).collect::<Vec<_>>()
    });
    modules.collect()
}

/// The code of a module, without its tests and without what it only says.
fn code(path: &Path, found: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            let below = entry.expect("an entry").path();
            let of_tests = below.file_stem().is_some_and(|name| name == "tests");
            if !of_tests {
                code(&below, found);
            }
        }
    } else if path.extension().is_some_and(|it| it == "rs") {
        let text = fs::read_to_string(path).expect("a source");
        let lines = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        for line in lines.lines().filter(|line| !line.trim().starts_with("//")) {
            found.push_str(line);
            found.push('\n');
        }
    }
}

/// What stands after `crate::` in `code`, each module once.
fn known(code: &str) -> Vec<&str> {
    let names = code.split("crate::").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
        rest.get(..end)
    });
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn every_module_is_in_it_and_knows_only_those_below() {
    let source = root().join("src");
    let lib = fs::read_to_string(source.join("lib.rs")).expect("the map");
    let rows = rows(&lib);
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod "));
    let mut modules: Vec<&str> = modules.map(|line| line.trim_end_matches(';')).collect();
    modules.sort_unstable();
    let told: Vec<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(told, modules);
    let (mut wrong, mut arrows) = (Vec::new(), 0);
    for (module, row) in &rows {
        let mut own = String::new();
        for path in [source.join(module), source.join(format!("{module}.rs"))] {
            if path.exists() {
                code(&path, &mut own);
            }
        }
        for below in known(&own).into_iter().filter(|below| below != module) {
            let Some(other) = rows.get(below) else {
                continue;
            };
            arrows += 1;
            // Those of the last row say nothing of each other.
            if other < row {
                wrong.push(format!("{module} knows {below}, which stands above it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(arrows > 80, "{arrows}");
}
