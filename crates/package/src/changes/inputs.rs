//! Inputs of a target, and texts in which they are named instead of written.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;

use model::{Files, Namespace, ObjectName, PackageName, RepositoryName};

use crate::place::{FieldPath, Piece};
use crate::{context, mutate};

/// The input that says the target's variant.
const VARIANT: &str = "variant";

/// A token shorter than this is no input, whatever it says.
const SHORTEST: usize = 3;

/// What a target states: names and values, those first that count where values are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs(Vec<(String, String)>);

impl Inputs {
    /// Inputs in this order.
    pub fn new(inputs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(inputs.into_iter().collect())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What an input says.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter()
            .find_map(|(n, value)| (n == name).then_some(value))
    }

    /// The input that a token stands for.
    fn of_token(&self, token: &str) -> Option<&str> {
        if token.len() < SHORTEST {
            return None;
        }
        let is_it = |(name, value): &(&str, &str)| *value == token && *name != VARIANT;
        let (name, _) = self.iter().find(is_it)?;
        // Asked last: most tokens are no input's.
        (!is_plain(token)).then_some(name)
    }

    /// What a token says behind the variant's name, if it is the name of a function that the variant put into the
    /// pipeline: nobody chose that name, and it says which target it is as the package's name does (F1). The variant's
    /// name stands for nothing anywhere else.
    fn behind_variant<'t>(&self, token: &'t str) -> Option<&'t str> {
        if !token.starts_with(mutate::OWN_FUNCTION_PREFIX) {
            return None;
        }
        mutate::behind_variant(self.value(VARIANT)?, token)
    }
}

/// Numbers and booleans are never inputs.
fn is_plain(token: &str) -> bool {
    token.parse::<f64>().is_ok() || matches!(token, "true" | "false" | "null")
}

/// Which target it is: these inputs count whatever the published package says.
#[derive(Debug, Clone, Copy)]
pub struct TargetNames<'a> {
    /// Its package.
    pub package: &'a PackageName,
    /// The repository that it is in.
    pub repository: &'a RepositoryName,
    /// The namespace.
    pub namespace: &'a Namespace,
    /// The variant that makes it; `None` for a package that none makes.
    pub variant: Option<&'a ObjectName>,
}

/// What a target states: package, repository, namespace, the keys of its context, and the texts that were injected. An
/// input that the published package (`before`) states otherwise, or not at all, is left out: it stays literal wherever it
/// stands, so that nobody hides a change in a value that is replaced (F1).
pub fn inputs_of(names: TargetNames<'_>, before: Option<&Files>, after: &Files) -> Inputs {
    let mut inputs = vec![
        ("package".to_owned(), names.package.to_string()),
        ("repository".to_owned(), names.repository.to_string()),
        ("namespace".to_owned(), names.namespace.to_string()),
    ];
    inputs.extend(names.variant.map(|v| (VARIANT.to_owned(), v.to_string())));
    let old = before.map(stated);
    let unchanged = |(name, value): &(String, String)| match &old {
        Some(old) => old.get(name) == Some(value),
        None => true,
    };
    inputs.extend(stated(after).into_iter().filter(unchanged));
    Inputs(inputs)
}

/// Context and injected texts by name, those of the context first.
fn stated(files: &Files) -> BTreeMap<String, String> {
    let mut stated = BTreeMap::new();
    for (key, value) in context::data(files) {
        stated.insert(format!("context.{key}"), value);
    }
    for (point, previous) in mutate::previous(files).unwrap_or_default() {
        // What a Secret holds is never shown, nor is where it stands.
        if point.contains(".Secret.") {
            continue;
        }
        let Ok(content) = serde_json::from_str::<serde_json::Value>(&previous.content) else {
            continue;
        };
        let point = point.rsplit('.').next().unwrap_or(&point).to_owned();
        stated.insert(format!("injected.{point}"), previous.name.clone());
        texts(&format!("injected.{point}"), &content, &mut stated);
    }
    stated
}

fn texts(path: &str, value: &serde_json::Value, into: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::String(text) => {
            into.insert(path.to_owned(), text.clone());
        }
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                texts(&format!("{path}.{key}"), value, into);
            }
        }
        serde_json::Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                texts(&format!("{path}[{at}]"), value, into);
            }
        }
        _ => {}
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextPart {
    /// As it stands.
    Literal(String),
    /// What this input says.
    Input(String),
}

/// A text in which inputs are named: a literal `{package}` in it is a literal, and no input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TextWithInputs(pub Vec<TextPart>);

impl TextWithInputs {
    /// A text with its inputs replaced, as whole tokens only.
    pub fn of(text: &str, inputs: &Inputs) -> Self {
        let mut template = Self::default();
        // What is no input is taken over in runs: nearly all of a text.
        let mut run = text;
        let mut rest = text;
        while let Some(begin) = rest.bytes().position(in_token) {
            let (_, from) = rest.split_at(begin);
            let end = from.bytes().position(|b| !in_token(b));
            let (token, after) = from.split_at(end.unwrap_or(from.len()));
            rest = after;
            let behind = inputs.behind_variant(token);
            let name = match behind {
                Some(_) => VARIANT,
                None => match inputs.of_token(token) {
                    Some(name) => name,
                    None => continue,
                },
            };
            template.literal(run.split_at(run.len() - from.len()).0);
            if behind.is_some() {
                template.literal(mutate::OWN_FUNCTION_PREFIX);
            }
            template.0.push(TextPart::Input(name.to_owned()));
            template.literal(behind.unwrap_or_default());
            run = after;
        }
        template.literal(run);
        template
    }

    /// The text form of a path: of what names list elements, inputs are replaced as in any value. A name that is written in
    /// quotes stays as it is.
    pub fn of_path(path: &FieldPath, inputs: &Inputs) -> Self {
        let mut template = Self::default();
        let done: Result<(), Infallible> = path.pieces(|piece| {
            match piece {
                Piece::Text(text) => template.literal(text),
                Piece::Value(text) => template.extend(Self::of(text, inputs)),
            }
            Ok(())
        });
        let Ok(()) = done;
        template
    }

    /// A text without inputs.
    pub fn plain(text: &str) -> Self {
        let mut template = Self::default();
        template.literal(text);
        template
    }

    /// Adds text as it stands.
    pub fn literal(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(TextPart::Literal(last)) => last.push_str(text),
            _ => self.0.push(TextPart::Literal(text.to_owned())),
        }
    }

    /// Adds another template.
    pub fn extend(&mut self, other: Self) {
        for part in other.0 {
            match part {
                TextPart::Literal(text) => self.literal(&text),
                TextPart::Input(_) => self.0.push(part),
            }
        }
    }

    /// The text for a target; `None` if the target lacks an input.
    pub fn fill(&self, inputs: &Inputs) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                TextPart::Literal(literal) => text.push_str(literal),
                TextPart::Input(name) => text.push_str(inputs.value(name)?),
            }
        }
        Some(text)
    }

    /// The inputs that it names.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TextPart::Literal(_) => None,
            TextPart::Input(name) => Some(name.as_str()),
        })
    }
}

/// Whether a byte is of a token: of what is no ASCII, none is.
fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// For people: inputs in braces. Two templates may read the same; ids tell them apart.
impl fmt::Display for TextWithInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                TextPart::Literal(text) => f.write_str(text)?,
                TextPart::Input(name) => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
    }
}
