//! What kind of place a path leads to, as merging sees it: a leaf, a map, a set or a list map.
//!
//! Derived from the structural schema; where that says nothing, maps are merged by key and lists replaced.

use serde_json::{Map, Value};

use super::path::PathElement;
use crate::schema::{Additional, ListType, Node, Structural, Type, object_meta};

/// A place in an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    node: Option<&'a Node>,
    object: bool,
}

/// How a value at a place is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeKind<'a> {
    /// One value: a scalar, or a list or map that is replaced as a whole.
    Leaf,
    /// By field or key.
    Map,
    /// A list of distinct scalars.
    Set,
    /// A list of objects told apart by these keys.
    List(&'a [String]),
}

impl<'a> Shape<'a> {
    /// The place of a whole object.
    pub(crate) fn root(schema: &'a Structural) -> Self {
        Self {
            node: Some(schema.root()),
            object: true,
        }
    }

    const fn of(node: &'a Node) -> Self {
        Self {
            node: Some(node),
            object: node.embedded,
        }
    }

    const FREE: Shape<'static> = Shape {
        node: None,
        object: false,
    };

    /// The schema of the place, if it has one.
    pub(crate) const fn node(self) -> Option<&'a Node> {
        self.node
    }

    /// Whether the schema allows fields here that it does not name.
    pub(crate) fn open(self) -> bool {
        self.node
            .is_none_or(|n| n.preserve_unknown || n.types.is_empty() || n.additional.is_some())
    }

    /// How a value of this place is merged; a value of another JSON type than the schema's is a leaf.
    pub(crate) fn kind(self, value: &Value) -> MergeKind<'a> {
        let Some(node) = self.node else {
            return if value.is_object() {
                MergeKind::Map
            } else {
                MergeKind::Leaf
            };
        };
        let free = node.types.is_empty();
        match value {
            Value::Object(_) if free || node.types.contains(&Type::Object) => {
                if node.atomic_map {
                    MergeKind::Leaf
                } else {
                    MergeKind::Map
                }
            }
            Value::Array(_) if free || node.types.contains(&Type::Array) => match &node.list_type {
                ListType::Atomic => MergeKind::Leaf,
                ListType::Set => MergeKind::Set,
                ListType::Map(keys) => MergeKind::List(keys),
            },
            _ => MergeKind::Leaf,
        }
    }

    /// Whether the schema names the field (in contrast to keys of a map).
    pub(crate) fn declares(self, name: &str) -> bool {
        (self.object && matches!(name, "apiVersion" | "kind" | "metadata"))
            || self.node.is_some_and(|n| n.properties.contains_key(name))
    }

    /// The place of a field or key.
    pub(crate) fn field(self, name: &str) -> Self {
        if self.object && name == "metadata" {
            return Shape {
                node: Some(object_meta()),
                object: false,
            };
        }
        let Some(node) = self.node else {
            return Shape::FREE;
        };
        match (node.properties.get(name), &node.additional) {
            (Some(below), _) => Shape::of(below),
            (None, Some(Additional::Schema(below))) => Shape::of(below),
            _ => Shape::FREE,
        }
    }

    /// The place of a list's items.
    pub(crate) fn item(self) -> Self {
        self.node
            .and_then(|n| n.items.as_deref())
            .map_or(Shape::FREE, Shape::of)
    }

    /// The place that an element leads to.
    pub(crate) fn below(self, element: &PathElement) -> Self {
        match element {
            PathElement::Field(name) => self.field(name),
            _ => self.item(),
        }
    }

    /// The element that names an item of a set or list map; a missing key takes its default.
    ///
    /// # Errors
    /// The key that is missing.
    pub(crate) fn element(self, item: &Value, kind: MergeKind<'_>) -> Result<PathElement, String> {
        let MergeKind::List(keys) = kind else {
            return Ok(PathElement::Value(item.clone()));
        };
        let node = self.item().node;
        let mut found = Vec::new();
        for key in keys {
            let value = item.get(key).filter(|v| !v.is_null()).or_else(|| {
                node.and_then(|n| n.properties.get(key))
                    .and_then(|p| p.default.as_ref())
            });
            if let Some(value) = value {
                found.push((key.clone(), value.clone()));
            }
        }
        if found.is_empty() && !keys.is_empty() {
            let all: Vec<String> = keys.iter().map(|key| crate::schema::quote(key)).collect();
            return Err(all.join(" "));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(PathElement::Key(found))
    }

    /// The elements of a list's items with the items; an item without its keys stands by its value.
    pub(crate) fn items<'v>(
        self,
        list: &'v [Value],
        kind: MergeKind<'_>,
    ) -> Vec<(PathElement, &'v Value)> {
        let name = |item: &'v Value| {
            let element = self.element(item, kind);
            (
                element.unwrap_or_else(|_| PathElement::Value(item.clone())),
                item,
            )
        };
        list.iter().map(name).collect()
    }
}

/// The fields of a value seen as a map; null counts as empty.
pub(crate) fn fields(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}
