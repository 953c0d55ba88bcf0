//! What a pipeline must obey before anything runs (M18).
//!
//! kpt's messages, all problems at once. Strict where it matters: a function that is none, a
//! path that leaves the package after cleaning, two functions of one name.

use std::collections::BTreeSet;

use model::{Files, Function, PackagePath, Pipeline, Problem};

use yaml::owned::Value;

use super::image;
use crate::krm::not_krm;

/// All problems of a pipeline; `package` gives the files and the package's directory in them, so
/// that config paths can be looked up; `strict` refuses what only kpt refuses.
pub(super) fn pipeline(
    pipeline: &Pipeline,
    package: Option<(&Files, &str)>,
    strict: bool,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lists = [
        ("mutators", &pipeline.mutators),
        ("validators", &pipeline.validators),
    ];
    for (list, functions) in lists {
        let mut names = BTreeSet::new();
        for (index, function) in functions.iter().enumerate() {
            let field = format!("pipeline.{list}[{index}]");
            let known = function_problem(function, &field, package, strict);
            let twice = !function.name.is_empty() && !names.insert(function.name.as_str());
            let known = known.or_else(|| {
                twice.then(|| {
                    let reason = "function name must be unique within its list";
                    Invalid::new(format!("{field}.name"), reason).value(&function.name)
                })
            });
            if let Some(invalid) = known {
                problems.push(invalid.problem(function));
            }
        }
    }
    problems
}

const OUTSIDE: &str = "path must not be outside the package";

/// One violation.
struct Invalid {
    field: String,
    value: Option<String>,
    reason: String,
}

impl Invalid {
    fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: None,
            reason: reason.into(),
        }
    }

    fn value(mut self, value: &str) -> Self {
        self.value = (!value.is_empty()).then(|| value.to_owned());
        self
    }

    fn problem(self, function: &Function) -> Problem {
        let name = function
            .exec
            .as_deref()
            .or(function.image.as_deref())
            .unwrap_or("");
        let value = self
            .value
            .map(|v| format!("Value: {v:?}\n"))
            .unwrap_or_default();
        let (field, reason) = (self.field, self.reason);
        let what = format!(
            "invalid pipeline: function {name:?}: Kptfile is invalid:\nField: `{field}`\n{value}Reason: {reason}\n"
        );
        Problem::new(field, what)
    }
}

fn function_problem(
    function: &Function,
    field: &str,
    package: Option<(&Files, &str)>,
    strict: bool,
) -> Option<Invalid> {
    match (&function.image, &function.exec) {
        (None, None) => {
            let reason = "must specify a functon (`image` or `exec`) to execute";
            return Some(Invalid::new(field, reason));
        }
        (Some(_), Some(_)) => {
            let reason = "must not specify both `image` and `exec` at the same time";
            return Some(Invalid::new(field, reason));
        }
        (Some(reference), None) => {
            if let Some(why) = image::reject(reference) {
                let reason = format!("function image reference {reference:?} is invalid: {why}");
                return Some(Invalid::new(format!("{field}.image"), reason).value(reference));
            }
        }
        (None, Some(_)) => {}
    }
    if !function.config_map.is_empty() && function.config_path.is_some() {
        let reason =
            "functionConfig must not specify both `configMap` and `configPath` at the same time";
        return Some(Invalid::new(field, reason));
    }
    let path = function.config_path.as_deref()?;
    let reason = match (clean(path), package) {
        (Err(reason), _) => Some(reason.to_owned()),
        (Ok(clean), _) if strict && clean.contains("..") => Some(OUTSIDE.to_owned()),
        (Ok(clean), Some((files, dir))) => config_file(files, dir, path, &clean),
        (Ok(_), None) => None,
    };
    reason.map(|reason| Invalid::new(format!("{field}.configPath"), reason).value(path))
}

/// A config path without `.` and `..` segments, or why it cannot be one (M18: after cleaning).
pub(crate) fn clean(path: &str) -> Result<String, &'static str> {
    if path.trim().is_empty() {
        return Err("path must not be empty");
    }
    if path.starts_with('/') {
        return Err("path must be relative");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(OUTSIDE)?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn config_file(files: &Files, dir: &str, path: &str, clean: &str) -> Option<String> {
    let full = if dir.is_empty() {
        clean.to_owned()
    } else {
        format!("{dir}/{clean}")
    };
    let cannot = |why: &str| {
        Some(format!(
            "failed to open functionConfig from path {path:?}: {why}"
        ))
    };
    let Ok(key) = PackagePath::parse(&full) else {
        return cannot("no such file or directory");
    };
    let Some(file) = files.get(&key) else {
        return cannot("no such file or directory");
    };
    let Some(text) = file.as_text() else {
        return cannot("the file is not text");
    };
    let stream = match yaml::Stream::parse(text, &yaml::Limits::default()) {
        Ok(stream) => stream,
        Err(error) => return cannot(&error.to_string()),
    };
    let documents: Vec<_> = stream.documents().filter(|d| !d.is_empty()).collect();
    match documents.as_slice() {
        [] => Some(format!(
            "functionConfig {path:?}: the file is empty; it must hold one resource"
        )),
        [document] => {
            let value = match Value::read(document) {
                Ok(value) => value,
                Err(error) => return cannot(&error.to_string()),
            };
            not_krm(clean, &value).map(|why| format!("functionConfig {path:?}: {why}"))
        }
        more => Some(format!(
            "functionConfig {path:?} must not contain more than one config, got {}",
            more.len()
        )),
    }
}
