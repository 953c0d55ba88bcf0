//! The values of an expression's variables: texts, and maps of texts and maps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

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

    /// An object as expressions see it: four fields and nothing else (variant-semantics.md R152).
    pub fn object(
        name: &str,
        namespace: &str,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
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

    fn cel(&self) -> cel::Value {
        match self {
            Self::Text(text) => cel::Value::String(Arc::new(text.clone())),
            Self::Map(map) => {
                let map: HashMap<cel::objects::Key, cel::Value> = map
                    .iter()
                    .map(|(k, v)| (cel::objects::Key::String(Arc::new(k.clone())), v.cel()))
                    .collect();
                cel::Value::Map(cel::objects::Map { map: Arc::new(map) })
            }
        }
    }
}

/// Values by variable. Cloning is cheap: values are shared, so that what many evaluations have in
/// common is converted once.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    values: BTreeMap<String, cel::Value>,
    largest: usize,
}

impl Bindings {
    /// Binds a variable.
    pub fn set(&mut self, name: &str, value: &Value) {
        self.largest = self.largest.max(value.largest());
        self.values.insert(name.to_owned(), value.cel());
    }

    /// The number of entries of the largest map.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &cel::Value)> {
        self.values.iter()
    }
}
