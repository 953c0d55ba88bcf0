//! From nodes to values: aliases followed within bounds, merge keys merged, duplicate keys decided or refused.

use std::collections::BTreeMap;

use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::node::Node;
use crate::scalar::{Reader, Scalar};
use crate::stream::Stream;
use crate::tree::NodeKind;
use crate::value::Value;

/// Mappings up to this size are searched, larger ones indexed.
const SMALL: usize = 12;

impl Node<'_> {
    /// The value that a reader sees.
    ///
    /// # Errors
    /// A key that stands twice (Y3), a tag that does not fit, a key that is no scalar, a merge of no mapping, an anchor
    /// that holds itself, or more expansion than the limits allow.
    pub fn to_value(&self, reader: Reader) -> Result<Value, Error> {
        Decoder::new(self, reader, true).run(*self)
    }

    /// The JSON that a reader makes of the node; of keys that stand twice the last one counts.
    ///
    /// # Errors
    /// As [`Node::to_value`] but for duplicate keys, and for what JSON cannot say: infinite numbers.
    pub fn to_json(&self, reader: Reader) -> Result<serde_json::Value, Error> {
        self.json(reader, false)
    }

    /// As [`Node::to_json`], but keys that stand twice are refused.
    ///
    /// # Errors
    /// As [`Node::to_json`], and for duplicate keys.
    pub fn to_json_strict(&self, reader: Reader) -> Result<serde_json::Value, Error> {
        self.json(reader, true)
    }

    fn json(&self, reader: Reader, strict: bool) -> Result<serde_json::Value, Error> {
        let mut decoder = Decoder::new(self, reader, strict);
        decoder.json = true;
        let value = decoder.run(*self)?;
        value
            .to_json()
            .ok_or_else(|| self.error(ErrorKind::Value, "the value cannot be written as JSON"))
    }

    /// Whether the node means this value to the package tools' reader; aliases count as what they stand for (M1).
    #[must_use]
    pub fn equals(&self, value: &Value) -> bool {
        self.to_value(Reader::V3).is_ok_and(|own| own == *value)
    }
}

impl Document<'_> {
    /// See [`Node::to_value`].
    ///
    /// # Errors
    /// See there.
    pub fn to_value(&self, reader: Reader) -> Result<Value, Error> {
        self.root().to_value(reader)
    }

    /// See [`Node::to_json`].
    ///
    /// # Errors
    /// See there.
    pub fn to_json(&self, reader: Reader) -> Result<serde_json::Value, Error> {
        self.root().to_json(reader)
    }

    /// See [`Node::to_json_strict`].
    ///
    /// # Errors
    /// See there.
    pub fn to_json_strict(&self, reader: Reader) -> Result<serde_json::Value, Error> {
        self.root().to_json_strict(reader)
    }
}

/// Decodes without recursion: what is open stands on a stack of its own.
struct Decoder<'a> {
    reader: Reader,
    strict: bool,
    json: bool,
    depth: usize,
    /// Nodes that aliases may still produce.
    left: usize,
    stream: &'a Stream,
    open: Vec<OpenCollection<'a>>,
}

/// A collection that is being decoded.
struct OpenCollection<'a> {
    node: Node<'a>,
    /// Whether it stands below an alias that is being followed.
    followed: bool,
    /// Whether its fields go into the mapping around it (`<<`) instead of making a value.
    merging: bool,
    /// The next child to look at.
    next: usize,
    body: Body<'a>,
}

enum Body<'a> {
    Seq(Vec<Value>),
    Map {
        fields: MapFields,
        /// The key whose value is awaited.
        key: Option<(Node<'a>, Key)>,
        /// Mappings to merge now, the next one last.
        now: Vec<Node<'a>>,
        /// Mappings to merge when all own keys are there, the next one last.
        later: Vec<Node<'a>>,
    },
}

impl<'a> Decoder<'a> {
    fn new(node: &Node<'a>, reader: Reader, strict: bool) -> Self {
        let limits = node.stream.limits();
        Self {
            reader,
            strict,
            json: false,
            depth: limits.effective_depth(),
            left: limits.alias_nodes,
            stream: node.stream,
            open: Vec::new(),
        }
    }

    fn run(&mut self, root: Node<'a>) -> Result<Value, Error> {
        let mut ready = self.enter(root, false)?;
        loop {
            let Some(mut top) = self.open.pop() else {
                return Ok(ready.unwrap_or_default());
            };
            if let Some(value) = ready.take() {
                self.receive(&mut top, value)?;
            }
            let followed = top.followed;
            match self.advance(&mut top)? {
                Next::Child(child) => {
                    self.open.push(top);
                    ready = self.enter(child, followed)?;
                }
                Next::Merge(source) => {
                    self.open.push(top);
                    self.enter_merge(source, followed)?;
                }
                Next::Done => ready = self.leave(top)?,
            }
        }
    }

    /// Begins a node: a scalar is a value at once, a collection is opened.
    fn enter(&mut self, node: Node<'a>, followed: bool) -> Result<Option<Value>, Error> {
        let followed = followed || node.kind() == NodeKind::Alias;
        let node = self.follow(node)?;
        if followed {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                let most = self.stream.limits().alias_nodes;
                let message =
                    format!("document contains excessive aliasing (more than {most} nodes)");
                node.error(ErrorKind::Limit, message)
            })?;
        }
        match node.kind() {
            NodeKind::Scalar | NodeKind::Alias => self.scalar(node).map(Some),
            NodeKind::Sequence => self.push(
                node,
                followed,
                false,
                Body::Seq(Vec::with_capacity(node.children().len())),
            ),
            NodeKind::Mapping => self.push(node, followed, false, Body::map()),
        }
    }

    fn enter_merge(&mut self, source: Node<'a>, followed: bool) -> Result<(), Error> {
        let followed = followed || source.kind() == NodeKind::Alias;
        let node = self.follow(source)?;
        if node.kind() != NodeKind::Mapping {
            let message = "map merge requires map or sequence of maps as the value";
            return Err(source.error(ErrorKind::Value, message));
        }
        self.push(node, followed, true, Body::map()).map(|_| ())
    }

    fn push(
        &mut self,
        node: Node<'a>,
        followed: bool,
        merging: bool,
        body: Body<'a>,
    ) -> Result<Option<Value>, Error> {
        if self.open.len() >= self.depth {
            let message = format!("collections are nested deeper than {}", self.depth);
            return Err(node.error(ErrorKind::Limit, message));
        }
        if matches!(body, Body::Map { .. })
            && self.strict
            && self.reader == Reader::V3
            && let Some(key) = node.duplicate_keys().first()
        {
            let text = key.key_text().unwrap_or_default();
            let message = format!("mapping key \"{text}\" already defined");
            return Err(key.error(ErrorKind::DuplicateKey, message));
        }
        self.open.push(OpenCollection {
            node,
            followed,
            merging,
            next: 0,
            body,
        });
        Ok(None)
    }

    /// Follows an alias, unless that leads back into a node that is being decoded.
    fn follow(&self, node: Node<'a>) -> Result<Node<'a>, Error> {
        if node.kind() != NodeKind::Alias {
            return Ok(node);
        }
        let target = node.target()?;
        if self
            .open
            .iter()
            .any(|open| (open.node.doc, open.node.id) == (target.doc, target.id))
        {
            let name = node.alias_name().unwrap_or_default();
            let message = format!("anchor '{name}' value contains itself");
            return Err(node.error(ErrorKind::Value, message));
        }
        Ok(target)
    }

    /// Takes the value of a child that was awaited.
    fn receive(&self, open: &mut OpenCollection<'a>, value: Value) -> Result<(), Error> {
        match &mut open.body {
            Body::Seq(items) => items.push(value),
            Body::Map { fields, key, .. } => {
                if let Some((node, name)) = key.take() {
                    self.put(fields, node, name, value)?;
                }
            }
        }
        Ok(())
    }

    /// Finds out what an open collection needs next.
    fn advance(&self, open: &mut OpenCollection<'a>) -> Result<Next<'a>, Error> {
        let children = open.node.children();
        let Body::Map {
            key, now, later, ..
        } = &mut open.body
        else {
            let child = children.get(open.next).map(|id| open.node.with(*id));
            open.next += 1;
            return Ok(child.map_or(Next::Done, Next::Child));
        };
        loop {
            if let Some(source) = now.pop() {
                return Ok(Next::Merge(source));
            }
            let Some([name, value]) = children.get(open.next..open.next + 2) else {
                if later.is_empty() {
                    return Ok(Next::Done);
                }
                now.append(later);
                continue;
            };
            open.next += 2;
            let (name, value) = (open.node.with(*name), open.node.with(*value));
            if !name.is_merge_key() {
                *key = Some((name, self.key(name)?));
                return Ok(Next::Child(value));
            }
            let mut sources: Vec<Node<'a>> = match value.kind() {
                NodeKind::Sequence => value.items().collect(),
                _ => vec![value],
            };
            if self.reader == Reader::Sigs {
                // Merged where it stands, the last one first: later keys replace earlier ones.
                *now = sources;
            } else {
                // Own keys win wherever they stand, then the first mapping.
                sources.reverse();
                sources.append(later);
                *later = sources;
            }
        }
    }

    /// Closes a collection: gives its value, or its fields to the mapping around it.
    fn leave(&mut self, open: OpenCollection<'a>) -> Result<Option<Value>, Error> {
        let fields = match open.body {
            Body::Seq(items) => return Ok(Some(Value::Seq(items))),
            Body::Map { fields, .. } if !open.merging => {
                return Ok(Some(Value::Map(fields.entries)));
            }
            Body::Map { fields, .. } => fields,
        };
        let Some(mut around) = self.open.pop() else {
            return Ok(None);
        };
        if let Body::Map { fields: into, .. } = &mut around.body {
            for (tag, (text, value)) in fields.tags.into_iter().zip(fields.entries) {
                let name = Key { text, tag };
                match self.reader {
                    Reader::V3 => into.add(name, value),
                    Reader::Sigs => self.put(into, open.node, name, value)?,
                }
            }
        }
        self.open.push(around);
        Ok(None)
    }

    fn scalar(&self, node: Node<'a>) -> Result<Value, Error> {
        Ok(match node.resolve(self.reader)? {
            Scalar::Null => Value::Null,
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Int(i) => Value::Int(i),
            Scalar::UInt(u) => Value::UInt(u),
            Scalar::Float(f) if self.json && !f.is_finite() => {
                let message = format!("`{}` cannot be written as JSON", node.source());
                return Err(node.error(ErrorKind::Value, message));
            }
            Scalar::Float(f) => Value::Float(f),
            Scalar::Str(text) => Value::Str(text.into_owned()),
            Scalar::Timestamp(text) => Value::Str(text.to_owned()),
            Scalar::Binary(bytes) => Value::Str(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// Sets a field; a second one under the same key is an error where that matters.
    fn put(
        &self,
        fields: &mut MapFields,
        key: Node<'_>,
        name: Key,
        value: Value,
    ) -> Result<(), Error> {
        let twice = fields.set(name, value);
        if let Some(text) = twice.filter(|_| self.strict && self.reader == Reader::Sigs) {
            let message = format!("key \"{text}\" already set in map");
            return Err(key.error(ErrorKind::DuplicateKey, message));
        }
        Ok(())
    }

    /// A key's text as JSON has it, and what it is for telling keys apart.
    fn key(&self, key: Node<'a>) -> Result<Key, Error> {
        let key = key.target()?;
        if key.kind() != NodeKind::Scalar {
            return Err(key.error(ErrorKind::Value, "invalid map key: keys must be scalars"));
        }
        let scalar = key.resolve(self.reader)?;
        let tag = scalar.tag();
        let text = match scalar {
            Scalar::Null if self.json => {
                return Err(key.error(ErrorKind::Value, "unsupported map key: null"));
            }
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(b) => b.to_string(),
            Scalar::Int(i) => i.to_string(),
            Scalar::UInt(u) => u.to_string(),
            Scalar::Float(f) => crate::number::float(f),
            Scalar::Str(text) => text.into_owned(),
            Scalar::Timestamp(text) => text.to_owned(),
            Scalar::Binary(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        Ok(Key { text, tag })
    }
}

enum Next<'a> {
    Child(Node<'a>),
    Merge(Node<'a>),
    Done,
}

impl Body<'_> {
    fn map() -> Self {
        Self::Map {
            fields: MapFields::default(),
            key: None,
            now: Vec::new(),
            later: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    text: String,
    tag: &'static str,
}

/// The fields of a mapping under construction.
#[derive(Default)]
struct MapFields {
    entries: Vec<(String, Value)>,
    /// What each key is, beside its text.
    tags: Vec<&'static str>,
    index: BTreeMap<String, usize>,
}

impl MapFields {
    fn position(&mut self, text: &str) -> Option<usize> {
        if self.entries.len() < SMALL {
            return self.entries.iter().position(|(key, _)| key == text);
        }
        if self.index.is_empty() {
            self.index = self
                .entries
                .iter()
                .enumerate()
                .map(|(at, (key, _))| (key.clone(), at))
                .collect();
        }
        self.index.get(text).copied()
    }

    fn push(&mut self, name: Key, value: Value) {
        if !self.index.is_empty() {
            self.index.insert(name.text.clone(), self.entries.len());
        }
        self.entries.push((name.text, value));
        self.tags.push(name.tag);
    }

    /// Sets a field; the key's text where one of the same key and type was there.
    fn set(&mut self, name: Key, value: Value) -> Option<String> {
        let Some(at) = self.position(&name.text) else {
            self.push(name, value);
            return None;
        };
        let same = self.tags[at] == name.tag;
        self.entries[at].1 = value;
        self.tags[at] = name.tag;
        same.then_some(name.text)
    }

    /// Adds a field unless there is one.
    fn add(&mut self, name: Key, value: Value) {
        if self.position(&name.text).is_none() {
            self.push(name, value);
        }
    }
}

/// Reads the first document of a text as JSON, the way kubectl reads a request: what follows it is not looked at.
///
/// # Errors
/// As [`Stream::parse`] for the first document, and as [`Node::to_json`] (`strict`: [`Node::to_json_strict`]).
pub fn first_document_json(
    text: &str,
    reader: Reader,
    strict: bool,
    limits: &Limits,
) -> Result<serde_json::Value, Error> {
    let stream = Stream::parse_first(text, limits)?;
    match stream.document(0) {
        None => Ok(serde_json::Value::Null),
        Some(document) => document.root().json(reader, strict),
    }
}
