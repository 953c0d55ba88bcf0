//! Elements of field paths and their wire form (`f:name`, `k:{…}`, `v:…`, `i:0`).

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::sorted_json;

/// One step of a field path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PathElement {
    /// A field of an object or a key of a map.
    Field(String),
    /// An item of a list map, by its keys in alphabetical order.
    Key(Vec<(String, Value)>),
    /// An item of a set.
    Value(Value),
    /// An item by position; read, never written.
    Index(u64),
}

impl PathElement {
    /// The element for the field `name`.
    #[must_use]
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Reads the wire form; none for what is unknown (and is then ignored).
    #[must_use]
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::field(rest)),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            "k" => {
                let map: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let mut keys: Vec<(String, Value)> = map.into_iter().collect();
                keys.sort_by(|a, b| a.0.cmp(&b.0));
                (!keys.is_empty()).then_some(Self::Key(keys))
            }
            _ => None,
        }
    }

    /// The wire form.
    #[must_use]
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", sorted_json(value)),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(keys) => {
                let map: Map<String, Value> = keys.iter().cloned().collect();
                format!("k:{}", sorted_json(&Value::Object(map)))
            }
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Eq for PathElement {}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b.iter());
                let order = pairs.map(|(a, b)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
                order
                    .fold(Ordering::Equal, Ordering::then)
                    .then(a.len().cmp(&b.len()))
            }
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An order of JSON values: by kind, then numbers by size and the rest by text.
fn compare(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x
                .as_f64()
                .unwrap_or_default()
                .total_cmp(&y.as_f64().unwrap_or_default()),
        },
        _ => rank(a)
            .cmp(&rank(b))
            .then_with(|| sorted_json(a).cmp(&sorted_json(b))),
    }
}

/// As messages write it: `.name`, `[port=80,protocol="TCP"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={}]", sorted_json(value)),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(keys) => {
                let parts: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={}", sorted_json(value)))
                    .collect();
                write!(f, "[{}]", parts.join(","))
            }
        }
    }
}
