//! Every report in every format, as it reads.

mod builds;
mod hooks;
mod human;
mod kernels;
mod machine;
mod samples;
mod sessions;
mod snapshots;
mod status;
mod timeline;
mod windows;

use super::*;

const NOW: f64 = 1_764_517_140.25;

const PLAIN: Style = Style {
    color: false,
    now: NOW,
    columns: None,
};

fn human(report: &Report) -> String {
    render(report, Format::Human, &PLAIN)
}

fn toon(report: &Report) -> String {
    render(report, Format::Toon, &PLAIN)
}

fn json(report: &Report) -> String {
    render(report, Format::Json, &PLAIN)
}

/// What a case expects to read, line by line.
fn reads(report: &Report, expected: &[&str]) {
    assert_eq!(human(report), format!("{}\n", expected.join("\n")));
}
