//! Links from one document to another.

use std::path::Path;

use crate::pages::{all, read, root};

/// The targets of the links in a text.
fn targets(text: &str) -> Vec<&str> {
    let parts = text.split("](").skip(1);
    parts
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for file in all() {
        let (lines, _) = read(&file);
        for (number, line) in lines {
            for target in targets(&line) {
                if target.contains("://") {
                    continue;
                }
                let at = format!("{file}:{number}: {target}");
                let (path, heading) = target.split_once('#').unwrap_or((target, ""));
                let directory = Path::new(&file).parent().expect("a directory");
                let name = if path.is_empty() {
                    file.clone()
                } else {
                    directory.join(path).to_str().expect("UTF-8").to_owned()
                };
                assert!(root().join(&name).exists(), "{at}");
                if !heading.is_empty() {
                    let headings = read(&name).0;
                    let mut headings = headings.iter().filter(|(_, line)| line.starts_with('#'));
                    let is_it = |line: &str| anchor(line.trim_start_matches(['#', ' '])) == heading;
                    assert!(headings.any(|(_, line)| is_it(line)), "{at}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "{seen}");
}
