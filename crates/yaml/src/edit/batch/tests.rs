use super::*;
use crate::parse::READ;
use crate::path::NodeStep;
use crate::value::Value;
use crate::{Fragment, Limits};

fn stream(text: &str) -> Stream {
    Stream::parse(text, &Limits::default()).unwrap()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// How often the text of a document is parsed for some edits, which mean the same together and one by one.
fn times(text: &str, edits: &[Edit]) -> usize {
    let stream = stream(text);
    let before = READ.with(std::cell::Cell::get);
    let together = stream.apply(0, edits).unwrap();
    let read = READ.with(std::cell::Cell::get) - before;
    let alone = edits.iter().fold(stream, |stream, edit| {
        stream.apply(0, std::slice::from_ref(edit)).unwrap()
    });
    assert_eq!(together.text(), alone.text());
    read / text.len()
}

fn fragment(text: &str) -> Fragment {
    stream(text).document(0).unwrap().root().lift()
}

#[test]
fn what_comes_into_one_collection_or_goes_is_written_in_few_steps() {
    let text = format!(
        "a:\n{}l:\n{}",
        lines(120, |at| format!("  k{at}: 1 # {at}\n")),
        lines(120, |at| format!("- {at}\n"))
    );
    let (map, list) = (Path::keys(["a"]), Path::keys(["l"]));
    let index = |at: usize| if at == 119 { usize::MAX } else { at * 2 };
    let keys: Vec<Edit> = (0..120)
        .map(|at| Edit::InsertKey {
            path: map.clone(),
            index: index(at),
            key: format!("n{at}"),
            value: Value::from("x"),
        })
        .collect();
    let items: Vec<Edit> = (0..120)
        .map(|at| Edit::InsertFragment {
            path: list.clone(),
            index: at * 2,
            fragment: fragment("{a: b}"),
        })
        .collect();
    let gone: Vec<Edit> = (0..119)
        .map(|_| Edit::remove(list.join(NodeStep::Index(0))))
        .collect();
    let fields: Vec<Edit> = (0..120)
        .rev()
        .map(|at| Edit::remove(map.join(format!("k{at}").as_str())))
        .collect();
    let ends: Vec<Edit> = (0..120)
        .map(|at| Edit::append(list.clone(), format!("e{at}").as_str()))
        .collect();
    for (name, edits) in [
        ("keys", keys),
        ("items", items),
        ("gone", gone),
        ("fields", fields),
        ("ends", ends),
    ] {
        let times = times(&text, &edits);
        assert!(times < 12, "{name}: parsed {times} times");
    }
}

#[test]
fn values_in_brackets_and_between_aliases_are_written_in_few_steps() {
    let braces = format!("a: {{{}}}\n", lines(120, |at| format!("k{at}: 1, ")));
    let again = lines(120, |at| format!("k{at}: &x {{q: 1}}\nc{at}: *x\n"));
    let braced = |at: usize| Path::keys(["a", &format!("k{at}")]);
    let anchored = |at: usize| Path::keys([&format!("k{at}"), "q"]);
    let set = |path: &dyn Fn(usize) -> Path| -> Vec<Edit> {
        (0..120)
            .map(|at| Edit::set(path(at), Value::from("new")))
            .collect()
    };
    for (name, text, edits) in [
        ("braces", &braces, set(&braced)),
        ("aliases", &again, set(&anchored)),
    ] {
        let times = times(text, &edits);
        assert!(times < 12, "{name}: parsed {times} times");
    }
}

#[test]
fn one_edit_that_goes_with_no_other_does_not_keep_the_others_apart() {
    // What takes an anchor away is made in two steps: first the aliases are written out.
    let text = lines(150, |at| format!("k{at}: 1\n")) + "t: {q: &t 1}\nu: *t\n";
    let mut edits: Vec<Edit> = (0..150)
        .map(|at| Edit::set(Path::keys([format!("k{at}").as_str()]), Value::from("new")))
        .collect();
    edits.insert(70, Edit::remove(Path::keys(["t"])));
    let times = times(&text, &edits);
    assert!(times < 30, "parsed {times} times");
}

#[test]
fn what_an_alias_stands_for_is_looked_at_when_it_is_what_it_was() {
    let text = "a: &x 1\nb: *x\nc: 3\nd: 4\n";
    let edits = [
        Edit::set(Path::keys(["c"]), 5_i64),
        Edit::set(Path::keys(["a"]), 2_i64),
        Edit::set(Path::keys(["b"]), 1_i64),
        Edit::set(Path::keys(["d"]), 6_i64),
    ];
    times(text, &edits);
    let written = stream(text).apply(0, &edits).unwrap();
    let root = written.document(0).unwrap().root();
    let number = |key: &str| root.get(key).and_then(|node| node.scalar());
    assert_eq!((number("a"), number("b")), (Some("2"), Some("1")));
}
