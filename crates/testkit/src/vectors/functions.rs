//! The vectors of `functions`: each built-in against what the catalog's function answered.
//!
//! Items are compared by value and as a set, results by message, severity and place, exit codes exactly. Which
//! differences are known, and by which decision, is said by the caller; nothing here decides that.

use std::collections::BTreeMap;
use std::path::Path;

use functions::wire::ResourceList;
use functions::{BuiltIns, FunctionCall};
use serde_json::{Value, json};

use super::known::{Checked, cases, digest};

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

/// Reads all cases of a function's folder, or of one file with a case on each line.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn read(place: &Path) -> std::io::Result<Vec<Case>> {
    Ok(cases(place)?.iter().filter_map(case).collect())
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

/// Runs a case.
pub fn run(case: &Case) -> Checked {
    let (exit_code, items, results) = match ResourceList::read(&case.stdin) {
        Err(error) => (1, Vec::new(), vec![json!({"message": error.to_string()})]),
        Ok(list) => {
            let function = model::Function {
                image: Some(format!("example.com/fn/{}:v1", case.function)),
                ..Default::default()
            };
            match BuiltIns.call(FunctionCall {
                function,
                config: list.config,
                items: list.items,
                tenant: None,
            }) {
                Err(error) => (1, Vec::new(), vec![json!({"message": error.to_string()})]),
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
    let mut said: Vec<String> = items
        .iter()
        .chain(&results)
        .map(|value| sorted(value).to_string())
        .collect();
    said.sort();
    let result = digest(
        [exit_code.to_string().as_str()]
            .into_iter()
            .chain(said.iter().map(String::as_str)),
    );
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
    Checked {
        more: false,
        name: case.name.clone(),
        difference: (!differences.is_empty()).then(|| differences.join("\n")),
        result,
    }
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
