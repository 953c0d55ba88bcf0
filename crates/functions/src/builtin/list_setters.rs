//! `list-setters`: tells which setters a package has, what they are set to, and how many fields follow each.

use std::collections::BTreeMap;

use yaml::owned::Value;

use crate::config::{Config, pairs};
use crate::report::{info, warning};
use crate::setters::{clean, current_values, pattern};
use crate::walk::{Visit, walk};
use crate::{FunctionReport, Item};

pub(crate) fn run(items: &mut Vec<Item>, _config: Config<'_>) -> FunctionReport {
    let mut found = SettersFound::default();
    for (name, text) in declared(items) {
        match array(&text) {
            Some(values) => found.arrays.insert(name, (values, 0)).map(drop),
            None => found.scalars.insert(name, (text, "str", 0)).map(drop),
        };
    }
    for item in items.iter() {
        // Nothing is changed: the walk needs a value that it could change.
        let mut copy = Value::clone(&item.value);
        if let Err(message) = walk(&mut copy, &mut found) {
            return FunctionReport::failure(message);
        }
    }
    let all = found.lines();
    if all.is_empty() {
        return FunctionReport::of([warning("no setters found")]);
    }
    FunctionReport::of(all.into_iter().map(info))
}

#[derive(Default)]
struct SettersFound {
    scalars: BTreeMap<String, (String, &'static str, usize)>,
    arrays: BTreeMap<String, (Vec<String>, usize)>,
}

impl SettersFound {
    fn lines(&self) -> Vec<String> {
        let line = |name: &str, value: &str, kind: &str, count: usize| {
            (
                name.to_owned(),
                format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}"),
            )
        };
        let arrays = self.arrays.iter().map(|(name, (values, count))| {
            line(name, &format!("[{}]", values.join(", ")), "array", *count)
        });
        let scalars = self
            .scalars
            .iter()
            .map(|(name, (value, kind, count))| line(name, value, kind, *count));
        let mut lines: Vec<(String, String)> = arrays.chain(scalars).collect();
        lines.sort_by(|a, b| a.0.cmp(&b.0));
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

impl Visit for SettersFound {
    fn list(&mut self, value: &mut Value, _path: &str) -> Result<(), String> {
        let Some(pattern) = pattern(value.comment()) else {
            return Ok(());
        };
        let items = value.as_seq().map(|seq| seq.items()).unwrap_or_default();
        let mut values: Vec<String> = items
            .iter()
            .map(|item| item.text().unwrap_or_default().to_owned())
            .collect();
        values.sort();
        self.arrays
            .entry(clean(pattern).to_owned())
            .or_insert((values, 0))
            .1 += 1;
        Ok(())
    }

    fn scalar(&mut self, value: &mut Value, _path: &str) -> Result<(), String> {
        let (Some(pattern), Some(scalar)) = (pattern(value.comment()), value.as_scalar()) else {
            return Ok(());
        };
        let kind = scalar.type_tag().trim_start_matches('!');
        for (name, text) in current_values(pattern, &scalar.text) {
            let known = self.scalars.entry(name).or_insert((text, kind, 0));
            if known.1 == "str" {
                known.1 = kind;
            }
            known.2 += 1;
        }
        Ok(())
    }
}

/// The setters that the package's own pipeline gives to `apply-setters`; a later one counts over an earlier one.
fn declared(items: &[Item]) -> BTreeMap<String, String> {
    let mut setters = BTreeMap::new();
    let kptfile = items
        .iter()
        .find(|item| item.path.as_deref() == Some("Kptfile"));
    let mutators = kptfile.and_then(|item| item.value.lookup(&["pipeline", "mutators"])?.as_seq());
    for function in mutators.map(|seq| seq.items()).unwrap_or_default() {
        let image = function
            .get("image")
            .and_then(Value::text)
            .unwrap_or_default();
        if !image.contains("apply-setters") {
            continue;
        }
        if let Some(map) = function.get("configMap") {
            setters.extend(pairs(map));
        } else if let Some(path) = function.get("configPath").and_then(Value::text) {
            let config = items.iter().find(|item| item.path.as_deref() == Some(path));
            setters.extend(
                config
                    .and_then(|item| item.value.get("data"))
                    .map(pairs)
                    .unwrap_or_default(),
            );
        }
    }
    setters
}

/// The values of an array setter, as written.
fn array(text: &str) -> Option<Vec<String>> {
    let value = crate::wire::parse_value(text)?;
    let items = value.as_seq()?.items();
    Some(
        items
            .iter()
            .map(|item| item.text().unwrap_or_default().to_owned())
            .collect(),
    )
}
