//! The terminal at standard error.

use std::env;

/// How many columns it has, as the kernel knows, else as `COLUMNS` says.
pub fn columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let known = size.map(|(width, _)| usize::from(width.0));
    let said = || env::var("COLUMNS").ok()?.parse().ok();
    known.or_else(said).filter(|&columns| columns > 0)
}
