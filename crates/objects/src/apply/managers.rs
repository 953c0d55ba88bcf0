//! `metadata.managedFields` as a table of managers, read leniently and written in order.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::set::FieldSet;

/// More updating managers than this are merged, oldest first, into one.
const MAX_UPDATERS: usize = 10;

/// Who owns something. Appliers are one whatever version they use; updaters differ by version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) applies: bool,
    /// Empty for appliers.
    pub(crate) version: String,
    pub(crate) subresource: String,
}

impl Manager {
    pub(crate) fn new(name: &str, applies: bool, version: &str, subresource: &str) -> Self {
        Self {
            name: if name.is_empty() {
                "unknown".to_owned()
            } else {
                name.to_owned()
            },
            applies,
            version: if applies {
                String::new()
            } else {
                version.to_owned()
            },
            subresource: subresource.to_owned(),
        }
    }
}

/// What a manager owns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Owned {
    pub(crate) fields: FieldSet,
    pub(crate) version: String,
    pub(crate) time: Option<String>,
}

/// All managers of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Managers {
    pub(crate) owners: BTreeMap<Manager, Owned>,
}

impl Managers {
    /// Reads the entries of an object.
    ///
    /// # Errors
    /// The first entry that cannot be understood.
    pub(crate) fn read(object: &Value) -> Result<Self, String> {
        let mut owners = BTreeMap::new();
        let entries = object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let applies = match text("operation") {
                "Apply" => true,
                "Update" => false,
                other => {
                    return Err(format!(
                        "operation must be `Apply` or `Update`, not {other:?}"
                    ));
                }
            };
            if !matches!(text("fieldsType"), "FieldsV1" | "") {
                return Err(format!("unsupported fieldsType: {}", text("fieldsType")));
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::default(),
                Some(fields) => FieldSet::decode(fields)?,
            };
            let manager = Manager::new(
                text("manager"),
                applies,
                text("apiVersion"),
                text("subresource"),
            );
            let time = Some(text("time").to_owned()).filter(|t| !t.is_empty());
            let owned = Owned {
                fields,
                version: text("apiVersion").to_owned(),
                time,
            };
            owners.insert(manager, owned);
        }
        Ok(Self { owners })
    }

    /// What a write starts from: the entries that it sends, or the live ones where it sends none (or nonsense).
    /// No entry (`[]`) or a single empty one (`[{}]`) clears them all.
    pub(crate) fn start(live: Option<&Value>, new: &Value, subresource: bool) -> Self {
        let stored = || live.and_then(|l| Self::read(l).ok()).unwrap_or_default();
        if subresource {
            return stored();
        }
        let sent = new
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array);
        let blank = |entry: &Value| {
            let members = entry.as_object();
            members.is_some_and(|m| m.values().all(Value::is_null))
        };
        match sent.map(Vec::as_slice) {
            Some([]) => return Self::default(),
            Some([one]) if blank(one) => return Self::default(),
            _ => {}
        }
        match Self::read(new) {
            Ok(managers) if !managers.owners.is_empty() => managers,
            _ => stored(),
        }
    }

    /// Drops managers who own nothing.
    pub(crate) fn tidy(&mut self) {
        self.owners.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Merges the oldest updaters of a version into `ancient-changes` while there are too many.
    pub(crate) fn cap(&mut self) {
        let mut updaters: Vec<Manager> =
            self.owners.keys().filter(|m| !m.applies).cloned().collect();
        let mut count = updaters.len();
        if count <= MAX_UPDATERS {
            return;
        }
        let time = |m: &Manager| self.owners.get(m).and_then(|o| o.time.clone());
        updaters.sort_by_cached_key(|m| (time(m), m.clone()));
        let mut first: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in updaters {
            if count <= MAX_UPDATERS {
                break;
            }
            // The first of a version keeps its name until a second one joins it: merged with nobody it would only be forgotten.
            let Some(start) = first.get(&manager.version).cloned() else {
                first.insert(manager.version.clone(), manager);
                continue;
            };
            let bucket = Manager::new("ancient-changes", false, &manager.version, "");
            if !self.owners.contains_key(&bucket)
                && let Some(owned) = self.owners.remove(&start)
            {
                self.owners.insert(bucket.clone(), owned);
            }
            if let Some(owned) = self.owners.remove(&manager)
                && let Some(all) = self.owners.get_mut(&bucket)
            {
                all.fields = all.fields.union(&owned.fields);
                all.time = owned.time;
            }
            count -= 1;
        }
    }

    /// Writes the entries into an object, ordered by operation, time, manager, version and subresource.
    pub(crate) fn write(&self, object: &mut Value) {
        let Some(map) = object.as_object_mut() else {
            return;
        };
        let metadata = map.entry("metadata").or_insert_with(|| json!({}));
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        if self.owners.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut owners: Vec<(&Manager, &Owned)> = self.owners.iter().collect();
        owners.sort_by_key(|(m, o)| (!m.applies, &o.time, &m.name, &o.version, &m.subresource));
        let entries: Vec<Value> = owners.into_iter().map(|(m, o)| entry(m, o)).collect();
        metadata.insert("managedFields".to_owned(), Value::from(entries));
    }
}

fn entry(manager: &Manager, owned: &Owned) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("apiVersion", Value::from(owned.version.as_str()));
    put("fieldsType", Value::from("FieldsV1"));
    put("fieldsV1", owned.fields.encode());
    put("manager", Value::from(manager.name.as_str()));
    put(
        "operation",
        Value::from(if manager.applies { "Apply" } else { "Update" }),
    );
    if !manager.subresource.is_empty() {
        put("subresource", Value::from(manager.subresource.as_str()));
    }
    if let Some(time) = &owned.time {
        put("time", Value::from(time.as_str()));
    }
    Value::Object(out)
}

/// Whether two objects are equal apart from their versions and the times of their managedFields, in which case a write
/// is a no-op. The order of the entries follows from their times: where a newer one moves, the real server writes.
#[must_use]
pub(crate) fn same_but_times(a: &Value, b: &Value) -> bool {
    let (Some(x), Some(y)) = (a.as_object(), b.as_object()) else {
        return a == b;
    };
    alike(x, y, &["metadata"])
        && metadata_alike(x.get("metadata"), y.get("metadata"))
        && owners_alike(a, b)
}

/// Whether two maps are equal, some keys apart.
fn alike(a: &Map<String, Value>, b: &Map<String, Value>, apart: &[&str]) -> bool {
    let counts = |key: &&String| !apart.contains(&key.as_str());
    a.keys().filter(counts).count() == b.keys().filter(counts).count()
        && a.iter()
            .filter(|(key, _)| counts(key))
            .all(|(key, value)| b.get(key) == Some(value))
}

fn metadata_alike(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.and_then(Value::as_object), b.and_then(Value::as_object)) {
        (Some(a), Some(b)) => alike(a, b, &["managedFields", "resourceVersion"]),
        _ => a == b,
    }
}

fn owners_alike(a: &Value, b: &Value) -> bool {
    let (a, b) = (entries(a), entries(b));
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| match (a.as_object(), b.as_object()) {
                (Some(a), Some(b)) => alike(a, b, &["time"]),
                _ => a == b,
            })
}

fn entries(object: &Value) -> &[Value] {
    let list = object.pointer("/metadata/managedFields");
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
