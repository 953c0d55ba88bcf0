//! Texts that are JSON, YAML or TOML stay so (M21).
//!
//! A merge by lines knows nothing of what the lines mean. A text that every side could be read as, and that cannot be
//! read any more, or holds a field twice, is no result.

use crate::values::undecidable;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use yaml::{Limits, NodeKind, Stream};

/// Whether texts can still be read as whatever all of the sides could be read as.
pub(crate) fn stays_readable(sides: [&str; 3], results: [&str; 2]) -> bool {
    let formats: [fn(&str) -> bool; 3] = [is_json, is_yaml, is_toml];
    formats
        .into_iter()
        .all(|reads| !sides.into_iter().all(reads) || results.into_iter().all(reads))
}

fn is_json(text: &str) -> bool {
    let mut reader = serde_json::Deserializer::from_str(text);
    text.trim_start().starts_with(['{', '['])
        && Unique.deserialize(&mut reader).is_ok()
        && reader.end().is_ok()
}

/// Documents of fields or items; a plain text is no YAML to speak of.
fn is_yaml(text: &str) -> bool {
    let Ok(stream) = Stream::parse(text, &Limits::default()) else {
        return false;
    };
    let structured = |kind| matches!(kind, NodeKind::Mapping | NodeKind::Sequence);
    !stream.is_empty()
        && stream.documents().all(|document| {
            let root = document.root();
            structured(root.kind()) && !undecidable(root)
        })
}

fn is_toml(text: &str) -> bool {
    text.contains('=') && text.parse::<toml::Table>().is_ok()
}

/// Reads JSON whose objects hold no key twice, and keeps nothing.
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = std::collections::BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !keys.insert(key) {
                return Err(A::Error::custom("a key stands twice"));
            }
            map.next_value_seed(Self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}
