//! Files in a directory, as they are and as they grow.

use std::fs;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;

struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        Self { dir }
    }

    fn path(&self, day: u32) -> PathBuf {
        self.dir.path().join(format!("lock-2026-11-{day:02}.log"))
    }

    fn append(&self, day: u32, text: &str) {
        let mut options = fs::File::options();
        let file = options.append(true).create(true).open(self.path(day));
        let written = file.expect("open").write_all(text.as_bytes());
        written.expect("written");
    }

    fn reader(&self, filter: &Filter) -> Reader {
        Reader::open(self.dir.path(), filter).expect("readable")
    }

    fn all(&self) -> Reader {
        self.reader(&Filter::default())
    }
}

fn entry(id: &str) -> String {
    format!("[2026-11-30T08:00:00Z] [INFO] [0123ab] [LOCK] (merge:acquired) {id}\n  a: 1\n")
}

/// The ids of the entries that there are now.
fn ids(reader: &mut Reader) -> Vec<String> {
    let entries = std::iter::from_fn(|| reader.next_or_last());
    entries.map(|entry| entry.id).collect()
}

#[test]
fn days_are_read_from_the_oldest_to_the_newest() {
    let ground = Ground::new();
    for day in [9, 30, 10, 1, 2] {
        ground.append(
            day,
            &(entry(&format!("a{day}")) + &entry(&format!("b{day}"))),
        );
    }
    let mut reader = ground.all();
    let expected = [
        "a1", "b1", "a2", "b2", "a9", "b9", "a10", "b10", "a30", "b30",
    ];
    assert_eq!(ids(&mut reader), expected);
    assert_eq!(reader.paths(), [9, 10, 30].map(|day| ground.path(day)));
    assert_eq!(reader.skipped(), 0);
}

#[test]
fn no_directory_holds_nothing() {
    let ground = Ground::new();
    let gone = ground.dir.path().join("logs");
    let mut reader = Reader::open(&gone, &Filter::default()).expect("nothing");
    assert!(ids(&mut reader).is_empty());
    fs::create_dir(&gone).expect("mkdir");
    reader.again().expect("nothing yet");
    assert!(reader.next_entry().is_none() && reader.trouble().is_none());
    let file = ground.path(1);
    assert!(Reader::open(&file, &Filter::default()).is_ok());
    fs::write(&file, "").expect("write");
    assert!(
        Reader::open(&file, &Filter::default()).is_err(),
        "no directory"
    );
}

#[test]
fn only_regular_files_with_the_name_of_a_day_are_read() {
    let ground = Ground::new();
    ground.append(2, &entry("good"));
    for name in [
        "lock-2026-11-3.log",
        "lock-2026-11-31.log",
        "lock-.log",
        "x.log",
        ".lock-2026-11-02.log",
    ] {
        fs::write(ground.dir.path().join(name), entry("bad")).expect("write");
    }
    std::os::unix::fs::symlink(ground.path(2), ground.path(1)).expect("symlink");
    let _socket = std::os::unix::net::UnixListener::bind(ground.path(3)).expect("socket");
    fs::create_dir(ground.path(4)).expect("mkdir");
    let mut reader = ground.all();
    assert_eq!(ids(&mut reader), ["good"]);
    let mut troubles = std::iter::from_fn(|| reader.trouble()).map(|it| it.to_string());
    for what in ["a symbolic link", "a socket", "a directory"] {
        let said = troubles.next().expect(what);
        assert!(said.contains(what), "{said}");
    }
    drop(troubles);
    reader.again().expect("again");
    assert!(ids(&mut reader).is_empty());
    assert!(reader.trouble().is_none(), "each is told of once");
}

#[test]
fn what_lies_before_the_time_that_is_asked_for_is_not_even_opened() {
    let ground = Ground::new();
    fs::create_dir(ground.path(1)).expect("mkdir");
    ground.append(28, &entry("x"));
    let filter = Filter::default().since("2026-11-30", 0.0).expect("a time");
    let mut reader = ground.reader(&filter);
    assert_eq!(ids(&mut reader), [""; 0]);
    assert!(reader.trouble().is_none());
    ground.append(30, &entry("y"));
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), ["y"]);
}

#[test]
fn what_grows_is_read_on_where_it_was_left() {
    let ground = Ground::new();
    ground.append(1, &entry("a"));
    let mut reader = ground.all();
    assert_eq!(ids(&mut reader), ["a"]);
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), [""; 0]);
    // In pieces, as another program may write it.
    let text = entry("b");
    for piece in [&text[..10], &text[10..68], &text[68..]] {
        ground.append(1, piece);
        reader.again().expect("again");
        assert!(reader.next_entry().is_none(), "it is not whole");
    }
    assert!(reader.is_open() && !reader.is_amid_line());
    reader.finish();
    let last = reader.next_entry().expect("whole");
    assert_eq!((last.id.as_str(), last.field("a")), ("b", Some("1")));
    assert!(!reader.is_open());
    assert_eq!(reader.skipped(), 0);
    // The next day begins, and somebody still writes what is yesterday's here.
    ground.append(2, &entry("c"));
    ground.append(1, &entry("late"));
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), ["late", "c"]);
}

#[test]
fn a_file_that_is_replaced_or_cut_short_is_read_anew() {
    let ground = Ground::new();
    ground.append(1, &(entry("a") + &entry("b")));
    let mut reader = ground.all();
    assert_eq!(ids(&mut reader), ["a", "b"]);
    fs::write(ground.path(1), entry("c")).expect("cut short");
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), ["c"]);
    ground.append(2, &(entry("d") + &entry("e")));
    fs::rename(ground.path(2), ground.path(1)).expect("replaced");
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), ["d", "e"]);
    fs::remove_file(ground.path(1)).expect("removed");
    reader.again().expect("again");
    assert_eq!(ids(&mut reader), [""; 0]);
    assert!(reader.paths().is_empty());
}

#[test]
fn a_line_without_an_end_counts_when_nothing_more_comes() {
    let ground = Ground::new();
    let two = entry("a") + entry("b").lines().next().expect("a line");
    ground.append(1, &two);
    ground.append(2, &two);
    assert_eq!(ids(&mut ground.all()), ["a", "b", "a", "b"]);
}

#[test]
fn what_follows_a_line_that_is_too_long_is_not_said_of_another() {
    let ground = Ground::new();
    let long = entry("long").replace("long", &"x".repeat(1 << 20));
    let taken = "  reclaimed_from: other\n";
    ground.append(1, &(entry("a") + &long + taken + &entry("b")));
    let mut reader = ground.all();
    let first = reader.next_entry().expect("an entry");
    assert_eq!(first.field("reclaimed_from"), None);
    assert_eq!(ids(&mut reader), ["b"]);
    // An indented one is a field, and the next one is one of the same entry.
    let long = "  k: ".to_owned() + &"x".repeat(1 << 20) + "\n";
    ground.append(2, &(entry("c") + &long + taken));
    let mut reader = ground.all();
    let last = std::iter::from_fn(|| reader.next_or_last()).last();
    let last = last.expect("an entry");
    assert_eq!(last.field("reclaimed_from"), Some("other"));
}

#[test]
fn an_endless_line_costs_no_memory_and_hides_nothing_else() {
    let ground = Ground::new();
    let long = "x".repeat(3 << 20);
    ground.append(1, &(entry("a") + &long + "\n" + &entry("b") + &long));
    let mut reader = ground.all();
    assert_eq!(reader.next_entry().map(|it| it.id).as_deref(), Some("a"));
    assert!(reader.next_entry().is_none(), "the second may go on");
    let held: usize = reader.tails.values().map(|tail| tail.line.capacity()).sum();
    assert!((1..=256 << 10).contains(&held), "{held}");
    assert_eq!(ids(&mut reader), ["b"]);
    assert_eq!(reader.skipped(), 2);
    assert_eq!(
        reader.progress(),
        (6 << 20) + 2 * entry("a").len() as u64 + 1
    );
}

#[test]
fn bytes_that_are_no_text_are_read_as_what_they_are() {
    let ground = Ground::new();
    let mut file = fs::File::create(ground.path(1)).expect("create");
    file.write_all(b"\xff\xfe\0\n").expect("written");
    file.write_all(entry("a").as_bytes()).expect("written");
    file.write_all(b"  b: \xff\r\n").expect("written");
    let mut reader = ground.all();
    let found = reader.next_or_last().expect("an entry");
    assert_eq!(found.field("b"), Some("\u{fffd}"));
    assert_eq!(reader.skipped(), 1);
}

proptest! {
    #[test]
    fn however_it_comes_it_reads_the_same(
        lines in prop::collection::vec(prop_oneof![
            4 => (0..9).prop_map(|number| entry(&format!("id{number}"))),
            1 => "[a-z \\[]{0,9}\n",
            1 => "  [a-z]: [a-z]{0,9}\n",
        ], 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = lines.concat();
        let whole = Ground::new();
        whole.append(1, &text);
        let mut at_once = whole.all();
        let expected: Vec<Entry> = std::iter::from_fn(|| at_once.next_or_last()).collect();

        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let ground = Ground::new();
        let mut reader = ground.all();
        let mut found = Vec::new();
        for piece in cuts.windows(2) {
            ground.append(1, &text[piece[0]..piece[1]]);
            reader.again().unwrap();
            found.extend(std::iter::from_fn(|| reader.next_entry()));
        }
        found.extend(std::iter::from_fn(|| reader.next_or_last()));
        prop_assert_eq!(found, expected);
        prop_assert_eq!(reader.skipped(), at_once.skipped());
        prop_assert_eq!(reader.progress(), text.len() as u64);
    }
}
