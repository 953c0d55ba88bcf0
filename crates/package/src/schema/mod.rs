//! Which lists of a resource are maps by key and which are sets, so that a merge pairs their
//! elements (M13).
//!
//! Knowledge comes from two places: a compact table of the built-in kinds, and the
//! CustomResourceDefinitions that a package holds. Of every other list nothing is stated. This module
//! never looks at values beyond the keys that it names, and validates nothing.

mod builtin;
mod crd;
mod free;

pub use crd::Crds;

/// One key of a list map, with the value that stands for it where it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListKey {
    /// The field's name.
    pub name: std::borrow::Cow<'static, str>,
    /// What an element without it means, such as `TCP`; `None` if the key is required.
    pub default: Option<std::borrow::Cow<'static, str>>,
}

impl ListKey {
    const fn new(name: &'static str) -> Self {
        Self {
            name: std::borrow::Cow::Borrowed(name),
            default: None,
        }
    }

    const fn or(name: &'static str, default: &'static str) -> Self {
        Self {
            name: std::borrow::Cow::Borrowed(name),
            default: Some(std::borrow::Cow::Borrowed(default)),
        }
    }
}

impl ListKey {
    /// What tells elements apart where no schema does, the best first (M22): the last one is for resources inside others.
    pub fn usual() -> &'static [&'static [Self]] {
        static USUAL: &[&[ListKey]] = &[
            &[ListKey::new("name")],
            &[ListKey::new("id")],
            &[ListKey::new("key")],
            &[ListKey::new("host")],
            &[ListKey::or("kind", ""), ListKey::new("metadata.name")],
        ];
        USUAL
    }
}

/// How a list merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListRule<'a> {
    /// As one value: the schema says so.
    Atomic,
    /// The schema says nothing: by what its elements hold (M22).
    Unstated,
    /// As a sequence of elements that are one value each where the sides changed different fields: what they allow is the
    /// product of their fields (rules of a Role, of a NetworkPolicy).
    Grants,
    /// Scalars, each of which is there or not.
    Set,
    /// Elements that pair by these keys.
    Map(&'a [ListKey]),
    /// Values of any kind, each of which is there or not (a Kptfile's selectors, M15).
    Values,
    /// Steps of a Kptfile's pipeline, by identity and in order (M15).
    Functions,
}

/// What the entries of a map are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// Parts of one thing, which mean little alone: the handler of a probe, the source of a volume.
    Parts,
    /// Each stands for itself: the schema allows any name (`additionalProperties`).
    Free,
    /// Each stands for itself if all of them are scalars: so the API uses the field's name.
    Scalars,
}

/// What is known of a value's fields, wherever the knowledge comes from.
#[derive(Debug, Clone, Copy)]
pub enum Schema<'a> {
    /// Nothing: of no list below anything is stated.
    Unknown,
    /// A type of the built-in table.
    Builtin(&'static builtin::Type),
    /// A type of a CRD in the package.
    Custom(&'a crd::Type),
}

impl<'a> Schema<'a> {
    /// The schema of a resource, by group and kind (a version bump changes no list's keys).
    pub fn of(api_version: &str, kind: &str, crds: &'a Crds) -> Self {
        let (group, version) = split_api_version(api_version);
        if let Some(custom) = crds.find(group, version, kind) {
            return Self::Custom(custom);
        }
        Self::Builtin(builtin::find(group, kind).unwrap_or(&builtin::OBJECT))
    }

    /// The schema of a kind that is built in.
    pub fn built_in(api_version: &str, kind: &str) -> Option<Self> {
        let (group, _) = split_api_version(api_version);
        builtin::find(group, kind).map(Self::Builtin)
    }

    /// The schema of a file whose name alone says what it holds.
    pub fn of_file(name: &str) -> Option<Self> {
        let kustomization = matches!(name, "kustomization.yaml" | "kustomization.yml");
        kustomization.then_some(Self::Builtin(&builtin::KUSTOMIZATION))
    }

    /// The schema of a Kptfile (M15).
    pub fn kptfile() -> Self {
        Self::Builtin(&builtin::KPTFILE)
    }

    /// The schema that a comment at a field gives, such as
    /// `# {"$ref": "#/definitions/io.k8s.api.core.v1.PodSpec"}`: a reference to a built-in type, or
    /// the key of a list.
    pub fn of_comment(comment: &str) -> Option<(ListRule<'static>, Self)> {
        let json = comment.trim_start_matches('#').trim_start();
        if !json.starts_with('{') {
            return None;
        }
        let json: serde_json::Value = serde_json::from_str(json).ok()?;
        let text = |value: &serde_json::Value, key: &str| {
            value
                .get(key)
                .and_then(serde_json::Value::as_str)
                .map(str::to_owned)
        };
        let of = |value: &serde_json::Value| {
            let name = text(value, "$ref")?;
            builtin::named(name.rsplit('.').next()?).map(Self::Builtin)
        };
        if let Some(schema) = of(&json) {
            return Some((ListRule::Unstated, schema));
        }
        let merged = text(&json, "x-kubernetes-patch-strategy")?.contains("merge");
        let keys = builtin::key(&text(&json, "x-kubernetes-patch-merge-key")?)?;
        let element = json.get("items").and_then(of).unwrap_or(Self::Unknown);
        merged.then_some((ListRule::Map(keys), element))
    }

    /// What is known of a field of this value.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Builtin(t) => t.field(name),
            Self::Custom(t) => t.field(name),
        }
    }

    /// What the entries of the map under a field are to each other. Where no schema says so, the field's name does.
    pub fn entries(self, name: &str) -> Entries {
        let stated = match self {
            Self::Unknown => None,
            Self::Builtin(t) => t.entries(name),
            Self::Custom(t) => t.entries(name),
        };
        stated.unwrap_or_else(|| free::by_name(name))
    }

    /// The fields of a value of which it may have one alone (the handlers of a probe).
    pub fn alternatives(self) -> impl Iterator<Item = &'static str> {
        let builtin = match self {
            Self::Builtin(t) => Some(t),
            Self::Unknown | Self::Custom(_) => None,
        };
        builtin.into_iter().flat_map(builtin::Type::alternatives)
    }

    /// Whether nothing is known below this value.
    pub fn is_leaf(self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Builtin(t) => t.is_empty(),
            Self::Custom(t) => t.is_empty(),
        }
    }

    /// How the list under a field merges, and what is known of its elements.
    pub fn list(self, name: &str) -> (ListRule<'a>, Self) {
        match self {
            Self::Unknown => (ListRule::Unstated, Self::Unknown),
            Self::Builtin(t) => t.list(name),
            Self::Custom(t) => t.list(name),
        }
    }
}

/// `group/version` in two; the core group is empty.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

#[cfg(test)]
mod tests;
