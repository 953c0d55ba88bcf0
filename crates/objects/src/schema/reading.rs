//! Where a reader stands in the text of an object, and what Go's decoder does there: it puts values into fields one after the other, so
//! that what stands twice adds to what came first, and leaves out what no field takes.

use super::node::{Additional, Node, Structural, Type};
use super::props::Part;
use super::render::{child, index};

/// What is known of a place's type.
#[derive(Debug, Clone, Copy)]
enum Known<'a> {
    /// Nothing: any value is kept as it stands.
    Nothing,
    /// As nothing, of what is read by itself: nobody is told what is odd there.
    Apart,
    /// What a schema says.
    Node(&'a Node),
    /// That it is a part of a schema.
    Part(Part),
}

/// A place in a text that is being read: its path, and what is known of its type.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    path: String,
    known: Known<'a>,
    /// Whether what stood here before is of no account, as in maps.
    fresh: bool,
}

impl Structural {
    /// The start of a text that is read into the fields of a type in Go.
    #[must_use]
    pub fn reading(&self) -> Reading<'_> {
        Reading {
            known: Known::Node(self.root()),
            ..Reading::anything()
        }
    }
}

impl<'a> Reading<'a> {
    /// The start of a text that may hold anything, each value as it stands.
    #[must_use]
    pub const fn anything() -> Self {
        Self {
            path: String::new(),
            known: Known::Nothing,
            fresh: false,
        }
    }

    /// Where this is: `spec.ports[0].name`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of a field here, whether there is one or not.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        child(&self.path, name)
    }

    /// The place of a field; none if the type here has no such field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Self> {
        let at = |known: Known<'a>, fresh: bool| {
            let path = self.path_of(name);
            Some(Self { path, known, fresh })
        };
        let node = match self.known {
            Known::Node(node) if node.types == [Type::Object] => node,
            Known::Node(_) | Known::Nothing => return at(Known::Nothing, false),
            Known::Apart | Known::Part(Part::Apart | Part::Value) => {
                return at(Known::Apart, false);
            }
            Known::Part(part) => {
                let below = Known::Part(part.field(name)?);
                return at(below, part == Part::Schemas);
            }
        };
        if let Some(below) = node.properties.get(name) {
            // Of the kinds that are read so, definitions alone have these.
            return match name {
                "openAPIV3Schema" if below.preserve_unknown => at(Known::Part(Part::Schema), false),
                "status" if below.preserve_unknown => at(Known::Part(Part::Empty), false),
                _ => at(Known::Node(below), false),
            };
        }
        match &node.additional {
            Some(Additional::Schema(below)) => at(Known::Node(below), true),
            Some(Additional::Any) => at(Known::Nothing, false),
            _ if node.preserve_unknown => at(Known::Nothing, false),
            Some(Additional::Nothing) | None => None,
        }
    }

    /// The place of an item.
    #[must_use]
    pub fn item(&self, at: usize) -> Self {
        let node = |node: &'a Node| node.items.as_deref().map_or(Known::Nothing, Known::Node);
        Self {
            path: index(&self.path, at),
            known: match self.known {
                Known::Nothing => Known::Nothing,
                Known::Apart | Known::Part(Part::Apart | Part::Value) => Known::Apart,
                Known::Node(of) => node(of),
                Known::Part(part) => Known::Part(part.item()),
            },
            fresh: false,
        }
    }

    /// Whether a value adds to one that stood here before.
    #[must_use]
    pub const fn adds(&self) -> bool {
        let whole = matches!(
            self.known,
            Known::Nothing | Known::Apart | Known::Part(Part::Apart | Part::Value)
        );
        !whole && !self.fresh
    }

    /// Whether what is odd here is told.
    #[must_use]
    pub const fn tells(&self) -> bool {
        !matches!(
            self.known,
            Known::Apart | Known::Part(Part::Apart | Part::Value)
        )
    }

    /// Whether a null leaves what stood here before: it does in structs and texts, which cannot be without a value.
    #[must_use]
    pub fn outlasts_null(&self) -> bool {
        let Known::Node(node) = self.known else {
            return false;
        };
        match node.types.as_slice() {
            [Type::Object] => node.additional.is_none() && !node.preserve_unknown,
            [Type::String] => node.format.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Reading, Structural};

    #[test]
    fn places_are_known_as_far_as_the_types_say() {
        let schema = Structural::trusted(&json!({"type": "object", "properties": {
            "names": {"type": "object", "additionalProperties": {"type": "string"}},
            "rules": {"type": "array", "items": {"type": "object", "properties": {"verb": {"type": "string"}}}},
            "born": {"type": "string", "format": "date-time"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}))
        .unwrap();
        let root = schema.reading();
        assert!(root.field("odd").is_none() && root.outlasts_null());
        let name = root.field("names").unwrap().field("any").unwrap();
        assert_eq!(
            (name.path(), name.adds(), name.outlasts_null()),
            ("names.any", false, true)
        );
        let rule = root.field("rules").unwrap().item(1);
        assert!(rule.adds() && rule.field("verbs").is_none());
        assert_eq!(rule.field("verb").unwrap().path(), "rules[1].verb");
        assert!(!root.field("born").unwrap().outlasts_null());
        let free = root.field("free").unwrap().field("x").unwrap();
        assert!(!free.adds() && free.field("y").is_some());
        let schema = root.field("openAPIV3Schema").unwrap();
        let below = schema.field("properties").unwrap().field("any").unwrap();
        assert!(schema.field("odd").is_none() && below.field("odd").is_none());
        let apart = below.field("items").unwrap();
        assert!(apart.field("odd").is_some() && apart.item(0).field("odd").is_some());
        assert!(below.tells() && !apart.tells() && !apart.field("odd").unwrap().tells());
        let rule = below.field("x-kubernetes-validations").unwrap().item(0);
        assert!(rule.field("rule").is_some() && rule.field("rules").is_none());
        assert!(!Reading::anything().field("a").unwrap().adds());
    }
}
