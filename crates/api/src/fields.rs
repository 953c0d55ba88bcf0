//! Reading JSON values field by field, with the path of whatever is wrong.

use model::{Pairs, Problem, RevisionNumber};
use serde_json::{Map, Value};

/// The text at this path of keys.
pub fn str_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The mapping at this path of keys.
pub fn object_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Map<String, Value>> {
    at(value, path)?.as_object()
}

pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |v, key| v.get(key))
}

/// One mapping of an input, its path, and the problems found so far.
pub(crate) struct FieldReader<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(value: &'a Value, path: impl Into<String>) -> Self {
        Self {
            value,
            path: path.into(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn field(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(crate) fn raw(&self, key: &str) -> Option<&'a Value> {
        self.value.get(key).filter(|v| !v.is_null())
    }

    /// A nested mapping; absent, null and wrong types read as empty.
    pub(crate) fn child(&self, key: &str) -> Option<Self> {
        self.raw(key)
            .map(|value| FieldReader::new(value, self.field(key)))
    }

    /// A non-empty text.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.raw(key)
            .and_then(Value::as_str)
            .filter(|s| !s.is_empty())
    }

    pub(crate) fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// The keys that are given.
    pub(crate) fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let entries = self.value.as_object().into_iter().flatten();
        entries
            .filter(|(_, v)| !v.is_null())
            .map(|(k, _)| k.clone())
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.raw(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn int(&self, key: &str) -> Option<i64> {
        self.raw(key).and_then(Value::as_i64)
    }

    /// A number that counts something; none where it is absent or negative.
    pub(crate) fn count(&self, key: &str) -> usize {
        let count = self.int(key).and_then(|n| usize::try_from(n).ok());
        count.unwrap_or_default()
    }

    /// A mapping of texts; numbers and flags are read as they are written.
    pub(crate) fn strings(&self, key: &str) -> Pairs {
        self.pairs(key).into_iter().collect()
    }

    /// A mapping of texts in the order written.
    pub(crate) fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let entries = self.raw(key).and_then(Value::as_object);
        entries
            .into_iter()
            .flatten()
            .map(|(k, v)| {
                (
                    k.clone(),
                    v.as_str().map_or_else(|| v.to_string(), str::to_owned),
                )
            })
            .collect()
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let items = self.raw(key).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect()
    }

    /// A list, or a single mapping as a list of one (A3).
    pub(crate) fn one_or_many(&self, key: &str) -> Vec<Self> {
        match self.raw(key) {
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(i, item)| FieldReader::new(item, format!("{}[{i}]", self.field(key))))
                .collect(),
            Some(single @ Value::Object(_)) => {
                vec![FieldReader::new(single, format!("{}[0]", self.field(key)))]
            }
            _ => Vec::new(),
        }
    }

    /// A list of mappings.
    pub(crate) fn list(&self, key: &str) -> Vec<Self> {
        match self.raw(key) {
            Some(Value::Array(_)) => self.one_or_many(key),
            _ => Vec::new(),
        }
    }
}

/// Reads a name, noting what is wrong with it.
pub(crate) fn name<T>(
    problems: &mut Vec<Problem>,
    field: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, model::NameError>,
) -> Option<T> {
    match parse(text) {
        Ok(name) => Some(name),
        Err(error) => {
            let what = match text {
                "" => format!("{field} must not be empty"),
                _ => format!("{field}: Invalid value: {text:?}: {}", error.law),
            };
            problems.push(Problem::new(field, what));
            None
        }
    }
}

/// An object of these parts, which are moved into it: `json!` copies whatever is given to it, and a part of a
/// part once for each level.
pub fn object_of<const N: usize>(parts: [(&str, Value); N]) -> Value {
    let parts = parts.into_iter();
    Value::Object(parts.map(|(key, part)| (key.to_owned(), part)).collect())
}

/// Puts a text unless it is empty.
pub(crate) fn put(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), text.into());
    }
}

/// Puts a revision's number unless it has none (A4a).
pub(crate) fn put_number(map: &mut Map<String, Value>, key: &str, number: RevisionNumber) {
    if number != RevisionNumber::NONE {
        map.insert(key.to_owned(), number.0.into());
    }
}

/// Puts a mapping of texts unless it is empty.
pub(crate) fn put_strings<'m>(
    map: &mut Map<String, Value>,
    key: &str,
    from: impl IntoIterator<Item = (&'m String, &'m String)>,
) {
    let entries = from.into_iter();
    let entries: Map<String, Value> = entries
        .map(|(k, v)| (k.clone(), v.clone().into()))
        .collect();
    if !entries.is_empty() {
        map.insert(key.to_owned(), Value::Object(entries));
    }
}

/// Puts a list unless it is empty.
pub(crate) fn put_list(map: &mut Map<String, Value>, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        map.insert(key.to_owned(), Value::Array(items));
    }
}
