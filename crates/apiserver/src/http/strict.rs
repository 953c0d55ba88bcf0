//! JSON with an eye on duplicate keys: the last one wins, and each is reported by its path.

use std::cell::RefCell;
use std::fmt;

use objects::schema::{child, index};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The key under which `serde_json` hands over a number that is no integer of 64 bits, where a crate of
/// the same build asks it to keep numbers as they are written.
const NUMBER: &str = "$serde_json::private::Number";

/// So many duplicates are told at most.
const MOST: usize = 1_000;

/// Parses a text; returns the value and the paths of keys that stand twice, in the order of the text.
pub(super) fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let found = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Node {
        path: String::new(),
        found: &found,
    }
    .deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, found.into_inner()))
}

struct Node<'a> {
    path: String,
    found: &'a RefCell<Vec<String>>,
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
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        loop {
            let path = index(&self.path, out.len());
            match items.next_element_seed(Node {
                path,
                found: self.found,
            })? {
                Some(item) => out.push(item),
                None => return Ok(out.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER && out.is_empty() {
                return number(&entries.next_value::<String>()?);
            }
            let path = child(&self.path, &key);
            let twice = out.contains_key(&key).then(|| path.clone());
            let value = entries.next_value_seed(Node {
                path,
                found: self.found,
            })?;
            if let Some(path) = twice {
                let mut found = self.found.borrow_mut();
                if found.len() < MOST {
                    found.push(path);
                }
            }
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
    use super::parse;

    #[test]
    fn numbers_are_numbers_however_they_are_handed_over() {
        let text = br#"{"a":1.5,"b":[2e3,-0.25],"c":18446744073709551616,"d":7}"#;
        let (value, twice) = parse(text).unwrap();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(value["a"].as_f64(), Some(1.5));
        assert_eq!(value["b"][0].as_f64(), Some(2000.0));
        assert_eq!(value["b"][1].as_f64(), Some(-0.25));
        assert_eq!(value["c"].as_f64(), Some(18_446_744_073_709_551_616.0));
        assert_eq!(value["d"].as_i64(), Some(7));
        assert!(parse(b"[1e999]").is_err());
    }
}
