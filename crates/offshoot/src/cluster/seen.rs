//! Objects of ours and namespaces as watches and own writes told them last: what is at least as new as whatever the engine
//! heard needs no request.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use super::remote::version_of;

/// Plural, namespace and name.
type SeenKey = (String, String, String);

/// The last state of each object; where it is gone, the version of that.
#[derive(Debug, Default)]
pub(super) struct Seen {
    all: Mutex<HashMap<SeenKey, Arc<Value>>>,
    leaving: watch::Sender<BTreeSet<String>>,
}

impl Seen {
    /// Takes a state, unless a newer one is known.
    pub(super) fn put(&self, plural: &str, object: Value) -> Arc<Value> {
        let text = |field| api::str_at(&object, &["metadata", field]).unwrap_or_default();
        let place = (
            plural.to_owned(),
            text("namespace").to_owned(),
            text("name").to_owned(),
        );
        let object = Arc::new(object);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&place) {
            Some(known) if version_of(known) > version_of(&object) => {}
            _ => {
                all.insert(place, Arc::clone(&object));
            }
        }
        object
    }

    /// An object is gone: what was known of it at this version or before.
    pub(super) fn remove(&self, plural: &str, (namespace, name): (&str, &str), version: u64) {
        let place = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all
            .get(&place)
            .is_some_and(|known| version_of(known) <= version)
        {
            all.remove(&place);
        }
    }

    /// A list at a version: what it lacks is gone, unless it was seen later.
    pub(super) fn retain(&self, plural: &str, version: u64, listed: &[Value]) {
        let names: std::collections::HashSet<(&str, &str)> = listed
            .iter()
            .map(|object| {
                let text = |field| api::str_at(object, &["metadata", field]).unwrap_or_default();
                (text("namespace"), text("name"))
            })
            .collect();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(of, namespace, name), known| {
            of != plural
                || version_of(known) > version
                || names.contains(&(namespace.as_str(), name.as_str()))
        });
    }

    /// Which namespaces are on their way out.
    pub(super) fn leaving(&self) -> &watch::Sender<BTreeSet<String>> {
        &self.leaving
    }

    /// What is known under a name.
    pub(super) fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let place = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&place).cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "shop", "resourceVersion": version}})
    }

    #[test]
    fn a_late_message_undoes_nothing() {
        let seen = Seen::default();
        seen.put("things", object("a", "7"));
        seen.put("things", object("a", "5"));
        let version = |name| seen.get("things", "shop", name).map(|o| version_of(&o));
        assert_eq!(version("a"), Some(7));
        seen.remove("things", ("shop", "a"), 6);
        assert_eq!(version("a"), Some(7), "it was made anew since");
        seen.put("things", object("b", "9"));
        seen.retain("things", 8, &[]);
        assert_eq!((version("a"), version("b")), (None, Some(9)));
        seen.remove("things", ("shop", "b"), 9);
        assert_eq!(version("b"), None);
    }
}
