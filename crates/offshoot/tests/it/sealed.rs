//! Plans that a test writes, as `offshoot plan` would have written them.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A plan with its id: of what it says, keys in order.
pub(crate) fn sealed(mut plan: Value) -> Value {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let map: std::collections::BTreeMap<_, _> = map.iter().collect();
                map.into_iter()
                    .map(|(k, v)| (k.clone(), sorted(v)))
                    .collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    plan.as_object_mut().unwrap().remove("plan");
    let hash = Sha256::digest(sorted(&plan).to_string());
    plan["plan"] = hash
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<String>()
        .into();
    plan
}
