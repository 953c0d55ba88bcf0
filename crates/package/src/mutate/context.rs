//! The package context: keys of the ConfigMap `kptfile.kpt.dev` at the package's root.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{File, PackagePath, Pairs};
use yaml::owned::Value;

use super::MutateError;
use super::open::OpenFiles;

const NAME: &str = "kptfile.kpt.dev";
const FILE: &str = "package-context.yaml";

pub(super) fn apply(
    opened: &mut OpenFiles<'_>,
    set: &Pairs,
    remove: &BTreeSet<String>,
    create: bool,
) -> Result<(), MutateError> {
    if set.is_empty() && remove.is_empty() {
        return Ok(());
    }
    let wanted = || set.iter().filter(|(key, _)| !remove.contains(*key));
    let Some((path, at)) = find(opened)? else {
        if wanted().next().is_none() {
            return Ok(());
        }
        if !create {
            return Err(MutateError::PackageContextMissing);
        }
        return make(opened, wanted());
    };
    let documents = opened.documents(&path)?;
    let Some(context) = documents.get_mut(at) else {
        return Ok(());
    };
    if is_done(context, wanted(), remove) {
        return Ok(());
    }
    let shape = || MutateError::Shape {
        file: path.to_string(),
        field: "data",
        wanted: "mapping",
    };
    let data = Arc::make_mut(context)
        .ensure_map(&["data"])
        .ok_or_else(shape)?;
    for (key, text) in wanted() {
        data.set_str(key, text);
    }
    for key in remove {
        data.remove(key);
    }
    Ok(())
}

/// Whether the context says all of it already: then not even an empty `data` is made.
fn is_done<'w>(
    context: &Value,
    mut wanted: impl Iterator<Item = (&'w String, &'w String)>,
    remove: &BTreeSet<String>,
) -> bool {
    let get = |key: &str| context.lookup(&["data", key]);
    wanted.all(|(key, text)| get(key).and_then(Value::as_str) == Some(text))
        && remove.iter().all(|key| get(key).is_none())
}

/// The package context, in whatever file of the root it stands (R63); its usual file first.
fn find(opened: &mut OpenFiles<'_>) -> Result<Option<(PackagePath, usize)>, MutateError> {
    let mut paths = opened.paths();
    paths.retain(|path| {
        let name = path.as_str();
        let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        path.dir().is_empty() && yaml && opened.mentions(path, NAME)
    });
    paths.sort_by_key(|path| path.as_str() != FILE);
    for path in paths {
        let documents = opened.documents(&path)?;
        let is_context = |value: &Arc<Value>| {
            value.str_at(&["apiVersion"]) == Some("v1")
                && value.str_at(&["kind"]) == Some("ConfigMap")
                && value.str_at(&["metadata", "name"]) == Some(NAME)
        };
        if let Some(at) = documents.iter().position(is_context) {
            return Ok(Some((path, at)));
        }
    }
    Ok(None)
}

fn make<'w>(
    opened: &mut OpenFiles<'_>,
    wanted: impl Iterator<Item = (&'w String, &'w String)>,
) -> Result<(), MutateError> {
    let annotations = Value::map([("config.kubernetes.io/local-config", Value::string("true"))]);
    let metadata = Value::map([("name", Value::string(NAME)), ("annotations", annotations)]);
    let data = wanted.map(|(key, text)| (key.as_str(), Value::string(text.as_str())));
    let context = Value::map([
        ("apiVersion", Value::string("v1")),
        ("kind", Value::string("ConfigMap")),
        ("metadata", metadata),
        ("data", Value::map(data)),
    ]);
    let free = |path: &PackagePath, opened: &OpenFiles<'_>| !opened.paths().contains(path);
    let names = [FILE, "package-context-kptfile.yaml"];
    let path = names
        .iter()
        .filter_map(|name| PackagePath::parse(name).ok())
        .find(|path| free(path, opened));
    let path = path.ok_or(MutateError::PackageContextMissing)?;
    opened.make(path, File::text(yaml::owned::to_text(&context)));
    Ok(())
}
