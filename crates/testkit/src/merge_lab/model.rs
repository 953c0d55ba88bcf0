//! A package as somebody writes it: entries with their comments and blank lines, and how they are laid out as text.
//!
//! Reads the plain style of `packages` and writes it again in the style of a file. Knows nothing of the
//! YAML engine that is judged with it.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

/// A package by its paths.
pub(super) type Package = BTreeMap<String, Content>;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Resources.
    Yaml(Yaml),
    /// Lines of any other file.
    Lines(Vec<String>),
}

/// A file of resources and its style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Yaml {
    /// Its documents.
    pub(super) documents: Vec<Block>,
    /// Whether lists stand deeper than their key.
    pub(super) deep: bool,
    /// Whether its lines end with CRLF.
    pub(super) wide: bool,
}

/// Entries of a map or items of a list, and what stands behind them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Block {
    /// The entries; items have no key.
    pub(super) entries: Vec<Entry>,
    /// Comments and blank lines behind the last one.
    pub(super) foot: Vec<Line>,
    /// Whether the first entry begins behind a dash, so that nothing can stand above it.
    pub(super) inline: bool,
}

/// A line without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing.
    Blank,
    /// A comment from its `#` on.
    Comment(String),
}

/// An entry or an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// What stands above it.
    pub(super) above: Vec<Line>,
    /// Its key; `None` for items.
    pub(super) key: Option<String>,
    /// Its value.
    pub(super) value: Value,
    /// The comment on its line.
    pub(super) beside: Option<String>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A scalar, or brackets, as written.
    Text(String),
    /// A block scalar: its header and its lines.
    Lines(String, Vec<String>),
    /// A map.
    Map(Block),
    /// A list.
    List(Block),
}

impl Value {
    /// What is inside.
    pub(super) fn block(&self) -> Option<&Block> {
        match self {
            Self::Map(block) | Self::List(block) => Some(block),
            Self::Text(_) | Self::Lines(..) => None,
        }
    }

    /// What is inside, to change it.
    pub(super) fn block_mut(&mut self) -> Option<&mut Block> {
        match self {
            Self::Map(block) | Self::List(block) => Some(block),
            Self::Text(_) | Self::Lines(..) => None,
        }
    }
}

impl Yaml {
    /// Reads the plain style: two spaces a level, lists below their key.
    pub(super) fn read(text: &str) -> Self {
        let documents = text.split("\n---\n").map(|text| {
            let lines: Vec<Row> = text.lines().map(Row::of).collect();
            block(&mut lines.into_iter().peekable(), 0)
        });
        Self {
            documents: documents.collect(),
            deep: false,
            wide: false,
        }
    }

    /// The text in the file's style.
    pub(super) fn text(&self) -> String {
        let texts: Vec<String> = self
            .documents
            .iter()
            .map(|document| {
                let mut out = String::new();
                self.write(&mut out, document, 0);
                out
            })
            .collect();
        let text = texts.join("---\n");
        if self.wide {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    }

    fn write(&self, out: &mut String, block: &Block, depth: usize) {
        for entry in &block.entries {
            lines(out, &entry.above, depth);
            self.entry(out, entry, depth, depth);
        }
        lines(out, &block.foot, depth);
    }

    /// Writes an entry whose first line begins at a column already, or at its depth.
    fn entry(&self, out: &mut String, entry: &Entry, depth: usize, missing: usize) {
        out.push_str(&" ".repeat(missing));
        let beside = entry
            .beside
            .as_ref()
            .map(|text| format!(" {text}"))
            .unwrap_or_default();
        let mark = match &entry.key {
            Some(key) => format!("{key}:"),
            None => "-".to_owned(),
        };
        match &entry.value {
            Value::Text(text) if text.is_empty() => out.push_str(&format!("{mark}{beside}\n")),
            Value::Text(text) => out.push_str(&format!("{mark} {text}{beside}\n")),
            Value::Lines(header, lines) => {
                out.push_str(&format!("{mark} {header}{beside}\n"));
                for line in lines {
                    let indent = if line.is_empty() { 0 } else { depth + 2 };
                    out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
                }
            }
            Value::Map(block) if entry.key.is_none() => {
                out.push_str("- ");
                let mut block = block.clone();
                if let Some(first) = block.entries.first() {
                    self.entry(out, first, depth + 2, 0);
                }
                let rest = Block {
                    entries: block.entries.split_off(1.min(block.entries.len())),
                    ..block
                };
                self.write(out, &rest, depth + 2);
            }
            Value::Map(block) => {
                out.push_str(&format!("{mark}{beside}\n"));
                self.write(out, block, depth + 2);
            }
            Value::List(block) => {
                out.push_str(&format!("{mark}{beside}\n"));
                self.write(out, block, if self.deep { depth + 2 } else { depth });
            }
        }
    }
}

fn lines(out: &mut String, lines: &[Line], depth: usize) {
    for line in lines {
        match line {
            Line::Blank => out.push('\n'),
            Line::Comment(text) => out.push_str(&format!("{}{text}\n", " ".repeat(depth))),
        }
    }
}

/// A line of the plain style.
#[derive(Clone)]
struct Row {
    indent: usize,
    text: String,
}

impl Row {
    fn of(line: &str) -> Self {
        let text = line.trim_start();
        Self {
            indent: line.len() - text.len(),
            text: text.trim_end().to_owned(),
        }
    }

    fn line(&self) -> Option<Line> {
        match self.text.as_str() {
            "" => Some(Line::Blank),
            text if text.starts_with('#') => Some(Line::Comment(text.to_owned())),
            _ => None,
        }
    }
}

type Rows = Peekable<IntoIter<Row>>;

/// Reads entries of one depth, and the lines behind the last one that are as deep.
fn block(rows: &mut Rows, depth: usize) -> Block {
    let mut block = Block::default();
    let mut above = Vec::new();
    while let Some(row) = rows.peek() {
        if row.indent < depth && !row.text.is_empty() {
            break;
        }
        let Some(row) = rows.next() else { break };
        match row.line() {
            Some(line) => above.push(line),
            None => block
                .entries
                .push(entry(rows, row, depth, std::mem::take(&mut above))),
        }
    }
    block.foot = above;
    block
}

fn entry(rows: &mut Rows, row: Row, depth: usize, above: Vec<Line>) -> Entry {
    let item = row.text.strip_prefix("- ").map(str::to_owned);
    if let Some(text) = &item
        && (text.contains(": ") || text.ends_with(':'))
        && !text.starts_with(['"', '\'', '[', '{'])
    {
        // An item that is a map: its first entry stands behind the dash.
        let first = entry(
            rows,
            Row {
                indent: depth + 2,
                text: text.clone(),
            },
            depth + 2,
            Vec::new(),
        );
        let mut inside = block(rows, depth + 2);
        inside.entries.insert(0, first);
        inside.inline = true;
        return Entry {
            above,
            key: None,
            value: Value::Map(inside),
            beside: None,
        };
    }
    let (key, rest) = match item {
        Some(text) => (None, text),
        None => match row.text.split_once(':') {
            Some((key, rest)) => (Some(key.to_owned()), rest.trim_start().to_owned()),
            None => (None, row.text),
        },
    };
    let (text, beside) = match rest.find("# ") {
        Some(at) => (
            rest.get(..at).unwrap_or_default().trim_end().to_owned(),
            rest.get(at..).map(str::to_owned),
        ),
        None => (rest, None),
    };
    let value = match text.as_str() {
        "|" | "|-" | ">" => Value::Lines(text, scalar(rows, depth)),
        "" => inside(rows, depth),
        _ => Value::Text(text),
    };
    Entry {
        above,
        key,
        value,
        beside,
    }
}

/// The lines of a block scalar.
fn scalar(rows: &mut Rows, depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        // Blank lines are the scalar's where more of it follows.
        let next = rows.clone().find(|row| !row.text.is_empty());
        if next.is_none_or(|row| row.indent <= depth) {
            return lines;
        }
        let Some(row) = rows.next() else { return lines };
        let indent = row.indent.saturating_sub(depth + 2);
        lines.push(format!("{}{}", " ".repeat(indent), row.text));
    }
}

/// The map or the list below a key.
fn inside(rows: &mut Rows, depth: usize) -> Value {
    let next = rows.clone_until_code();
    match next {
        Some((indent, true)) if indent >= depth => Value::List(items(rows, indent)),
        Some((indent, false)) if indent > depth => Value::Map(block(rows, indent)),
        _ => Value::Text(String::new()),
    }
}

/// Reads items of one depth; an entry of the same depth is the parent's.
fn items(rows: &mut Rows, depth: usize) -> Block {
    let mut list = Block::default();
    loop {
        match rows.clone_until_code() {
            Some((indent, true)) if indent == depth => {}
            _ => return list,
        }
        let mut above = Vec::new();
        while let Some(row) = rows.next() {
            match row.line() {
                Some(line) => above.push(line),
                None => {
                    list.entries.push(entry(rows, row, depth, above));
                    break;
                }
            }
        }
    }
}

trait Ahead {
    /// The indent of the next line with a value, and whether it is an item.
    fn clone_until_code(&self) -> Option<(usize, bool)>;
}

impl Ahead for Rows {
    fn clone_until_code(&self) -> Option<(usize, bool)> {
        let row = self.clone().find(|row| row.line().is_none())?;
        Some((row.indent, row.text.starts_with("- ")))
    }
}
