//! The shapes of fields that the definitions keep as they are written (A3): whoever writes something
//! else is told, since no schema does.

use model::Problem;
use serde_json::Value;

use crate::fields::Fields;

/// What a field may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    Texts,
    /// A mapping of texts.
    TextMap,
    /// A mapping with these fields, whatever else it holds.
    Map(&'static [(&'static str, Self)]),
    /// A list of such mappings.
    List(&'static [(&'static str, Self)]),
    /// A list of such mappings, or a single one.
    OneOrMany(&'static [(&'static str, Self)]),
}

use Shape::{Flag, List, Map, OneOrMany, Text, TextMap, Texts};

/// An injector of a variant, or of a template in all its forms.
pub(crate) const INJECTORS: Shape = OneOrMany(&[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
    ("nameExpr", Text),
    ("groupExpr", Text),
    ("versionExpr", Text),
    ("kindExpr", Text),
]);

/// A key and a value, each plain or by expression.
pub(crate) const PAIRS: Shape = OneOrMany(PAIR);
const PAIR: &[(&str, Shape)] = &[
    ("key", Text),
    ("keyExpr", Text),
    ("value", Text),
    ("valueExpr", Text),
];

/// The downstream by expression, as older documents write it.
pub(crate) const DOWNSTREAM: Shape = Map(&[("repoExpr", Text), ("packageExpr", Text)]);

/// The package context of a template.
pub(crate) const CONTEXT: Shape = Map(&[
    ("data", TextMap),
    ("dataExprs", OneOrMany(PAIR)),
    ("removeKeys", Texts),
    ("removeKeyExprs", Texts),
    ("create", Flag),
]);

/// The package context by expression, as the earliest document writes it.
pub(crate) const CONTEXT_EXPRS: Shape =
    Map(&[("dataExprs", OneOrMany(PAIR)), ("removeKeyExprs", Texts)]);

/// A selector of repositories or objects.
pub(crate) const SELECTOR: Shape = Map(&[
    ("apiVersion", Text),
    ("kind", Text),
    ("name", Text),
    ("matchLabels", TextMap),
    (
        "matchExpressions",
        List(&[("key", Text), ("operator", Text), ("values", Texts)]),
    ),
    ("packageNames", Texts),
]);

impl Fields<'_> {
    /// Whether a field, if it is given, has this shape; what has not is noted.
    pub(crate) fn has_shape(&self, key: &str, shape: Shape, problems: &mut Vec<Problem>) -> bool {
        let before = problems.len();
        if let Some(value) = self.raw(key) {
            check(value, &self.field(key), shape, problems);
        }
        problems.len() == before
    }
}

fn check(value: &Value, path: &str, shape: Shape, problems: &mut Vec<Problem>) {
    let mut wrong = |what: &str| {
        let what = format!("{path}: must be {what}");
        problems.push(Problem::new(path, what));
    };
    match (shape, value) {
        (Text, Value::String(_)) | (Flag, Value::Bool(_)) => {}
        (Text, _) => wrong("a text"),
        (Flag, _) => wrong("true or false"),
        (Texts, Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                check(item, &format!("{path}[{i}]"), Text, problems);
            }
        }
        (Texts, _) => wrong("a list of texts"),
        (TextMap, Value::Object(map)) => {
            for (key, item) in map {
                check(item, &format!("{path}.{key}"), Text, problems);
            }
        }
        (TextMap, _) => wrong("a mapping of texts"),
        (Map(fields), Value::Object(_)) => inside(value, path, fields, problems),
        (Map(_), _) => wrong("a mapping"),
        (OneOrMany(fields), Value::Object(_)) => {
            inside(value, &format!("{path}[0]"), fields, problems);
        }
        (OneOrMany(fields) | List(fields), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                check(item, &format!("{path}[{i}]"), Map(fields), problems);
            }
        }
        (OneOrMany(_) | List(_), _) => wrong("a list of mappings"),
    }
}

fn inside(
    value: &Value,
    path: &str,
    fields: &[(&'static str, Shape)],
    problems: &mut Vec<Problem>,
) {
    for (key, shape) in fields {
        if let Some(value) = value.get(key).filter(|v| !v.is_null()) {
            check(value, &format!("{path}.{key}"), *shape, problems);
        }
    }
}
