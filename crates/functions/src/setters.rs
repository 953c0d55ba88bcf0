//! Setter comments: `# kpt-set: prefix-${name}`, and what can be read off them.

use std::collections::BTreeMap;

use crate::budget::{LONGEST, too_long};
use crate::regexes;

/// How a setter comment begins: exactly so, one blank included.
const SETTER: &str = "# kpt-set: ";

/// The pattern of a setter comment.
pub(crate) fn pattern(comment: Option<&str>) -> Option<&str> {
    Some(comment?.strip_prefix(SETTER)?.trim()).filter(|pattern| !pattern.is_empty())
}

/// Puts values in the place of `${name}`, each in one pass: a value that holds a placeholder is not entered.
///
/// # Errors
/// The text would be longer than one value may be: a pattern may name one setter any number of times.
pub(crate) fn substitute<'v>(
    pattern: &str,
    value: impl Fn(&str) -> Option<&'v str>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, whole, after)) = next(rest) {
        out.push_str(before);
        out.push_str(value(clean(whole)).unwrap_or(whole));
        if out.len() > LONGEST {
            return Err(too_long());
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What the values of all setters may be longer than they are written, where they name others.
const MORE: usize = 64 << 10;
/// How many setters a value may lead through.
const DEPTH: usize = 64;

/// What each setter stands for: its value, with the values that it names of others in their place, whatever the order in
/// which they are given. What is not given stays a placeholder. An error says that a value leads back to itself, or that all
/// of them together would be too long; it matters only where the setter is used.
pub(crate) type Values = BTreeMap<String, Result<String, String>>;

/// The values of setters.
pub(crate) fn resolved(given: &[(String, String)]) -> Values {
    let written: usize = given.iter().map(|(_, text)| text.len()).sum();
    let most = written.saturating_add(MORE);
    let mut resolve = Resolve {
        given,
        done: BTreeMap::new(),
        open: Vec::new(),
        left: most,
        most,
    };
    let names = given.iter().map(|(name, _)| name);
    names
        .map(|name| {
            resolve.open.clear();
            let text = resolve.text(name).map(Option::unwrap_or_default);
            (name.clone(), text)
        })
        .collect()
}

struct Resolve<'s> {
    given: &'s [(String, String)],
    done: BTreeMap<&'s str, String>,
    /// The setters that are being resolved, each named by the one before.
    open: Vec<&'s str>,
    left: usize,
    most: usize,
}

impl<'s> Resolve<'s> {
    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        if let Some(text) = self.done.get(name) {
            return Ok(Some(text.clone()));
        }
        let Some((name, raw)) = self.given.iter().find(|(setter, _)| setter == name) else {
            return Ok(None);
        };
        // How deep it goes is bounded, too: each level is a call.
        if self.open.contains(&name.as_str()) || self.open.len() > DEPTH {
            return Err(format!(
                "the value of setter {name:?} leads back to itself, or through more than {DEPTH} others; write it out"
            ));
        }
        self.open.push(name);
        let mut texts = BTreeMap::new();
        for whole in placeholders(raw) {
            if let Some(text) = self.text(clean(whole))? {
                texts.insert(clean(whole).to_owned(), text);
            }
        }
        let length = |whole: &str| texts.get(clean(whole)).map_or(whole.len(), String::len);
        let inside: usize = placeholders(raw).into_iter().map(length).sum();
        let left = self.left.checked_sub(inside.saturating_add(raw.len()));
        self.left = left.ok_or_else(|| {
            format!(
                "the value of setter {name:?} is longer than {} bytes with those that it names",
                self.most
            )
        })?;
        let text = substitute(raw, |name| texts.get(name).map(String::as_str))?;
        self.open.pop();
        self.done.insert(name, text.clone());
        Ok(Some(text))
    }
}

/// All `${…}` of a text, in order.
pub(crate) fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, whole, after)) = next(rest) {
        found.push(whole);
        rest = after;
    }
    found
}

/// The text around the first `${…}`.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("${")?;
    let (before, from) = text.split_at_checked(start)?;
    let length = from.find('}')? + 1;
    let (whole, after) = from.split_at_checked(length)?;
    Some((before, whole, after))
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
    let Ok(regex) = regexes::compile(&regex) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_off_a_field() {
        let pairs = |pattern, value| {
            let pairs = current_values(pattern, value);
            pairs
                .into_iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(pairs("${image}:${tag}", "nginx:1.2"), "image=nginx tag=1.2");
        assert_eq!(pairs("a-${b}.c", "a-x.c"), "b=x");
        assert_eq!(pairs("${a}${b}", "x"), "", "no way to tell them apart");
        assert_eq!(pairs("${a}-x", "nothing"), "");
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let value = |name: &str| (name == "a").then_some("${b}");
        let text = substitute("x-${a}-${b}-${", value);
        assert_eq!(text.as_deref(), Ok("x-${b}-${b}-${"));
        assert_eq!(placeholders("${a}${ b }$c"), ["${a}", "${ b }"]);
    }
}
