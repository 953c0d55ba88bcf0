//! Single promises of the crate, one text each: fragments, comments, whole documents, errors, hostile input.

mod brackets;
mod hostile;
mod separators;

use yaml::{CommentPlace, Edit, ErrorKind, Limits, Node, NodeStep, Path, Reader, Stream, Value};

fn parse(text: &str) -> Stream {
    Stream::parse(text, &Limits::default()).unwrap()
}

fn root(stream: &Stream) -> Node<'_> {
    stream.document(0).unwrap().root()
}

fn path(text: &str) -> Path {
    text.split('.')
        .filter(|step| !step.is_empty())
        .map(|step| {
            step.parse()
                .map_or_else(|_| NodeStep::Key(step.to_owned()), NodeStep::Index)
        })
        .collect()
}

#[track_caller]
fn applied(before: &str, edits: &[Edit], after: &str) {
    let stream = parse(before).apply(0, edits).unwrap();
    assert_eq!(stream.text(), after);
}

#[test]
fn streams_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Stream>();
    shared::<yaml::Fragment>();
    shared::<Edit>();
}

#[test]
fn a_lifted_entry_takes_its_comments_along() {
    let upstream = parse(
        "spec:\n    # how many\n    replicas: 3 # kpt-set: ${replicas}\n    ports: # all\n        # first\n        - name: http # h\n          port: 80\n        # tail\n",
    );
    let ports = root(&upstream).find(&path("spec.ports")).unwrap().lift();
    let replicas = root(&upstream).find(&path("spec.replicas")).unwrap().lift();
    let item = root(&upstream).find(&path("spec.ports.0")).unwrap().lift();
    applied(
        "spec:\n  a: 1\n  list:\n  - x\n",
        &[
            Edit::InsertKeyFragment {
                path: path("spec"),
                index: 1,
                key: "replicas".into(),
                fragment: replicas,
            },
            Edit::SetFragment {
                path: path("spec.ports"),
                fragment: ports,
            },
            Edit::InsertFragment {
                path: path("spec.list"),
                index: 0,
                fragment: item,
            },
        ],
        "spec:\n  a: 1\n  # how many\n  replicas: 3 # kpt-set: ${replicas}\n  list:\n  # first\n  - name: http # h\n    port: 80\n  - x\n  ports: # all\n  # first\n  - name: http # h\n    port: 80\n  # tail\n",
    );
}

#[test]
fn a_lifted_collection_of_one_line_brings_its_comments() {
    for text in [
        "m:\n  k: 1 # one\nz: 1\n",
        "m:\n  # above\n  k: 1\nz: 1\n",
        "m:\n- k: 1 # one\nz: 1\n",
    ] {
        let bare: String = text.replace(" # one", "").replace("  # above\n", "");
        for (from, to) in [(text, bare.as_str()), (bare.as_str(), text)] {
            let from = parse(from);
            let fragment = root(&from).get("m").unwrap().lift();
            let path = path("m");
            applied(to, &[Edit::SetFragment { path, fragment }], from.text());
        }
    }
}

#[test]
fn a_lifted_value_keeps_its_style() {
    let from = parse(
        "a: |2\n    in\n  out\nb: 'q'\nc: {x: 1, y: [2]}\nd: >-\n  folded\n  text\ne: one\n  two\n",
    );
    for (key, after) in [
        ("a", "m:\n  k: |2\n      in\n    out\n  z: 1\n"),
        ("b", "m:\n  k: 'q'\n  z: 1\n"),
        ("c", "m:\n  k: {x: 1, y: [2]}\n  z: 1\n"),
        ("d", "m:\n  k: >-\n    folded\n    text\n  z: 1\n"),
        ("e", "m:\n  k: one\n    two\n  z: 1\n"),
    ] {
        let fragment = root(&from).get(key).unwrap().lift();
        let edit = Edit::SetFragment {
            path: path("m.k"),
            fragment,
        };
        applied("m:\n  k: old\n  z: 1\n", &[edit], after);
    }
}

#[test]
fn a_fragment_with_foreign_aliases_is_written_as_its_value() {
    let from = parse("base: &b {x: 1}\nuse:\n  <<: *b\n  y2: 2\n");
    let fragment = root(&from).get("use").unwrap().lift();
    let after = parse("k: 1\n")
        .apply(
            0,
            &[Edit::SetFragment {
                path: path("k"),
                fragment,
            }],
        )
        .unwrap();
    let value = root(&after).get("k").unwrap().to_value(Reader::V3).unwrap();
    assert_eq!(value, Value::from_iter([("x", 1), ("y2", 2)]));
}

#[test]
fn text_is_put_in_with_its_comments() {
    let text = "# above\nname: x # n\nlist:\n- 1\n".to_owned();
    applied(
        "a:\n    b: 1 # old\n    c: 2\n",
        &[Edit::ReplaceText {
            path: path("a.b"),
            text,
        }],
        "a:\n    b: # old\n        name: x # n\n        list:\n        - 1\n    c: 2\n",
    );
}

#[test]
fn comments_are_read_where_they_stand() {
    let stream = parse(
        "# top\n\n# head of a\na: # at a\n  b: 1 # at b\n  # foot of b\n# head of c\nc: |- # at c\n  # text\n",
    );
    let comments = |key: &str| root(&stream).find(&path(key)).unwrap().comments();
    let texts =
        |list: &[yaml::Comment<'_>]| list.iter().map(|c| c.text.to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&comments("a").head), ["# head of a"]);
    assert_eq!(comments("a").line.unwrap().text, "# at a");
    assert_eq!(comments("a.b").line.unwrap().text, "# at b");
    assert_eq!(texts(&comments("a.b").foot), ["# foot of b"]);
    assert_eq!(texts(&comments("c").head), ["# head of c"]);
    assert_eq!(comments("c").line.unwrap().text, "# at c");
    let span = comments("c").line.unwrap().span;
    assert_eq!(&stream.text()[span], "# at c");
}

#[test]
fn comments_are_set_changed_and_removed() {
    let comment = |at: &str, place, text: &str| Edit::SetComment {
        path: path(at),
        place,
        text: text.into(),
    };
    let before = "a: 1\nb:\n  c: x # old\n  d:\n  - y\n";
    applied(
        before,
        &[
            comment("a", CommentPlace::Line, "new"),
            comment("b.c", CommentPlace::Line, "# kpt-set: ${c}"),
            comment("b.d", CommentPlace::Line, "list"),
            comment("b.d", CommentPlace::Head, "one\ntwo"),
            comment("b.d.0", CommentPlace::Head, "item"),
            comment("b.d", CommentPlace::Foot, "end"),
        ],
        "a: 1 # new\nb:\n  c: x # kpt-set: ${c}\n  # one\n  # two\n  d: # list\n  # item\n  - y\n  # end\n",
    );
    applied(
        "# h\na: 1 # l\n",
        &[
            comment("a", CommentPlace::Line, ""),
            comment("a", CommentPlace::Head, ""),
        ],
        "a: 1\n",
    );
}

#[test]
fn an_edit_below_an_alias_replaces_the_alias() {
    applied(
        "a: &x\n  k: 1 # one\nb: *x\n",
        &[Edit::set(path("b.k"), 2)],
        "a: &x\n  k: 1 # one\nb:\n  k: 2 # one\n",
    );
    applied(
        "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n",
        &[Edit::remove(path("b.k"))],
        "a: &x {k: 1, l: 2}\nb:\n  l: 2\n",
    );
}

#[test]
fn an_anchor_that_goes_leaves_its_value_to_its_aliases() {
    applied(
        "a: &x\n  k: 1\nb: *x\nc: *x\n",
        &[Edit::remove(path("a"))],
        "b:\n  k: 1\nc:\n  k: 1\n",
    );
    applied(
        "a:\n  b: &x 1\nc: *x\n",
        &[Edit::set(path("a"), "s")],
        "a: s\nc: 1\n",
    );
}

#[test]
fn a_collection_that_changes_keeps_what_stays() {
    let before = "l:\n# about a\n- name: a # n\n  v: 1\n- name: b\n  v: 2 # two\nm: {x: 1} # m\n";
    let item =
        |name: &str, v: i64| Value::from_iter([("name", Value::from(name)), ("v", v.into())]);
    let value = Value::from(vec![item("a", 1), item("new", 9), item("b", 3)]);
    applied(
        before,
        &[Edit::set(path("l"), value)],
        "l:\n# about a\n- name: a # n\n  v: 1\n- name: new\n  v: 9\n- name: b\n  v: 3 # two\nm: {x: 1} # m\n",
    );
    let value = Value::from_iter([
        ("new", Value::from("new one")),
        ("m", Value::from_iter([("y2", 2), ("x", 1)])),
    ]);
    applied(
        before,
        &[Edit::set(Path::root(), value)],
        "m: {x: 1, y2: 2} # m\nnew: new one\n",
    );
}

#[test]
fn a_new_entry_stands_below_the_comments_that_end_the_one_before() {
    let add = |path: &str| Edit::set(self::path(path), "x");
    let before = "a:\n  b:\n    - c\n    # end of b\n  # end of a\n# the end\n";
    let after = "a:\n  b:\n    - c\n    # end of b\n  # end of a\nz: x\n# the end\n";
    applied(before, &[add("z")], after);
    let inner = "a:\n  b:\n    - c\n    # end of b\n  z: x\n  # end of a\n# the end\n";
    applied(before, &[add("a.z")], inner);
}

#[test]
fn duplicate_keys_are_carried_and_refused_where_they_matter() {
    let stream = parse("a: 1\nb: 2\na: 3\n");
    assert_eq!(root(&stream).duplicate_keys().len(), 1);
    assert_eq!(
        root(&stream).to_value(Reader::V3).unwrap_err().kind(),
        ErrorKind::DuplicateKey
    );
    assert_eq!(root(&stream).to_json(Reader::Sigs).unwrap()["a"], 3);
    let error = stream.apply(0, &[Edit::set(path("a"), 4)]).unwrap_err();
    assert_eq!((error.kind(), error.line()), (ErrorKind::DuplicateKey, 3));
    assert_eq!(
        stream.apply(0, &[Edit::set(path("b"), 4)]).unwrap().text(),
        "a: 1\nb: 4\na: 3\n"
    );
}

#[test]
fn edits_that_cannot_be_made_say_why() {
    let stream = parse("a: 1\nb: [x]\n");
    for (edit, message) in [
        (
            Edit::set(path("a.b"), 1),
            "line 1, column 4: cannot set a.b: a is a scalar, not a mapping",
        ),
        (
            Edit::set(path("b.7"), 1),
            "line 2, column 4: cannot set b[7]: b has 1 items, there is no item 7",
        ),
        (
            Edit::append(path("a"), 1),
            "line 1, column 4: cannot append to a: a is no sequence",
        ),
        (
            Edit::Rename {
                path: path("a"),
                to: "b".into(),
            },
            "line 1, column 4: cannot rename a to b: key \"b\" is there already",
        ),
    ] {
        assert_eq!(stream.apply(0, &[edit]).unwrap_err().to_string(), message);
    }
    assert_eq!(
        stream
            .apply(0, &[Edit::remove(path("no.such"))])
            .unwrap()
            .text(),
        stream.text()
    );
}

#[test]
fn documents_come_and_go() {
    let stream = parse("# head\na: 1\n---\nb: 2\n---\nc: |\n  x");
    assert_eq!(
        stream.remove_document(0).unwrap().text(),
        "---\nb: 2\n---\nc: |\n  x"
    );
    assert_eq!(
        stream.remove_document(2).unwrap().text(),
        "# head\na: 1\n---\nb: 2\n"
    );
    let more = stream.append_document("d: 4\n").unwrap();
    assert_eq!(
        more.text(),
        "# head\na: 1\n---\nb: 2\n---\nc: |-\n  x\n---\nd: 4\n"
    );
    assert_eq!(
        stream.replace_document(1, "new: 1\n").unwrap().text(),
        "# head\na: 1\n---\nnew: 1\n---\nc: |\n  x"
    );
    assert_eq!(
        parse("# only\n").append_document("a: 1\n").unwrap().text(),
        "# only\na: 1\n"
    );
    assert!(stream.remove_document(3).is_err());
    let last = more.document(3).unwrap();
    assert_eq!((last.text(), last.root().line()), ("---\nd: 4\n", 9));
}

#[test]
fn later_documents_keep_their_places() {
    let stream = parse("a: 1\n---\nb: 2 # two\n")
        .apply(0, &[Edit::set(path("x.y2"), 1)])
        .unwrap();
    let node = stream.document(1).unwrap().root().get("b").unwrap();
    assert_eq!((node.line(), node.column(), node.source()), (5, 4, "2"));
    assert_eq!(&stream.text()[node.comments().line.unwrap().span], "# two");
}

#[test]
fn quoted_lines_may_begin_anywhere() {
    let text = "a:\n  b: \"x  \n  \n\ty\\\n  z\\u00e9\"\n  c: 'it''s\nhere' # c\n".to_owned();
    let stream = parse(&text);
    let read = |key: &str| {
        root(&stream)
            .find(&path(key))
            .unwrap()
            .scalar()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (read("a.b").as_str(), read("a.c").as_str()),
        ("x\nyzé", "it's here")
    );
    let many: String = (0..200).map(|n| format!("k{n}:\n  v: 'a\nb'\n")).collect();
    assert_eq!(parse(&many).text(), many);
    assert!(Stream::parse("a: 'x\n---\ny'\n", &Limits::default()).is_err());
}

#[test]
fn tabs_stand_where_the_readers_take_them() {
    for text in [
        "a:\tb\n",
        "a: b\t\n",
        "a: [\n\tb\n]\n",
        "{\n\t\"a\": 1\n}\n",
        "a: b\n \t\nc: d\n",
        "k\n\tl\n",
    ] {
        assert!(Stream::parse(text, &Limits::default()).is_ok(), "{text:?}");
    }
    for text in [
        "\ta: b\n",
        "-\ta\n",
        "- \ta\n",
        "a:\n\tb: 1\n",
        "a: 'b'\n\t\n",
        "a: b\n\t\n",
        "a: |\n  x\n\t\n",
        "\t# c\n",
    ] {
        assert!(Stream::parse(text, &Limits::default()).is_err(), "{text:?}");
    }
}

#[test]
fn a_value_becomes_a_text() {
    let value = Value::from_iter([
        ("name", Value::from("x")),
        ("yes", Value::from("no")),
        (
            "list",
            Value::from(vec![Value::from("0777"), Value::Null, Value::map()]),
        ),
        ("text", Value::from("a\nb\n")),
    ]);
    let stream = Stream::from_value(&value, &Limits::default()).unwrap();
    assert_eq!(
        stream.text(),
        "name: x\n\"yes\": \"no\"\nlist:\n- \"0777\"\n- null\n- {}\ntext: |\n  a\n  b\n"
    );
}

#[test]
fn wide_texts_are_written_back_as_they_came() {
    let text: Vec<u8> = "\u{feff}a: é # c\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let stream = Stream::parse_bytes(&text, &Limits::default()).unwrap();
    assert_eq!(stream.to_bytes(), text.as_slice());
    let after = stream.apply(0, &[Edit::set(path("a"), "ü")]).unwrap();
    assert_eq!(after.to_bytes().len(), text.len());
}
