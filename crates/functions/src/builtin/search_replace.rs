//! `search-replace`: finds scalars by value, pattern, path or file, and replaces values or adds comments.

use std::rc::Rc;
use std::sync::Arc;

use regex::Regex;
use yaml::Style;
use yaml::owned::{Data, Scalar, Value};

use crate::budget::{Budget, LONGEST, too_long};
use crate::config::Config;
use crate::goquote::quote;
use crate::report::{at_field, info};
use crate::setters::{clean, placeholders};
use crate::walk::{Visit, walk};
use crate::{FunctionReport, Item};

const MATCHERS: [&str; 6] = [
    "by-value",
    "by-file-path",
    "by-value-regex",
    "by-path",
    "put-value",
    "put-comment",
];

/// A field that matched: its path, and its text as it would be printed.
type FieldMatch = Vec<(String, String)>;

struct Search {
    by_value: String,
    by_regex: Option<Rc<Regex>>,
    by_path: String,
    by_file: Option<Rc<Regex>>,
    put_value: String,
    put_comment: String,
    budget: Budget,
}

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    match search(items, config) {
        Ok(report) => report,
        Err(message) => {
            let text = format!(
                "failed to perform search-replace operation: {}",
                quote(&message)
            );
            FunctionReport {
                stderr: message,
                ..FunctionReport::failure(text)
            }
        }
    }
}

fn search(items: &mut [Item], config: Config<'_>) -> Result<FunctionReport, String> {
    let search = Search::configure(config)?;
    let action = if search.changes() {
        "Mutated"
    } else {
        "Matched"
    };
    let mut results = Vec::new();
    for item in items.iter_mut() {
        item.meta_stands()?;
        let path = item.path.clone().unwrap_or_default();
        if search
            .by_file
            .as_ref()
            .is_some_and(|glob| !glob.is_match(&path))
        {
            continue;
        }
        let mut found = Vec::new();
        if search.puts_by_path() {
            search.put_by_path(item.value_mut(), &mut found)?;
        } else {
            walk(
                item.value_mut(),
                &mut At {
                    search: &search,
                    found: &mut found,
                },
            )?;
        }
        if !path.is_empty() {
            results.extend(found.iter().map(|(field, value)| {
                at_field(
                    item,
                    field,
                    format!("{action} field value to {}", quote(value)),
                )
            }));
        }
    }
    if action == "Matched" {
        for result in &mut results {
            result.message = result.message.replacen("value to ", "value ", 1);
        }
    }
    if results.is_empty() {
        results.push(info("no matches"));
    }
    Ok(FunctionReport::of(results))
}

/// The search at work on one resource.
struct At<'s> {
    search: &'s Search,
    found: &'s mut FieldMatch,
}

impl Visit for At<'_> {
    fn list(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        self.search.comment_list(value, path, self.found);
        Ok(())
    }

    fn scalar(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        self.search.scalar(value, path, self.found)
    }
}

impl Search {
    fn configure(config: Config<'_>) -> Result<Self, String> {
        let mut pairs = config.data_pairs();
        pairs.sort();
        if let Some((key, _)) = pairs
            .iter()
            .find(|(key, _)| !MATCHERS.contains(&key.as_str()))
        {
            let known = crate::goquote::list(MATCHERS.map(quote));
            return Err(format!(
                "invalid matcher {}, must be one of {known}",
                quote(key)
            ));
        }
        let text = |key: &str| config.data(key).unwrap_or_default().to_owned();
        let (by_value, regex, glob) = (
            text("by-value"),
            text("by-value-regex"),
            text("by-file-path"),
        );
        if !by_value.is_empty() && !regex.is_empty() {
            return Err(
                "only one of [\"by-value\", \"by-value-regex\"] can be provided".to_owned(),
            );
        }
        let compile = |regex: &str| {
            crate::regexes::compile(regex)
                .map_err(|error| format!("error parsing regexp {}: {error}", quote(regex)))
        };
        Ok(Self {
            by_value,
            by_regex: (!regex.is_empty()).then(|| compile(&regex)).transpose()?,
            by_path: text("by-path"),
            by_file: (!glob.is_empty())
                .then(|| compile(&glob_regex(&glob)))
                .transpose()?,
            put_value: text("put-value"),
            put_comment: text("put-comment"),
            budget: Budget::default(),
        })
    }

    fn changes(&self) -> bool {
        !self.put_value.is_empty() || !self.put_comment.is_empty()
    }

    /// Whether the path alone says where the value goes, so that the field is made where it is missing.
    fn puts_by_path(&self) -> bool {
        let absolute = self
            .by_path
            .split('.')
            .all(|step| !step.is_empty() && !step.contains(['*', '[']));
        absolute
            && self.by_value.is_empty()
            && self.by_regex.is_none()
            && !self.put_value.is_empty()
    }

    fn put_by_path(&self, value: &mut Value, found: &mut FieldMatch) -> Result<(), String> {
        let steps: Vec<&str> = self.by_path.split('.').collect();
        let Some((last, parents)) = steps.split_last() else {
            return Ok(());
        };
        let blocked = || {
            format!(
                "wrong node kind: expected MappingNode on the way to {}",
                quote(&self.by_path)
            )
        };
        let map = value.ensure_map(parents).ok_or_else(blocked)?;
        match map.get_mut(last) {
            Some(old) => put(old, &self.put_value),
            None => map.push(*last, Value::plain(self.put_value.as_str())),
        }
        found.push((self.by_path.clone(), self.put_value.clone()));
        Ok(())
    }

    /// A comment can be put at a whole list, if its path matches.
    fn comment_list(&self, value: &mut Value, path: &str, found: &mut FieldMatch) {
        let filled = !value.is_alias() && value.as_seq().is_some_and(|seq| !seq.items().is_empty());
        if self.put_comment.is_empty() || !filled || !path_match(&self.by_path, path) {
            return;
        }
        let text = flow_text(value);
        value.set_comment(Some(comment(&self.put_comment)));
        found.push((format!("{} # {}", self.by_path, self.put_comment), text));
    }

    fn scalar(&self, value: &mut Value, path: &str, found: &mut FieldMatch) -> Result<(), String> {
        let Some(text) = value.text() else {
            return Ok(());
        };
        let text = text.to_owned();
        if !self.matches(&text, path) {
            return Ok(());
        }
        if !self.put_comment.is_empty() {
            value.set_comment(Some(comment(&self.resolve(&text, &self.put_comment)?)));
        }
        if !self.put_value.is_empty() {
            put(value, &self.resolve(&text, &self.put_value)?);
        }
        found.push((path.to_owned(), printed(value)));
        Ok(())
    }

    fn matches(&self, text: &str, path: &str) -> bool {
        let by_path = path_match(&self.by_path, path);
        let by_value = (!self.by_value.is_empty() && self.by_value == text)
            || self
                .by_regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(text));
        let no_value = self.by_value.is_empty() && self.by_regex.is_none();
        (by_value && (by_path || self.by_path.is_empty())) || (by_path && no_value)
    }

    /// Puts the groups that the pattern captured into `${1}`, `${2}` …
    fn resolve(&self, text: &str, pattern: &str) -> Result<String, String> {
        let Some(regex) = &self.by_regex else {
            return Ok(pattern.to_owned());
        };
        let mut out = pattern.to_owned();
        if let Some(captures) = regex.captures(text) {
            for (at, group) in captures.iter().enumerate().skip(1) {
                let group = group.map_or("", |group| group.as_str());
                let place = format!("${{{at}}}");
                let longer = out.matches(&place).count().saturating_mul(group.len());
                // A group may hold the place of another one.
                if out.len().saturating_add(longer) > LONGEST {
                    return Err(too_long());
                }
                out = out.replace(&place, group);
            }
        }
        self.budget.text(out.len())?;
        let left = placeholders(&out).into_iter().any(|whole| {
            let name = clean(whole);
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
        });
        if left {
            Err("unable to resolve capture groups".to_owned())
        } else {
            Ok(out)
        }
    }
}

/// Replaces a scalar's text; its type follows from the text unless it is quoted.
fn put(value: &mut Value, text: &str) {
    let style = value
        .as_scalar()
        .map_or(Style::Plain, |scalar| scalar.style);
    if value.text() != Some(text) {
        value.replace(Value::scalar(Scalar {
            text: Arc::from(text),
            style,
            tag: None,
        }));
    }
}

fn comment(text: &str) -> Arc<str> {
    if text.starts_with('#') {
        text.into()
    } else {
        format!("# {text}").into()
    }
}

/// A scalar as it would be printed, quotes and comment included.
fn printed(value: &Value) -> String {
    let Some(scalar) = value.as_scalar() else {
        return String::new();
    };
    let text = match scalar.style {
        Style::DoubleQuoted => quote(&scalar.text),
        Style::SingleQuoted => format!("'{}'", scalar.text.replace('\'', "''")),
        _ => scalar.text.to_string(),
    };
    value
        .comment()
        .map_or_else(|| text.clone(), |comment| format!("{text} {comment}"))
}

fn flow_text(value: &Value) -> String {
    let items = value.as_seq().map(|seq| seq.items()).unwrap_or_default();
    let texts: Vec<String> = items
        .iter()
        .map(|item| match item.data() {
            Data::Scalar(_) => printed(item),
            Data::Map(map) => {
                let entries: Vec<_> = map
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", flow_or_text(value)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
            _ => flow_text(item),
        })
        .collect();
    format!("[{}]", texts.join(", "))
}

fn flow_or_text(value: &Value) -> String {
    if value.as_scalar().is_some() {
        printed(value)
    } else {
        flow_text(value)
    }
}

/// Whether a field's path matches a pattern: `*` is one step, `**` any number, `a[*]` any element.
fn path_match(pattern: &str, path: &str) -> bool {
    if pattern.is_empty() {
        return false;
    }
    let pattern: Vec<&str> = pattern.split('.').collect();
    let path: Vec<&str> = path.split('.').collect();
    // reach[j]: the pattern's first j steps match the path's steps so far.
    let mut reach: Vec<bool> = vec![false; pattern.len() + 1];
    reach[0] = true;
    for (at, step) in pattern.iter().enumerate() {
        reach[at + 1] = reach[at] && *step == "**";
    }
    for element in path {
        let mut next = vec![false; pattern.len() + 1];
        for (at, step) in pattern.iter().enumerate() {
            next[at + 1] = match *step {
                "**" => next[at] || reach[at + 1],
                step => reach[at] && (step == "*" || element_match(element, step)),
            };
        }
        reach = next;
    }
    reach.last().copied().unwrap_or_default()
}

fn element_match(element: &str, pattern: &str) -> bool {
    if element == pattern {
        return true;
    }
    let Some((name, index)) = element.split_once('[') else {
        return false;
    };
    let Some((want, want_index)) = pattern.split_once('[') else {
        return false;
    };
    (want == "*" || want == name) && (want_index == "*]" || want_index == index)
}

/// A glob over file paths: `*` stays inside a directory, `**` does not, `{a,b}` is either.
fn glob_regex(glob: &str) -> String {
    let mut out = String::from("^");
    let mut depth = 0_usize;
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (piece, length): (String, usize) = if rest.starts_with("**/") {
            ("(?:.*/)?".to_owned(), 3)
        } else if rest.starts_with("/**") && rest.len() == 3 {
            ("(?:/.*)?".to_owned(), 3)
        } else if rest.starts_with("**") {
            (".*".to_owned(), 2)
        } else {
            match c {
                '*' => ("[^/]*".to_owned(), 1),
                '?' => ("[^/]".to_owned(), 1),
                '{' => {
                    depth += 1;
                    ("(?:".to_owned(), 1)
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    (")".to_owned(), 1)
                }
                ',' if depth > 0 => ("|".to_owned(), 1),
                '[' => match rest.find(']') {
                    Some(end) if end > 1 => (class(&rest[1..end]), end + 1),
                    _ => ("\\[".to_owned(), 1),
                },
                c => (regex::escape(&c.to_string()), c.len_utf8()),
            }
        };
        out.push_str(&piece);
        rest = rest.get(length..).unwrap_or_default();
    }
    out.push('$');
    out
}

fn class(inner: &str) -> String {
    let (negated, inner) = match inner.strip_prefix(['!', '^']) {
        Some(inner) => ("^", inner),
        None => ("", inner),
    };
    format!(
        "[{negated}{}]",
        inner.replace('[', "\\[").replace('&', "\\&")
    )
}

#[cfg(test)]
mod tests;
