//! Whether two nodes mean the same (V5: parsed values; M1: aliases by what they stand for).

use std::collections::BTreeMap;

use yaml::{Node, NodeKind, Reader, Value};

use super::comments::texts as comment_texts;

/// Whether two nodes mean the same to the package tools.
///
/// Where a value cannot be decided (duplicate keys, M6) the texts decide.
pub(crate) fn same(a: Node<'_>, b: Node<'_>) -> bool {
    // Under the same text an alias may mean another value.
    if a.source() == b.source() && a.kind() != NodeKind::Alias && !a.source().contains('*') {
        return true;
    }
    match (a.to_value(Reader::V3), b.to_value(Reader::V3)) {
        (Ok(left), Ok(right)) => {
            left == right && (exact(a, b) || long_integers(a) == long_integers(b))
        }
        _ => a.source() == b.source(),
    }
}

/// Whether two nodes that mean the same to the package tools do to a cluster, too: its reader follows YAML 1.1 (Y1).
pub(crate) fn same_in_cluster(a: Node<'_>, b: Node<'_>) -> bool {
    if a.source() == b.source() && a.kind() != NodeKind::Alias && !a.source().contains('*') {
        return true;
    }
    match (a.to_value(Reader::Sigs), b.to_value(Reader::Sigs)) {
        (Ok(left), Ok(right)) => left == right,
        (left, right) => left.is_err() && right.is_err(),
    }
}

/// Whether no integer of both can be longer than what the tools' reader holds exactly: then the values say all.
fn exact(a: Node<'_>, b: Node<'_>) -> bool {
    let long = |node: Node<'_>| {
        let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
        let mut runs = node.source().as_bytes().split(|byte| !digits(byte));
        runs.any(|run| run.len() >= LONG)
    };
    !long(a) && !long(b)
}

/// So many digits fit into 64 bits, whatever they are, and not one more.
const LONG: usize = 19;

/// The digits of integers beyond 64 bits, by where they stand. The tools' reader takes them for floating-point numbers, of
/// which two that differ in the last digit are one: a change of it is a change all the same.
fn long_integers(node: Node<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), node)];
    while let Some((path, node)) = open.pop() {
        match node.kind() {
            NodeKind::Mapping => open.extend(node.entries().map(|entry| {
                let key = entry.key.key_text().unwrap_or_default();
                (format!("{path}/{}", key.replace('/', "~1")), entry.value)
            })),
            NodeKind::Sequence => open.extend(
                node.items()
                    .enumerate()
                    .map(|(index, item)| (format!("{path}/{index}"), item)),
            ),
            NodeKind::Scalar if matches!(node.to_value(Reader::V3), Ok(Value::Float(_))) => {
                let digits = node.source().replace('_', "");
                let unsigned = digits.trim_start_matches(['+', '-']);
                if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
                    found.insert(path, digits.trim_start_matches('+').to_owned());
                }
            }
            NodeKind::Scalar | NodeKind::Alias => {}
        }
    }
    found
}

/// Whether two nodes are written the same, the comments at their edges included: those above a
/// collection's first entry and behind its last one stand outside its own text.
pub(crate) fn same_form(a: Node<'_>, b: Node<'_>) -> bool {
    a.source() == b.source() && edges(a) == edges(b)
}

fn edges(node: Node<'_>) -> Vec<String> {
    let mut edges = Vec::new();
    let first = child(node, false);
    edges.extend(
        first
            .into_iter()
            .flat_map(|first| comment_texts(first).into_iter().next()),
    );
    let mut last = child(node, true);
    // Behind the last entry of the last entry, and so on: comments at the end hang on the deepest one.
    while let Some(node) = last {
        edges.extend(comment_texts(node).into_iter().skip(1));
        last = child(node, true);
    }
    edges
}

fn child(node: Node<'_>, last: bool) -> Option<Node<'_>> {
    match (node.kind(), last) {
        (NodeKind::Mapping, true) => node.entries().last().map(|entry| entry.value),
        (NodeKind::Mapping, false) => node.entries().next().map(|entry| entry.value),
        (NodeKind::Sequence, true) => node.items().last(),
        (NodeKind::Sequence, false) => node.items().next(),
        (NodeKind::Scalar | NodeKind::Alias, _) => None,
    }
}

/// The same for nodes that may be missing.
pub(crate) fn same_opt(a: Option<Node<'_>>, b: Option<Node<'_>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// The value that a node stands for; `None` where it cannot be decided.
pub(crate) fn value(node: Node<'_>) -> Option<Value> {
    node.to_value(Reader::V3).ok()
}

/// Whether any mapping in a document holds a key twice, or a key that is no scalar: such a document
/// is one value (M6).
pub(crate) fn undecidable(node: Node<'_>) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match node.kind() {
            NodeKind::Mapping => {
                let mut seen = std::collections::BTreeSet::new();
                for entry in node.entries() {
                    if !entry.key.key_text().is_some_and(|key| seen.insert(key)) {
                        return true;
                    }
                    open.push(entry.value);
                }
            }
            NodeKind::Sequence => open.extend(node.items()),
            NodeKind::Scalar | NodeKind::Alias => {}
        }
    }
    false
}

/// The fields of maps up to so many are searched.
const FEW: usize = 16;

/// How many scalars of a value stand in another one at the same place, and how many there are.
pub(crate) fn kept(base: &Value, side: Option<&Value>) -> (usize, usize) {
    let sum = |(a, b): (usize, usize), (c, d): (usize, usize)| (a + c, b + d);
    match base {
        Value::Map(fields) => {
            let others = side.and_then(Value::as_map).unwrap_or_default();
            let many = fields.len() > FEW && others.len() > FEW;
            // Of many fields each is looked up, not searched; of equal names the first one counts.
            let others = others.iter().rev().filter(|_| many);
            let others: BTreeMap<&str, &Value> = others.map(|(k, v)| (k.as_str(), v)).collect();
            let other = |name: &str| match many {
                true => others.get(name).copied(),
                false => side?.get(name),
            };
            let each = fields.iter();
            let each = each.map(|(name, value)| kept(value, other(name)));
            each.fold((0, 0), sum)
        }
        Value::Seq(items) => {
            let other = match side {
                Some(Value::Seq(other)) => other.as_slice(),
                _ => &[],
            };
            let each = items.iter().enumerate();
            let each = each.map(|(index, item)| kept(item, other.get(index)));
            each.fold((0, 0), sum)
        }
        scalar => (usize::from(side == Some(scalar)), 1),
    }
}

/// JSON text with sorted keys, so that equal values have equal texts.
pub(crate) fn canonical(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let sorted: BTreeMap<&String, String> = map
                .iter()
                .map(|(key, value)| (key, canonical(value)))
                .collect();
            let fields: Vec<String> = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{value}", serde_json::Value::from(key.as_str())))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        scalar => scalar.to_string(),
    }
}
