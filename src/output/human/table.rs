//! A table of aligned columns that makes do with the width there is.
//!
//! Too wide, its roomiest columns are cut first, each to what still tells something; what then still
//! does not fit loses whole columns, the least needed first. Widths are counted in characters.

use owo_colors::Style as Paint;

use super::Style;

/// What stands between two columns.
const GAP: usize = 2;

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// What stands above it.
    pub head: &'static str,
    /// How far it may be cut, in characters; `None` for not at all.
    pub least: Option<usize>,
    /// Whether what is cut off is its beginning: the end of a path tells more.
    pub keeps_end: bool,
    /// When it is left out: 1 is first; 0 is never.
    pub leaves: usize,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Its text, which is fit to be shown.
    pub text: String,
    /// Its colour.
    pub paint: Option<Paint>,
}

impl Cell {
    /// Plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            paint: None,
        }
    }
}

/// One row: a cell for each column.
pub(super) type Row<const N: usize> = [Cell; N];

/// The lines of a table, its head the first.
pub(super) fn lines<const N: usize>(
    columns: &[Column; N],
    rows: &[Row<N>],
    style: &Style,
) -> Vec<String> {
    let widths = widths(columns, rows, style.columns);
    let head = columns.map(|column| Cell {
        text: column.head.to_owned(),
        paint: Some(Paint::new().bold()),
    });
    let all = std::iter::once(&head).chain(rows);
    all.map(|row| line(columns, row, &widths, style)).collect()
}

/// How wide each column is to be; `None` for one that is left out.
fn widths<const N: usize>(
    columns: &[Column; N],
    rows: &[Row<N>],
    room: Option<usize>,
) -> [Option<usize>; N] {
    let natural: [usize; N] = std::array::from_fn(|index| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let widest = cells.map(|cell| length(&cell.text)).max();
        let widest = widest.unwrap_or(0);
        // A column that says nothing has no head either.
        if widest == 0 {
            0
        } else {
            widest.max(columns.get(index).map_or(0, |column| length(column.head)))
        }
    });
    let mut widths = natural.map(|width| (width > 0).then_some(width));
    let Some(room) = room else {
        return widths;
    };
    let last = columns.iter().map(|column| column.leaves).max();
    for gone in 0..=last.unwrap_or(0) {
        for (width, column) in widths.iter_mut().zip(columns) {
            if column.leaves > 0 && column.leaves == gone {
                *width = None;
            }
        }
        let cut = cut(columns, widths, room);
        if total(&cut) <= room || Some(gone) == last {
            return cut;
        }
    }
    widths
}

/// The same, those cut that can be, the roomiest first, as far as it takes.
fn cut<const N: usize>(
    columns: &[Column; N],
    mut widths: [Option<usize>; N],
    room: usize,
) -> [Option<usize>; N] {
    while total(&widths) > room {
        let over = total(&widths) - room;
        let candidates = widths
            .iter_mut()
            .zip(columns)
            .filter_map(|(width, column)| {
                let (width, least) = (width.as_mut()?, column.least?);
                (*width > least).then_some((width, least))
            });
        let Some((width, least)) = candidates.max_by_key(|(width, least)| **width - least) else {
            break;
        };
        // Bit by bit, so that several give way together.
        *width = (*width).saturating_sub(over.div_ceil(4)).max(least);
    }
    widths
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown
        .map(|width| width + GAP)
        .sum::<usize>()
        .saturating_sub(GAP)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn line<const N: usize>(
    columns: &[Column; N],
    row: &Row<N>,
    widths: &[Option<usize>; N],
    style: &Style,
) -> String {
    let mut line = String::new();
    let mut pending = 0;
    for ((cell, width), column) in row.iter().zip(widths).zip(columns) {
        let Some(width) = *width else {
            continue;
        };
        let text = fit(&cell.text, width, column.keeps_end);
        if !text.is_empty() {
            line.push_str(&" ".repeat(pending));
            pending = 0;
        }
        pending += width - length(&text).min(width) + GAP;
        match cell.paint {
            Some(paint) if !text.is_empty() => line.push_str(&style.paint(&text, paint)),
            _ => line.push_str(&text),
        }
    }
    line
}

/// `text` in at most `width` characters.
fn fit(text: &str, width: usize, keeps_end: bool) -> String {
    let count = length(text);
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    if keeps_end {
        let end: String = text.chars().skip(count - kept).collect();
        format!("…{end}")
    } else {
        let start: String = text.chars().take(kept).collect();
        format!("{start}…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column {
            head: "WHO",
            least: None,
            keeps_end: false,
            leaves: 0,
        },
        Column {
            head: "WHERE",
            least: Some(8),
            keeps_end: true,
            leaves: 2,
        },
        Column {
            head: "WHAT",
            least: Some(6),
            keeps_end: false,
            leaves: 1,
        },
    ];

    fn shown(columns: Option<usize>) -> Vec<String> {
        let style = Style {
            color: false,
            now: 0.0,
            columns,
        };
        let row = |cells: [&str; 3]| cells.map(Cell::plain);
        let rows = [
            row(["alpha", "/home/you/shop", "make -j8 all"]),
            row(["beta", "", ""]),
            row(["é", "", "x"]),
        ];
        lines(&COLUMNS, &rows, &style)
    }

    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let expected = [
            "WHO    WHERE           WHAT",
            "alpha  /home/you/shop  make -j8 all",
            "beta",
            "é                      x",
        ];
        assert_eq!(shown(None), expected);
        assert_eq!(shown(Some(35)), expected);
    }

    #[test]
    fn what_is_too_wide_is_cut_where_it_tells_least() {
        let lines = shown(Some(27));
        assert!(lines.iter().all(|line| length(line) <= 27), "{lines:#?}");
        let row = lines.get(1).expect("a row");
        assert!(row.starts_with("alpha  …"), "{row}");
        assert!(row.contains("/shop  make "), "{row}");
        assert!(row.ends_with('…'), "{row}");
    }

    #[test]
    fn what_cannot_be_cut_enough_is_left_out() {
        let head = |columns| shown(Some(columns)).into_iter().next();
        assert_eq!(head(22).as_deref(), Some("WHO    WHERE"));
        assert_eq!(head(14).as_deref(), Some("WHO"));
        assert_eq!(head(1).as_deref(), Some("WHO"));
    }
}
