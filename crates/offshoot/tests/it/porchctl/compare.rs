//! What must be the same, and what may differ in any run.

use serde_json::Value;

use super::Ran;
use super::base::World;

/// What a command did otherwise than the transcript says; empty if nothing.
pub(super) fn differences(world: &World, step: &Value, ran: &Ran) -> Vec<String> {
    let mut out = Vec::new();
    let text = |key: &str| step[key].as_str().unwrap_or_default();
    // Which number a failure has is ours to choose; that it is one is not.
    let failed = step["exit"].as_i64() != Some(0);
    if failed != (ran.code != 0) {
        out.push(format!(
            "exit code {}, {} was seen; {}",
            ran.code, step["exit"], ran.stderr
        ));
    }
    if failed && ran.code != 0 && ran.stderr.trim().is_empty() {
        out.push("failed without a word".to_owned());
    }
    for refusal in refusals(text("stderr")) {
        if !ran.stderr.contains(refusal) {
            out.push(format!("{refusal} was told; {}", ran.stderr));
        }
    }
    let stdout = world.theirs(&ran.stdout);
    if !same_output(step, text("stdout"), &stdout) {
        out.push(format!("seen:\n{}\nprinted:\n{stdout}", text("stdout")));
    }
    for (path, wanted) in step
        .get("files_written")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let wanted = wanted.as_str().unwrap_or_default();
        match std::fs::read(world.checkout().join(path)) {
            Err(error) => out.push(format!("{path}: {error}")),
            Ok(bytes) => {
                let got = without_note(&String::from_utf8_lossy(&bytes));
                let got = world.theirs(&got);
                if !same_text(wanted, &got) {
                    out.push(format!("{path}: seen:\n{wanted}\nwritten:\n{got}"));
                }
            }
        }
    }
    out
}

/// A pulled directory's metadata without what `pull --update` will want to know: an annotation that porchctl passes over.
fn without_note(text: &str) -> String {
    match text.split_once("  annotations:\n    offshoot.dev/pulled: ") {
        Some((before, _)) => before.to_owned(),
        None => text.to_owned(),
    }
}

/// Who may not do what, and where, as the server said it.
fn refusals(text: &str) -> impl Iterator<Item = &str> {
    text.split("is forbidden: ").skip(1).map(|rest| {
        let line = rest.lines().next().unwrap_or_default();
        line.trim_end_matches([' ', ')'])
    })
}

fn same_output(step: &Value, wanted: &str, got: &str) -> bool {
    let said = |word: &str| {
        step["argv"]
            .as_array()
            .is_some_and(|argv| argv.iter().any(|a| a == word))
    };
    // Porch registers and unregisters without a word.
    if said("repo")
        && wanted.is_empty()
        && (got.ends_with("registered\n") || got.ends_with("unregistered\n"))
    {
        return true;
    }
    let is_object = |text: &str| text.starts_with("apiVersion:") || text.starts_with('{');
    if is_object(wanted) && is_object(got) {
        return same_text(wanted, got);
    }
    rows(wanted) == rows(got)
}

/// The cells of a table, whatever the order of its rows and the width of its columns.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let cells = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        cells
            .map(|cell| cell.split(' ').map(plain).collect::<Vec<_>>().join(" "))
            .collect()
    };
    let mut rows: Vec<Vec<String>> = text.lines().map(cells).collect();
    rows.sort();
    rows
}

/// A word without what is different in every run.
fn plain(word: &str) -> String {
    let bare = word.trim_matches('"');
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    let is_age = bare.ends_with(['s', 'm', 'h']) && digits > 0 && bare.len() < 7;
    let is_time = bare.len() >= 20 && bare.ends_with('Z') && bare.contains('T');
    if is_age || bare == "<age>" {
        return "AGE".to_owned();
    }
    if is_time || bare == "<time>" {
        return "TIME".to_owned();
    }
    word.to_owned()
}

/// Equal as YAML values, or as texts where they are none.
fn same_text(wanted: &str, got: &str) -> bool {
    match (documents(wanted), documents(got)) {
        (Some(wanted), Some(got)) => wanted == got,
        _ => wanted.trim_end() == got.trim_end(),
    }
}

fn documents(text: &str) -> Option<Vec<Value>> {
    let mut values = if text.starts_with('{') {
        let several = serde_json::Deserializer::from_str(text).into_iter();
        several.collect::<Result<Vec<Value>, _>>().ok()?
    } else {
        yaml_documents(text)?
    };
    if !values.iter().all(|value| value.get("kind").is_some()) {
        return None;
    }
    for value in &mut values {
        settle(value, "");
    }
    values.sort_by_key(|value| value["metadata"]["name"].to_string());
    Some(values)
}

fn yaml_documents(text: &str) -> Option<Vec<Value>> {
    let stream = yaml::Stream::parse(text, &yaml::Limits::default()).ok()?;
    let values = stream
        .documents()
        .map(|document| document.to_json(yaml::Reader::V3).ok());
    values.collect()
}

/// Takes off what is different in every run, and what we add to Porch's objects (A1).
fn settle(value: &mut Value, key: &str) {
    match value {
        Value::Object(map) => {
            for ours in [
                "offshoot",
                "porchctl",
                "latest",
                "generation",
                "managedFields",
                "observedGeneration",
                "publishedBy",
                "lastFullSyncTime",
                "nextFullSyncTime",
                "kubectl.kubernetes.io/last-applied-configuration",
                "config.kubernetes.io/index",
                "config.kubernetes.io/path",
                "internal.config.kubernetes.io/index",
            ] {
                map.remove(ours);
            }
            // When a repository is read is a matter of time.
            if map.get("kind").is_some_and(|kind| kind == "Repository") {
                map.remove("status");
            }
            if map.get("secretRef") == Some(&serde_json::json!({ "name": "" })) {
                map.remove("secretRef");
            }
            if map.get("revision").is_some_and(|revision| revision == 0) {
                map.remove("revision");
            }
            if map.get("deployment") == Some(&Value::Bool(false)) {
                map.remove("deployment");
            }
            for (key, value) in map.iter_mut() {
                settle(value, key);
            }
            map.retain(|_, value| *value != Value::Object(serde_json::Map::new()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, key)),
        Value::String(text) => {
            let varies = [
                "resourceVersion",
                "uid",
                "commit",
                "creationTimestamp",
                "publishTimestamp",
                "lastTransitionTime",
                "runOnceAt",
            ];
            if varies.contains(&key) {
                text.clear();
            }
        }
        Value::Number(_) if key == "resourceVersion" => *value = Value::String(String::new()),
        _ => {}
    }
}
