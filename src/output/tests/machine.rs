//! The machine formats keep everything and let nothing through.

use proptest::prelude::*;
use serde_json::{Value, json as data};

use super::samples::{HOSTILE, all};
use super::*;

fn decode(text: &str) -> Value {
    toon_format::decode_default(text).unwrap()
}

/// Text as nasty as it comes: what either format gives a meaning to, controls, and anything.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[-\"'\\\\:,#|\\[\\]{} \t\r\n.+0-9eE_a-z/]{0,6}",
        2 => any::<String>(),
        1 => prop::sample::select(vec![
            "true", "null", "1e5", "007", "-", "- a", "[2]: a,b", "\u{1b}[2J", "\u{9b}", "\u{7f}",
            "\u{202e}", "\u{2028}", "\u{feff}", "\u{a0}", "\u{3000}", "\u{85}", "\u{0}", "a: b",
            "\\u001b", "\"", "\u{200b}", "\u{1680}",
        ]).prop_map(ToOwned::to_owned),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// What is neither a list nor an object.
fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => nasty().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (0.0..4e9_f64).prop_map(Value::from),
        1 => (0_u32..4_000_000_000).prop_map(|whole| Value::from(f64::from(whole))),
    ]
}

/// Rows with the same fields, as those of a queue.
fn table() -> impl Strategy<Value = Value> {
    let row = (plain(), plain(), plain())
        .prop_map(|(slot, id, reason)| data!({ "slot": slot, "id": id, "reason": reason }));
    prop::collection::vec(row, 0..4).prop_map(Value::from)
}

/// How many lines of TOON a field takes.
fn lines_of(field: &Value) -> usize {
    let rows = field.as_array().map_or(&[][..], Vec::as_slice);
    1 + rows.iter().filter(|row| row.is_object()).count()
}

/// Flat objects but for lists of numbers and tables, as every report is one.
fn report_like() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        8 => plain(),
        1 => prop::collection::vec(any::<u64>(), 0..4).prop_map(Value::from),
        1 => table(),
    ];
    prop::collection::vec((nasty(), field), 1..6)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// `value` with whole floats as integers: TOON has one kind of number.
fn one_kind_of_number(value: Value) -> Value {
    match value {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be whole and small"
        )]
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, field)| (key, one_kind_of_number(field)))
            .collect(),
        Value::Array(items) => items.into_iter().map(one_kind_of_number).collect(),
        other => other,
    }
}

fn safe(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\n' || crate::text::visible(&c.to_string()) == c.to_string())
}

proptest! {
    #[test]
    fn no_string_steers_a_terminal_or_gets_lost(value in report_like()) {
        let value = machine(value);
        let fields: Vec<_> = value.as_object().unwrap().keys().cloned().collect();

        let json = crate::output::json::render(&value);
        prop_assert!(safe(&json), "{json:?}");
        let back: Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &value);
        let order: Vec<_> = back.as_object().unwrap().keys().cloned().collect();
        prop_assert_eq!(&order, &fields);

        let toon = crate::output::toon::render(&value);
        prop_assert!(safe(&toon), "{toon:?}");
        let lines = value.as_object().unwrap().values().map(lines_of).sum::<usize>();
        prop_assert_eq!(toon.lines().count(), lines, "{}", toon);
        let back = decode(&toon);
        prop_assert_eq!(&back, &one_kind_of_number(value), "{}", toon);
        let order: Vec<_> = back.as_object().unwrap().keys().cloned().collect();
        prop_assert_eq!(&order, &fields);
    }
}

#[test]
fn every_report_comes_back_from_either_format() {
    for report in all() {
        let value = machine(report.to_value());
        assert_eq!(
            serde_json::from_str::<Value>(&json(&report)).unwrap(),
            value
        );
        assert_eq!(decode(&toon(&report)), one_kind_of_number(value));
    }
}

#[test]
fn every_string_is_cleaned_wherever_it_stands() {
    let dirty = data!({ HOSTILE: [HOSTILE, { HOSTILE: HOSTILE }], "n": 1, "z": null });
    let clean = "evil[2J\nx";
    assert_eq!(
        machine(dirty),
        data!({ clean: [clean, { clean: clean }], "n": 1, "z": null })
    );
}

#[test]
fn toon_quotes_what_would_read_as_something_else() {
    let cases = [
        ("", r#""""#),
        ("plain words", "plain words"),
        ("Größe ✓", "Größe ✓"),
        (" lead", r#"" lead""#),
        ("trail ", r#""trail ""#),
        ("a: b", r#""a: b""#),
        ("- a", r#""- a""#),
        ("-", r#""-""#),
        ("# a", r##""# a""##),
        ("a,b", r#""a,b""#),
        ("[1]", r#""[1]""#),
        ("{a}", r#""{a}""#),
        ("7", r#""7""#),
        ("007", r#""007""#),
        ("-1.5e3", r#""-1.5e3""#),
        ("true", r#""true""#),
        ("null", r#""null""#),
        ("say \"hi\"", r#""say \"hi\"""#),
        (r"back\slash", r#""back\\slash""#),
        ("a\nb\tc\rd", r#""a\nb\tc\rd""#),
    ];
    for (words, expected) in cases {
        let text = crate::output::toon::render(&data!({ "k": words }));
        assert_eq!(text, format!("k: {expected}\n"));
        assert_eq!(decode(&text), data!({ "k": words }));
    }
}

#[test]
fn times_keep_their_digits() {
    for (number, in_toon, in_json) in [
        (0.0, "0", "0.0"),
        (3600.0, "3600", "3600.0"),
        (NOW, "1764517140.25", "1764517140.25"),
        (
            1_764_517_140.123_456_7,
            "1764517140.1234567",
            "1764517140.1234567",
        ),
        (0.000_001, "0.000001", "1e-6"),
    ] {
        let value = data!({ "k": number });
        let text = crate::output::toon::render(&value);
        assert_eq!(text, format!("k: {in_toon}\n"));
        assert!((decode(&text)["k"].as_f64().unwrap() - number).abs() < f64::EPSILON);
        let text = crate::output::json::render(&value);
        assert_eq!(text, format!("{{\n  \"k\": {in_json}\n}}\n"));
    }
}
