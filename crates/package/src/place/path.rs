//! Where a conflict stands inside a resource: `spec.containers[name=web].image`.
//!
//! List elements are named by their keys, not by position, so that the same field has the same path
//! whatever was inserted before it (V18: ids are stable).

use std::fmt;

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep {
    /// A field of a map.
    Field(String),
    /// The element of a list map with these keys.
    Element(Vec<(String, String)>),
    /// A scalar of a set.
    Item(String),
    /// An element by position, where nothing else names it.
    Index(usize),
    /// The comments of what the path leads to; always last.
    Comment,
    /// The order of the elements of a list; always last.
    Order,
    /// Those lines of the text it leads to that both sides changed (M21); always last.
    Lines,
    /// The file that the resource, or what was a file, stands in (M23); always alone.
    File,
}

/// A path from a resource to a value in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FieldPath(pub Vec<PathStep>);

impl FieldPath {
    /// The path one step further.
    #[must_use]
    pub fn join(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The path of a field of what this path leads to.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        self.join(PathStep::Field(name.to_owned()))
    }

    /// Reads the text form; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = parse_step(rest, steps.is_empty())?;
            steps.push(step);
            rest = after;
        }
        Some(Self(steps))
    }
}

fn parse_step(text: &str, first: bool) -> Option<(PathStep, &str)> {
    match text {
        "#comment" => return Some((PathStep::Comment, "")),
        "#file" => return Some((PathStep::File, "")),
        "#lines" => return Some((PathStep::Lines, "")),
        "#order" => return Some((PathStep::Order, "")),
        _ => {}
    }
    if let Some(inner) = text.strip_prefix('[') {
        return parse_bracket(inner);
    }
    let name = if first { text } else { text.strip_prefix('.')? };
    let end = name.find(|c: char| !plain(c)).unwrap_or(name.len());
    let (name, after) = name.split_at_checked(end)?;
    (!name.is_empty()).then(|| (PathStep::Field(name.to_owned()), after))
}

fn parse_bracket(text: &str) -> Option<(PathStep, &str)> {
    if text.starts_with('"') {
        let (name, after) = parse_word(text)?;
        return Some((PathStep::Field(name), after.strip_prefix(']')?));
    }
    if let Some(after) = text.strip_prefix('=') {
        let (item, after) = parse_word(after)?;
        return Some((PathStep::Item(item), after.strip_prefix(']')?));
    }
    if let Some((digits, after)) = text.split_once(']')
        && let Ok(index) = digits.parse()
    {
        return Some((PathStep::Index(index), after));
    }
    let mut keys = Vec::new();
    let mut rest = text;
    loop {
        let (key, after) = parse_word(rest)?;
        let (value, after) = parse_word(after.strip_prefix('=')?)?;
        keys.push((key, value));
        if let Some(after) = after.strip_prefix(']') {
            return Some((PathStep::Element(keys), after));
        }
        rest = after.strip_prefix(',')?;
    }
}

/// A plain word, or a JSON string.
fn parse_word(text: &str) -> Option<(String, &str)> {
    if !text.starts_with('"') {
        let end = text.find(['=', ',', ']', '"'])?;
        let (word, after) = text.split_at_checked(end)?;
        return Some((word.to_owned(), after));
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let word = stream.next()?.ok()?;
    let after = text.get(stream.byte_offset()..)?;
    Some((word, after))
}

fn plain(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A word of a bracket, quoted only where it would be misread.
fn word(text: &str) -> String {
    let clear = !text.is_empty()
        && !text.contains(['=', ',', ']', '[', '"'])
        && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    if clear { text.to_owned() } else { quoted(text) }
}

/// A piece of a path's text form.
pub(crate) enum Piece<'p> {
    /// As it stands.
    Text(&'p str),
    /// The value of a key that names a list element, written without quotes.
    Value(&'p str),
}

impl FieldPath {
    /// Shows the text form in pieces, so that names of list elements are told from what is around them.
    pub(crate) fn pieces<E>(
        &self,
        mut see: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (at, step) in self.0.iter().enumerate() {
            let text = match step {
                PathStep::Field(name) if !name.is_empty() && name.chars().all(plain) => {
                    let dot = if at == 0 { "" } else { "." };
                    format!("{dot}{name}")
                }
                PathStep::Field(name) => format!("[{}]", quoted(name)),
                PathStep::Element(keys) => {
                    for (at, (key, value)) in keys.iter().enumerate() {
                        let begin = if at == 0 { "[" } else { "," };
                        see(Piece::Text(&format!("{begin}{}=", word(key))))?;
                        let written = word(value);
                        match written == *value {
                            true => see(Piece::Value(value))?,
                            false => see(Piece::Text(&written))?,
                        }
                    }
                    if keys.is_empty() { "[]" } else { "]" }.to_owned()
                }
                PathStep::Item(item) => format!("[={}]", word(item)),
                PathStep::Index(index) => format!("[{index}]"),
                PathStep::Comment => "#comment".to_owned(),
                PathStep::Order => "#order".to_owned(),
                PathStep::Lines => "#lines".to_owned(),
                PathStep::File => "#file".to_owned(),
            };
            see(Piece::Text(&text))?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces(|piece| match piece {
            Piece::Text(text) | Piece::Value(text) => f.write_str(text),
        })
    }
}
