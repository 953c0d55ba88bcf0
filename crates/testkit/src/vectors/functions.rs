//! The vectors of `functions`: each built-in against what the catalog's function answered.
//!
//! Items are compared by value and as a set, results by message, severity and place, exit codes exactly. Which
//! differences are known, and by which decision, is said by the caller; nothing here decides that.

use std::collections::BTreeMap;
use std::path::Path;

use functions::wire::ResourceList;
use functions::{BuiltIns, Call};
use serde_json::{Value, json};

/// One case, read.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, unique in the set.
    pub name: String,
    /// The function that it is for.
    pub function: String,
    /// What goes in.
    pub stdin: String,
    /// The newest recorded run.
    pub expected: Expected,
}

/// What the catalog's function answered.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Its exit code.
    pub exit_code: i64,
    /// What it printed.
    pub stdout: String,
    /// Whether its output differs between runs.
    pub unstable: bool,
    /// Whether it crashed.
    pub panic: bool,
}

/// Reads all cases of a function's folder, by name.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn read(folder: &Path) -> std::io::Result<Vec<Case>> {
    let mut cases = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let json: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
            if let Some(case) = case(&json) {
                cases.insert(case.name.clone(), case);
            }
        }
    }
    Ok(cases.into_values().collect())
}

fn case(json: &Value) -> Option<Case> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let run = json.get("runs")?.as_array()?.last()?;
    let flag = |key: &str| run.get(key).and_then(Value::as_bool).unwrap_or_default();
    Some(Case {
        name: text(json.get("name")?)?,
        function: text(json.get("function")?)?,
        stdin: text(json.get("stdin")?)?,
        expected: Expected {
            exit_code: run.get("exit_code")?.as_i64()?,
            stdout: run.get("stdout").and_then(text).unwrap_or_default(),
            unstable: flag("unstable"),
            panic: flag("panic"),
        },
    })
}

/// Cases where we differ on purpose, with the decision that says so.
pub const KNOWN: &[(&str, &str)] = &[
    (
        "apply-setters-wire-not-resourcelist",
        "X2: a built-in is not fed by a stream",
    ),
    (
        "delete-annotations-wire-no-functionconfig",
        "M11: the message holds no internals of another language",
    ),
    (
        "set-enforcement-action-no-spec",
        "M20: a failed step leaves what it was given",
    ),
    (
        "search-replace-by-value-regex-capture-missing",
        "M20: a failed step leaves what it was given",
    ),
    (
        "set-annotations-wire-item-without-kind",
        "M11: the message holds no internals of another language",
    ),
    (
        "set-image-new-name",
        "M11: the newest release keeps the colon before a tag that stays",
    ),
    (
        "set-namespace-crd-config-empty",
        "M11: an invalid configuration is an error",
    ),
    (
        "set-namespace-empty-namespace",
        "M11: an invalid configuration is an error",
    ),
    (
        "set-namespace-wire-empty",
        "M11: an invalid configuration is an error",
    ),
    (
        "set-namespace-wire-no-functionconfig",
        "M11: an invalid configuration is an error",
    ),
];

/// The decision that makes us differ in a case, if there is one.
pub fn known(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(case, _)| *case == name)
        .map(|(_, decision)| *decision)
}

/// Runs a case; `None` where we agree, else how we differ, one difference a line.
pub fn run(case: &Case) -> Option<String> {
    let (exit_code, items, results) = match ResourceList::read(&case.stdin) {
        Err(error) => (1, Vec::new(), vec![json!({"message": error.to_string()})]),
        Ok(list) => {
            let function = model::Function {
                image: Some(format!("example.com/fn/{}:v1", case.function)),
                ..Default::default()
            };
            match BuiltIns.call(Call {
                function,
                config: list.config,
                items: list.items,
            }) {
                Err(error) => return Some(format!("not run: {error}")),
                Ok(outcome) => {
                    let items = outcome
                        .items
                        .iter()
                        .map(|item| item.value.to_json())
                        .collect();
                    let results = outcome.results.iter().map(result).collect();
                    (i64::from(outcome.exit_code), items, results)
                }
            }
        }
    };
    let mut differences = Vec::new();
    if exit_code != case.expected.exit_code && !case.expected.panic {
        differences.push(format!(
            "exit code {exit_code}, recorded {}",
            case.expected.exit_code
        ));
    }
    if !case.expected.unstable && !case.expected.panic {
        compare(case, items, results, &mut differences);
    }
    (!differences.is_empty()).then(|| differences.join("\n"))
}

fn compare(case: &Case, items: Vec<Value>, results: Vec<Value>, differences: &mut Vec<String>) {
    let Ok(recorded) = ResourceList::read(&case.expected.stdout) else {
        return;
    };
    if case.expected.stdout.trim().is_empty() {
        return;
    }
    let theirs: Vec<Value> = recorded
        .items
        .iter()
        .map(|item| item.value.to_json())
        .collect();
    differences.extend(sets("item", items, theirs));
    // Some functions hand on the results that they were given, some drop them: nobody's business here.
    let given = ResourceList::read(&case.stdin)
        .map(|list| list.results)
        .unwrap_or_default();
    let added = recorded
        .results
        .iter()
        .filter(|result| !given.contains(result));
    let theirs: Vec<Value> = added.map(result).collect();
    differences.extend(sets("result", results, theirs));
}

fn result(result: &model::FunctionResultItem) -> Value {
    json!({
        "message": result.message,
        "severity": result.severity.as_str(),
        "field": result.field,
        "file": result.file.as_ref().map(|(path, _)| path).filter(|path| !path.is_empty()),
    })
}

/// What is in one of two lists only.
fn sets(what: &str, ours: Vec<Value>, theirs: Vec<Value>) -> Vec<String> {
    let mut theirs: Vec<Value> = theirs.iter().map(sorted).collect();
    let mut out = Vec::new();
    for value in ours.iter().map(sorted) {
        match theirs.iter().position(|other| *other == value) {
            Some(at) => drop(theirs.remove(at)),
            None => out.push(format!("{what} of ours: {value}")),
        }
    }
    out.extend(
        theirs
            .iter()
            .map(|value| format!("{what} recorded: {value}")),
    );
    out
}

/// The same value with sorted keys, so that its text can be compared by eye.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> =
                fields.iter().map(|(k, v)| (k, sorted(v))).collect();
            Value::Object(fields.into_iter().map(|(k, v)| (k.clone(), v)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        value => value.clone(),
    }
}
