//! CEL rules of a schema (`x-kubernetes-validations`): checked with the CRD, evaluated with each object.
//!
//! `expr` knows the language; this module knows shapes, values, when a rule applies, what a failure is
//! called, and how much all rules together may cost. Expressions run on a stack that the caller lends.

mod check;

use std::collections::BTreeMap;

use base64::Engine as _;
use expr::{Datum, Rule as Program, Shape, Wanted};
use serde_json::Value;

use super::error::{BadValue, ErrorKind, FieldError};
use super::lists::Former;
use super::node::{Additional, Node, Structural, Type};
use super::render::At;
use super::rules::{Compiled, Rule};

pub(crate) use check::check;

/// What one rule may cost for one value.
const CALL_BUDGET: u64 = 1_000_000;
/// What all rules may cost for one object.
const TOTAL_BUDGET: u64 = 10_000_000;
/// Runs what it is given on a stack that deep expressions fit, and comes back when that is done: expressions nest up to
/// `expr::MAX_RECURSION`, for which 64 MiB are enough. Threads are the caller's, who may know who else waits for one.
pub type Stack = fn(&mut (dyn FnMut() + Send));

/// Runs something on a lent stack; `None` if it did not come to its end.
pub(crate) fn deep<T: Send>(stack: Stack, work: impl FnOnce() -> T + Send) -> Option<T> {
    let (mut work, mut made) = (Some(work), None);
    stack(&mut || made = work.take().map(|work| work()));
    made
}

impl Rule {
    /// The compiled form, made at first use; call it on a thread with a large stack.
    pub(crate) fn compiled(&self, node: &Node, object: bool) -> &Compiled {
        self.compiled.get_or_init(|| compile(self, node, object))
    }
}

/// Compiles one rule for a node.
fn compile(rule: &Rule, node: &Node, object: bool) -> Compiled {
    let shapes = shapes(rule, node, object);
    let variables = [("self", &shapes[0]), ("oldSelf", &shapes[1])];
    let program = Program::compile(&rule.rule, &variables, Wanted::Bool);
    let message = rule.message_expression.as_ref();
    let message = message.and_then(|text| Program::compile(text, &variables, Wanted::Text).ok());
    let transition = program.as_ref().is_ok_and(|p| p.mentions("oldSelf"));
    Compiled {
        rule: program,
        message,
        transition,
    }
}

/// The shapes of a value and of its former one, which may not be there where a rule says so.
fn shapes(rule: &Rule, node: &Node, object: bool) -> [Shape; 2] {
    let shape = shape(node, object);
    let former = match rule.optional_old_self {
        true => Shape::Optional(Box::new(shape.clone())),
        false => shape.clone(),
    };
    [shape, former]
}

impl Structural {
    /// Evaluates the CEL rules; call it when no error of [`ErrorKind::skips_rules`] was found.
    ///
    /// Rules with `oldSelf` apply only where the former value is known, unless they say that it is optional; unchanged values are not
    /// looked at. The order is that of the schema's fields, then of the rules.
    #[must_use]
    pub(crate) fn validate_rules(
        &self,
        value: &Value,
        old: Option<&Value>,
        stack: Stack,
    ) -> Vec<FieldError> {
        if !self.has_rules() || old == Some(value) {
            return Vec::new();
        }
        let finished = deep(stack, || {
            let mut run = Run {
                errors: Vec::new(),
                spent: 0,
            };
            run.node(value, old, self.root(), At::ROOT, true);
            run.errors
        });
        finished.unwrap_or_else(|| {
            let detail = "validation rules could not be evaluated";
            vec![FieldError::invalid("", Value::Null, detail)]
        })
    }
}

struct Run {
    errors: Vec<FieldError>,
    spent: u64,
}

impl Run {
    fn node(&mut self, value: &Value, old: Option<&Value>, node: &Node, at: At<'_>, object: bool) {
        if !node.has().rules || self.spent > TOTAL_BUDGET || old == Some(value) {
            return;
        }
        self.rules(value, old, node, at, object);
        match value {
            Value::Object(map) => {
                for (name, found) in map {
                    let former = if node.atomic_map {
                        None
                    } else {
                        old.and_then(|o| o.get(name))
                    };
                    if let Some(below) = node.property(name) {
                        self.node(found, former, below, At::Field(&at, name), below.embedded);
                    }
                }
            }
            Value::Array(items) => {
                let Some(below) = &node.items else { return };
                let former = Former::of(old, &node.list_type);
                for (i, item) in items.iter().enumerate() {
                    let former = former.find(item);
                    self.node(item, former, below, At::Item(&at, i), below.embedded);
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, value: &Value, old: Option<&Value>, node: &Node, at: At<'_>, object: bool) {
        if node.rules.is_empty() || value.is_null() {
            return;
        }
        let path = &at.path();
        let own = datum(value, Some(node));
        let former = old.map(|old| datum(old, Some(node)));
        let optional = Datum::Optional(former.clone().map(Box::new));
        for rule in &node.rules {
            let compiled = rule.compiled(node, object);
            let program = match &compiled.rule {
                Ok(program) => program,
                Err(error) => {
                    self.fail(
                        node,
                        path,
                        ErrorKind::Invalid,
                        format!("rule compile error: {error}"),
                    );
                    continue;
                }
            };
            let former = match rule.optional_old_self {
                true => Some(&optional),
                false => former.as_ref(),
            };
            if compiled.transition && former.is_none() {
                continue;
            }
            let mut values = vec![("self", &own)];
            values.extend(former.map(|f| ("oldSelf", f)));
            let largest = own.largest().max(former.map_or(0, Datum::largest));
            let cost = program.price(largest);
            self.spent = self.spent.saturating_add(cost);
            if cost > CALL_BUDGET || self.spent > TOTAL_BUDGET {
                let text = "validation failed due to running out of cost budget, no further validation rules \
                            will be run";
                self.fail(node, path, ErrorKind::Invalid, text.to_owned());
                self.spent = self.spent.max(TOTAL_BUDGET + 1);
                return;
            }
            match program.holds(&values) {
                Ok(true) => {}
                Ok(false) => self.broken(rule, compiled, &values, node, path),
                Err(error) => {
                    let text = format!("{} evaluating rule: {}", error.message, told(rule));
                    self.fail(node, path, ErrorKind::Invalid, text);
                }
            }
        }
    }

    fn broken(
        &mut self,
        rule: &Rule,
        compiled: &Compiled,
        values: &[(&str, &Datum)],
        node: &Node,
        path: &str,
    ) {
        let made = compiled
            .message
            .as_ref()
            .and_then(|program| program.text(values).ok());
        let made = made
            .filter(|text| !text.trim().is_empty() && !text.contains('\n') && text.len() <= 5_120);
        let text = made.unwrap_or_else(|| told(rule));
        let kind = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => ErrorKind::Forbidden,
            Some("FieldValueRequired") => ErrorKind::Required,
            Some("FieldValueDuplicate") => ErrorKind::Duplicate,
            _ => ErrorKind::Invalid,
        };
        let below = rule.field_path.as_deref().unwrap_or_default();
        let at = if path.is_empty() {
            below.trim_start_matches('.').to_owned()
        } else {
            format!("{path}{below}")
        };
        self.fail(node, &at, kind, text);
    }

    /// The value is told by the name of its type only.
    fn fail(&mut self, node: &Node, path: &str, kind: ErrorKind, detail: String) {
        let bad_value = match kind {
            ErrorKind::Forbidden | ErrorKind::Required => BadValue::Omitted,
            _ if node.int_or_string => BadValue::Json(Value::from("")),
            _ => BadValue::Json(Value::from(node.types.first().map_or("", |t| t.name()))),
        };
        self.errors.push(FieldError {
            path: path.to_owned(),
            kind,
            bad_value,
            detail,
        });
    }
}

fn told(rule: &Rule) -> String {
    match rule
        .message
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        Some(text) => text.to_owned(),
        None => format!("failed rule: {}", rule.rule.trim()),
    }
}

/// The shape of a node's values; `object` for whole objects, whose identity fields every rule sees.
fn shape(node: &Node, object: bool) -> Shape {
    if node.int_or_string {
        return Shape::Dyn;
    }
    match node.types.first() {
        None => Shape::Dyn,
        Some(Type::Boolean) => Shape::Bool,
        Some(Type::Integer) => Shape::Int,
        Some(Type::Number) => Shape::Double,
        Some(Type::String) => match node.format.as_deref() {
            Some("date-time" | "date") => Shape::Timestamp,
            Some("duration") => Shape::Duration,
            Some("byte") => Shape::Bytes,
            _ => Shape::Text,
        },
        Some(Type::Array) => Shape::List(Box::new(
            node.items
                .as_deref()
                .map_or(Shape::Dyn, |items| shape(items, items.embedded)),
        )),
        Some(Type::Object) => match &node.additional {
            Some(Additional::Schema(below)) => Shape::Map(Box::new(shape(below, below.embedded))),
            Some(Additional::Any) => Shape::Map(Box::new(Shape::Dyn)),
            _ if node.preserve_unknown && node.properties.is_empty() && !object => Shape::Dyn,
            _ => fields(node, object),
        },
    }
}

fn fields(node: &Node, object: bool) -> Shape {
    let mut all: BTreeMap<String, Shape> = node
        .properties
        .iter()
        .map(|(name, below)| (escape(name), shape(below, below.embedded)))
        .collect();
    if object {
        let metadata = ["name", "generateName"].map(|name| (name.to_owned(), Shape::Text));
        all.insert("apiVersion".to_owned(), Shape::Text);
        all.insert("kind".to_owned(), Shape::Text);
        all.insert(
            "metadata".to_owned(),
            Shape::Object(metadata.into_iter().collect()),
        );
    }
    Shape::Object(all)
}

/// A value in the form that rules see, by its schema where there is one.
fn datum(value: &Value, node: Option<&Node>) -> Datum {
    let kind = node
        .and_then(|n| n.types.first())
        .filter(|_| !node.is_some_and(|n| n.int_or_string));
    match value {
        Value::Null => Datum::Null,
        Value::Bool(b) => Datum::Bool(*b),
        Value::Number(number) => match (number.as_i64(), kind) {
            (Some(i), Some(Type::Integer) | None) => Datum::Int(i),
            (Some(i), _) => Datum::Double(i as f64),
            (None, Some(Type::Integer)) => Datum::Int(number.as_f64().unwrap_or_default() as i64),
            (None, _) => Datum::Double(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => match node.and_then(|n| n.format.as_deref()) {
            Some("date-time") => Datum::Timestamp(text.clone()),
            Some("date") => Datum::Timestamp(format!("{text}T00:00:00Z")),
            Some("duration") => Datum::Duration(text.clone()),
            Some("byte") => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                Datum::Bytes(bytes.unwrap_or_default())
            }
            _ => Datum::Text(text.clone()),
        },
        Value::Array(items) => {
            let below = node.and_then(|n| n.items.as_deref());
            Datum::List(items.iter().map(|item| datum(item, below)).collect())
        }
        Value::Object(map) => {
            let entry = |(name, found): (&String, &Value)| {
                let below = node.and_then(|n| n.properties.get(name));
                match (below, node.and_then(|n| n.additional.as_ref())) {
                    (Some(below), _) => (escape(name), datum(found, Some(below))),
                    (None, Some(Additional::Schema(below))) => {
                        (name.clone(), datum(found, Some(below)))
                    }
                    _ => (name.clone(), datum(found, None)),
                }
            };
            Datum::Map(map.iter().map(entry).collect())
        }
    }
}

/// Property names that are no identifiers are written with escapes (apiextensions, "CEL property names").
fn escape(name: &str) -> String {
    const RESERVED: [&str; 18] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
    ];
    if RESERVED.contains(&name) || matches!(name, "void" | "while" | "var") {
        return format!("__{name}__");
    }
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.contains("__") {
        return name.to_owned();
    }
    let escaped = name.replace("__", "__underscores__");
    escaped
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
