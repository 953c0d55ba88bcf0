//! `PackageRevisionResources`: the files of a package revision as texts (A11).

use std::collections::{BTreeMap, BTreeSet};

use model::{FileMode, Files, PackagePath, Problem, Revision};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, object_of, put, put_number, str_at};
use crate::{write_meta, write_render_status};

/// The annotation that lists files which are no text.
pub const BINARY_FILES: &str = "offshoot.dev/binary-files";

/// The annotation that lists files which are beyond the limits, each with the reason: they are not shown, and stay.
pub const OVERSIZED_FILES: &str = "offshoot.dev/oversized-files";
/// The annotation that lists what is carried along unread, each with what it is: symlinks, submodules, and files with
/// names that no package may hold or that differ from another one in case alone.
pub const UNREAD_FILES: &str = "offshoot.dev/unread-files";
/// The annotation that lists the files that may be executed: texts tell no mode.
pub const EXECUTABLE_FILES: &str = "offshoot.dev/executable-files";
/// The annotation that stands for all that is not shown, links, modes and contents: two revisions in which it is equal differ in
/// nothing of it.
pub const UNSHOWN_DIGEST: &str = "offshoot.dev/unshown-digest";
/// The annotation of an update that takes files away which are not shown: a JSON list of their paths. It is never
/// stored.
const REMOVE_FILES: &str = "offshoot.dev/remove-files";
/// How many of them it lists.
const LISTED: usize = 20;

/// Says on an object of files what was left out of it.
pub fn write_left_out(object: &mut Value, left_out: &BTreeMap<PackagePath, String>) {
    let left_out = left_out
        .iter()
        .map(|(path, why)| (path.as_str(), why.as_str()));
    list(object, OVERSIZED_FILES, left_out);
}

/// Says on an object of files what is carried along unread, and what it is.
pub fn write_carried(object: &mut Value, carried: &BTreeMap<String, &'static str>) {
    let carried = carried.iter().map(|(path, what)| (path.as_str(), *what));
    list(object, UNREAD_FILES, carried);
}

fn list<'a>(
    object: &mut Value,
    annotation: &str,
    files: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) {
    let count = files.len();
    if count == 0 {
        return;
    }
    let mut listed: BTreeMap<&str, &str> = files.take(LISTED).collect();
    let more = format!("and {} more files", count.saturating_sub(LISTED));
    if count > LISTED {
        listed.insert("…", &more);
    }
    object["metadata"]["annotations"][annotation] = json!(listed).to_string().into();
}

/// The whole object of a revision's files: text only; binary files, and those that may be executed, are listed in annotations.
pub fn write_resources(revision: &Revision, files: &Files) -> Value {
    let mut texts = Map::new();
    let (mut binary, mut executable) = (Vec::new(), Vec::new());
    for (path, file) in files {
        if file.mode() == FileMode::Executable {
            executable.push(path.as_str().to_owned());
        }
        match file.as_text() {
            Some(text) => {
                texts.insert(path.as_str().to_owned(), text.into());
            }
            None => binary.push(path.as_str().to_owned()),
        }
    }
    let mut meta = revision.meta.clone();
    meta.resource_version.clone_from(&revision.content_version);
    meta.generation = 0;
    for (annotation, paths) in [(BINARY_FILES, binary), (EXECUTABLE_FILES, executable)] {
        if !paths.is_empty() {
            meta.annotations
                .insert(annotation.to_owned(), json!(paths).to_string());
        }
    }
    let mut spec = Map::new();
    put(&mut spec, "packageName", revision.package.as_str());
    put(&mut spec, "workspaceName", revision.workspace.as_str());
    put_number(&mut spec, "revision", revision.revision);
    put(&mut spec, "repository", revision.repository.as_str());
    spec.insert("resources".to_owned(), Value::Object(texts));
    let mut status = Map::new();
    if let Some(render) = &revision.render_status {
        status.insert(
            "renderStatus".to_owned(),
            write_render_status(&render.unpack()),
        );
    }
    status.insert("files".to_owned(), files.len().into());
    object_of([
        ("apiVersion", "porch.kpt.dev/v1alpha1".into()),
        ("kind", "PackageRevisionResources".into()),
        ("metadata", write_meta(&revision.key, &meta)),
        ("spec", Value::Object(spec)),
        ("status", Value::Object(status)),
    ])
}

/// What a person sent: the files that the package's texts shall be.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourcesUpdate {
    /// The content version that it was based on; empty if none was sent.
    pub resource_version: String,
    /// The texts, by path.
    pub files: BTreeMap<PackagePath, String>,
    /// Files that are not shown and shall go.
    pub remove: BTreeSet<PackagePath>,
}

/// Reads an update of resources.
///
/// # Errors
/// A problem for each path that no package may hold (X1), each value that is no text, paths
/// that differ in case alone, and a list of files to remove that is none.
pub fn read_resources(object: &Value) -> Result<ResourcesUpdate, Vec<Problem>> {
    let mut problems = Vec::new();
    let empty = Value::Object(Map::new());
    let meta = FieldReader::new(object.get("metadata").unwrap_or(&empty), "metadata");
    let spec = object
        .get("spec")
        .and_then(|s| s.get("resources"))
        .and_then(Value::as_object);
    let mut files = BTreeMap::new();
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for (key, value) in spec.into_iter().flatten() {
        let field = format!("spec.resources[{key}]");
        let path = crate::fields::name(&mut problems, &field, key, PackagePath::parse);
        let Some(text) = value.as_str() else {
            problems.push(Problem::new(&field, format!("{field}: must be a text")));
            continue;
        };
        if let Some(other) = folded.insert(key.to_lowercase(), key) {
            problems.push(Problem::new(
                &field,
                format!("{field}: differs from {other:?} in case alone"),
            ));
        }
        if let Some(path) = path {
            files.insert(path, text.to_owned());
        }
    }
    let remove = read_removals(object, &mut problems);
    if problems.is_empty() {
        let resource_version = meta.owned("resourceVersion").unwrap_or_default();
        Ok(ResourcesUpdate {
            resource_version,
            files,
            remove,
        })
    } else {
        Err(problems)
    }
}

fn read_removals(object: &Value, problems: &mut Vec<Problem>) -> BTreeSet<PackagePath> {
    let Some(text) = str_at(object, &["metadata", "annotations", REMOVE_FILES]) else {
        return BTreeSet::new();
    };
    let field = format!("metadata.annotations[{REMOVE_FILES}]");
    let Ok(paths) = serde_json::from_str::<Vec<String>>(text) else {
        let what = format!("{field}: Invalid value: {text:?}: must be a JSON list of paths");
        problems.push(Problem::new(&field, what).hint("write [\"logo.png\"]"));
        return BTreeSet::new();
    };
    let path = |path: String| crate::fields::name(problems, &field, &path, PackagePath::parse);
    paths.into_iter().filter_map(path).collect()
}
