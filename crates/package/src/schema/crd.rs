//! List maps of custom resources, from the CustomResourceDefinitions that a package holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::Files;
use serde_json::Value;
use yaml::{Limits, Reader, Stream};

use super::{Entries, ListKey, ListRule, Schema};

/// The CRDs of a package, by group, kind and version.
#[derive(Debug, Clone, Default)]
pub struct Crds(BTreeMap<(String, String), BTreeMap<String, Type>>);

/// A type: the fields that lead to a map, a set or an atomic list.
#[derive(Debug, Clone, Default)]
pub struct Type {
    fields: BTreeMap<String, Field>,
    /// The type of every field that is not named (`additionalProperties`).
    any: Option<Box<Self>>,
    /// What its entries are to each other; `None` for what is no map, or one of which nothing is stated.
    entries: Option<Entries>,
}

#[derive(Debug, Clone)]
enum Field {
    Object(Type),
    Map(Vec<ListKey>, Type),
    Set,
    Atomic,
    /// A list of which nothing is stated, with elements of interest.
    List(Type),
}

impl Crds {
    /// Reads the CRDs of the files of several sides; of the same version the later side counts.
    ///
    /// Files without the word are not parsed, files that do not parse are left out: a merge must not
    /// fail for lack of a schema.
    pub fn of<'f>(sides: impl IntoIterator<Item = &'f Files>) -> Self {
        let mut crds = Self::default();
        for files in sides {
            for (path, file) in files {
                let name = path.file_name();
                if !name.ends_with(".yaml") && !name.ends_with(".yml") {
                    continue;
                }
                if let Some(text) = file.as_text()
                    && text.contains("CustomResourceDefinition")
                {
                    crds.read(text);
                }
            }
        }
        crds
    }

    fn read(&mut self, text: &str) {
        let Ok(stream) = Stream::parse(text, &Limits::default()) else {
            return;
        };
        for document in stream.documents() {
            let root = document.root();
            let kind = root.get("kind").and_then(|kind| kind.as_str());
            if kind == Some("CustomResourceDefinition")
                && let Ok(json) = root.to_json(Reader::V3)
            {
                self.add(&json);
            }
        }
    }

    fn add(&mut self, crd: &Value) {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str);
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else {
            return;
        };
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let known = self
            .0
            .entry((group.to_owned(), kind.to_owned()))
            .or_default();
        for version in versions.into_iter().flatten() {
            let schema = version.pointer("/schema/openAPIV3Schema");
            let name = version.get("name").and_then(Value::as_str);
            if let (Some(schema), Some(name)) = (schema, name) {
                known.insert(name.to_owned(), Type::of(schema));
            }
        }
    }

    /// The type of a kind: of the version, else of any version that is known.
    pub fn find(&self, group: &str, version: &str, kind: &str) -> Option<&Type> {
        let versions = self.0.get(&(group.to_owned(), kind.to_owned()))?;
        versions
            .get(version)
            .or_else(|| versions.values().next_back())
    }
}

impl Type {
    fn of(schema: &Value) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten();
        let fields = fields.filter_map(|(name, schema)| Some((name.clone(), Field::of(schema)?)));
        let any = schema.get("additionalProperties");
        let free = any.is_some_and(|any| any.is_object() || *any == Value::Bool(true));
        let entries = match properties.is_some_and(|named| !named.is_empty()) {
            true => Some(Entries::Parts),
            false => free.then_some(Entries::Free),
        };
        let any = any.filter(|any| any.is_object());
        let any = any
            .map(|any| Box::new(Self::of(any)))
            .filter(|any| !any.is_empty());
        Self {
            fields: fields.collect(),
            any,
            entries,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.any.is_none() && self.entries.is_none()
    }

    /// What the entries of the map under a field are to each other, where that is stated.
    pub(super) fn entries(&self, name: &str) -> Option<Entries> {
        match (self.fields.get(name), &self.any) {
            (Some(Field::Object(t)), _) => t.entries,
            (None, Some(any)) => any.entries,
            _ => None,
        }
    }

    pub(super) fn field(&self, name: &str) -> Schema<'_> {
        match (name, self.fields.get(name)) {
            // What a CRD says of names and labels alone leaves the rest of the metadata what it is.
            ("metadata", Some(Field::Object(t))) if t.fields.is_empty() => {
                Schema::Builtin(&super::builtin::OBJECT).field(name)
            }
            (_, Some(Field::Object(t))) => Schema::Custom(t),
            ("metadata", None) => Schema::Builtin(&super::builtin::OBJECT).field(name),
            _ => self.any.as_deref().map_or(Schema::Unknown, Schema::Custom),
        }
    }

    pub(super) fn list(&self, name: &str) -> (ListRule<'_>, Schema<'_>) {
        match self.fields.get(name) {
            Some(Field::Map(keys, t)) => (ListRule::Map(keys), Schema::Custom(t)),
            Some(Field::Set) => (ListRule::Set, Schema::Unknown),
            Some(Field::Atomic) => (ListRule::Atomic, Schema::Unknown),
            Some(Field::List(t)) => (ListRule::Unstated, Schema::Custom(t)),
            Some(Field::Object(_)) | None => (ListRule::Unstated, Schema::Unknown),
        }
    }
}

impl Field {
    /// What a property says; `None` if it leads to nothing of interest.
    fn of(schema: &Value) -> Option<Self> {
        let Some(items) = schema.get("items") else {
            let t = Type::of(schema);
            return (!t.is_empty()).then_some(Self::Object(t));
        };
        let said = schema.get("x-kubernetes-list-type");
        match said.and_then(Value::as_str) {
            Some("set") => Some(Self::Set),
            Some("atomic") => Some(Self::Atomic),
            Some("map") => {
                let names = schema.get("x-kubernetes-list-map-keys")?.as_array()?;
                let keys: Option<Vec<ListKey>> =
                    names.iter().map(|name| key(name, items)).collect();
                Some(Self::Map(
                    keys.filter(|keys| !keys.is_empty())?,
                    Type::of(items),
                ))
            }
            _ => {
                let element = Type::of(items);
                (!element.is_empty()).then_some(Self::List(element))
            }
        }
    }
}

fn key(name: &Value, items: &Value) -> Option<ListKey> {
    let name = name.as_str()?;
    let default = items
        .get("properties")?
        .get(name)
        .and_then(|field| field.get("default"));
    let default = default.map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    Some(ListKey {
        name: Cow::Owned(name.to_owned()),
        default: default.map(Cow::Owned),
    })
}
