//! `rpkg pull` and `push`: the files of a package revision, as a directory or a ResourceList.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use plan::revision::RejectionReason;
use serde_json::{Map, Value, json};

use super::directory::{METADATA, read_directory, write_directory};
use super::{marked, modes, refresh, repeated, resource_list, text, update};
use crate::client::{Client, PACKAGES, RESOURCES, object};
use crate::exit::ExitFailure;

/// How files are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Into a new directory.
    Plain,
    /// With both sides of open conflicts between markers.
    Marked,
    /// Into a directory that was pulled earlier.
    Update,
}

pub(super) async fn pull(
    client: &Client,
    name: &str,
    to: Option<&Path>,
    how: How,
) -> Result<String, ExitFailure> {
    let resources = client
        .get(&object(RESOURCES, &client.namespace, name))
        .await?;
    for line in told(&resources) {
        crate::commands::say(&line);
    }
    let mut files = files_of(&resources);
    // Somebody committed what a pull notes for itself; one place cannot hold both.
    if files.iter().any(|(path, _)| path == METADATA) {
        files.retain(|(path, _)| path != METADATA);
        crate::commands::say(&format!(
            "Warning: the package's own {METADATA} is left out: notes about the pull stand there; a push from here deletes it in the draft"
        ));
    }
    // Markers are no part of what the draft holds: a later update takes them, and what became of them, for an edit.
    let notes = to.map(|_| update::noted(&files));
    if how == How::Marked {
        let revision = object(PACKAGES, &client.namespace, name);
        let conflicts = api::read_conflicts(&client.get(&revision).await?);
        let (shown, told) = marked::shown(files, &conflicts);
        files = shown;
        told.iter().for_each(|line| crate::commands::say(line));
    }
    files.insert(0, (METADATA.to_owned(), metadata(&resources, notes)));
    let out = match to {
        Some(directory) if how == How::Update => {
            let said = update::update(directory, name, &files)?;
            said.iter().for_each(|line| crate::commands::say(line));
            Ok(String::new())
        }
        Some(directory) => write_directory(directory, &files).map(|()| String::new()),
        None => resource_list::write(&files),
    }?;
    if let Some(directory) = to {
        modes::take(directory, &executable(&resources))?;
    }
    Ok(out)
}

/// The files that may be executed, as the server says.
fn executable(resources: &Value) -> BTreeSet<String> {
    let listed = text(
        resources,
        &["metadata", "annotations", api::EXECUTABLE_FILES],
    );
    // A server that does not say it tells no modes.
    listed.map_or_else(BTreeSet::new, |list| {
        serde_json::from_str(&list).unwrap_or_default()
    })
}

/// How many files of one kind are named.
const NAMED: usize = 20;

/// A line for each file of the package that the copy does not have.
fn told(resources: &Value) -> Vec<String> {
    let of = |name| text(resources, &["metadata", "annotations", name]).unwrap_or_default();
    // What cannot be read was not said by this server.
    let map =
        |name| -> BTreeMap<String, String> { serde_json::from_str(&of(name)).unwrap_or_default() };
    let binary: Vec<String> = serde_json::from_str(&of(api::BINARY_FILES)).unwrap_or_default();
    let more = binary.len().saturating_sub(NAMED);
    let mut left_out: Vec<(String, String)> = map(api::OVERSIZED_FILES).into_iter().collect();
    let binary = binary.into_iter().take(NAMED);
    left_out.extend(binary.map(|path| (path, "it is no text".to_owned())));
    if more > 0 {
        left_out.push(("…".to_owned(), format!("{more} more are no text")));
    }
    let unread = map(api::UNREAD_FILES).into_iter();
    left_out.extend(unread.map(|(path, what)| match what.as_str() {
        // Names that no package may hold, or equal to another one but for case.
        "file" | "directory" => (path, format!("a {what} of this name is not read")),
        _ if path == "…" => (path, what),
        _ => (path, format!("it is a {what}")),
    }));
    let line = |(path, why): (String, String)| {
        // A name may be anything, also what a terminal takes for a command.
        let path = path.escape_debug();
        format!("Warning: {path} is left out: {why}; a push from here leaves it as it is")
    };
    left_out.into_iter().map(line).collect()
}

fn files_of(resources: &Value) -> Vec<(String, String)> {
    api::object_at(resources, &["spec", "resources"])
        .into_iter()
        .flatten()
        .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())))
        .collect()
}

/// What a push has to know; with notes, what a later pull into the same directory has to know, too.
fn metadata(resources: &Value, notes: Option<String>) -> String {
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
    if let Some(notes) = notes {
        meta.insert("annotations".to_owned(), json!({ update::PULLED: notes }));
    }
    let value = json!({ "apiVersion": "", "kind": "KptRevisionMetadata", "metadata": meta });
    yaml::render(&yaml::Value::from(value))
}

pub(super) async fn push(
    client: &Client,
    name: &str,
    from: Option<&Path>,
) -> Result<String, ExitFailure> {
    let place = object(RESOURCES, &client.namespace, name);
    let directory = from.filter(|from| *from != Path::new("-"));
    let (files, listed) = match directory {
        Some(directory) => {
            let (files, half) = update::without_leftovers(read_directory(directory)?);
            for file in half {
                crate::commands::say(&format!(
                    "{file} is not pushed: an earlier pull or push left it half-written"
                ));
            }
            (files, None)
        }
        None => {
            let listed = read_input()?;
            (resource_list::joined(&listed), Some(listed))
        }
    };
    let missing = || {
        ExitFailure::new(format!(
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
    let noted = noted.map_err(|e| ExitFailure::of(&format!("read {METADATA}"), &e))?;
    let version = text(&noted, &["metadata", "resourceVersion"]).ok_or_else(missing)?;
    refuse(&files, &noted)?;
    let pushed = files.clone();
    let sent: BTreeMap<String, String> = match listed {
        None => files.into_iter().collect(),
        Some(listed) => resource_list::over(files_of(&client.get(&place).await?), listed)?,
    };
    let resources: Map<String, Value> = sent
        .into_iter()
        .filter(|(path, _)| path != METADATA)
        .map(|(path, text)| (path, text.into()))
        .collect();
    let body = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1",
        "kind": "PackageRevisionResources",
        "metadata": { "name": name, "namespace": client.namespace, "resourceVersion": version },
        "spec": { "resources": resources },
    });
    let answer = client.put(&place, &body).await;
    let answer = answer.map_err(|why| stale(why, &noted, name))?;
    crate::commands::say_plain(&results(&answer));
    if let Some(directory) = directory {
        take_back(directory, &pushed, &answer)?;
    }
    Ok(format!("{name} pushed\n"))
}

/// Brings a directory that was pushed in line with what the draft holds now, and says what is otherwise here.
fn take_back(
    directory: &Path,
    pushed: &[(String, String)],
    answer: &Value,
) -> Result<(), ExitFailure> {
    let mut now = files_of(answer);
    let notes = update::noted(&now);
    now.insert(0, (METADATA.to_owned(), metadata(answer, Some(notes))));
    let done = refresh::refresh(directory, pushed, &now)?;
    refresh::note(directory, &now)?;
    for file in modes::only_here(directory, &executable(answer))? {
        crate::commands::say(&format!(
            "Warning: {} may be executed here, and is pushed as a text: only git gives a file that mode",
            file.escape_debug()
        ));
    }
    for file in &done.changed {
        crate::commands::say(&format!("{file} is as the render left it"));
    }
    for file in &done.left {
        crate::commands::say(&format!(
            "{file} was edited while it was pushed: it is left as it is, and the next push sends it"
        ));
    }
    Ok(())
}

/// No package holds markers, and no file that was edited since the pull a key twice.
fn refuse(files: &[(String, String)], notes: &Value) -> Result<(), ExitFailure> {
    marked::refuse(files)?;
    let was = update::pulled(notes).unwrap_or_default();
    repeated::refuse(files, &|path, text| update::is_as_pulled(&was, path, text))
}

/// A refusal of what was pulled earlier, or from another revision, with the way out: a conflict without a reason of ours is one
/// of versions.
fn stale(why: ExitFailure, noted: &Value, name: &str) -> ExitFailure {
    if why.reason() == Some(RejectionReason::UnfitLifecycle) {
        return why.hint(format!(
            "a proposal becomes a draft again by offshoot rpkg reject {name}; of what is published, offshoot rpkg copy {name} --workspace NAME makes one"
        ));
    }
    if !why.is_conflict() || why.reason().is_some() {
        return why;
    }
    let from = text(noted, &["metadata", "name"]).unwrap_or_default();
    why.hint(if from == name {
        format!(
            "{name} changed since it was pulled, if only by a push: offshoot rpkg pull {name} DIRECTORY --update brings the directory up to date and keeps your edits"
        )
    } else {
        format!(
            "these files were pulled from {from}: push them there, or pull {name} into a directory of its own and bring your edits over"
        )
    })
}

/// What rendering reported, in Porch's form.
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

fn read_input() -> Result<Vec<resource_list::Item>, ExitFailure> {
    if std::io::stdin().is_terminal() {
        return Err(ExitFailure::usage("nothing to push")
            .hint("name a directory, or give a ResourceList on standard input"));
    }
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .map_err(|e| ExitFailure::of("read standard input", &e))?;
    resource_list::read(&input)
}

#[cfg(test)]
mod tests {
    use model::PackagePath;

    use super::*;

    #[test]
    fn what_is_left_out_is_told_with_its_reason() {
        let mut object = json!({ "metadata": { "name": "a" } });
        assert!(told(&object).is_empty());
        let path = PackagePath::parse("big.txt").unwrap();
        let said: BTreeMap<_, _> = [(path, "too large".to_owned())].into();
        api::write_left_out(&mut object, &said);
        let binary: Vec<String> = (0..=NAMED).map(|n| format!("{n:02}.png")).collect();
        object["metadata"]["annotations"][api::BINARY_FILES] = json!(binary).to_string().into();
        let carried = [("link", "symlink"), ("CM.yaml", "file"), ("a\nb", "file")];
        let carried = carried.map(|(path, what)| (path.to_owned(), what)).into();
        api::write_carried(&mut object, &carried);
        let told = told(&object);
        assert_eq!(told.len(), 1 + NAMED + 1 + 3, "{told:?}");
        for (at, wanted) in [
            (0, "big.txt is left out: too large"),
            (1, "00.png is left out: it is no text"),
            (NAMED + 1, "1 more are no text"),
            (
                NAMED + 2,
                "CM.yaml is left out: a file of this name is not read",
            ),
            (NAMED + 3, "a\\nb is left out"),
            (NAMED + 4, "link is left out: it is a symlink"),
        ] {
            assert!(told[at].contains(wanted), "{told:?}");
        }
    }
}
