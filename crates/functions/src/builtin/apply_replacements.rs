//! `apply-replacements`: copies a field of one resource into fields of others.

mod put;
mod select;

use yaml::owned::Value;

use put::{Options, Path, Put};
use select::Select;

use crate::budget::Budget;
use crate::config::Config;
use crate::{FunctionReport, Item};

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    if config.is_absent() {
        return FunctionReport::failure("FunctionConfig is missing. Expect `ApplyReplacements`");
    }
    if config.kind() != "ApplyReplacements" {
        let (kind, version) = (config.kind(), config.api_version());
        return FunctionReport::failure(format!(
            "unknown functionConfig Kind={kind} ApiVersion={version}, expect `ApplyReplacements`"
        ));
    }
    let replacements = config.get("replacements").and_then(Value::as_seq);
    // All or nothing: a failure leaves what was given.
    let mut changed = items.clone();
    let budget = Budget::default();
    for replacement in replacements.map(|seq| seq.items()).unwrap_or_default() {
        if let Err(message) = apply(&mut changed, replacement, &budget) {
            return FunctionReport::failure(message);
        }
    }
    *items = changed;
    FunctionReport::default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::text).unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_seq)
        .map(|seq| seq.items())
        .unwrap_or_default()
}

fn apply(items: &mut [Item], replacement: &Value, budget: &Budget) -> Result<(), String> {
    let targets = list(replacement, "targets");
    let stated = |key: &str| replacement.get(key).filter(|value| !value.is_null());
    let value = match (stated("source"), stated("sourceValue")) {
        (Some(_), Some(_)) => {
            let why = "value and resource selectors are mutually exclusive in replacement";
            return Err(why.to_owned());
        }
        (Some(source), None) if !targets.is_empty() => source_value(items, source)?,
        (None, Some(value)) if !targets.is_empty() => {
            Value::string(value.text().unwrap_or_default())
        }
        _ => return Err("replacements must specify a source and at least one target".to_owned()),
    };
    for target in targets {
        let Some(select) = target.get("select").filter(|select| !select.is_null()) else {
            return Err("target must specify resources to select".to_owned());
        };
        let select = Select::read(select)?;
        let reject: Vec<Select> = list(target, "reject")
            .iter()
            .map(Select::read)
            .collect::<Result<_, _>>()?;
        let options = Options::read(target.get("options"));
        let paths: Vec<&str> = list(target, "fieldPaths")
            .iter()
            .filter_map(Value::text)
            .collect();
        let paths = if paths.is_empty() {
            vec!["metadata.name"]
        } else {
            paths
        };
        let chosen =
            |item: &Item| select.matches(item) && !reject.iter().any(|reject| reject.rejects(item));
        let chosen: Vec<bool> = items.iter().map(chosen).collect();
        // Path by path, so that the patterns of one alone are in memory, and each is built once.
        for path in paths {
            let put = Put {
                value: &value,
                options: &options,
                path: Path::read(path),
                budget,
            };
            let targets = items.iter_mut().zip(&chosen).filter(|(_, chosen)| **chosen);
            for (item, _) in targets {
                put.all(item.value_mut())?;
            }
        }
    }
    Ok(())
}

fn source_value(items: &[Item], source: &Value) -> Result<Value, String> {
    let path = Some(text(source, "fieldPath"))
        .filter(|path| !path.is_empty())
        .unwrap_or("metadata.name");
    let fits = |wanted: &str, have: &str| wanted.is_empty() || wanted == have;
    let mut found = items.iter().filter(|item| {
        fits(text(source, "group"), item.group())
            && fits(text(source, "version"), item.version())
            && fits(text(source, "kind"), item.kind())
            && fits(text(source, "name"), item.name())
            && fits(text(source, "namespace"), item.namespace())
    });
    let named = || {
        let or = |key: &str, none: &str| {
            let text = text(source, key);
            if text.is_empty() {
                none.to_owned()
            } else {
                text.to_owned()
            }
        };
        let (kind, version, group) = (
            or("kind", "[noKind]"),
            or("version", "[noVer]"),
            or("group", "[noGrp]"),
        );
        let (name, namespace) = (or("name", "[noName]"), or("namespace", "[noNs]"));
        format!("{kind}.{version}.{group}/{name}.{namespace}:{path}")
    };
    let item = found
        .next()
        .ok_or_else(|| format!("nothing selected by {}", named()))?;
    if found.next().is_some() {
        return Err(format!("multiple matches for selector {}", named()));
    }
    let missing = || {
        format!(
            "fieldPath `{path}` is missing for replacement source {}",
            named()
        )
    };
    let value = look(&item.value, &split(path)).filter(|value| !is_nothing(value));
    let value = value.ok_or_else(missing)?;
    Options::read(source.get("options")).part(value)
}

/// What says nothing: null, or an empty collection.
fn is_nothing(value: &Value) -> bool {
    value.is_null()
        || value.as_map().is_some_and(|map| map.is_empty())
        || value.as_seq().is_some_and(|seq| seq.items().is_empty())
}

/// The value at a path that names one field.
fn look<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    let Some((step, rest)) = path.split_first() else {
        return Some(value);
    };
    let child = match value.as_seq() {
        Some(seq) => {
            seq.items()
                .iter()
                .enumerate()
                .find(|(at, item)| fits(item, *at, step))?
                .1
        }
        None => value.get(step)?,
    };
    look(child, rest)
}

/// Whether an item of a list is meant by a step: `[key=value]`, `[=value]`, a position, or `*`.
fn fits(item: &Value, at: usize, step: &str) -> bool {
    let Some(inner) = step
        .strip_prefix('[')
        .and_then(|step| step.strip_suffix(']'))
    else {
        return step == "*" || step.parse() == Ok(at);
    };
    match inner.split_once('=') {
        Some(("", value)) => item.text() == Some(value),
        Some((key, value)) => item.get(key).and_then(Value::text) == Some(value),
        None => false,
    }
}

/// The steps of a path: dots part them, but not inside brackets nor behind a backslash. A key may stand in brackets, as in
/// `metadata.annotations.[a.b/c]`.
fn split(path: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let (mut depth, mut escaped) = (0_usize, false);
    for c in path.chars() {
        let Some(last) = steps.last_mut() else { break };
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '.' if !escaped && depth == 0 => {
                steps.push(String::new());
                continue;
            }
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if escaped && c != '.' {
            last.push('\\');
        }
        escaped = false;
        last.push(c);
    }
    steps.retain(|step| !step.is_empty());
    for step in &mut steps {
        let inner = step
            .strip_prefix('[')
            .and_then(|step| step.strip_suffix(']'));
        if let Some(key) = inner.filter(|inner| !inner.is_empty() && !inner.contains('=')) {
            *step = key.to_owned();
        }
    }
    steps
}

#[cfg(test)]
mod tests;
