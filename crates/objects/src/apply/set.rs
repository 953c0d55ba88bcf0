//! Sets of field paths as trees, with the wire form `FieldsV1`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::path::PathElement;
use super::shape::Shape;
use crate::schema::step;

/// So many paths are told at most.
const MOST_TOLD: usize = 1_000;

/// Deepest path that is read from the wire.
const MAX_DEPTH: usize = 128;

/// A set of paths. A path may be a member, have members below, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) members: BTreeSet<PathElement>,
    pub(crate) children: BTreeMap<PathElement, Self>,
}

impl FieldSet {
    /// Whether no path is in the set.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Adds one path.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    fn put(&mut self, element: PathElement, below: Self) {
        if !below.is_empty() {
            self.children.insert(element, below);
        }
    }

    /// Adds what lies below an element.
    pub(crate) fn put_below(&mut self, element: PathElement, below: Self) {
        self.put(element, below);
    }

    /// Paths of either.
    #[must_use]
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.members.extend(other.members.iter().cloned());
        for (element, below) in &other.children {
            let merged = out
                .children
                .get(element)
                .map_or_else(|| below.clone(), |own| own.union(below));
            out.put(element.clone(), merged);
        }
        out
    }

    /// Paths of both.
    #[must_use]
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (element, below) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                out.put(element.clone(), below.intersection(theirs));
            }
        }
        out
    }

    /// Paths of this set that are not in the other.
    #[must_use]
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (element, below) in &self.children {
            let rest = other
                .children
                .get(element)
                .map_or_else(|| below.clone(), |o| below.difference(o));
            out.put(element.clone(), rest);
        }
        out
    }

    /// Takes out the paths of the other: [`Self::difference`] where nobody needs what was there.
    pub(crate) fn subtract(&mut self, other: &Self) {
        if other.members.len() < self.members.len() {
            for element in &other.members {
                self.members.remove(element);
            }
        } else {
            self.members
                .retain(|element| !other.members.contains(element));
        }
        for (element, theirs) in &other.children {
            if let Some(below) = self.children.get_mut(element) {
                below.subtract(theirs);
                if below.is_empty() {
                    self.children.remove(element);
                }
            }
        }
    }

    /// Adds the paths of the other: [`Self::union`] where nobody needs what was there.
    pub(crate) fn add(&mut self, other: Self) {
        self.members.extend(other.members);
        for (element, theirs) in other.children {
            match self.children.get_mut(&element) {
                Some(below) => below.add(theirs),
                None => self.put(element, theirs),
            }
        }
    }

    /// Takes out the paths that are in the other or below one of its members.
    pub(crate) fn leave_out(&mut self, other: &Self) {
        for element in &other.members {
            self.members.remove(element);
            self.children.remove(element);
        }
        for (element, theirs) in &other.children {
            if let Some(below) = self.children.get_mut(element) {
                below.leave_out(theirs);
                if below.is_empty() {
                    self.children.remove(element);
                }
            }
        }
    }

    /// Paths of this set that are neither in the other nor below one of its members.
    #[must_use]
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut out = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (element, below) in &self.children {
            if !other.members.contains(element) {
                let rest = other
                    .children
                    .get(element)
                    .map_or_else(|| below.clone(), |o| below.without(o));
                out.put(element.clone(), rest);
            }
        }
        out
    }

    /// The set with every schema-declared field on the way to a member as a member too.
    pub(crate) fn with_named_parents(&self, shape: Shape<'_>) -> Self {
        let mut out = Self {
            members: self.members.clone(),
            ..Self::default()
        };
        for (element, below) in &self.children {
            if let PathElement::Field(name) = element
                && shape.declares(name)
            {
                out.members.insert(element.clone());
            }
            out.put(
                element.clone(),
                below.with_named_parents(shape.below(element)),
            );
        }
        out
    }

    /// The member paths as messages write them, in order; the first thousand where there are more.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect("", &mut out);
        out
    }

    fn collect(&self, prefix: &str, out: &mut Vec<String>) {
        let elements: BTreeSet<&PathElement> =
            self.members.iter().chain(self.children.keys()).collect();
        for element in elements {
            if out.len() >= MOST_TOLD {
                return;
            }
            let path = step(prefix, [&element.to_string(), "", ""]);
            if self.members.contains(element) {
                out.push(path.clone());
            }
            if let Some(below) = self.children.get(element) {
                below.collect(&path, out);
            }
        }
    }

    /// Reads `fieldsV1`.
    ///
    /// # Errors
    /// What is not an object of objects, or an element that cannot be read.
    pub(crate) fn decode(fields: &Value) -> Result<Self, String> {
        Self::read(fields, 0)
    }

    fn read(fields: &Value, depth: usize) -> Result<Self, String> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        let map = fields
            .as_object()
            .ok_or_else(|| "fieldsV1 must be an object".to_owned())?;
        let mut out = Self::default();
        for (key, below) in map {
            if key == "." {
                continue;
            }
            let Some(element) = PathElement::decode(key) else {
                if key
                    .split_once(':')
                    .is_some_and(|(kind, _)| !["f", "k", "v", "i"].contains(&kind))
                {
                    continue;
                }
                return Err(format!("missing or invalid path element {key:?}"));
            };
            let inner = Self::read(below, depth + 1)?;
            let member = below.get(".").is_some() || below.as_object().is_some_and(Map::is_empty);
            if member {
                out.members.insert(element.clone());
            }
            out.put(element, inner);
        }
        Ok(out)
    }

    /// The wire form.
    #[must_use]
    pub(crate) fn encode(&self) -> Value {
        let mut map = Map::new();
        let elements: BTreeSet<&PathElement> =
            self.members.iter().chain(self.children.keys()).collect();
        for element in elements {
            let below = self.children.get(element).filter(|below| !below.is_empty());
            let value = match (below, self.members.contains(element)) {
                (None, _) => json!({}),
                (Some(below), false) => below.encode(),
                (Some(below), true) => {
                    let mut own = Map::new();
                    own.insert(".".to_owned(), json!({}));
                    if let Value::Object(inner) = below.encode() {
                        own.extend(inner);
                    }
                    Value::Object(own)
                }
            };
            map.insert(element.encode(), value);
        }
        Value::Object(map)
    }
}
