//! Which fields of which resources change.

use std::collections::BTreeMap;

use model::{File, PackagePath};
use yaml::{Limits, Node, Reader, Stream, Value};

use super::inputs::{Inputs, TextWithInputs};
use crate::place::{FieldPath, PathStep};
use crate::values::holds_secret;

/// A field that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The resource: group, kind and name, as in `apps/Deployment/web`.
    pub resource: TextWithInputs,
    /// The field: the text form of its path.
    pub path: TextWithInputs,
    /// What stood there; `None` for nothing.
    pub before: Option<Held>,
    /// What stands there then.
    pub after: Option<Held>,
    /// Whether nobody may see the values: they are a Secret's.
    pub secret: bool,
}

impl FieldChange {
    /// Shows every text of it.
    pub(super) fn each(&self, see: &mut impl FnMut(&TextWithInputs)) {
        see(&self.resource);
        see(&self.path);
        let held = self.before.iter().chain(&self.after);
        held.for_each(|held| see(&held.template));
    }
}

/// A field's value, with inputs replaced in its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whether it is a text: then the template is that text, otherwise it is JSON.
    pub text: bool,
    /// What it says.
    pub template: TextWithInputs,
}

impl Held {
    fn of(value: &Value, inputs: &Inputs) -> Option<Self> {
        if let Value::Str(text) = value {
            return Some(Self {
                text: true,
                template: TextWithInputs::of(text, inputs),
            });
        }
        let mut template = TextWithInputs::default();
        json(&value.to_json()?, inputs, &mut template);
        Some(Self {
            text: false,
            template,
        })
    }

    /// The value for a target.
    pub(super) fn value(&self, inputs: &Inputs) -> Option<Value> {
        let filled = self.template.fill(inputs)?;
        if self.text {
            return Some(Value::Str(filled));
        }
        let json: serde_json::Value = serde_json::from_str(&filled).ok()?;
        Some(of_json(&json))
    }
}

fn of_json(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
            (Some(i), ..) => Value::Int(i),
            (_, Some(u), _) => Value::UInt(u),
            (.., f) => Value::Float(f.unwrap_or_default()),
        },
        serde_json::Value::String(text) => Value::Str(text.clone()),
        serde_json::Value::Array(items) => Value::Seq(items.iter().map(of_json).collect()),
        serde_json::Value::Object(map) => {
            Value::Map(map.iter().map(|(k, v)| (k.clone(), of_json(v))).collect())
        }
    }
}

/// JSON in which only texts have inputs: a token has no character that JSON writes otherwise.
fn json(value: &serde_json::Value, inputs: &Inputs, into: &mut TextWithInputs) {
    match value {
        serde_json::Value::String(text) => {
            into.literal("\"");
            for part in TextWithInputs::of(text, inputs).0 {
                match part {
                    super::TextPart::Literal(text) => {
                        let quoted = serde_json::Value::String(text).to_string();
                        into.literal(quoted.unquoted());
                    }
                    input @ super::TextPart::Input(_) => into.extend(TextWithInputs(vec![input])),
                }
            }
            into.literal("\"");
        }
        serde_json::Value::Array(items) => {
            into.literal("[");
            for (at, item) in items.iter().enumerate() {
                into.literal(if at > 0 { "," } else { "" });
                json(item, inputs, into);
            }
            into.literal("]");
        }
        serde_json::Value::Object(map) => {
            into.literal("{");
            for (at, (key, value)) in map.iter().enumerate() {
                into.literal(if at > 0 { "," } else { "" });
                into.literal(&serde_json::Value::String(key.clone()).to_string());
                into.literal(":");
                json(value, inputs, into);
            }
            into.literal("}");
        }
        other => into.literal(&other.to_string()),
    }
}

/// Without the quotes of JSON.
trait Unquoted {
    fn unquoted(&self) -> &str;
}

impl Unquoted for String {
    fn unquoted(&self) -> &str {
        let inner = self.strip_prefix('"').unwrap_or(self);
        inner.strip_suffix('"').unwrap_or(inner)
    }
}

/// How a resource is named: group, kind, and name, with its namespace where it says one.
pub(super) fn resource_name(root: &Node<'_>) -> String {
    let text = |path: &[&str]| {
        let node = root.find(&yaml::Path::keys(path.iter().copied()));
        node.and_then(|n| n.as_str()).unwrap_or_default()
    };
    let version = text(&["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let places = [
        group,
        text(&["kind"]),
        text(&["metadata", "namespace"]),
        text(&["metadata", "name"]),
    ];
    let named: Vec<&str> = places.into_iter().filter(|p| !p.is_empty()).collect();
    named.join("/")
}

fn is_yaml(path: &PackagePath) -> bool {
    let name = path.file_name();
    name == crate::kptfile::FILE_NAME || name.ends_with(".yaml") || name.ends_with(".yml")
}

/// The documents of a file, where it is YAML that can be read.
fn parsed(path: &PackagePath, file: &File) -> Option<Stream> {
    let text = file.as_text().filter(|_| is_yaml(path))?;
    Stream::parse(text, &Limits::default()).ok()
}

/// The resources of a file.
pub(super) fn resources(path: &PackagePath, file: &File, inputs: &Inputs) -> Vec<TextWithInputs> {
    let Some(stream) = parsed(path, file) else {
        return Vec::new();
    };
    let names = stream.documents().map(|d| resource_name(&d.root()));
    names
        .filter(|name| !name.is_empty())
        .map(|name| TextWithInputs::of(&name, inputs))
        .collect()
}

/// The fields of a file's resources with what they hold, but for what names each resource.
pub fn leaves(
    path: &PackagePath,
    file: &File,
    inputs: &Inputs,
) -> Vec<(TextWithInputs, TextWithInputs, Held)> {
    let Some(stream) = parsed(path, file) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for document in stream.documents().filter(|d| !d.is_empty()) {
        let Ok(value) = document.to_value(Reader::V3) else {
            continue;
        };
        let resource = TextWithInputs::of(&resource_name(&document.root()), inputs);
        let mut found = Vec::new();
        leaf(&FieldPath::default(), &value, &mut found);
        for (path, value) in found {
            if !names(&path)
                && let Some(held) = Held::of(value, inputs)
            {
                all.push((
                    resource.clone(),
                    TextWithInputs::of_path(&path, inputs),
                    held,
                ));
            }
        }
    }
    all
}

/// Whether a field is part of a resource's name.
fn names(path: &FieldPath) -> bool {
    let named = ["apiVersion", "kind", "metadata.name", "metadata.namespace"];
    named.contains(&path.to_string().as_str())
}

fn leaf<'v>(path: &FieldPath, value: &'v Value, found: &mut Vec<(FieldPath, &'v Value)>) {
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                leaf(&path.field(key), value, found);
            }
        }
        Value::Seq(items) => match elements(items) {
            Some((key, named)) => {
                for (name, value) in named.iter() {
                    let step = PathStep::Element(vec![(key.to_owned(), (*name).to_owned())]);
                    leaf(&path.join(step), value, found);
                }
            }
            None => found.push((path.clone(), value)),
        },
        _ => found.push((path.clone(), value)),
    }
}

/// Both texts of a file, where they are YAML that can be read.
pub(super) fn both(path: &PackagePath, old: &str, new: &str) -> Option<(Stream, Stream)> {
    if !is_yaml(path) {
        return None;
    }
    let parse = |text: &str| Stream::parse(text, &Limits::default()).ok();
    Some((parse(old)?, parse(new)?))
}

/// The fields that change between two texts; `None` where that cannot be told.
pub(super) fn of(old: &Stream, new: &Stream, inputs: &Inputs) -> Option<Vec<FieldChange>> {
    let (before, after) = (documents(old)?, documents(new)?);
    let mut changes = Vec::new();
    for (name, old) in before.iter() {
        let Some(new) = after.get(name) else { continue };
        let resource = TextWithInputs::of(name, inputs);
        let mut found = Vec::new();
        compare(&FieldPath::default(), old, new, &mut found);
        let secret = holds_secret(old) || holds_secret(new);
        for (path, before, after) in found {
            let held = |value: Option<&Value>| value.map(|value| Held::of(value, inputs));
            changes.push(FieldChange {
                resource: resource.clone(),
                path: TextWithInputs::of_path(&path, inputs),
                before: held(before).map_or(Some(None), |h| h.map(Some))?,
                after: held(after).map_or(Some(None), |h| h.map(Some))?,
                secret,
            });
        }
    }
    Some(changes)
}

/// Documents by the names of their resources; `None` where two have one name.
fn documents(stream: &Stream) -> Option<Named<String, Value>> {
    let documents = stream.documents().filter(|d| !d.is_empty());
    Named::of(documents.map(|document| {
        let value = document.to_value(Reader::V3).ok()?;
        Some((resource_name(&document.root()), value))
    }))
}

type Found<'v> = Vec<(FieldPath, Option<&'v Value>, Option<&'v Value>)>;

fn compare<'v>(path: &FieldPath, old: &'v Value, new: &'v Value, found: &mut Found<'v>) {
    if same(old, new) {
        return;
    }
    match (old, new) {
        (Value::Map(a), Value::Map(b)) => {
            for (key, value) in a {
                let path = path.field(key);
                match new.get(key) {
                    Some(new) => compare(&path, value, new, found),
                    None => found.push((path, Some(value), None)),
                }
            }
            for (key, value) in b {
                if old.get(key).is_none() {
                    found.push((path.field(key), None, Some(value)));
                }
            }
        }
        (Value::Seq(a), Value::Seq(b)) => match (elements(a), elements(b)) {
            (Some((key, a)), Some((other, b))) if key == other => {
                let path = |name: &str| {
                    path.join(PathStep::Element(vec![(key.to_owned(), name.to_owned())]))
                };
                for (name, value) in a.iter() {
                    match b.get(name) {
                        Some(new) => compare(&path(name), value, new, found),
                        None => found.push((path(name), Some(value), None)),
                    }
                }
                for (name, value) in b.iter() {
                    if a.get(name).is_none() {
                        found.push((path(name), None, Some(value)));
                    }
                }
            }
            _ => found.push((path.clone(), Some(old), Some(new))),
        },
        _ => found.push((path.clone(), Some(old), Some(new))),
    }
}

/// Whether two values are the same, their kinds included.
fn same(a: &Value, b: &Value) -> bool {
    a == b && std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// List elements by the first key that names each of them (M22).
fn elements(items: &[Value]) -> Option<(&'static str, Named<&str, &Value>)> {
    ["name", "id", "key", "host"].into_iter().find_map(|key| {
        let named = items
            .iter()
            .map(|item| Some((item.get(key)?.as_str()?, item)));
        let named = Named::of(named).filter(|_| !items.is_empty())?;
        Some((key, named))
    })
}

/// Things by their names, in the order in which they stand: an order by name would be another one for each target.
struct Named<K, V> {
    all: Vec<(K, V)>,
    places: BTreeMap<K, usize>,
}

impl<K: Ord + Clone, V> Named<K, V> {
    /// `None` where one has no name, or two have the same.
    fn of(named: impl Iterator<Item = Option<(K, V)>>) -> Option<Self> {
        let all: Vec<(K, V)> = named.collect::<Option<_>>()?;
        let places: BTreeMap<K, usize> =
            all.iter().map(|(name, _)| name.clone()).zip(0..).collect();
        (places.len() == all.len()).then_some(Self { all, places })
    }

    fn get<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        let place = self.places.get(name)?;
        self.all.get(*place).map(|(_, value)| value)
    }

    fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.all.iter()
    }
}
