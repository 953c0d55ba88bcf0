use super::*;
use crate::{Limits, Stream};

const TEXT: &str = "\
# head
a: 1 # one
list: # kpt-set: ${list}
- name: x # the x
  v: \"quoted\"
# about y
- name: y
flow: [p, q] # flow
text: | # literal
  line
nested:
  deep: {k: v}
";

fn read(text: &str) -> (Stream, Value) {
    let stream = Stream::parse(text, &Limits::default()).unwrap();
    let value = Value::read(&stream.document(0).unwrap()).unwrap();
    (stream, value)
}

/// Changes a text through its owned value.
fn change(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let (stream, old) = read(text);
    let mut new = old.clone();
    change(&mut new);
    let out = rewrite(&stream, &[(0, &old, &new)])
        .unwrap()
        .unwrap_or(stream);
    let again = Value::read(&out.document(0).unwrap()).unwrap();
    assert!(
        again.same(&new),
        "{}\nis not\n{}",
        again.to_json(),
        new.to_json()
    );
    out.text().to_owned()
}

#[test]
fn what_nobody_changed_needs_no_edit() {
    let (stream, value) = read(TEXT);
    assert!(changes(&value, &value.clone()).is_empty());
    assert!(
        rewrite(&stream, &[(0, &value, &value.clone())])
            .unwrap()
            .is_none()
    );
}

#[test]
fn comments_are_read_where_people_put_them() {
    let (_, value) = read(TEXT);
    let comment = |key: &str| value.get(key).unwrap().comment().map(str::to_owned);
    assert_eq!(comment("a").as_deref(), Some("# one"));
    assert_eq!(comment("list").as_deref(), Some("# kpt-set: ${list}"));
    assert_eq!(comment("flow").as_deref(), Some("# flow"));
    assert_eq!(comment("text").as_deref(), Some("# literal"));
    assert_eq!(comment("nested"), None);
    let item = &value.get("list").unwrap().as_seq().unwrap().items()[0];
    assert_eq!(item.comment(), None);
    assert_eq!(item.get("name").unwrap().comment(), Some("# the x"));
}

/// Whoever gets a list of values as text reads the setters from it.
#[test]
fn a_text_of_a_value_has_the_comments_behind_its_parts() {
    let (_, value) = read(TEXT);
    let text = super::to_text(&value);
    let (_, again) = read(&text);
    assert!(again.same(&value), "{text}");
    for key in ["a", "list", "flow", "text"] {
        let comment = |of: &Value| of.get(key).unwrap().comment().map(str::to_owned);
        assert_eq!(comment(&again), comment(&value), "{key}: {text}");
    }
    let item = &again.get("list").unwrap().as_seq().unwrap().items()[0];
    assert_eq!(item.get("name").unwrap().comment(), Some("# the x"));
}

#[test]
fn a_changed_scalar_keeps_quotes_and_comment() {
    let out = change(TEXT, |value| {
        value.get_mut("a").unwrap().replace(Value::plain("1.10"));
        let list = value.get_mut("list").unwrap().as_seq_mut().unwrap();
        list.items_mut()[0].get_mut("v").unwrap().set_str("other");
    });
    assert_eq!(
        out,
        TEXT.replace("a: 1 #", "a: 1.10 #")
            .replace("\"quoted\"", "\"other\"")
    );
}

#[test]
fn an_item_inserted_at_the_head_moves_no_comment() {
    let out = change(TEXT, |value| {
        let list = value.get_mut("list").unwrap().as_seq_mut().unwrap();
        list.items_mut()
            .insert(0, Value::map([("name", Value::string("new"))]));
    });
    assert_eq!(out, TEXT.replace("- name: x", "- name: new\n- name: x"));
}

#[test]
fn entries_go_where_they_are_put() {
    let out = change("a: 1\nz: 2\n", |value| {
        let map = value.as_map_mut().unwrap();
        map.insert(1, "b", Value::string("yes"));
        map.insert(2, "c", Value::plain("3"));
        map.insert(0, "first", Value::seq([]));
        map.push("last", Value::map([("k", Value::null())]));
    });
    assert_eq!(
        out,
        "first: []\na: 1\nb: \"yes\"\nc: 3\nz: 2\nlast:\n  k: null\n"
    );
}

#[test]
fn removing_and_adding_in_one_go_keeps_the_rest() {
    let out = change("a: 1\nb: 2 # two\nc:\n- x\n- y # why\n- z\n", |value| {
        let map = value.as_map_mut().unwrap();
        map.remove("a");
        let items = map.get_mut("c").unwrap().as_seq_mut().unwrap().items_mut();
        items.remove(0);
        items.push(Value::string("w"));
    });
    assert_eq!(out, "b: 2 # two\nc:\n- y # why\n- z\n- w\n");
}

#[test]
fn a_comment_can_be_put_and_taken_away() {
    let out = change("a: 1\nb: 2 # gone\nc:\n- x\n", |value| {
        value
            .get_mut("a")
            .unwrap()
            .set_comment(Some("# kpt-set: ${a}".into()));
        value.get_mut("b").unwrap().set_comment(None);
        value
            .get_mut("c")
            .unwrap()
            .set_comment(Some("# list".into()));
    });
    assert_eq!(out, "a: 1 # kpt-set: ${a}\nb: 2\nc: # list\n- x\n");
}

#[test]
fn an_alias_stays_until_something_below_it_changes() {
    let text = "base: &b {x: 1}\nuse: *b\nother: *b\n";
    assert_eq!(
        change(text, |value| value
            .as_map_mut()
            .unwrap()
            .push("k", Value::plain("1"))),
        format!("{text}k: 1\n")
    );
    let out = change(text, |value| {
        value
            .get_mut("use")
            .unwrap()
            .as_map_mut()
            .unwrap()
            .set_str("x", "2");
    });
    assert!(
        out.contains("base: &b {x: 1}\n") && out.contains("other: *b\n"),
        "{out}"
    );
}

#[test]
fn an_anchor_that_holds_itself_is_refused() {
    let stream = Stream::parse("a: &a [*a]\n", &Limits::default()).unwrap();
    assert!(Value::read(&stream.document(0).unwrap()).is_err());
}

#[test]
fn what_is_new_reads_back_as_it_was_meant() {
    let value = Value::map([
        ("yes", Value::string("yes")),
        ("number", Value::string("1")),
        ("lines", Value::string("a\nb\n")),
        (
            "list",
            Value::seq([
                Value::plain("1"),
                Value::plain("true"),
                Value::map([("k", Value::seq([]))]),
            ]),
        ),
    ]);
    let text = to_text(&value);
    let (_, again) = read(&text);
    assert!(again.same(&value), "{text}");
}

#[test]
fn what_functions_usually_change_goes_the_short_way() {
    let (stream, old) = read(
        "metadata:\n  name: x # name\n  namespace: a\nspec:\n  replicas: 1 # kpt-set: ${n}\n  selector: {app: x}\n  \
         template:\n    metadata:\n      labels:\n        app: x\n    list:\n    - image: a:1 # tag\n",
    );
    let mut new = old.clone();
    new.get_mut("metadata")
        .unwrap()
        .get_mut("namespace")
        .unwrap()
        .set_str("prod");
    let labels = new.ensure_map(&["metadata", "labels"]).unwrap();
    labels.set_str("team", "a");
    labels.set_str("tier", "b");
    new.ensure_map(&["spec", "selector"])
        .unwrap()
        .set_str("team", "a");
    let labels = new
        .ensure_map(&["spec", "template", "metadata", "labels"])
        .unwrap();
    labels.set_str("team", "a");
    labels.set_str("tier", "b");
    new.lookup_mut(&["spec", "replicas"])
        .unwrap()
        .replace(Value::plain("3"));
    let items = new
        .lookup_mut(&["spec", "template", "list"])
        .unwrap()
        .as_seq_mut()
        .unwrap()
        .items_mut();
    items[0].get_mut("image").unwrap().set_str("a:2");
    let found = changes(&old, &new);
    let edits = super::write::together(&found).unwrap();
    let short = super::together::at_once(&stream, 0, &edits, |_| true).unwrap();
    let long = stream.apply(0, &super::write::in_turn(found)).unwrap();
    assert_eq!(short.text(), long.text());
    assert_eq!(
        rewrite(&stream, &[(0, &old, &new)])
            .unwrap()
            .unwrap()
            .text(),
        long.text()
    );
    assert!(short.text().contains("name: x # name") && short.text().contains("a:2 # tag"));
}
