//! Which changes of revisions are the same change, as classes of a plan are (F1): what a revision states about itself
//! (package, repository, context, what was injected) counts as its name, not as its value.

use std::collections::BTreeSet;

use model::marks::VARIANT;
use model::{
    ConflictValue, Files, Namespace, ObjectName, PackageName, PackagePath, RepositoryName,
};
use package::changes::{Inputs, TargetNames, TextPart, TextWithInputs, inputs_of};
use package::merge::Difference;
use serde_json::Value;

/// What no text of a package holds: it stands around the name of an input where texts are only compared.
const MARK: char = '\0';

/// Which target a revision is of.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Stated {
    /// Its package.
    pub(super) package: String,
    /// Its repository.
    pub(super) repository: String,
    /// The variant that makes it; `None` where none does.
    variant: Option<String>,
}

impl Stated {
    /// What the server says of a revision.
    pub(in crate::commands) fn of(revision: &Value) -> Self {
        let part = |key: &str| super::text(revision, &["spec", key]).unwrap_or_default();
        Self {
            package: part("packageName"),
            repository: part("repository"),
            variant: super::text(revision, &["metadata", "labels", VARIANT]),
        }
    }
}

/// What a revision states about itself; nothing where a name of it is none.
pub(in crate::commands) fn inputs(
    namespace: &str,
    stated: &Stated,
    before: Option<&Files>,
    after: &Files,
) -> Inputs {
    let read = || {
        let variant = stated.variant.as_deref().map(ObjectName::parse);
        let variant = variant.transpose().ok()?;
        let names = TargetNames {
            package: &PackageName::parse(&stated.package).ok()?,
            repository: &RepositoryName::parse(&stated.repository).ok()?,
            namespace: &Namespace::parse(namespace).ok()?,
            variant: variant.as_ref(),
        };
        Some(inputs_of(names, before, after))
    };
    read().unwrap_or_default()
}

/// What is equal for revisions that change the same.
pub(super) fn key(
    all: &[Difference],
    inputs: &Inputs,
) -> Vec<(String, String, String, String, String)> {
    let text = |text: &str| {
        let mut out = String::new();
        for part in TextWithInputs::of(text, inputs).0 {
            match part {
                TextPart::Literal(literal) => out.push_str(&literal),
                TextPart::Input(name) => out.extend([MARK.to_string(), name, MARK.to_string()]),
            }
        }
        out
    };
    let one = |d: &Difference| {
        let side = |held: &ConflictValue| format!("{:?}", value(held, &text));
        let (file, resource, path) = (text(d.file.as_str()), text(&d.resource), text(&d.path));
        (file, resource, path, side(&d.before), side(&d.after))
    };
    all.iter().map(one).collect()
}

/// Differences as they read for several revisions: the inputs in which these differ are named, in braces.
pub(super) fn named(all: &[Difference], members: &[&Inputs]) -> Vec<Difference> {
    let Some(first) = members.first() else {
        return all.to_vec();
    };
    let other = |(name, held): &(&str, &str)| members.iter().any(|m| m.value(name) != Some(*held));
    let varying = first.iter().filter(other);
    let varying = Inputs::new(varying.map(|(name, held)| (name.to_owned(), held.to_owned())));
    let text = |text: &str| TextWithInputs::of(text, &varying).to_string();
    let one = |d: &Difference| Difference {
        file: PackagePath::parse(&text(d.file.as_str())).unwrap_or_else(|_| d.file.clone()),
        resource: text(&d.resource),
        path: text(&d.path),
        before: value(&d.before, &text),
        after: value(&d.after, &text),
        twice: d.twice.clone(),
    };
    all.iter().map(one).collect()
}

/// The inputs in which revisions that change the same differ, as far as the change names them.
pub(super) fn varying(all: &[Difference], members: &[&Inputs]) -> Vec<String> {
    let mut names = BTreeSet::new();
    let Some(first) = members.first() else {
        return Vec::new();
    };
    let mut see = |text: &str| {
        names.extend(
            TextWithInputs::of(text, first)
                .named()
                .map(ToOwned::to_owned),
        );
    };
    for d in all {
        [d.file.as_str(), &d.resource, &d.path]
            .into_iter()
            .for_each(&mut see);
        for side in [&d.before, &d.after] {
            if let ConflictValue::Json(text) = side {
                see(text);
            }
        }
    }
    names.retain(|name| members.iter().any(|m| m.value(name) != first.value(name)));
    names.into_iter().collect()
}

/// A value with its texts changed; numbers and booleans stay, and so does what is only told by its hash.
fn value(held: &ConflictValue, text: &impl Fn(&str) -> String) -> ConflictValue {
    let ConflictValue::Json(json) = held else {
        return held.clone();
    };
    match serde_json::from_str(json) {
        Ok(value) => ConflictValue::Json(texts(value, text).to_string()),
        Err(_) => ConflictValue::Json(text(json)),
    }
}

fn texts(value: Value, text: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(held) => text(&held).into(),
        Value::Array(items) => items.into_iter().map(|item| texts(item, text)).collect(),
        Value::Object(map) => {
            let map = map
                .into_iter()
                .map(|(key, value)| (text(&key), texts(value, text)));
            Value::Object(map.collect())
        }
        other => other,
    }
}
