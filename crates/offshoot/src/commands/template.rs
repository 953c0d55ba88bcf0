//! `offshoot template eval`: what an expression of a set's template yields, without a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use expr::Value;
use yaml::{Limits, Reader};

use super::print;
use crate::cli::local::{Template, TemplateArgs};
use crate::exit::ExitFailure;
use crate::stack;

/// Runs one verb.
///
/// # Errors
/// It failed, and why.
pub(super) fn run(args: &TemplateArgs) -> Result<ExitCode, ExitFailure> {
    let Template::Eval {
        expr,
        vars,
        repo_expr,
    } = &args.verb;
    let variables = match vars {
        Some(path) => read(path)?,
        None => BTreeMap::new(),
    };
    let result = stack::on_large(|| plan::set::evaluate(expr, &variables, *repo_expr));
    let result = result.map_err(|e| ExitFailure::of("evaluate the expression", &e))?;
    let text = result.map_err(|e| ExitFailure::new(e.to_string()))?;
    print(&format!("{text}\n"))
}

fn read(path: &Path) -> Result<BTreeMap<String, Value>, ExitFailure> {
    let attempt = format!("read {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| ExitFailure::of(&attempt, &e))?;
    let json = yaml::first_document_json(&text, Reader::Sigs, true, &Limits::default());
    let json = json.map_err(|e| ExitFailure::of(&attempt, &e))?;
    match value(&json, "the file")? {
        Value::Map(map) => Ok(map),
        Value::Text(_) => Err(ExitFailure::new(format!(
            "{} holds no mapping of variables",
            path.display()
        ))),
    }
}

/// Expressions see texts and mappings, nothing else.
fn value(json: &serde_json::Value, place: &str) -> Result<Value, ExitFailure> {
    match json {
        serde_json::Value::String(text) => Ok(Value::Text(text.clone())),
        serde_json::Value::Object(map) => {
            let entries = map.iter().map(|(k, v)| Ok((k.clone(), value(v, k)?)));
            entries.collect::<Result<_, ExitFailure>>().map(Value::Map)
        }
        other => Err(ExitFailure::new(format!(
            "{place} is {other}: variables hold texts and mappings only"
        ))
        .hint("quote it, if a text is meant")),
    }
}
