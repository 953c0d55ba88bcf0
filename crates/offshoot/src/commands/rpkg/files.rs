//! `rpkg pull` and `push`: the files of a package revision, as a directory or a ResourceList.

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use model::PackagePath;
use serde_json::{Map, Value, json};

use super::text;
use crate::client::{Client, RESOURCES, object};
use crate::exit::Failure;

/// Where `pull` notes what was pulled, for `push`.
const METADATA: &str = ".KptRevisionMetadata";
/// The annotation that says which file an item of a ResourceList belongs to.
const PATH: &str = "internal.config.kubernetes.io/path";

pub(super) async fn pull(
    client: &Client,
    name: &str,
    to: Option<&Path>,
) -> Result<String, Failure> {
    let resources = client
        .get(&object(RESOURCES, &client.namespace, name))
        .await?;
    let mut files: Vec<(String, String)> = api::object_at(&resources, &["spec", "resources"])
        .into_iter()
        .flatten()
        .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())))
        .collect();
    files.insert(0, (METADATA.to_owned(), metadata(&resources)));
    match to {
        Some(directory) => write_directory(directory, &files).map(|()| String::new()),
        None => resource_list(&files),
    }
}

fn metadata(resources: &Value) -> String {
    let mut meta = Map::new();
    for key in [
        "name",
        "namespace",
        "creationTimestamp",
        "resourceVersion",
        "uid",
    ] {
        if let Some(value) = resources.get("metadata").and_then(|m| m.get(key)) {
            meta.insert(key.to_owned(), value.clone());
        }
    }
    let value = json!({ "apiVersion": "", "kind": "KptRevisionMetadata", "metadata": meta });
    yaml::render(&yaml::Value::from(value))
}

fn write_directory(directory: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let failed =
        |path: &Path, e: &std::io::Error| Failure::of(&format!("write {}", path.display()), e);
    if directory.exists() {
        return Err(Failure::new(format!(
            "output directory {:?} already exists",
            directory.display()
        ))
        .hint("name a directory that does not exist"));
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o750);
    for (name, text) in files {
        // What a server sends is checked as what a user sends: nothing is written outside.
        let inside = PackagePath::parse(name).map_err(|e| Failure::of("write the package", &e))?;
        let path = directory.join(inside.as_str());
        let parent = path.parent().unwrap_or(directory);
        builder.create(parent).map_err(|e| failed(parent, &e))?;
        let file = std::fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path);
        let written = file.and_then(|mut f| std::io::Write::write_all(&mut f, text.as_bytes()));
        written.map_err(|e| failed(&path, &e))?;
    }
    Ok(())
}

/// Items that are resources keep their text; the path says where each belongs.
fn resource_list(files: &[(String, String)]) -> Result<String, Failure> {
    let mut items = Vec::new();
    for (path, text) in files {
        let stream = yaml::Stream::parse(text.as_str(), &yaml::Limits::default());
        let Ok(stream) = stream else { continue };
        for document in stream.documents() {
            let Ok(mut value) = document.to_json(yaml::Reader::V3) else {
                continue;
            };
            if value.get("kind").is_some() {
                value["metadata"]["annotations"][PATH] = path.clone().into();
                items.push(value);
            }
        }
    }
    let list = json!({
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": items,
    });
    Ok(yaml::render(&yaml::Value::from(list)))
}

pub(super) async fn push(
    client: &Client,
    name: &str,
    from: Option<&Path>,
) -> Result<String, Failure> {
    let files = match from {
        Some(directory) if directory != Path::new("-") => read_directory(directory)?,
        _ => read_input()?,
    };
    let missing = || {
        Failure::new(format!(
            "\"{METADATA}\" not found in PackageRevisionResources '{}/{name}'",
            client.namespace
        ))
        .hint("use `offshoot rpkg pull` to download the remote package metadata before pushing")
    };
    let known = files
        .iter()
        .find(|(path, _)| path == METADATA)
        .ok_or_else(missing)?;
    let noted =
        yaml::first_document_json(&known.1, yaml::Reader::V3, false, &yaml::Limits::default());
    let noted = noted.map_err(|e| Failure::of(&format!("read {METADATA}"), &e))?;
    let version = text(&noted, &["metadata", "resourceVersion"]).ok_or_else(missing)?;
    let resources: Map<String, Value> = files
        .iter()
        .filter(|(path, _)| path != METADATA)
        .map(|(path, text)| (path.clone(), text.clone().into()))
        .collect();
    let body = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1",
        "kind": "PackageRevisionResources",
        "metadata": { "name": name, "namespace": client.namespace, "resourceVersion": version },
        "spec": { "resources": resources },
    });
    let answer = client
        .put(&object(RESOURCES, &client.namespace, name), &body)
        .await?;
    crate::commands::say_plain(&results(&answer));
    Ok(format!("{name} pushed\n"))
}

/// What rendering reported, in the peer's form.
fn results(answer: &Value) -> String {
    let steps = answer
        .get("status")
        .and_then(|s| s.get("renderStatus"))
        .and_then(|r| r.get("result"))
        .and_then(|r| r.get("items"))
        .and_then(Value::as_array);
    let mut out = String::new();
    for step in steps.into_iter().flatten() {
        let what = text(step, &["image"])
            .or_else(|| text(step, &["exec"]))
            .unwrap_or_default();
        let failed = step
            .get("exitCode")
            .and_then(Value::as_i64)
            .is_some_and(|c| c != 0);
        _ = writeln!(out, "[RUNNING] \"{what}\"");
        _ = writeln!(out, "[{}] \"{what}\"", if failed { "FAIL" } else { "PASS" });
        let results: Vec<_> = step
            .get("results")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|r| {
                let part = |key: &str| text(r, &[key]).unwrap_or_default();
                format!("[{}]: {}", part("severity"), part("message"))
            })
            .collect();
        if !results.is_empty() {
            _ = writeln!(out, "[Results]: {}", results.join(", "));
        }
    }
    out
}

fn read_directory(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(place) = waiting.pop() {
        let failed = |e: std::io::Error| Failure::of(&format!("read {}", place.display()), &e);
        for entry in std::fs::read_dir(&place).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() {
                files.push(read_file(directory, &path)?);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(directory: &Path, path: &Path) -> Result<(String, String), Failure> {
    let bytes =
        std::fs::read(path).map_err(|e| Failure::of(&format!("read {}", path.display()), &e))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!(
            "file {} is not a valid UTF-8 text file",
            path.display()
        ))
        .hint("binary files stay as they are in git; leave them out of the directory")
    })?;
    let name = path.strip_prefix(directory).unwrap_or(path);
    Ok((name.to_string_lossy().into_owned(), text))
}

/// A ResourceList on standard input: items with one path become one file, in order.
fn read_input() -> Result<Vec<(String, String)>, Failure> {
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .map_err(|e| Failure::of("read standard input", &e))?;
    let list = yaml::first_document_json(&input, yaml::Reader::V3, false, &yaml::Limits::default());
    let list = list.map_err(|e| Failure::of("read the ResourceList", &e))?;
    let mut files: Vec<(String, String)> = Vec::new();
    for item in list
        .get("items")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let mut item = item.clone();
        let path = item
            .get_mut("metadata")
            .and_then(|m| m.get_mut("annotations"))
            .and_then(Value::as_object_mut)
            .and_then(|a| a.remove(PATH))
            .and_then(|p| p.as_str().map(str::to_owned))
            .unwrap_or_else(|| METADATA.to_owned());
        let text = yaml::render(&yaml::Value::from(item));
        match files.iter_mut().find(|(known, _)| *known == path) {
            Some((_, all)) => *all = format!("{all}---\n{text}"),
            None => files.push((path, text)),
        }
    }
    Ok(files)
}
