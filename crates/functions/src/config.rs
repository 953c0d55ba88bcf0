//! Function configurations: what the catalog's functions accept.

use yaml::owned::Value;

use crate::Item;

/// A function's configuration, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Config<'c>(pub(crate) Option<&'c Value>);

impl<'c> Config<'c> {
    fn text(&self, path: &[&str]) -> &'c str {
        self.0
            .and_then(|value| value.lookup(path)?.text())
            .unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> &'c str {
        self.text(&["kind"])
    }

    pub(crate) fn api_version(&self) -> &'c str {
        self.text(&["apiVersion"])
    }

    pub(crate) fn name(&self) -> &'c str {
        self.text(&["metadata", "name"])
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_absent(&self) -> bool {
        self.0
            .is_none_or(|value| value.is_null() || value.as_map().is_some_and(|map| map.is_empty()))
    }

    pub(crate) fn is_config_map(&self) -> bool {
        self.kind() == "ConfigMap" && self.api_version() == "v1"
    }

    pub(crate) fn is(&self, api_version: &str, kind: &str) -> bool {
        self.kind() == kind && self.api_version() == api_version
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'c Value> {
        self.0?.get(key)
    }

    /// A key of a ConfigMap's data, as text.
    pub(crate) fn data(&self, key: &str) -> Option<&'c str> {
        self.0?.get("data")?.get(key)?.text()
    }

    /// The ConfigMap's data in the order written; scalars as their text.
    pub(crate) fn data_pairs(&self) -> Vec<(String, String)> {
        self.get("data").map(pairs).unwrap_or_default()
    }

    /// The configuration as a resource, so that results can name it.
    pub(crate) fn item(&self) -> Option<Item> {
        Some(Item::made(self.0?.clone()))
    }
}

/// A mapping of texts, in the order written; nulls are empty, collections are left out.
pub(crate) fn pairs(value: &Value) -> Vec<(String, String)> {
    let Some(map) = value.as_map() else {
        return Vec::new();
    };
    map.iter()
        .filter_map(|(key, value)| {
            let text = if value.is_null() { "" } else { value.text()? };
            Some((key.to_owned(), text.to_owned()))
        })
        .collect()
}

/// The same, sorted by key.
pub(crate) fn sorted_pairs(value: &Value) -> Vec<(String, String)> {
    let mut pairs = pairs(value);
    pairs.sort();
    pairs
}
