//! What a text says, read without the engine that is judged: its values by another YAML reader, its comments by lines.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Whether a file is read as YAML, by its name.
pub(super) fn is_yaml(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with("Kptfile")
}

/// Every scalar of a text with its place; `None` where the reader refuses the text.
pub(super) fn values(text: &str) -> Option<Vec<(String, String)>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).ok()?;
    let mut out = Vec::new();
    for document in &documents {
        let text = |way: &[&str]| {
            let found = way.iter().try_fold(document, |value, key| value.get(key));
            found.and_then(Value::as_str).unwrap_or_default()
        };
        let name = format!("{}/{}", text(&["kind"]), text(&["metadata", "name"]));
        leaves(document, name, &mut out);
    }
    Some(out)
}

/// The fields that tell the elements of lists apart.
const KEYS: [&str; 9] = [
    "name",
    "key",
    "containerPort",
    "port",
    "mountPath",
    "image",
    "when",
    "host",
    "id",
];

/// What an element is called.
pub(super) fn called(item: &Value) -> Option<String> {
    KEYS.iter().find_map(|key| {
        let value = item.get(key)?;
        Some(format!("{key}={}", scalar(value)?))
    })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) | Value::Array(_) => None,
        other => Some(other.to_string()),
    }
}

fn leaves(value: &Value, at: String, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                leaves(value, format!("{at}.{key}"), out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let name = called(item).unwrap_or_default();
                leaves(item, format!("{at}[{name}]"), out);
            }
        }
        Value::Object(_) => out.push((at, "{}".to_owned())),
        Value::Array(_) => out.push((at, "[]".to_owned())),
        other => out.push((at, scalar(other).unwrap_or_default())),
    }
}

/// A comment and what stands around it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Remark {
    /// Whether it has a line of its own.
    pub(super) own: bool,
    /// The line that it stands on, or the next one with a value.
    pub(super) next: String,
    /// The line before it with a value.
    pub(super) previous: String,
    /// Whether it stands deeper than the next line, or nothing follows: then it belongs to what is before it.
    pub(super) behind: bool,
    /// The way to what it belongs to, from its resource on.
    pub(super) node: String,
    /// The way to what holds the entry before it, of those that stand less deep than it does.
    pub(super) holder: String,
}

/// The comments of a text by their words.
pub(super) fn comments(text: &str) -> BTreeMap<String, Vec<Remark>> {
    let rows: Vec<Row> = rows(text);
    let ways = ways(&rows);
    let mut out: BTreeMap<String, Vec<Remark>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(comment) = row.comment else { continue };
        let code = |row: &&Row| !row.code.is_empty();
        let next = if row.code.is_empty() {
            // What stands before the next document belongs to this one.
            rows.iter()
                .skip(at)
                .find(code)
                .filter(|row| row.code != "---")
        } else {
            Some(row)
        };
        let previous = rows.get(..at).unwrap_or_default().iter().rev().find(code);
        let behind = next.is_none_or(|next| next.indent < row.indent);
        let place = match (behind, next, previous) {
            (false, Some(next), _) => Some(next.line),
            (_, _, previous) => previous.map(|previous| previous.line),
        };
        let way = place.and_then(|place| ways.get(place));
        let remark = Remark {
            own: row.code.is_empty(),
            next: next.map(Row::key).unwrap_or_default(),
            previous: previous.map(Row::key).unwrap_or_default(),
            behind,
            node: way.map(Way::text).unwrap_or_default(),
            holder: previous
                .and_then(|previous| ways.get(previous.line))
                .map(|way| way.above(row.indent))
                .unwrap_or_default(),
        };
        out.entry(comment.to_owned()).or_default().push(remark);
    }
    out
}

/// One line: what it says, and its comment.
struct Row<'a> {
    /// Its place among the rows.
    line: usize,
    indent: usize,
    code: &'a str,
    comment: Option<&'a str>,
}

impl Row<'_> {
    /// What a neighbour is known by: its key, or the whole item.
    fn key(&self) -> String {
        let code = self.code;
        match code.split_once(": ") {
            Some((key, _)) if !code.starts_with("- ") => format!("{key}:"),
            _ => code.to_owned(),
        }
    }
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut inside: Option<usize> = None;
    for line in text.lines() {
        let bare = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(depth) = inside {
            if indent > depth || bare.is_empty() {
                // A line of a block scalar is part of a value.
                continue;
            }
            inside = None;
        }
        let at = hash(bare);
        let code = at
            .map_or(bare, |at| bare.get(..at).unwrap_or_default())
            .trim_end();
        if code.ends_with('|') || code.ends_with("|-") || code.ends_with('>') {
            inside = Some(indent);
        }
        let comment = at.and_then(|at| bare.get(at..)).map(str::trim_end);
        let line = rows.len();
        rows.push(Row {
            line,
            indent,
            code,
            comment,
        });
    }
    rows
}

/// The ways to all nodes of a text.
pub(super) fn nodes(text: &str) -> BTreeSet<String> {
    ways(&rows(text)).iter().map(Way::text).collect()
}

/// The resource of a row, and the keys and items that it stands in: how deep each is, whether an item, what it is called.
struct Way {
    resource: String,
    open: Vec<(usize, bool, String)>,
}

impl Way {
    fn text(&self) -> String {
        self.above(usize::MAX)
    }

    /// The way to the innermost that stands less deep than this.
    fn above(&self, indent: usize) -> String {
        let open = self.open.iter().take_while(|(depth, ..)| *depth < indent);
        let keys: Vec<&str> = open.map(|(.., key)| key.as_str()).collect();
        format!("{} {}", self.resource, keys.join(" "))
    }
}

/// For each row the way to it.
fn ways(rows: &[Row<'_>]) -> Vec<Way> {
    let mut out = Vec::with_capacity(rows.len());
    for document in rows.split_inclusive(|row| row.code == "---") {
        let field = |name: &str, depth: usize| {
            let at = document
                .iter()
                .find(|row| row.indent == depth && row.code.starts_with(name));
            at.map_or("", |row| row.code)
        };
        let resource = format!("{}/{}", field("kind:", 0), field("name:", 2));
        let mut open: Vec<(usize, bool, String)> = Vec::new();
        for row in document {
            let item = row.code.starts_with("- ");
            if !row.code.is_empty() {
                // A list may stand as deep as its key.
                while open.last().is_some_and(|last| {
                    last.0 > row.indent || last.0 == row.indent && (last.1 || !item)
                }) {
                    open.pop();
                }
                open.push((row.indent, item, row.key()));
            }
            out.push(Way {
                resource: resource.clone(),
                open: open.clone(),
            });
        }
    }
    out
}

/// Where a comment begins: at a `#` behind a blank, outside of double quotes.
fn hash(line: &str) -> Option<usize> {
    let mut quoted = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted && before == ' ' => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}
