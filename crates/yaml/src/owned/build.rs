//! From a document to an owned value, and from JSON to one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Alias, Data, Entry, Map, Scalar, Seq, Value};
use crate::Style;
use crate::document::Document;
use crate::error::{Error, ErrorKind};
use crate::node::Node;
use crate::scalar::{self, Reader};
use crate::tree::{Id, NONE, NodeKind};

impl Value {
    /// Takes a document out of its text.
    ///
    /// # Errors
    /// An alias without a target, an anchor that holds itself, or aliases that stand for more than the limits allow.
    pub fn read(document: &Document<'_>) -> Result<Self, Error> {
        Self::read_node(document.root())
    }

    /// Takes a node and what is below it out of its document; its root then is this node.
    ///
    /// # Errors
    /// As [`Value::read`].
    pub fn read_node(node: Node<'_>) -> Result<Self, Error> {
        let left = node.stream.limits().alias_nodes;
        let mut reader = Build {
            next: 0,
            anchors: BTreeMap::new(),
            open: Vec::new(),
            left,
        };
        Ok(reader.node(node)?.0)
    }

    /// The value of a JSON text's value; strings stay strings whatever they look like.
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::null(),
            serde_json::Value::Bool(b) => Self::plain(b.to_string()),
            serde_json::Value::Number(number) => Self::plain(number.to_string()),
            serde_json::Value::String(text) => Self::string(text.as_str()),
            serde_json::Value::Array(items) => Self::seq(items.iter().map(Self::from_json)),
            serde_json::Value::Object(fields) => Self::map(
                fields
                    .iter()
                    .map(|(key, value)| (key.as_str(), Self::from_json(value))),
            ),
        }
    }

    /// The value as the package tools' reader has it, as JSON; what JSON cannot say becomes a string.
    ///
    /// Of keys that stand twice the first counts.
    pub fn to_json(&self) -> serde_json::Value {
        match self.data() {
            Data::Scalar(scalar) => scalar.to_json(),
            Data::Seq(seq) => seq.items.iter().map(Self::to_json).collect(),
            Data::Map(map) => {
                let mut fields = serde_json::Map::new();
                for entry in &map.entries {
                    if !fields.contains_key(&*entry.key) {
                        fields.insert(entry.key.to_string(), entry.value.to_json());
                    }
                }
                serde_json::Value::Object(fields)
            }
            Data::Alias(_) => serde_json::Value::Null,
        }
    }
}

impl Scalar {
    fn resolved(&self) -> scalar::Scalar<'_> {
        scalar::resolve(Reader::V3, self.style, self.tag.as_deref(), &self.text)
            .unwrap_or_else(|_| scalar::Scalar::Str((&*self.text).into()))
    }

    /// Whether it is a string to the package tools.
    pub fn is_string(&self) -> bool {
        matches!(self.resolved(), scalar::Scalar::Str(_))
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.resolved() == scalar::Scalar::Null
    }

    /// Whether both have one type and value.
    pub fn same(&self, other: &Self) -> bool {
        match (self.resolved(), other.resolved()) {
            (scalar::Scalar::Float(a), scalar::Scalar::Float(b)) if a.is_nan() => b.is_nan(),
            (a, b) => a == b,
        }
    }

    /// The short tag of its type.
    pub fn type_tag(&self) -> &'static str {
        self.resolved().tag()
    }

    fn to_json(&self) -> serde_json::Value {
        match self.resolved() {
            scalar::Scalar::Null => serde_json::Value::Null,
            scalar::Scalar::Bool(b) => b.into(),
            scalar::Scalar::Int(i) => i.into(),
            scalar::Scalar::UInt(u) => u.into(),
            scalar::Scalar::Float(f) => {
                serde_json::Number::from_f64(f).map_or_else(|| (&*self.text).into(), Into::into)
            }
            _ => (&*self.text).into(),
        }
    }
}

struct Build {
    next: u32,
    anchors: BTreeMap<(usize, Id), (Arc<Value>, usize)>,
    open: Vec<(usize, Id)>,
    left: usize,
}

impl Build {
    /// The value of a node, and how many nodes it stands for with aliases followed.
    fn node(&mut self, node: Node<'_>) -> Result<(Value, usize), Error> {
        let origin = self.next;
        self.next += 1;
        let key = (node.doc, node.id);
        let anchored = node.anchor().is_some();
        if anchored {
            self.open.push(key);
        }
        let (data, size) = match node.kind() {
            NodeKind::Scalar => (Data::Scalar(scalar_of(node)), 1),
            NodeKind::Alias => self.alias(node)?,
            NodeKind::Sequence => {
                let mut size = 1;
                let mut items = Vec::with_capacity(node.items().len());
                for item in node.items() {
                    let (value, below) = self.node(item)?;
                    size += below;
                    items.push(value);
                }
                (
                    Data::Seq(Seq {
                        items,
                        flow: node.style() == Style::Flow,
                    }),
                    size,
                )
            }
            NodeKind::Mapping => self.mapping(node)?,
        };
        let value = Value {
            data,
            comment: line_comment(node),
            origin,
        };
        if anchored {
            self.open.pop();
            self.anchors.insert(key, (Arc::new(value.clone()), size));
        }
        Ok((value, size))
    }

    fn mapping(&mut self, node: Node<'_>) -> Result<(Data, usize), Error> {
        let mut size = 1;
        let mut entries = Vec::with_capacity(node.entries().len());
        for entry in node.entries() {
            let (value, below) = self.node(entry.value)?;
            size += below;
            let text = entry.key.key_text();
            let key = text.unwrap_or_else(|| entry.key.source()).into();
            entries.push(Entry {
                key,
                value,
                plain_key: text.is_some(),
            });
        }
        Ok((
            Data::Map(Map {
                entries,
                flow: node.style() == Style::Flow,
            }),
            size,
        ))
    }

    fn alias(&mut self, node: Node<'_>) -> Result<(Data, usize), Error> {
        let target = node.target()?;
        let key = (target.doc, target.id);
        if self.open.contains(&key) {
            let name = node.alias_name().unwrap_or_default();
            return Err(node.error(
                ErrorKind::Value,
                format!("anchor '{name}' value contains itself"),
            ));
        }
        let (target, size) = match self.anchors.get(&key) {
            Some(known) => known.clone(),
            None => {
                // The anchor stands in an earlier document; its nodes are none of ours.
                let (value, size) = self.node(target)?;
                (Arc::new(super::access::fresh(&value)), size)
            }
        };
        self.left = self
            .left
            .checked_sub(size)
            .ok_or_else(|| node.error(ErrorKind::Limit, "document contains excessive aliasing"))?;
        Ok((Data::Alias(Alias { target }), size))
    }
}

pub(super) fn scalar_of(node: Node<'_>) -> Scalar {
    Scalar {
        text: node.scalar().unwrap_or_default().into(),
        style: node.style(),
        tag: node.tag().map(Into::into),
    }
}

/// The comment behind a node on its line; for a block collection or block scalar, behind its key or header.
fn line_comment(node: Node<'_>) -> Option<Arc<str>> {
    let data = node.data();
    let text = node.stream.docs()[node.doc].range.clone();
    let text = &node.stream.text()[text];
    let headed = match node.style() {
        Style::Literal | Style::Folded => true,
        Style::Block => {
            if data.mark == NONE {
                return None;
            }
            true
        }
        _ => false,
    };
    let from = match (headed, node.style()) {
        (true, Style::Block) => data.mark,
        (true, _) => data.content,
        (false, _) => data.end,
    };
    let tree = node.stream.tree(node.doc);
    let at = tree.comments.partition_point(|c| c.start < from);
    let comment = tree.comments.get(at).filter(|c| !c.own_line)?;
    let between = text.get(from as usize..comment.start as usize)?;
    let blank = |c: char| c == ' ' || c == '\t';
    let near = if headed {
        !between.contains(['\n', '\r'])
    } else {
        between.chars().all(blank)
    };
    // A block collection that begins on the line of its mark has no line of its own to be commented.
    let inside = node.style() == Style::Block && data.content < comment.start;
    (near && !inside).then(|| text[comment.start as usize..comment.end as usize].into())
}
