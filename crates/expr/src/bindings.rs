//! The values of an expression's variables: texts, and maps of texts and maps.
//!
//! Maps iterate in the order of their keys: the library's own iterate in none, and an expression
//! that turned labels into a list would never come to rest.

use std::collections::BTreeMap;

use crate::sorted::{Bound, SortedMap};

/// What a variable can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A map by field or key.
    Map(BTreeMap<String, Self>),
}

impl Value {
    /// A map of texts, such as labels; absent labels are an empty map.
    pub fn texts<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        Self::Map(
            pairs
                .into_iter()
                .map(|(k, v)| (k.clone(), Self::Text(v.clone())))
                .collect(),
        )
    }

    /// An object as expressions see it: four fields and nothing else (R152).
    pub fn object<'a>(
        name: &str,
        namespace: &str,
        labels: impl IntoIterator<Item = (&'a String, &'a String)>,
        annotations: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Self {
        Self::Map(BTreeMap::from([
            ("name".to_owned(), Self::Text(name.to_owned())),
            ("namespace".to_owned(), Self::Text(namespace.to_owned())),
            ("labels".to_owned(), Self::texts(labels)),
            ("annotations".to_owned(), Self::texts(annotations)),
        ]))
    }

    /// The number of entries of its largest map.
    fn largest(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Map(map) => map
                .values()
                .map(Self::largest)
                .max()
                .unwrap_or(0)
                .max(map.len()),
        }
    }

    /// The length of its longest text.
    fn longest(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Map(map) => {
                let texts = map
                    .iter()
                    .map(|(key, value)| key.len().max(value.longest()));
                texts.max().unwrap_or(0)
            }
        }
    }

    fn bound(&self) -> Bound {
        match self {
            Self::Text(text) => Bound::Text(text.as_str().into()),
            Self::Map(map) => {
                let entries = map.iter().map(|(k, v)| (k.clone(), v.bound()));
                Bound::Map(SortedMap::new(entries))
            }
        }
    }
}

/// Values by variable. Cloning is cheap: values are shared, so that what many evaluations have in
/// common is converted once.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    values: BTreeMap<String, Bound>,
    largest: usize,
    longest: usize,
}

impl Bindings {
    /// Binds a variable.
    pub fn set(&mut self, name: &str, value: &Value) {
        self.largest = self.largest.max(value.largest());
        self.longest = self.longest.max(value.longest());
        self.values.insert(name.to_owned(), value.bound());
    }

    /// The number of entries of the largest map.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// The length of the longest text.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Bound)> {
        self.values.iter()
    }
}
