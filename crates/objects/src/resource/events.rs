//! Events have two groups and one store: what is written through one is read through the other.

use serde_json::Value;

use super::Converter;

/// Core name of a field, and its name in events.k8s.io.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns core events into those of events.k8s.io and back.
pub(super) struct Events;

impl Converter for Events {
    fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, String> {
        let root = object.as_object_mut().ok_or("an event is an object")?;
        let to_core = api_version == "v1";
        for (core, new) in NAMES {
            let (from, to) = if to_core { (new, core) } else { (core, new) };
            if let Some(value) = root.shift_remove(from) {
                root.insert(to.to_owned(), value);
            }
        }
        // Empty names are left out in events.k8s.io, and always there in the core group.
        let controller = if to_core {
            "reportingComponent"
        } else {
            "reportingController"
        };
        for name in [controller, "reportingInstance"] {
            if to_core {
                root.entry(name).or_insert_with(|| "".into());
            } else if root.get(name).and_then(Value::as_str) == Some("") {
                root.shift_remove(name);
            }
        }
        root.insert("apiVersion".to_owned(), api_version.into());
        Ok(object)
    }
}
