//! The laws on texts that nobody wrote: soups of tokens, broken copies of known texts, and random values in random
//! styles.

use proptest::prelude::*;
use yaml::{CommentPlace, Edit, Limits, Node, NodeKind, NodeStep, Path, Reader, Stream, Value};

/// Pieces that texts are made of, and that parsers stumble over.
const PIECES: &[&str] = &[
    "a",
    "b: ",
    "c:\n",
    "- ",
    "-\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "  ",
    " ",
    "# c\n",
    " # d",
    "{",
    "}",
    "[",
    "]",
    ",",
    ", ",
    ": ",
    ":",
    "? ",
    "&x ",
    "*x",
    "*x\n",
    "!t ",
    "!!str ",
    "|\n",
    ">-\n",
    "|+\n",
    "|2\n",
    "'q'",
    "\"d\"",
    "'",
    "\"",
    "\\n",
    "\t",
    "---\n",
    "...\n",
    "\r\n",
    "\r",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "é",
    "<<: ",
    "~",
    "null",
    "1",
    "0777",
    "on",
    "key: v\n",
    "  k: 1\n",
    "    deep: x # y\n",
    "%YAML 1.1\n",
    "%TAG ! x:\n",
    "text text\n",
    "=",
    "@",
    "`",
    "%",
    "😀",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..14).prop_map(|pieces| pieces.concat())
}

pub(crate) fn known() -> Vec<String> {
    include_str!("../../testdata/edits.jsonl")
        .lines()
        .map(|line| {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            case["before"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// A known text with some of its characters cut out, doubled, or exchanged for pieces.
fn broken() -> impl Strategy<Value = String> {
    let change = (
        any::<prop::sample::Index>(),
        0..4usize,
        prop::sample::select(PIECES),
    );
    (
        prop::sample::select(known()),
        prop::collection::vec(change, 1..5),
    )
        .prop_map(|(text, changes)| {
            let mut chars: Vec<char> = text.chars().collect();
            for (at, how, piece) in changes {
                let at = at.index(chars.len() + 1);
                let to = (at + how).min(chars.len());
                chars.splice(at..to, piece.chars());
            }
            chars.into_iter().collect()
        })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(Value::Float),
        "[a-z #:\n'\"-]{0,12}".prop_map(Value::Str),
        prop::sample::select(PIECES).prop_map(Value::from),
        any::<String>().prop_map(Value::Str),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            "[a-z]{1,3}",
            any::<String>(),
            prop::sample::select(PIECES).prop_map(str::to_owned)
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Seq),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

/// All paths below a node.
fn paths(node: Node<'_>, out: &mut Vec<Path>) {
    out.push(node.path());
    if node.kind() != NodeKind::Alias {
        node.entries().for_each(|entry| paths(entry.value, out));
        node.items().for_each(|item| paths(item, out));
    }
}

fn edit(kind: usize, path: Path, value: Value) -> Edit {
    match kind {
        0 | 1 => Edit::Set { path, value },
        2 => Edit::Remove { path },
        3 => Edit::Append { path, value },
        4 => Edit::Insert {
            path,
            index: 0,
            value,
        },
        5 => Edit::Rename {
            path,
            to: "renamed".into(),
        },
        6 => Edit::Set {
            path: path.join("added"),
            value,
        },
        7 => Edit::InsertKey {
            path,
            index: 0,
            key: "added".into(),
            value,
        },
        8 => Edit::SetComment {
            path,
            place: CommentPlace::Line,
            text: "said".into(),
        },
        _ => Edit::SetComment {
            path,
            place: CommentPlace::Head,
            text: "said\ntwice".into(),
        },
    }
}

/// What holds for every text: it is kept, its nodes lie in it, and edits either succeed as asked or fail.
fn laws(text: &str, pick: usize, kind: usize, value: Value) {
    let limits = Limits::default();
    let Ok(stream) = Stream::parse(text, &limits) else {
        return;
    };
    assert_eq!(stream.text(), text);
    let Some(document) = stream.document(pick % stream.len().max(1)) else {
        return;
    };
    let mut all = Vec::new();
    paths(document.root(), &mut all);
    for path in &all {
        if let Some(node) = document.root().find(path) {
            let span = node.span();
            assert!(span.start <= span.end && span.end <= text.len());
            assert_eq!(&text[span.clone()], node.source());
            assert!(node.line() > 0 && node.column() > 0);
        }
    }
    drop(document.to_value(Reader::V3));
    drop(document.to_json_strict(Reader::Sigs));
    let edit = edit(kind, all[pick % all.len()].clone(), value);
    if let Ok(after) = stream.apply(document.index(), std::slice::from_ref(&edit)) {
        let fresh = Stream::parse(after.text(), &limits).unwrap();
        assert_eq!(fresh.len(), stream.len().max(1));
        if let Edit::Set { path, value } = &edit {
            let node = fresh
                .document(document.index())
                .unwrap()
                .root()
                .find(path)
                .unwrap();
            assert!(node.equals(value), "{edit:?}\n{text}\n{}", after.text());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soups(text in soup(), pick in 0..50usize, kind in 0..10usize, value in value()) {
        laws(&text, pick, kind, value);
    }

    #[test]
    fn broken_texts(text in broken(), pick in 0..200usize, kind in 0..10usize, value in value()) {
        laws(&text, pick, kind, value);
    }

    #[test]
    fn values_read_back(value in value()) {
        let stream = Stream::from_value(&value, &Limits::default()).unwrap();
        let document = stream.document(0).unwrap();
        assert_eq!(&document.to_value(Reader::V3).unwrap(), &value, "{}", stream.text());
        assert_eq!(&document.to_value(Reader::Sigs).unwrap(), &value, "{}", stream.text());
    }

    #[test]
    fn a_value_becomes_another(one in value(), other in value()) {
        let stream = Stream::from_value(&one, &Limits::default()).unwrap();
        let after = stream.apply(0, &[Edit::set(Path::root(), other.clone())]).unwrap();
        assert!(after.document(0).unwrap().root().equals(&other), "{}", after.text());
        let again = after.apply(0, &[Edit::set(Path::root(), other)]).unwrap();
        assert_eq!(again.text(), after.text());
    }

    #[test]
    fn several_edits_mean_what_they_mean_one_by_one(
        value in value(),
        edits in prop::collection::vec((0..60usize, 0..8usize, scalar()), 1..6),
    ) {
        let stream = Stream::from_value(&value, &Limits::default()).unwrap();
        let mut all = Vec::new();
        paths(stream.document(0).unwrap().root(), &mut all);
        let edits: Vec<Edit> = edits
            .into_iter()
            .map(|(pick, kind, value)| edit(kind, all[pick % all.len()].clone(), value))
            .collect();
        let together = stream.apply(0, &edits);
        let alone = edits.iter().try_fold(stream, |stream, edit| stream.apply(0, std::slice::from_ref(edit)));
        match (together, alone) {
            (Ok(a), Ok(b)) => assert_eq!(
                a.document(0).unwrap().to_value(Reader::V3).unwrap(),
                b.document(0).unwrap().to_value(Reader::V3).unwrap(),
            ),
            (Err(_), Err(_)) => {}
            (a, b) => panic!("{edits:?}: {:?} {:?}", a.map(|s| s.text().to_owned()), b.map(|s| s.text().to_owned())),
        }
    }
}

#[test]
fn lifted_nodes_read_the_same_elsewhere() {
    let target = Stream::parse(
        "x:\n    - deep:\n          k: old # c\n",
        &Limits::default(),
    )
    .unwrap();
    let place = Path(vec![
        "x".into(),
        NodeStep::Index(0),
        "deep".into(),
        "k".into(),
    ]);
    let mut tried = 0;
    for text in known() {
        let stream = Stream::parse(text.as_str(), &Limits::default()).unwrap();
        for document in stream.documents() {
            let mut all = Vec::new();
            paths(document.root(), &mut all);
            for path in all {
                let node = document.root().find(&path).unwrap();
                let fragment = node.lift();
                let edit = Edit::SetFragment {
                    path: place.clone(),
                    fragment,
                };
                let after = target.apply(0, &[edit]).unwrap();
                let copy = after.document(0).unwrap().root().find(&place).unwrap();
                assert_eq!(
                    copy.to_value(Reader::V3).ok(),
                    node.to_value(Reader::V3).ok(),
                    "{}",
                    after.text()
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
}
