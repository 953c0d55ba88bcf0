//! Putting a value at the fields that a path names, whole or as a part of a text.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use regex::Regex;
use yaml::owned::{Scalar, Value};

use super::{split, text};
use crate::budget::Budget;
use crate::regexes;

/// What of a value is meant, and whether missing fields are made.
#[derive(Default)]
pub(super) struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

impl Options {
    pub(super) fn read(value: Option<&Value>) -> Self {
        let text = |key: &str| value.map(|value| text(value, key)).unwrap_or_default();
        Self {
            delimiter: text("delimiter").to_owned(),
            index: text("index").parse().unwrap_or(0),
            create: text("create") == "true",
        }
    }

    /// The part of a source's value that is meant.
    pub(super) fn part(&self, value: &Value) -> Result<Value, String> {
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

/// A path; the patterns of its steps are built once, where they are met.
pub(super) struct Path<'p> {
    text: &'p str,
    steps: Vec<PutStep>,
}

struct PutStep {
    text: String,
    /// The elements that it means in a list; why it means none.
    wanted: OnceCell<Result<Wanted, String>>,
}

impl<'p> Path<'p> {
    pub(super) fn read(text: &'p str) -> Self {
        let step = |text| PutStep {
            text,
            wanted: OnceCell::new(),
        };
        let steps = split(text).into_iter().map(step).collect();
        Self { text, steps }
    }
}

/// One value on its way to one path.
pub(super) struct Put<'p> {
    pub(super) value: &'p Value,
    pub(super) options: &'p Options,
    pub(super) path: Path<'p>,
    pub(super) budget: &'p Budget,
}

impl Put<'_> {
    /// Puts the value at every place that the path names; there must be one.
    pub(super) fn all(&self, node: &mut Value) -> Result<(), String> {
        let or_create = if self.options.create {
            " or create"
        } else {
            ""
        };
        let missing = format!(
            "unable to find{or_create} field {:?} in replacement target",
            self.path.text
        );
        match self.at(node, &self.path.steps) {
            Ok(0) => Err(missing),
            Ok(_) => Ok(()),
            Err(Stop::Lost(why)) => Err(format!("{missing}: {why}")),
            Err(Stop::Refused(why)) => Err(why),
        }
    }

    /// How many places were found at and below a node.
    fn at(&self, node: &mut Value, path: &[PutStep]) -> Result<usize, Stop> {
        let Some((step, rest)) = path.split_first() else {
            return self.set(node).map(|()| 1).map_err(Stop::Refused);
        };
        if node.as_seq().is_some() {
            return self.elements(node, step, rest);
        }
        if node.as_map().is_none() && !node.is_null() {
            // A scalar has nothing below it; the catalog's function does not mind.
            return Ok(1);
        }
        let key = step.text.as_str();
        if key == "*" {
            let entries = node.as_map_mut().map(|map| map.iter_mut());
            let found = entries.into_iter().flatten();
            return found
                .map(|(_, child)| self.at(child, rest))
                .sum::<Result<usize, Stop>>();
        }
        if node.is_null() && is_element(key) {
            if !self.options.create {
                return Ok(0);
            }
            node.replace(Value::seq([]));
            return self.elements(node, step, rest);
        }
        if node.get(key).is_none() {
            if !self.options.create {
                return Ok(0);
            }
            let Some(map) = node.ensure_map(&[]) else {
                return Ok(0);
            };
            map.push(key, blank(rest));
        }
        node.get_mut(key)
            .map_or(Ok(0), |child| self.at(child, rest))
    }

    /// The elements of a list that a step means.
    fn elements(&self, list: &mut Value, step: &PutStep, rest: &[PutStep]) -> Result<usize, Stop> {
        let wanted = step.wanted.get_or_init(|| Wanted::read(&step.text));
        let wanted = wanted.as_ref().map_err(|why| Stop::Lost(why.clone()))?;
        let mut found = 0;
        let elements = |list: &mut Value, found: &mut usize| -> Result<(), Stop> {
            let items = list.as_seq_mut().map(|seq| seq.items_mut().iter_mut());
            for (at, item) in items.into_iter().flatten().enumerate() {
                if wanted.means(item, at) {
                    *found += self.at(item, rest)?;
                }
            }
            Ok(())
        };
        elements(list, &mut found)?;
        let count = list.as_seq().map_or(0, |seq| seq.items().len());
        let new = match wanted {
            Wanted::Index(at) if *at >= count => {
                if *at > count || !self.options.create {
                    let why = format!("index {at} specified but only {count} elements found");
                    return Err(Stop::Lost(why));
                }
                blank(rest)
            }
            Wanted::Value { key, text, .. } if found == 0 && self.options.create => {
                match key.as_str() {
                    "" => Value::string(text.as_str()),
                    key => Value::map([(key, Value::string(text.as_str()))]),
                }
            }
            _ => return Ok(found),
        };
        if let Some(seq) = list.as_seq_mut() {
            seq.items_mut().push(new);
        }
        elements(list, &mut found)?;
        Ok(found)
    }

    /// A scalar takes the text and keeps its quotes and comment; anything else becomes the value.
    fn set(&self, node: &mut Value) -> Result<(), String> {
        let (Some(old), Some(new)) = (node.as_scalar(), self.value.text()) else {
            if !self.options.delimiter.is_empty() {
                return Err("delimiter option can only be used with scalar nodes".to_owned());
            }
            self.budget.value(self.value)?;
            node.overwrite(self.value);
            return Ok(());
        };
        let text = self.options.put(&old.text, new);
        self.budget.text(text.len())?;
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

/// What is made where something is still to come, or to be set.
fn blank(rest: &[PutStep]) -> Value {
    if rest.is_empty() {
        Value::string("")
    } else {
        Value::null()
    }
}

/// Why a value is not put.
enum Stop {
    /// The path leads nowhere.
    Lost(String),
    /// The place cannot take it.
    Refused(String),
}

/// Whether a step can only mean elements of a list.
fn is_element(step: &str) -> bool {
    step == "*" || step.starts_with('[') || step.parse::<usize>().is_ok()
}

/// Which elements of a target's list a step means.
enum Wanted {
    Every,
    Index(usize),
    /// Those whose text, or that of a field, holds a pattern.
    Value {
        key: String,
        text: String,
        regex: Rc<Regex>,
    },
    None,
}

impl Wanted {
    fn read(step: &str) -> Result<Self, String> {
        if step == "*" {
            return Ok(Self::Every);
        }
        if let Ok(at) = step.parse() {
            return Ok(Self::Index(at));
        }
        let inner = step
            .strip_prefix('[')
            .and_then(|step| step.strip_suffix(']'));
        let Some((key, text)) = inner.and_then(|inner| inner.split_once('=')) else {
            return Ok(Self::None);
        };
        let regex = regexes::compile(text)
            .map_err(|error| format!("error parsing regexp {text:?}: {error}"))?;
        Ok(Self::Value {
            key: key.to_owned(),
            text: text.to_owned(),
            regex,
        })
    }

    fn means(&self, item: &Value, at: usize) -> bool {
        match self {
            Self::Every => true,
            Self::Index(index) => *index == at,
            Self::Value { key, regex, .. } => {
                let value = if key.is_empty() {
                    Some(item)
                } else {
                    item.get(key)
                };
                value
                    .and_then(Value::text)
                    .is_some_and(|text| regex.is_match(text))
            }
            Self::None => false,
        }
    }
}
