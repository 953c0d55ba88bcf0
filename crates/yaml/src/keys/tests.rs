use std::cell::Cell;

use crate::owned::{Value, rewrite};
use crate::{Edit, Limits, Path, Stream};

thread_local! {
    pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
}

fn stream(text: &str) -> Stream {
    Stream::parse(text, &Limits::default()).unwrap()
}

fn large(count: usize) -> Stream {
    let lines = (0..count).map(|at| format!("  key-{}: old # {at}\n", at * 7 % count));
    stream(&format!("data:\n{}tail: 1\n", lines.collect::<String>()))
}

/// The entries that are looked at while something is done.
fn steps(what: impl FnOnce()) -> usize {
    let before = STEPS.with(Cell::get);
    what();
    STEPS.with(Cell::get) - before
}

#[test]
fn large_mappings_find_what_small_ones_find() {
    let text = |count: usize| {
        let lines = (0..count).map(|at| format!("k{at}: {at}\n"));
        lines.collect::<String>() + "twice: 1\n? [a, b]\n: c\n'quoted': 2\ntwice: 3\n<<: {m: 4}\n"
    };
    for count in [3, 20, 200] {
        let stream = stream(&text(count));
        let root = stream.document(0).unwrap().root();
        let found = |key: &str| {
            root.get(key)
                .and_then(|node| node.scalar().map(str::to_owned))
        };
        assert_eq!(found("k2").as_deref(), Some("2"));
        assert_eq!(found("quoted").as_deref(), Some("2"));
        assert_eq!(found("twice").as_deref(), Some("1"), "the first one counts");
        assert_eq!((found("m"), found(""), found("zzz")), (None, None, None));
        assert_eq!(
            root.effective("m").and_then(|node| node.scalar()),
            Some("4")
        );
        let error = stream.apply(0, &[Edit::set(Path::keys(["twice"]), "x")]);
        assert!(error.unwrap_err().to_string().contains("stands twice"));
    }
}

#[test]
fn edits_of_all_entries_of_a_mapping_look_at_few_of_them() {
    let count = 2_000;
    let stream = large(count);
    // Set, removed, and added, all in one mapping.
    let old = Value::read(&stream.document(0).unwrap()).unwrap();
    let mut new = old.clone();
    let map = new.ensure_map(&["data"]).unwrap();
    for at in 0..count {
        match at % 3 {
            0 => drop(map.set_str(&format!("key-{at}"), "new")),
            1 => drop(map.remove(&format!("key-{at}"))),
            _ => drop(map.set_str(&format!("more-{at}"), "new")),
        }
    }
    let looked = steps(|| {
        let written = rewrite(&stream, &[(0, &old, &new)]).unwrap().unwrap();
        let text = written.text();
        assert!(text.contains("  key-0: new # 0\n"), "{text:.200}");
        assert!(!text.contains("key-1:") && text.contains("  more-2: new\n"));
    });
    assert!(looked < 40 * count, "{looked} entries were looked at");

    let edits: Vec<Edit> = (0..count)
        .map(|at| Edit::set(Path::keys(["data".to_owned(), format!("key-{at}")]), "new"))
        .collect();
    let looked = steps(|| {
        let written = stream.apply(0, &edits).unwrap();
        assert_eq!(written.text().matches(": new # ").count(), count);
    });
    assert!(looked < 100 * count, "{looked} entries were looked at");
}

#[test]
fn a_key_that_stands_early_is_found_without_a_look_at_the_rest() {
    let stream = stream("a: 1\nb: 2\nc: 3\nd: 4\n");
    let root = stream.document(0).unwrap().root();
    assert_eq!(steps(|| assert!(root.get("a").is_some())), 1);
    assert_eq!(steps(|| assert!(root.get("zzz").is_none())), 4);
}

#[test]
fn keys_that_stand_twice_are_found_in_small_and_in_large_mappings() {
    for count in [0, 3, 15, 16, 17, 200] {
        let lines: String = (0..count).map(|at| format!("k{at}: {at}\n")).collect();
        let twice = |text: &str| {
            let stream = stream(text);
            let keys = stream.document(0).unwrap().root().duplicate_keys();
            keys.iter()
                .map(|key| (key.key_text().unwrap().to_owned(), key.line()))
                .collect::<Vec<_>>()
        };
        assert_eq!(twice(&format!("{lines}? [a, b]\n: c\n? [a, b]\n: d\n")), []);
        let text = format!("'x': 1\n{lines}x: 2\n\"x\": 3\n");
        let x = |line: usize| ("x".to_owned(), line);
        assert_eq!(twice(&text), [x(count + 2), x(count + 3)]);
    }
}
