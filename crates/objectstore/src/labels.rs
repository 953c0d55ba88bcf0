//! An object's labels at rest: sorted pairs without a byte to spare. There is one for every object in memory, and a map's
//! smallest node is larger than most objects' labels together.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Labels in the order of their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSet(Box<[(Box<str>, Box<str>)]>);

impl LabelSet {
    /// A label's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(k, _)| k.as_ref().cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| value.as_ref())
    }
}

impl<'de> Deserialize<'de> for LabelSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // The map puts them in order; of a key that stands twice the last value counts.
        let map = BTreeMap::<Box<str>, Box<str>>::deserialize(from)?;
        Ok(Self(map.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::LabelSet;

    #[test]
    fn labels_are_found_whatever_their_order() {
        let text = r#"{"z":"1","a/b":"","m":"2","m":"3"}"#;
        let labels: LabelSet = serde_json::from_str(text).unwrap();
        let found = ["z", "a/b", "m", "n", ""].map(|key| labels.get(key));
        assert_eq!(found, [Some("1"), Some(""), Some("3"), None, None]);
        assert_eq!(LabelSet::default().get("a"), None);
    }
}
