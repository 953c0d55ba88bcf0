//! JSON as Go's strict decoder reads it: what stands twice or is no field is told by its path, each once and in the order of the text.
//! Where nobody knows the type the last of several wins; into the fields of a type each adds to the one before.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use objects::schema::Reading;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The key under which `serde_json` hands over a number that is no integer of 64 bits, where a crate of
/// the same build asks it to keep numbers as they are written.
const NUMBER: &str = "$serde_json::private::Number";

/// So much is told at most.
const MOST: usize = 100;

/// Parses a text from where `place` is; returns the value without what is no field, and what is odd about the text: `duplicate field
/// "spec.size"`.
pub(super) fn parse(
    bytes: &[u8],
    place: Reading<'_>,
) -> Result<(Value, Vec<String>), serde_json::Error> {
    let found = RefCell::new(Found::default());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let node = Node {
        place,
        before: None,
        found: &found,
    };
    let value = node.deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, found.into_inner().told))
}

/// What is odd so far.
#[derive(Default)]
struct Found {
    told: Vec<String>,
    seen: BTreeSet<String>,
}

impl Found {
    fn add(&mut self, what: &str, path: &str) {
        let text = format!("{what} field \"{path}\"");
        if self.told.len() < MOST && self.seen.insert(text.clone()) {
            self.told.push(text);
        }
    }
}

struct Node<'a> {
    place: Reading<'a>,
    /// What stood here before, where the value adds to it.
    before: Option<Value>,
    found: &'a RefCell<Found>,
}

impl<'a> Node<'a> {
    fn below(&self, place: Reading<'a>, before: Option<Value>) -> Self {
        Self {
            before: before.filter(|_| place.adds()),
            place,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        let stays = self.before.filter(|_| self.place.outlasts_null());
        Ok(stays.unwrap_or_default())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut before = match self.before.take() {
            Some(Value::Array(before)) => before.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut out = Vec::new();
        loop {
            let item = self.below(self.place.item(out.len()), before.next());
            match items.next_element_seed(item)? {
                Some(item) => out.push(item),
                None => return Ok(out.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut out = match self.before.take() {
            Some(Value::Object(before)) => before,
            _ => Map::new(),
        };
        let mut seen = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER && seen.is_empty() {
                return number(&entries.next_value::<String>()?);
            }
            let Some(place) = self.place.field(&key) else {
                let path = self.place.path_of(&key);
                self.found.borrow_mut().add("unknown", &path);
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen.contains(&key) && self.place.tells() {
                self.found.borrow_mut().add("duplicate", place.path());
            }
            let before = out.get_mut(&key).map(Value::take);
            let value = entries.next_value_seed(self.below(place, before))?;
            seen.insert(key.clone());
            out.insert(key, value);
        }
        Ok(out.into())
    }
}

/// A number as every client reads it: the nearest double.
fn number<E: Error>(text: &str) -> Result<Value, E> {
    let double: f64 = text
        .parse()
        .map_err(|_| E::custom(format!("{text:?} is no number")))?;
    if double.is_finite() {
        return Ok(double.into());
    }
    Err(E::custom(format!("number out of range: {text}")))
}

#[cfg(test)]
mod tests {
    use objects::schema::Reading;

    use super::parse;

    #[test]
    fn what_stands_often_is_told_once_and_before_what_is_in_it() {
        let text = br#"{"a":1,"b":{"x":1},"b":{"x":1,"x":2,"x":3},"a":2,"a":3}"#;
        let (value, odd) = parse(text, Reading::anything()).unwrap();
        assert_eq!(value, serde_json::json!({"a": 3, "b": {"x": 3}}));
        let told = ["b", "b.x", "a"].map(|path| format!("duplicate field \"{path}\""));
        assert_eq!(odd, told);
    }

    #[test]
    fn numbers_are_numbers_however_they_are_handed_over() {
        let text = br#"{"a":1.5,"b":[2e3,-0.25],"c":18446744073709551616,"d":7}"#;
        let (value, twice) = parse(text, Reading::anything()).unwrap();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(value["a"].as_f64(), Some(1.5));
        assert_eq!(value["b"][0].as_f64(), Some(2000.0));
        assert_eq!(value["b"][1].as_f64(), Some(-0.25));
        assert_eq!(value["c"].as_f64(), Some(18_446_744_073_709_551_616.0));
        assert_eq!(value["d"].as_i64(), Some(7));
        assert!(parse(b"[1e999]", Reading::anything()).is_err());
    }
}
