//! `apply-replacements`: copies a field of one resource into fields of others.

use std::sync::Arc;

use regex::Regex;
use yaml::owned::{Scalar, Value};

use crate::config::Config;
use crate::{Item, Report};

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> Report {
    if config.is_absent() {
        return Report::failure("FunctionConfig is missing. Expect `ApplyReplacements`");
    }
    if config.kind() != "ApplyReplacements" {
        let (kind, version) = (config.kind(), config.api_version());
        return Report::failure(format!(
            "unknown functionConfig Kind={kind} ApiVersion={version}, expect `ApplyReplacements`"
        ));
    }
    let replacements = config.get("replacements").and_then(Value::as_seq);
    // All or nothing: a failure leaves what was given.
    let mut changed = items.clone();
    for replacement in replacements.map(|seq| seq.items()).unwrap_or_default() {
        if let Err(message) = apply(&mut changed, replacement) {
            return Report::failure(message);
        }
    }
    *items = changed;
    Report::default()
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

fn apply(items: &mut [Item], replacement: &Value) -> Result<(), String> {
    let targets = list(replacement, "targets");
    let source = replacement.get("source").filter(|source| !source.is_null());
    let Some(source) = source.filter(|_| !targets.is_empty()) else {
        return Err("replacements must specify a source and at least one target".to_owned());
    };
    let value = source_value(items, source)?;
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
        for item in items.iter_mut() {
            if !select.matches(item) || reject.iter().any(|reject| reject.matches(item)) {
                continue;
            }
            for path in &paths {
                let put = Put {
                    value: &value,
                    options: &options,
                    path,
                };
                put.at(item.value_mut(), &split(path))?;
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
    let value = look(&item.value, &split(path)).ok_or_else(missing)?;
    Options::read(source.get("options")).part(value)
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

/// The steps of a path: dots part them, but not inside brackets nor behind a backslash.
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
    steps
}

/// What of a value is meant, and whether missing fields are made.
#[derive(Default)]
struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

impl Options {
    fn read(value: Option<&Value>) -> Self {
        let text = |key: &str| value.map(|value| text(value, key)).unwrap_or_default();
        Self {
            delimiter: text("delimiter").to_owned(),
            index: text("index").parse().unwrap_or(0),
            create: text("create") == "true",
        }
    }

    /// The part of a source's value that is meant.
    fn part(&self, value: &Value) -> Result<Value, String> {
        if self.delimiter.is_empty() {
            return Ok(value.clone());
        }
        let whole = value
            .text()
            .ok_or("delimiter option can only be used with scalar nodes")?;
        let parts: Vec<&str> = whole.split(&self.delimiter).collect();
        let part = usize::try_from(self.index)
            .ok()
            .and_then(|index| parts.get(index));
        let part = part.ok_or_else(|| {
            format!(
                "options.index {} is out of bounds for value {whole}",
                self.index
            )
        })?;
        Ok(Value::string(*part))
    }

    /// A target's text with the part that is meant replaced; before the first or behind the last it is added.
    fn put(&self, old: &str, new: &str) -> String {
        if self.delimiter.is_empty() {
            return new.to_owned();
        }
        let mut parts: Vec<&str> = old.split(&self.delimiter).collect();
        match usize::try_from(self.index) {
            Err(_) => parts.insert(0, new),
            Ok(index) => match parts.get_mut(index) {
                Some(part) => *part = new,
                None => parts.push(new),
            },
        }
        parts.join(&self.delimiter)
    }
}

/// One value on its way to one path.
struct Put<'p> {
    value: &'p Value,
    options: &'p Options,
    path: &'p str,
}

impl Put<'_> {
    fn missing(&self) -> String {
        format!("unable to find field {:?} in replacement target", self.path)
    }

    fn at(&self, node: &mut Value, path: &[String]) -> Result<(), String> {
        let Some((step, rest)) = path.split_first() else {
            return self.set(node);
        };
        if node.as_seq().is_some() {
            let mut found = false;
            let items = node
                .as_seq_mut()
                .map(|seq| seq.items_mut().iter_mut().enumerate());
            for (at, item) in items.into_iter().flatten() {
                if fits(item, at, step) {
                    found = true;
                    self.at(item, rest)?;
                }
            }
            return if found || step == "*" {
                Ok(())
            } else {
                Err(self.missing())
            };
        }
        if node.as_map().is_none() && !node.is_null() {
            // A scalar has nothing below it.
            return Ok(());
        }
        if step == "*" {
            let entries = node.as_map_mut().map(|map| map.iter_mut());
            return entries
                .into_iter()
                .flatten()
                .try_for_each(|(_, child)| self.at(child, rest));
        }
        if node.get(step).is_none() {
            if !self.options.create {
                return Err(self.missing());
            }
            let blank = if rest.is_empty() {
                Value::string("")
            } else {
                Value::null()
            };
            let map = node.ensure_map(&[]).ok_or_else(|| self.missing())?;
            map.push(step.as_str(), blank);
        }
        node.get_mut(step)
            .map_or(Ok(()), |child| self.at(child, rest))
    }

    /// A scalar takes the text and keeps its quotes and comment; anything else becomes the value.
    fn set(&self, node: &mut Value) -> Result<(), String> {
        let (Some(old), Some(new)) = (node.as_scalar(), self.value.text()) else {
            if !self.options.delimiter.is_empty() {
                return Err("delimiter option can only be used with scalar nodes".to_owned());
            }
            node.overwrite(self.value);
            return Ok(());
        };
        let text = self.options.put(&old.text, new);
        if *old.text == *text {
            return Ok(());
        }
        // A string stays one, whatever its text looks like; another type follows from the text.
        let tag = old.is_string().then(|| Arc::from("!!str"));
        let scalar = Scalar {
            text: text.into(),
            style: old.style,
            tag,
        };
        node.replace(Value::scalar(scalar));
        Ok(())
    }
}

/// Which resources are targets.
struct Select {
    fields: [Option<Regex>; 5],
    labels: Vec<(String, String)>,
    annotations: Vec<(String, String)>,
}

impl Select {
    fn read(value: &Value) -> Result<Self, String> {
        let regex = |key: &str| {
            let text = text(value, key);
            let compile = || {
                Regex::new(&format!("^(?:{text})$"))
                    .map_err(|error| format!("selector {key}: {error}"))
            };
            (!text.is_empty()).then(compile).transpose()
        };
        Ok(Self {
            fields: [
                regex("group")?,
                regex("version")?,
                regex("kind")?,
                regex("name")?,
                regex("namespace")?,
            ],
            labels: pairs(text(value, "labelSelector")),
            annotations: pairs(text(value, "annotationSelector")),
        })
    }

    fn matches(&self, item: &Item) -> bool {
        let have = [
            item.group(),
            item.version(),
            item.kind(),
            item.name(),
            item.namespace(),
        ];
        let fields = self.fields.iter().zip(have);
        let all = |wanted: &[(String, String)], field: &str| {
            wanted
                .iter()
                .all(|(key, value)| item.text_at(&["metadata", field, key]) == value)
        };
        fields
            .into_iter()
            .all(|(regex, have)| regex.as_ref().is_none_or(|regex| regex.is_match(have)))
            && all(&self.labels, "labels")
            && all(&self.annotations, "annotations")
    }
}

/// The equalities of a selector: `a=b,c==d`.
fn pairs(selector: &str) -> Vec<(String, String)> {
    let parts = selector
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .filter_map(|part| part.split_once("==").or_else(|| part.split_once('=')))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_are_split_at_dots_outside_brackets() {
        assert_eq!(split("a.b"), ["a", "b"]);
        assert_eq!(split("data.c\\.json.a"), ["data", "c.json", "a"]);
        assert_eq!(split("c.[image=a.b/c:1].x"), ["c", "[image=a.b/c:1]", "x"]);
    }
}
