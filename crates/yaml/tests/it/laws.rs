//! The laws of the crate, on every text that the tests know: what is parsed is kept; an edit changes what it names and
//! nothing else; what was asked for is what reads back.

use std::collections::BTreeMap;

use yaml::{Edit, Entry, ErrorKind, Limits, Node, NodeKind, NodeStep, Path, Reader, Stream, Value};

/// Values that are easy to write wrongly.
fn values() -> Vec<Value> {
    let map = |entries: &[(&str, &str)]| Value::from_iter(entries.iter().copied());
    vec![
        Value::Null,
        Value::Bool(true),
        Value::Int(-7),
        Value::Float(1.5),
        "plain".into(),
        "a: b #c".into(),
        "on".into(),
        "- x".into(),
        "".into(),
        " lead".into(),
        "l1\nl2\n".into(),
        "l1\n\n  l2".into(),
        "  in\nout\n\n".into(),
        "\ttab\n".into(),
        "\n".into(),
        map(&[("k", "v"), ("y", "w")]),
        Value::map(),
        Value::Seq(vec![]),
        Value::from(vec!["i", "j"]),
        Value::from(vec![map(&[("name", "n"), ("m", "a\nb\n")])]),
        Value::from_iter([("deep", Value::from_iter([("er", Value::from(vec!["x"]))]))]),
    ]
}

fn all_nodes(node: Node<'_>, out: &mut Vec<Path>) {
    out.push(node.path());
    if node.kind() == NodeKind::Alias {
        return;
    }
    for Entry { value, .. } in node.entries() {
        all_nodes(value, out);
    }
    for item in node.items() {
        all_nodes(item, out);
    }
}

/// The same edit on a value: the oracle.
fn edited(value: &Value, edit: &Edit) -> Option<Value> {
    let mut value = value.clone();
    match edit {
        Edit::Set { path, value: new } => *at(&mut value, path.steps())? = new.clone(),
        Edit::Append { path, value: new } => match at(&mut value, path.steps())? {
            Value::Seq(items) => items.push(new.clone()),
            _ => return None,
        },
        Edit::Insert {
            path,
            index,
            value: new,
        } => match at(&mut value, path.steps())? {
            Value::Seq(items) => items.insert(*index, new.clone()),
            _ => return None,
        },
        Edit::InsertKey {
            path,
            index,
            key,
            value: new,
        } => match at(&mut value, path.steps())? {
            Value::Map(entries) => {
                entries.insert((*index).min(entries.len()), (key.clone(), new.clone()));
            }
            _ => return None,
        },
        Edit::Remove { path } => {
            let (last, parent) = path.steps().split_last()?;
            match (at(&mut value, parent)?, last) {
                (Value::Seq(items), NodeStep::Index(index)) => drop(items.remove(*index)),
                (Value::Map(entries), NodeStep::Key(key)) => entries.retain(|(k, _)| k != key),
                _ => return None,
            }
        }
        Edit::Rename { path, to } => {
            let (last, parent) = path.steps().split_last()?;
            match (at(&mut value, parent)?, last) {
                (Value::Map(entries), NodeStep::Key(key)) => {
                    entries.iter_mut().find(|(k, _)| k == key)?.0 = to.clone();
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(value)
}

fn at<'v>(value: &'v mut Value, steps: &[NodeStep]) -> Option<&'v mut Value> {
    let mut value = value;
    for step in steps {
        value = match (value, step) {
            (Value::Seq(items), NodeStep::Index(index)) => items.get_mut(*index)?,
            (Value::Map(entries), NodeStep::Key(key)) => {
                &mut entries.iter_mut().find(|(k, _)| k == key)?.1
            }
            _ => return None,
        };
    }
    Some(value)
}

/// Lines with their number of occurrences.
fn comments(text: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let Some(at) = line.find("# ") {
            *found.entry(line[at..].trim_end()).or_default() += 1;
        }
    }
    found
}

pub(crate) struct Tally {
    pub(crate) edits: usize,
    pub(crate) wrong: Vec<String>,
}

/// Edits of one node of every kind that fits it.
fn edits_of(node: Node<'_>, path: &Path, number: usize, few: bool, values: &[Value]) -> Vec<Edit> {
    let picked: Vec<&Value> = match few {
        true => vec![
            &values[number % values.len()],
            &values[(number * 7 + 3) % values.len()],
        ],
        false => values.iter().collect(),
    };
    let mut edits: Vec<Edit> = picked
        .iter()
        .map(|v| Edit::Set {
            path: path.clone(),
            value: (*v).clone(),
        })
        .collect();
    edits.push(Edit::Set {
        path: path.clone(),
        value: node.to_value(Reader::V3).unwrap(),
    });
    if !path.steps().is_empty() {
        edits.push(Edit::remove(path.clone()));
    }
    if let Some(NodeStep::Key(_)) = path.last() {
        edits.push(Edit::Rename {
            path: path.clone(),
            to: "new: key".into(),
        });
    }
    let new = picked[0];
    if node.kind() == NodeKind::Sequence {
        edits.push(Edit::append(path.clone(), new.clone()));
        for index in [0, node.items().len() / 2] {
            edits.push(Edit::Insert {
                path: path.clone(),
                index,
                value: new.clone(),
            });
        }
    }
    if node.kind() == NodeKind::Mapping {
        edits.push(Edit::set(path.join("added"), new.clone()));
        for index in [0, node.entries().len() / 2] {
            let key = "added".to_owned();
            edits.push(Edit::InsertKey {
                path: path.clone(),
                index,
                key,
                value: new.clone(),
            });
        }
    }
    edits
}

/// Checks the laws of edits on every node of a text.
pub(crate) fn check(name: &str, text: &str, few: bool, tally: &mut Tally) {
    let limits = Limits::default();
    let Ok(stream) = Stream::parse(text, &limits) else {
        return;
    };
    assert_eq!(stream.text(), text);
    let joined: String = stream.documents().map(|doc| doc.text()).collect();
    assert!(
        stream.is_empty() || joined == text,
        "{name}: documents cover the text"
    );
    let values = values();
    for document in stream.documents() {
        let Ok(value) = document.to_value(Reader::V3) else {
            continue;
        };
        let mut paths = Vec::new();
        all_nodes(document.root(), &mut paths);
        for (number, path) in paths.iter().enumerate() {
            if text.len() > 400 && number % 5 != 0 {
                continue;
            }
            let node = document.root().find(path).unwrap();
            let edits = edits_of(node, path, number, few, &values);
            for edit in edits {
                tally.edits += 1;
                if let Err(problem) = one(&stream, document.index(), &value, path, &edit) {
                    tally.wrong.push(format!("{name}: {edit:?}\n{problem}"));
                }
            }
        }
    }
}

fn one(stream: &Stream, doc: usize, value: &Value, path: &Path, edit: &Edit) -> Result<(), String> {
    let before = stream.text();
    let after = match stream.apply(doc, std::slice::from_ref(edit)) {
        Ok(after) => after,
        Err(error) if error.kind() == ErrorKind::Path => return Ok(()),
        // Old line separators are read, not written around; an anchor that a later document needs stays.
        Err(_) if before.contains(['\u{85}', '\u{2028}', '\u{2029}']) => return Ok(()),
        Err(error) if error.message().contains("unknown anchor") && stream.len() > 1 => {
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
    };
    let text = after.text();
    let shown = || format!("--- before\n{before}--- after\n{text}");
    let fresh =
        Stream::parse(text, stream.limits()).map_err(|error| format!("{error}\n{}", shown()))?;
    let own = fresh.document(doc).unwrap().to_value(Reader::V3).ok();
    let aliased = before.contains('*') || before.contains("<<") || odd_keys(stream, doc, path);
    let wanted = match edit {
        Edit::Set { path, value: new } if path.last() == Some(&NodeStep::Key("added".into())) => {
            let parent = path.parent().unwrap();
            let insert = Edit::InsertKey {
                path: parent,
                index: usize::MAX,
                key: "added".into(),
                value: new.clone(),
            };
            edited(value, &insert)
        }
        edit => edited(value, edit),
    };
    if !aliased && wanted != own {
        return Err(format!("reads back as {own:?}\n{}", shown()));
    }
    for other in stream.documents().filter(|other| other.index() != doc) {
        if fresh.document(other.index()).unwrap().text() != other.text() {
            return Err(format!("another document changed\n{}", shown()));
        }
    }
    if wanted.as_ref() == Some(value)
        && !aliased
        && text != before
        && !matches!(edit, Edit::Rename { .. })
    {
        return Err(format!("an equal value changed the text\n{}", shown()));
    }
    outside(stream, doc, path, edit, text, aliased)
        .map_err(|problem| format!("{problem}\n{}", shown()))
}

/// Whether there are keys on the way that are no strings: they have another name in a value than in a path.
fn odd_keys(stream: &Stream, doc: usize, path: &Path) -> bool {
    let named = path
        .steps()
        .iter()
        .scan(stream.document(doc).unwrap().root(), |node, step| {
            let around = *node;
            *node = node.find(&Path(vec![step.clone()]))?;
            Some(around)
        });
    named
        .into_iter()
        .any(|node| node.entries().any(|entry| entry.key.as_str().is_none()))
}

/// Where the lines of an entry begin, those of what holds it if that becomes empty.
fn own_start(node: Node<'_>, before: &str, edit: &Edit) -> usize {
    let mut entry = node.span();
    if let Some(parent) = node.parent() {
        let keys = parent
            .entries()
            .map(|entry| (entry.key.span().start, entry.value.span()));
        let own = keys.filter(|(_, value)| *value == node.span()).last();
        entry.start = own.map_or(entry.start, |(start, _)| start);
        let items: Vec<_> = parent.items().map(|item| item.span()).collect();
        if let Some(at) = items.iter().position(|item| *item == node.span()) {
            // Comments behind the dash belong to the item.
            entry.start = if at > 0 {
                items[at - 1].end
            } else {
                parent.span().start
            };
            let gap = &before[entry.start..node.span().start];
            entry.start += gap.find("- ").unwrap_or_default();
        }
        let only = parent.entries().len() + parent.items().len() == 1;
        if only && matches!(edit, Edit::Remove { .. }) {
            // What holds it becomes `{}` or `[]`.
            entry.start = parent.span().start;
            let around = parent.parent().map(|outer| {
                outer
                    .entries()
                    .map(|e| e.key.span().start)
                    .filter(|at| *at < entry.start)
                    .last()
            });
            entry.start = around.flatten().unwrap_or(entry.start);
        }
    }
    entry.start
}

/// Everything outside of the entry's own lines stands as it stood, comments everywhere.
fn outside(
    stream: &Stream,
    doc: usize,
    path: &Path,
    edit: &Edit,
    text: &str,
    aliased: bool,
) -> Result<(), String> {
    let before = stream.text();
    let node = stream.document(doc).unwrap().root().find(path).unwrap();
    let start = own_start(node, before, edit);
    let first = before[..start].rfind('\n').map_or(0, |at| at + 1);
    let same_start = before
        .bytes()
        .zip(text.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let comments_above = node
        .comments()
        .head
        .first()
        .map_or(first, |comment| comment.span.start);
    let key_line = comments_above.min(first);
    let floor = before[..key_line].trim_end().rfind('\n').unwrap_or(0);
    if !aliased && same_start < floor && !path.steps().is_empty() {
        return Err("bytes before the entry changed".to_owned());
    }
    let (old, new) = (comments(before), comments(text));
    let inside = comments(&before[key_line..]);
    for (comment, count) in old {
        let lost = count.saturating_sub(new.get(comment).copied().unwrap_or_default());
        if lost > inside.get(comment).copied().unwrap_or_default() {
            return Err(format!("comment lost: {comment}"));
        }
    }
    Ok(())
}

#[test]
fn every_edit_of_every_known_text() {
    let mut tally = Tally {
        edits: 0,
        wrong: Vec::new(),
    };
    for line in include_str!("../../testdata/edits.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["before"].as_str().unwrap();
        check(
            case["name"].as_str().unwrap(),
            text,
            text.len() > 60,
            &mut tally,
        );
    }
    for line in include_str!("../../testdata/documents.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(text) = case["text"].as_str().filter(|text| text.len() < 400) {
            check(case["name"].as_str().unwrap(), text, true, &mut tally);
        }
    }
    assert!(tally.edits > 5_000, "{}", tally.edits);
    tally.wrong.sort_by_key(String::len);
    let shown: Vec<String> = tally.wrong.iter().take(12).cloned().collect();
    assert!(
        tally.wrong.is_empty(),
        "{} of {} wrong:\n{}",
        tally.wrong.len(),
        tally.edits,
        shown.join("\n")
    );
}
