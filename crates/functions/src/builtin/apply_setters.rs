//! `apply-setters`: fields that carry a `# kpt-set: ${name}` comment take the setter's value.

use std::sync::Arc;

use regex::Regex;
use yaml::Style;
use yaml::owned::{Data, Scalar, Value};

use crate::config::Config;
use crate::goquote::{list, quote};
use crate::report::{at_field, info};
use crate::{Item, Report};

/// How a setter comment begins: exactly so, one blank included.
pub(crate) const SETTER: &str = "# kpt-set: ";

type Setters = Vec<(String, String)>;

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> Report {
    apply(items, &config.data_pairs())
}

/// Applies setters to all resources.
pub(crate) fn apply(items: &mut [Item], setters: &Setters) -> Report {
    let mut results = Vec::new();
    for item in items.iter_mut() {
        let mut found = Vec::new();
        let outcome = visit(item.value_mut(), &mut String::new(), setters, &mut found);
        results.extend(found.iter().map(|(field, value)| {
            at_field(item, field, format!("set field value to {}", quote(value)))
        }));
        if let Err(message) = outcome {
            let failure = Report::failure(format!("failed to apply setters: {message}"));
            return Report {
                stderr: message,
                ..failure
            };
        }
    }
    if results.is_empty() {
        results.push(info("no matches for input setter(s)"));
    }
    Report::of(results)
}

type Found = Vec<(String, String)>;

/// Lists that are children of a mapping come before everything below it, as the catalog's walker has it.
fn visit(
    value: &mut Value,
    path: &mut String,
    setters: &Setters,
    found: &mut Found,
) -> Result<(), String> {
    if value.is_alias() {
        return Ok(());
    }
    let length = path.len();
    match value.data() {
        Data::Scalar(_) => return scalar(value, path, setters, found),
        Data::Map(_) => {
            let Some(map) = value.as_map_mut() else {
                return Ok(());
            };
            for (key, child) in map.iter_mut() {
                if !child.is_alias() && child.as_seq().is_some() {
                    step(path, key);
                    sequence(child, path, setters, found)?;
                    path.truncate(length);
                }
            }
            for (key, child) in map.iter_mut() {
                step(path, key);
                visit(child, path, setters, found)?;
                path.truncate(length);
            }
        }
        _ => {
            let Some(seq) = value.as_seq_mut() else {
                return Ok(());
            };
            for (at, child) in seq.items_mut().iter_mut().enumerate() {
                path.push_str(&format!("[{at}]"));
                visit(child, path, setters, found)?;
                path.truncate(length);
            }
        }
    }
    Ok(())
}

fn step(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// The pattern of a setter comment that names at least one of the setters.
fn pattern<'c>(comment: Option<&'c str>, setters: &Setters) -> Option<&'c str> {
    let pattern = comment?.strip_prefix(SETTER)?.trim();
    let named = |(name, _): &(String, String)| pattern.contains(&format!("${{{name}}}"));
    setters.iter().any(named).then_some(pattern)
}

fn sequence(
    value: &mut Value,
    path: &str,
    setters: &Setters,
    found: &mut Found,
) -> Result<(), String> {
    let Some(pattern) = pattern(value.comment(), setters) else {
        return Ok(());
    };
    let names = placeholders(pattern);
    if names.len() != 1 || !pattern.starts_with("${") || !pattern.ends_with('}') {
        return Err(format!(
            "invalid setter pattern for array node: {}",
            quote(pattern)
        ));
    }
    let name = clean(pattern);
    let text = setters
        .iter()
        .find(|(setter, _)| setter == name)
        .map_or("", |(_, text)| text)
        .to_owned();
    let items = if text.is_empty() {
        Vec::new()
    } else {
        parse_array(&text)?
    };
    if let Some(seq) = value.as_seq_mut() {
        let same = seq.items().len() == items.len()
            && seq
                .items()
                .iter()
                .zip(&items)
                .all(|(old, new)| old.same(new));
        if !same {
            *seq.items_mut() = items;
        }
    }
    found.push((path.to_owned(), text));
    Ok(())
}

fn parse_array(text: &str) -> Result<Vec<Value>, String> {
    let wrong = || {
        format!(
            "input to array setter must be an array of values, but found {}",
            quote(text)
        )
    };
    let value = crate::wire::parse_value(text).ok_or_else(wrong)?;
    value
        .as_seq()
        .map(|seq| seq.items().to_vec())
        .ok_or_else(wrong)
}

fn scalar(
    value: &mut Value,
    path: &str,
    setters: &Setters,
    found: &mut Found,
) -> Result<(), String> {
    let Some(pattern) = pattern(value.comment(), setters) else {
        return Ok(());
    };
    let Some(current) = value.as_scalar() else {
        return Ok(());
    };
    let derived = current_values(pattern, &current.text);
    let text = substitute(pattern, |name| {
        let given = setters.iter().find(|(setter, _)| setter == name);
        given
            .or_else(|| derived.iter().find(|(setter, _)| setter == name))
            .map(|(_, text)| text.clone())
    });
    let unresolved = placeholders(&text);
    if !unresolved.is_empty() {
        return Err(format!(
            "values for setters {} must be provided",
            list(unresolved)
        ));
    }
    let style = if text.is_empty() {
        Style::DoubleQuoted
    } else {
        current.style
    };
    if *current.text != *text {
        let new = Scalar {
            text: Arc::from(text.as_str()),
            style,
            tag: None,
        };
        value.replace(Value::scalar(new));
    }
    found.push((path.to_owned(), text));
    Ok(())
}

/// Puts values in the place of `${name}`, each in one pass: a value that holds a placeholder is not entered.
fn substitute(pattern: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let whole = &rest[start..=start + length];
        out.push_str(&rest[..start]);
        out.push_str(&value(clean(whole)).unwrap_or_else(|| whole.to_owned()));
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out
}

/// All `${…}` of a text, in order.
pub(crate) fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        found.push(&rest[start..=start + length]);
        rest = &rest[start + length + 1..];
    }
    found
}

/// The name inside `${name}`.
pub(crate) fn clean(placeholder: &str) -> &str {
    let text = placeholder.trim();
    let text = text.strip_prefix("${").unwrap_or(text);
    text.strip_suffix('}').unwrap_or(text)
}

/// What the setters of a pattern have been set to, read off the field's value: all of them or none.
pub(crate) fn current_values(pattern: &str, value: &str) -> Vec<(String, String)> {
    let names = placeholders(pattern);
    let mut regex = regex::escape(pattern);
    for name in &names {
        regex = regex.replace(&regex::escape(name), "(.*)");
    }
    let Ok(regex) = Regex::new(&regex) else {
        return Vec::new();
    };
    let Some(captures) = regex.captures(value) else {
        return Vec::new();
    };
    let values: Vec<&str> = captures
        .iter()
        .skip(1)
        .map(|group| group.map_or("", |group| group.as_str()))
        .collect();
    if values.len() != names.len() || values.iter().any(|value| value.is_empty()) {
        return Vec::new();
    }
    names
        .iter()
        .zip(values)
        .map(|(name, value)| (clean(name).to_owned(), value.to_owned()))
        .collect()
}
