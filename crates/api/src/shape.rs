//! The shapes of fields that the definitions keep as they are written (A3): whoever writes something
//! else, or a field that there is none of, is told, since no schema does.

use model::{Problem, nearest};
use serde_json::Value;

use crate::fields::FieldReader;

/// The fields of a mapping.
pub(crate) type Spec = &'static [(&'static str, Shape)];

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
    Map(Spec),
    /// A list of such mappings.
    List(Spec),
    /// A list of such mappings, or a single one.
    OneOrMany(Spec),
    /// Such a mapping, or one of texts with none of these fields.
    MapOrTexts(Spec),
    /// Whatever the definition says of it.
    Any,
}

pub(crate) use Shape::Map;
use Shape::{Any, Flag, List, MapOrTexts, OneOrMany, Text, TextMap, Texts};

/// An injector of a variant.
pub(crate) const VARIANT_INJECTORS: Shape = OneOrMany(&[
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("name", Text),
]);

/// An injector of a template in all its forms.
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

/// The package context of a template, or the plain keys and values of the earliest document.
pub(crate) const CONTEXT: Shape = MapOrTexts(&[
    ("data", TextMap),
    ("dataExprs", OneOrMany(PAIR)),
    ("removeKeys", Texts),
    ("removeKeyExprs", Texts),
    ("create", Flag),
]);

/// The package context by expression, as the earliest document writes it.
pub(crate) const CONTEXT_EXPRS: Shape =
    Map(&[("dataExprs", OneOrMany(PAIR)), ("removeKeyExprs", Texts)]);

const EXPRESSIONS: Shape = List(&[("key", Text), ("operator", Text), ("values", Texts)]);

/// A selector of package revisions.
pub(crate) const REVISION_SELECTOR: Shape =
    Map(&[("matchLabels", TextMap), ("matchExpressions", EXPRESSIONS)]);

/// A selector of the targets of a step, by their repositories' labels.
pub(crate) const STEP_SELECTOR: Shape =
    Map(&[("matchLabels", TextMap), ("matchExpressions", EXPRESSIONS)]);

/// A selector of repositories.
pub(crate) const REPOSITORY_SELECTOR: Shape = Map(&[
    ("matchLabels", TextMap),
    ("matchExpressions", EXPRESSIONS),
    ("packageNames", Texts),
]);

/// A selector of objects.
pub(crate) const OBJECT_SELECTOR: Shape = Map(&[
    ("apiVersion", Text),
    ("kind", Text),
    ("name", Text),
    ("matchLabels", TextMap),
    ("matchExpressions", EXPRESSIONS),
    ("packageNames", Texts),
]);

const UPSTREAM: Spec = &[
    ("repo", Any),
    ("package", Any),
    ("revision", Any),
    ("workspaceName", Any),
    ("tag", Any),
    ("allowUnpublished", Any),
];

/// A variant's may name a commit; sets write it.
const VARIANT_UPSTREAM: Spec = &[
    ("repo", Any),
    ("package", Any),
    ("revision", Any),
    ("workspaceName", Any),
    ("tag", Any),
    ("allowUnpublished", Any),
    ("commit", Any),
];

const UPSTREAMS: Spec = &[
    ("repo", Any),
    ("package", Any),
    ("revision", Any),
    ("workspaceName", Any),
    ("tag", Any),
    ("allowUnpublished", Any),
    ("revisionSet", Any),
    ("selector", REVISION_SELECTOR),
];

const FUNCTION_SELECTOR: Spec = &[
    ("apiVersion", Any),
    ("kind", Any),
    ("name", Any),
    ("namespace", Any),
    ("labels", TextMap),
    ("annotations", TextMap),
];

const FUNCTION: Spec = &[
    ("name", Any),
    ("image", Any),
    ("tag", Any),
    ("exec", Any),
    ("configPath", Any),
    ("configMap", TextMap),
    ("selectors", List(FUNCTION_SELECTOR)),
    ("exclude", List(FUNCTION_SELECTOR)),
];

const TEMPLATE_FUNCTION: Spec = &[
    ("name", Any),
    ("image", Any),
    ("tag", Any),
    ("exec", Any),
    ("configPath", Any),
    ("configMap", TextMap),
    ("selectors", List(FUNCTION_SELECTOR)),
    ("exclude", List(FUNCTION_SELECTOR)),
    ("configMapExprs", PAIRS),
];

/// What `spec` of a `PackageVariant` has.
pub(crate) const VARIANT: Spec = &[
    ("upstream", Map(VARIANT_UPSTREAM)),
    ("downstream", Map(&[("repo", Any), ("package", Any)])),
    ("adoptionPolicy", Any),
    ("deletionPolicy", Any),
    ("conflictPolicy", Any),
    ("proposedRevisions", Any),
    ("upgradeStrategy", Any),
    ("suspend", Any),
    ("labels", TextMap),
    ("annotations", TextMap),
    (
        "packageContext",
        Map(&[("data", TextMap), ("removeKeys", Texts), ("create", Any)]),
    ),
    (
        "pipeline",
        Map(&[("mutators", List(FUNCTION)), ("validators", List(FUNCTION))]),
    ),
    ("injectors", VARIANT_INJECTORS),
];

const TEMPLATE: Spec = &[
    (
        "downstream",
        Map(&[
            ("repo", Any),
            ("repoExpr", Any),
            ("package", Any),
            ("packageExpr", Any),
        ]),
    ),
    ("downstreamExprs", DOWNSTREAM),
    ("downstreamExpr", DOWNSTREAM),
    ("adoptionPolicy", Any),
    ("deletionPolicy", Any),
    ("conflictPolicy", Any),
    ("proposedRevisions", Any),
    ("upgradeStrategy", Any),
    ("labels", TextMap),
    ("annotations", TextMap),
    ("labelExprs", PAIRS),
    ("annotationExprs", PAIRS),
    ("packageContext", CONTEXT),
    ("packageContextExprs", CONTEXT_EXPRS),
    (
        "pipeline",
        Map(&[
            ("mutators", List(TEMPLATE_FUNCTION)),
            ("validators", List(TEMPLATE_FUNCTION)),
        ]),
    ),
    ("injectors", INJECTORS),
    ("injectorExprs", INJECTORS),
];

/// What `spec` of a `PackageVariantSet` has.
pub(crate) const SET: Spec = &[
    ("upstream", Map(UPSTREAM)),
    ("upstreams", List(UPSTREAMS)),
    (
        "targets",
        List(&[
            (
                "repositories",
                List(&[("name", Any), ("packageNames", Texts)]),
            ),
            ("repositorySelector", REPOSITORY_SELECTOR),
            ("objectSelector", OBJECT_SELECTOR),
            ("packageNames", Texts),
            ("template", Map(TEMPLATE)),
        ]),
    ),
    ("onError", Any),
    ("deletionGuard", Map(&[("enabled", Any), ("percent", Any)])),
    ("maxInFlight", Any),
    (
        "rollout",
        Map(&[
            (
                "steps",
                List(&[("name", Any), ("selector", STEP_SELECTOR), ("percent", Any)]),
            ),
            ("open", Map(&[("published", Any), ("soak", Any)])),
            (
                "halt",
                Map(&[("conflicts", Any), ("failed", Any), ("rejected", Any)]),
            ),
        ]),
    ),
    ("suspend", Any),
];

/// What `spec` of a `PackageRevisionSet` has.
pub(crate) const REVISION_SET: Spec = &[("upstreams", List(UPSTREAMS))];

impl FieldReader<'_> {
    /// Whether a field, if it is given, has this shape; what has not is noted.
    pub(crate) fn has_shape(&self, key: &str, shape: Shape, problems: &mut Vec<Problem>) -> bool {
        let before = problems.len();
        if let Some(value) = self.raw(key) {
            check(value, &self.field(key), shape, problems);
        }
        problems.len() == before
    }

    /// Notes each field at any level that the specs of this kind do not have: a definition that keeps what it does not
    /// know takes a misspelt one without a word, and whoever misspells a selector's selects everything.
    pub(crate) fn no_others(&self, spec: Spec, problems: &mut Vec<Problem>) {
        let mut unknown = Vec::new();
        others(self.value(), self.path(), Map(spec), &mut unknown);
        unknown.retain(|problem| !problems.iter().any(|p| p.field == problem.field));
        problems.append(&mut unknown);
    }
}

fn others(value: &Value, path: &str, shape: Shape, problems: &mut Vec<Problem>) {
    match (shape, value) {
        (MapOrTexts(_), Value::Object(_)) if shape.is_plain(value) => {}
        (Map(fields) | MapOrTexts(fields), Value::Object(map)) => {
            for (key, value) in map.iter().filter(|(_, v)| !v.is_null()) {
                let path = format!("{path}.{key}");
                match fields.iter().find(|(name, _)| name == key) {
                    Some((_, shape)) => others(value, &path, *shape, problems),
                    None => problems.push(no_such_field(&path, key, fields)),
                }
            }
        }
        (OneOrMany(fields), Value::Object(_)) => {
            others(value, &format!("{path}[0]"), Map(fields), problems);
        }
        (OneOrMany(fields) | List(fields), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                others(item, &format!("{path}[{i}]"), Map(fields), problems);
            }
        }
        _ => {}
    }
}

fn no_such_field(path: &str, key: &str, fields: Spec) -> Problem {
    let what = match nearest(key, fields.iter().map(|(name, _)| *name)) {
        Some(meant) => format!("{path}: there is no such field; did you mean {meant:?}?"),
        None => format!("{path}: there is no such field"),
    };
    Problem::new(path, what)
}

impl Shape {
    /// Whether this is a mapping of texts where it may be one: none of the fields as they are written otherwise.
    pub(crate) fn is_plain(self, value: &Value) -> bool {
        let MapOrTexts(fields) = self else {
            return false;
        };
        let given = value.as_object().into_iter().flatten();
        let mut given = given.filter(|(_, v)| !v.is_null()).peekable();
        let known = |key: &str| fields.iter().any(|(name, _)| *name == key);
        given.peek().is_some()
            && given.all(|(key, value)| value.is_string() || (value.is_number() && !known(key)))
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
        (MapOrTexts(_), Value::Object(_)) if shape.is_plain(value) => {
            check(value, path, TextMap, problems);
        }
        (MapOrTexts(fields), Value::Object(_)) => inside(value, path, fields, problems),
        (Map(_) | MapOrTexts(_), _) => wrong("a mapping"),
        (Any, _) => {}
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
