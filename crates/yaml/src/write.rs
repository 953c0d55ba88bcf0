//! Writing values: in block style at a column, in brackets, or as a whole text.

use crate::quote::{self, Context};
use crate::tree::{NONE, NodeKind, Style, Tree};
use crate::value::Value;

/// Keys longer than this are written with `?`; the readers look only so far for the colon.
const LONG_KEY: usize = 1_000;

/// How new text looks: taken from the text around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Format {
    /// Columns that a mapping stands deeper than its key.
    pub(crate) step: usize,
    /// Columns that a sequence stands deeper than its key.
    pub(crate) sequence: usize,
    /// Columns from a dash to its item.
    pub(crate) dash: usize,
    /// The line break.
    pub(crate) eol: &'static str,
    /// Whether text of several lines may become a block scalar.
    pub(crate) blocks: bool,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            step: 2,
            sequence: 0,
            dash: 2,
            eol: "\n",
            blocks: true,
        }
    }
}

impl Format {
    /// The habits of a document: its first nested mapping and its first sequence set the style.
    pub(crate) fn of(tree: &Tree, eol: &'static str) -> Self {
        let mut format = Self {
            eol,
            ..Self::default()
        };
        let [step, sequence] = tree.habits.get_or_init(|| habits(tree));
        format.step = step.unwrap_or(format.step);
        format.sequence = sequence.unwrap_or(format.sequence);
        format
    }
}

/// How far a document's first nested mapping and its first sequence stand in.
fn habits(tree: &Tree) -> [Option<usize>; 2] {
    let (mut step, mut sequence) = (None, None);
    for node in tree
        .nodes
        .iter()
        .filter(|node| node.style == Style::Block && node.parent != NONE)
    {
        let parent = tree.node(node.parent);
        if parent.kind != NodeKind::Mapping || parent.style != Style::Block {
            continue;
        }
        let deeper = (node.col as usize).checked_sub(parent.col as usize);
        match node.kind {
            NodeKind::Mapping => {
                step = step.or_else(|| deeper.filter(|deeper| (1..=8).contains(deeper)));
            }
            _ => sequence = sequence.or_else(|| deeper.filter(|deeper| *deeper <= 8)),
        }
        if step.is_some() && sequence.is_some() {
            break;
        }
    }
    [step, sequence]
}

/// What a value follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Colon,
    Dash,
}

/// Where a value is written: behind which marker, of an entry at which column, with what around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) marker: Marker,
    /// The column of the entry: of its key or its dash.
    pub(crate) owner: usize,
    /// An anchor or a tag to write before the value; empty for none.
    pub(crate) properties: &'a str,
    /// A comment for the first line.
    pub(crate) comment: Option<&'a str>,
}

impl At<'_> {
    pub(crate) fn new(marker: Marker, owner: usize) -> Self {
        Self {
            marker,
            owner,
            properties: "",
            comment: None,
        }
    }
}

/// Whether a value takes lines of its own in block style.
pub(crate) fn value_is_block(value: &Value) -> bool {
    match value {
        Value::Map(entries) => !entries.is_empty(),
        Value::Seq(items) => !items.is_empty(),
        _ => false,
    }
}

/// Writes text at columns.
#[derive(Debug)]
pub(crate) struct Writer<'f> {
    pub(crate) out: String,
    format: &'f Format,
    /// Whether the text so far ends inside a block scalar, which needs a line break after it.
    pub(crate) open_block: bool,
}

impl<'f> Writer<'f> {
    pub(crate) fn new(format: &'f Format) -> Self {
        Self {
            out: String::new(),
            format,
            open_block: false,
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.open_block = false;
    }

    /// Begins a new line at a column.
    pub(crate) fn line(&mut self, col: usize) {
        self.out.push_str(self.format.eol);
        self.out.extend(std::iter::repeat_n(' ', col));
        self.open_block = false;
    }

    fn empty_line(&mut self) {
        self.out.push_str(self.format.eol);
    }

    /// Writes a key with its colon; the cursor stands at the key's column.
    pub(crate) fn key(&mut self, key: &str, col: usize, context: Context) {
        let key = quote::key(key, context);
        if key.len() > LONG_KEY && context == Context::Block {
            self.text("? ");
            self.text(&key);
            self.line(col);
        } else {
            self.text(&key);
        }
        self.text(":");
    }

    /// Writes what follows a colon or a dash: blanks, properties, the value, and a comment on the first line.
    pub(crate) fn after(&mut self, value: &Value, like: Style, at: At<'_>) {
        if value_is_block(value) {
            let col = self.collection_column(matches!(value, Value::Seq(_)), at);
            self.open_collection(col, at, false);
            self.block(value, col);
            return;
        }
        self.blanks(at.marker);
        self.properties(at.properties);
        self.scalar(value, like, at.owner, at.comment);
    }

    /// The column of a block collection behind a marker.
    pub(crate) fn collection_column(&self, sequence: bool, at: At<'_>) -> usize {
        at.owner
            + match (at.marker, sequence) {
                (Marker::Dash, _) => self.format.dash,
                (Marker::Colon, true) => self.format.sequence,
                (Marker::Colon, false) => self.format.step,
            }
    }

    /// Writes what stands between a marker and a block collection, and goes to the collection's column.
    pub(crate) fn open_collection(&mut self, col: usize, at: At<'_>, own_line: bool) {
        if !at.properties.is_empty() {
            self.text(" ");
            self.text(at.properties);
        }
        if let Some(comment) = at.comment {
            self.comment(comment);
        }
        let compact = at.properties.is_empty() && at.comment.is_none() && !own_line;
        if compact && at.marker == Marker::Dash {
            self.blanks(Marker::Dash);
        } else {
            self.line(col);
        }
    }

    pub(crate) fn blanks(&mut self, marker: Marker) {
        let blanks = if marker == Marker::Dash {
            self.format.dash - 1
        } else {
            1
        };
        self.text(&" ".repeat(blanks));
    }

    pub(crate) fn properties(&mut self, properties: &str) {
        if !properties.is_empty() {
            self.text(properties);
            self.text(" ");
        }
    }

    pub(crate) fn comment(&mut self, comment: &str) {
        self.text(" ");
        self.text(comment);
    }

    /// Writes a non-empty collection; the cursor stands at its column.
    pub(crate) fn block(&mut self, value: &Value, col: usize) {
        match value {
            Value::Map(entries) => {
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        self.line(col);
                    }
                    self.key(key, col, Context::Block);
                    self.after(value, Style::Literal, At::new(Marker::Colon, col));
                }
            }
            Value::Seq(items) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.line(col);
                    }
                    self.text("-");
                    self.after(item, Style::Literal, At::new(Marker::Dash, col));
                }
            }
            scalar => self.scalar(scalar, Style::Plain, col, None),
        }
    }

    /// Writes a scalar at the cursor. Text of several lines becomes a block scalar where `like` asks for one.
    pub(crate) fn scalar(
        &mut self,
        value: &Value,
        like: Style,
        owner: usize,
        comment: Option<&str>,
    ) {
        let wanted = self.format.blocks && matches!(like, Style::Literal | Style::Folded);
        let block = match value {
            Value::Str(text) if wanted && text.contains('\n') => {
                quote::block(text, like, self.format.step)
            }
            _ => None,
        };
        let Some((header, lines)) = block else {
            self.text(&quote::inline(value, like, Context::Block));
            if let Some(comment) = comment {
                self.comment(comment);
            }
            return;
        };
        self.lines(&header, &lines, owner + self.format.step, comment);
    }

    /// Writes a block scalar whatever its text needs; the old one was a block scalar too.
    pub(crate) fn block_scalar(
        &mut self,
        text: &str,
        like: Style,
        owner: usize,
        comment: Option<&str>,
    ) -> bool {
        let block = quote::block(text, like, self.format.step).filter(|_| self.format.blocks);
        let Some((header, lines)) = block else {
            return false;
        };
        self.lines(&header, &lines, owner + self.format.step, comment);
        true
    }

    fn lines(&mut self, header: &str, lines: &[String], col: usize, comment: Option<&str>) {
        self.text(header);
        if let Some(comment) = comment {
            self.comment(comment);
        }
        for line in lines {
            if line.is_empty() {
                self.empty_line();
            } else {
                self.line(col);
                self.text(line);
            }
        }
        self.open_block = !header.ends_with('-');
    }

    /// Writes a value in brackets.
    pub(crate) fn flow(&mut self, value: &Value, like: Style, context: Context) {
        match value {
            Value::Map(entries) if !entries.is_empty() => {
                self.text("{");
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        self.text(", ");
                    }
                    self.key(key, 0, context);
                    self.text(" ");
                    self.flow(value, Style::Plain, context);
                }
                self.text("}");
            }
            Value::Seq(items) if !items.is_empty() => {
                self.text("[");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.text(", ");
                    }
                    self.flow(item, Style::Plain, context);
                }
                self.text("]");
            }
            scalar => self.text(&quote::inline(scalar, like, context)),
        }
    }
}

/// A value as a text of its own: block style, two spaces, quoted where either reader would misread (Y2).
///
/// The answer ends with a line break and holds no document marker.
#[must_use]
pub fn render(value: &Value) -> String {
    let format = Format::default();
    let mut writer = Writer::new(&format);
    if value_is_block(value) {
        writer.block(value, 0);
    } else {
        writer.scalar(value, Style::Literal, 0, None);
    }
    writer.out.push('\n');
    writer.out
}
