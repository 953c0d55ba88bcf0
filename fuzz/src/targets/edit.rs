//! Edits: whatever is asked for, the result reads back, or the edit says why it cannot be made.

use yaml::{Edit, Limits, Node, NodeKind, NodeStep, Path, Stream, Value};

use super::signature;

fn paths(node: Node<'_>, out: &mut Vec<Path>) {
    out.push(node.path());
    if node.kind() == NodeKind::Alias || out.len() > 200 {
        return;
    }
    for entry in node.entries() {
        paths(entry.value, out);
    }
    for item in node.items() {
        paths(item, out);
    }
}

fn wanted(choice: u8) -> Value {
    let map = |entries: &[(&str, &str)]| Value::from_iter(entries.iter().copied());
    match choice % 12 {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Int(-7),
        3 => "a: b #c".into(),
        4 => "on".into(),
        5 => "l1\n\n  l2\n".into(),
        6 => "".into(),
        7 => Value::map(),
        8 => Value::Seq(Vec::new()),
        9 => Value::from(vec![map(&[("name", "n"), ("m", "a\nb\n")])]),
        10 => "\ttab ".into(),
        _ => map(&[("k", "v"), ("y", "- w")]),
    }
}

/// The edit that the first bytes of an input choose.
fn chosen(choices: &[u8], paths: &[Path]) -> Edit {
    let choice = |at: usize| choices.get(at).copied().unwrap_or_default();
    let path = paths.get(usize::from(choice(1)) % paths.len().max(1));
    let path = path.cloned().unwrap_or_else(Path::root);
    let value = wanted(choice(2));
    let index = usize::from(choice(2) % 4);
    match choice(0) % 7 {
        0 => Edit::Set { path, value },
        1 => Edit::Set {
            path: path.join("new"),
            value,
        },
        2 => Edit::Append { path, value },
        3 => Edit::Insert { path, index, value },
        4 => Edit::InsertKey {
            path,
            index,
            key: "new key".into(),
            value,
        },
        5 => Edit::Remove { path },
        _ => Edit::Rename {
            path,
            to: "other: name".into(),
        },
    }
}

/// An edit that succeeds reads back; setting what is there changes nothing.
pub(super) fn edit(input: &[u8]) -> u64 {
    let (choices, text) = input.split_at(input.len().min(4));
    let Ok(stream) = Stream::parse_bytes(text, &Limits::default()) else {
        return 0;
    };
    let document = usize::from(choices.get(3).copied().unwrap_or_default()) % stream.len().max(1);
    let mut all = Vec::new();
    if let Some(document) = stream.document(document) {
        paths(document.root(), &mut all);
    }
    let edit = chosen(choices, &all);
    match stream.apply(document, std::slice::from_ref(&edit)) {
        Err(error) => signature(&[error.message()], &[]),
        Ok(edited) => {
            let again = Stream::parse(edited.text(), stream.limits());
            assert!(
                again.is_ok(),
                "what was written can be read: {again:?}\n{}",
                edited.text()
            );
            if let (Edit::Set { path, value }, Some(document)) = (&edit, edited.document(document))
            {
                let found = document.root().find(path);
                assert!(
                    found.is_some_and(|node| node.equals(value)),
                    "what was set is there"
                );
                let same = edited.apply(document.index(), std::slice::from_ref(&edit));
                let same = same.is_ok_and(|same| same.text() == edited.text());
                assert!(same, "an edit to an equal value is no edit");
            }
            let last = edit
                .path()
                .last()
                .is_some_and(|step| matches!(step, NodeStep::Key(_)));
            signature(
                &[&edit.to_string()[..3]],
                &[usize::from(last), stream.len(), all.len()],
            )
        }
    }
}
