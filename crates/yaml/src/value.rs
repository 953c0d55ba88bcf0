//! Values without a text: what an edit writes and what a node is compared with.

use std::collections::BTreeMap;

/// A value. Mappings keep the order in which they were given; equality does not look at it.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond `i64`.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(String),
    /// A sequence.
    Seq(Vec<Self>),
    /// A mapping, with each key once.
    Map(Vec<(String, Self)>),
}

impl Value {
    /// An empty mapping.
    #[must_use]
    pub fn map() -> Self {
        Self::Map(Vec::new())
    }

    /// The value under a key of a mapping.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?
            .iter()
            .find_map(|(k, v)| (k == key).then_some(v))
    }

    /// The entries of a mapping.
    #[must_use]
    pub fn as_map(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a sequence.
    #[must_use]
    pub fn as_seq(&self) -> Option<&[Self]> {
        match self {
            Self::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether collections lie deeper inside each other than this.
    pub(crate) fn deeper_than(&self, depth: usize) -> bool {
        let mut open = vec![(self, 0)];
        while let Some((value, level)) = open.pop() {
            if level > depth {
                return true;
            }
            match value {
                Self::Seq(items) => open.extend(items.iter().map(|item| (item, level + 1))),
                Self::Map(entries) => {
                    open.extend(entries.iter().map(|(_, value)| (value, level + 1)));
                }
                _ => {}
            }
        }
        false
    }

    /// The same value for JSON; `None` when it holds a number that JSON cannot write.
    #[must_use]
    pub fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => (*i).into(),
            Self::UInt(u) => (*u).into(),
            Self::Float(f) => serde_json::Value::Number(serde_json::Number::from_f64(*f)?),
            Self::Str(s) => s.clone().into(),
            Self::Seq(items) => {
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.push(item.to_json()?);
                }
                serde_json::Value::Array(array)
            }
            Self::Map(entries) => {
                let mut object = serde_json::Map::with_capacity(entries.len());
                for (key, value) in entries {
                    object.insert(key.clone(), value.to_json()?);
                }
                serde_json::Value::Object(object)
            }
        })
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Int(a), Self::UInt(b)) | (Self::UInt(b), Self::Int(a)) => {
                u64::try_from(*a).is_ok_and(|a| a == *b)
            }
            (Self::Float(a), Self::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Seq(a), Self::Seq(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                if a.iter().zip(b).all(|((key, _), (other, _))| key == other) {
                    return a
                        .iter()
                        .zip(b)
                        .all(|((_, value), (_, other))| value == other);
                }
                let index: BTreeMap<&str, &Self> = b.iter().map(|(k, v)| (k.as_str(), v)).collect();
                a.iter()
                    .all(|(key, value)| index.get(key.as_str()) == Some(&value))
            }
            _ => false,
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(b) => Self::Bool(b),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Self::Int(int),
                (None, Some(int)) => Self::UInt(int),
                (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Self::Str(text),
            serde_json::Value::Array(items) => {
                Self::Seq(items.into_iter().map(Self::from).collect())
            }
            serde_json::Value::Object(entries) => Self::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, value.into()))
                    .collect(),
            ),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Seq(items.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Self>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}
