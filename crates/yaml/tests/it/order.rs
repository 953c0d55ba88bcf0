//! The items of a sequence in another order.

use yaml::{Edit, ErrorKind, Limits, Node, NodeKind, Path, Reader, Stream, Value};

fn ordered(text: &str, path: &str, order: &[usize]) -> String {
    let stream = Stream::parse(text, &Limits::default()).unwrap();
    let path = match path {
        "" => Path::root(),
        path => Path::keys(path.split('.')),
    };
    let order = order.to_vec();
    let stream = stream.apply(0, &[Edit::Order { path, order }]).unwrap();
    stream.text().to_owned()
}

#[test]
fn items_move_with_their_comments_and_blank_lines_stay_between_them() {
    let before = "\
list: # of three
# the first
- a # one

# set apart

# the second
- b: |
    text

- c
# end
other: 1
";
    let wanted = "\
list: # of three
- c

# set apart

# the second
- b: |
    text

# the first
- a # one
# end
other: 1
";
    assert_eq!(ordered(before, "list", &[2, 1, 0]), wanted);
    assert_eq!(ordered(wanted, "list", &[2, 1, 0]), before);
}

#[test]
fn brackets_ends_of_texts_and_compact_lists_are_no_obstacle() {
    assert_eq!(
        ordered("a: [1, {x: 2},3]", "a", &[1, 2, 0]),
        "a: [{x: 2}, 3,1]"
    );
    assert_eq!(ordered("- 1\n- 2", "", &[1, 0]), "- 2\n- 1");
    assert_eq!(ordered("- 1\r\n- 2\r\n", "", &[1, 0]), "- 2\r\n- 1\r\n");
    // What cannot be moved as it stands is written anew.
    let stream = Stream::parse("- - 1\n  - 2\n", &Limits::default()).unwrap();
    let edit = Edit::Order {
        path: Path(vec![yaml::NodeStep::Index(0)]),
        order: vec![1, 0],
    };
    assert_eq!(stream.apply(0, &[edit]).unwrap().text(), "- - 2\n  - 1\n");
    let keeps = ordered("a:\n- 1\n- |\n  x", "a", &[1, 0]);
    let value = Stream::parse(keeps.as_str(), &Limits::default()).unwrap();
    let value = value.document(0).unwrap().to_json(Reader::V3).unwrap();
    assert_eq!(value, serde_json::json!({"a": ["x", 1]}), "{keeps}");
}

#[test]
fn an_order_names_every_item_once() {
    let stream = Stream::parse("a: [1, 2]\nb: 1\n", &Limits::default()).unwrap();
    for (path, order) in [
        ("a", vec![0]),
        ("a", vec![0, 0]),
        ("a", vec![0, 2]),
        ("b", vec![]),
    ] {
        let path = Path::keys([path]);
        let error = stream.apply(0, &[Edit::Order { path, order }]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Path, "{error}");
    }
}

/// Every sequence below a node.
fn sequences<'a>(node: Node<'a>, out: &mut Vec<Node<'a>>) {
    match node.kind() {
        NodeKind::Sequence => {
            out.push(node);
            node.items().for_each(|item| sequences(item, out));
        }
        NodeKind::Mapping => node.entries().for_each(|entry| sequences(entry.value, out)),
        NodeKind::Scalar | NodeKind::Alias => {}
    }
}

#[test]
fn every_known_list_turns_round_and_back() {
    let mut tried = 0;
    let lines = include_str!("../../testdata/documents.jsonl").lines();
    for line in lines.chain(include_str!("../../testdata/edits.jsonl").lines()) {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().or_else(|| case["before"].as_str());
        let Some(Ok(stream)) = text.map(|text| Stream::parse(text, &Limits::default())) else {
            continue;
        };
        let mut all = Vec::new();
        stream.documents().for_each(|document| {
            let mut found = Vec::new();
            sequences(document.root(), &mut found);
            all.extend(found.into_iter().map(|node| (document.index(), node)));
        });
        for (document, node) in all {
            let (path, count) = (node.path(), node.items().len());
            let Ok(Value::Seq(mut items)) = node.to_value(Reader::V3) else {
                continue;
            };
            let order: Vec<usize> = (0..count).rev().collect();
            let edit = Edit::Order {
                path: path.clone(),
                order,
            };
            // An anchor may have to stand before its aliases.
            let Ok(turned) = stream.apply(document, std::slice::from_ref(&edit)) else {
                assert!(
                    stream.text().contains(['&', '\u{85}', '\u{2028}']),
                    "{}",
                    stream.text()
                );
                continue;
            };
            items.reverse();
            let there = turned.document(document).unwrap().root();
            let there = there.find(&path).unwrap().to_value(Reader::V3).ok();
            assert_eq!(there, Some(Value::Seq(items)), "{}", turned.text());
            let back = turned.apply(document, &[edit]).unwrap();
            tried += usize::from(count > 1);
            let value =
                |stream: &Stream| stream.document(document).unwrap().to_value(Reader::V3).ok();
            assert_eq!(value(&back), value(&stream), "{}", back.text());
        }
    }
    assert!(tried > 100, "{tried}");
}
