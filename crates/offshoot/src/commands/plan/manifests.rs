//! Manifests from files, directories and standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yaml::{Limits, Reader, Stream};

use crate::exit::ExitFailure;

/// How long a file with manifests is at most, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// All objects in these files, in their order; lists are taken apart.
///
/// # Errors
/// A file that cannot be read, or holds no objects.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Value>, ExitFailure> {
    let mut objects = Vec::new();
    for file in files {
        if file == Path::new("-") {
            let text = bounded(std::io::stdin().lock(), "standard input")?;
            take("standard input", &text, &mut objects)?;
            continue;
        }
        for file in below(file)? {
            let name = file.display().to_string();
            let opened = std::fs::File::open(&file);
            let opened = opened.map_err(|e| ExitFailure::of(&format!("read {name}"), &e))?;
            take(&name, &bounded(opened, &name)?, &mut objects)?;
        }
    }
    Ok(objects)
}

/// A text of a bounded length: what is named may be a device that never ends.
fn bounded(input: impl std::io::Read, name: &str) -> Result<String, ExitFailure> {
    let mut text = String::new();
    let read = input.take(MAX_BYTES + 1).read_to_string(&mut text);
    let read = read.map_err(|e| ExitFailure::of(&format!("read {name}"), &e))?;
    match u64::try_from(read).unwrap_or(u64::MAX) > MAX_BYTES {
        true => Err(ExitFailure::usage(format!(
            "-f {name}: it is larger than {} MiB",
            MAX_BYTES >> 20
        ))
        .hint("name files with manifests, each smaller than that")),
        false => Ok(text),
    }
}

/// All objects that somebody names with `-f`: each file or directory must have some, or the plan is of less than was meant.
///
/// # Errors
/// As [`read`]; or there is no object in one of them.
pub(super) fn named(files: &[PathBuf]) -> Result<Vec<Value>, ExitFailure> {
    let mut objects = Vec::new();
    for file in files {
        let found = read(std::slice::from_ref(file))?;
        if found.is_empty() {
            let what = match file.is_dir() {
                true => "no manifest (*.yaml, *.yml, *.json) with an object in it",
                false => "no object",
            };
            let why = format!("-f {}: there is {what}", file.display());
            return Err(ExitFailure::usage(why).hint(
                "an object has apiVersion, kind and metadata.name; without -f, offshoot plan says what the controllers would do with what is there",
            ));
        }
        objects.extend(found);
    }
    Ok(objects)
}

/// A file itself, or the manifests in and below a directory, by name.
fn below(path: &Path) -> Result<Vec<PathBuf>, ExitFailure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |e: std::io::Error| ExitFailure::of(&format!("read {}", path.display()), &e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let is_manifest = entry
            .extension()
            .is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
        if entry.is_dir() {
            found.extend(below(&entry)?);
        } else if is_manifest {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

fn take(name: &str, text: &str, objects: &mut Vec<Value>) -> Result<(), ExitFailure> {
    let stream = Stream::parse(text, &Limits::default());
    let stream = stream.map_err(|e| ExitFailure::of(&format!("read {name}"), &e))?;
    for document in stream.documents().filter(|d| !d.is_empty()) {
        let object = document.to_json(Reader::Sigs);
        let object = object.map_err(|e| ExitFailure::of(&format!("read {name}"), &e))?;
        let items = object.get("items").and_then(Value::as_array);
        match items.filter(|_| api::str_at(&object, &["kind"]).is_some_and(|k| k.ends_with("List")))
        {
            Some(items) => objects.extend(items.iter().cloned()),
            None if object.get("kind").is_some() => objects.push(object),
            None => {
                let why = format!("{name} holds a document that is no object: it has no kind");
                return Err(ExitFailure::new(why));
            }
        }
    }
    Ok(())
}
