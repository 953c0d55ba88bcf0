//! Validation rules: expressions over typed values that answer yes or no, or make a text.
//!
//! Unlike templates, rules have the strings extension, values of every JSON type, and objects whose
//! fields are known. The caller brings shapes and values; a rule knows nothing of where they came from.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cel::extractors::This;
use cel::objects::Key;
use cel::{Context, ExecutionError};

use crate::check::Checker;
use crate::cost::{Meter, depth};
use crate::error::{ExprError, Stage};
use crate::matches::{Weights, declare, patterns, running};
use crate::program::{Env, MAX_NESTING, MAX_RECURSION, position, runtime, syntax};
use crate::types::Type;

/// The longest rule, in bytes.
pub const MAX_RULE_LENGTH: usize = 8 * 1024;

/// The standard library with values that may not be there, and the strings extension.
static LIBRARY: LazyLock<Arc<cel::Env>> = LazyLock::new(|| {
    let mut env = cel::Env::stdlib();
    // Nothing of that library is declared twice, so it cannot be refused.
    let added = env.add_extension(cel::extensions::strings);
    debug_assert!(
        added.is_ok(),
        "the strings extension declares each overload once"
    );
    let added = declare(&mut env);
    debug_assert!(added.is_ok(), "nothing else declares `matches`");
    Arc::new(env)
});

/// What a variable of a rule looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Known only when it runs.
    Dyn,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// An instant.
    Timestamp,
    /// A span of time.
    Duration,
    /// A list of these.
    List(Box<Self>),
    /// A map from texts to these.
    Map(Box<Self>),
    /// An object with these fields.
    Object(BTreeMap<String, Self>),
    /// One of these, or nothing.
    Optional(Box<Self>),
}

impl Shape {
    fn declared(&self) -> Type {
        match self {
            Self::Dyn => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Double => Type::Double,
            Self::Text => Type::Text,
            Self::Bytes => Type::Bytes,
            Self::Timestamp => Type::Timestamp,
            Self::Duration => Type::Duration,
            Self::List(of) => Type::list(of.declared()),
            Self::Map(of) => Type::map(Type::Text, of.declared()),
            Self::Optional(of) => Type::optional(of.declared()),
            Self::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, of)| (name.clone(), of.declared()));
                Type::Object(Arc::new(fields.collect()))
            }
        }
    }
}

/// A value of a rule's variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An instant, as RFC 3339.
    Timestamp(String),
    /// A span of time, as `1h30m`.
    Duration(String),
    /// A list.
    List(Vec<Self>),
    /// A map or object.
    Map(BTreeMap<String, Self>),
    /// A value that may not be there.
    Optional(Option<Box<Self>>),
}

impl Datum {
    /// The number of elements of its largest list or map, or bytes of its longest text.
    #[must_use]
    pub fn largest(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items
                .iter()
                .map(Self::largest)
                .max()
                .unwrap_or(0)
                .max(items.len()),
            Self::Map(map) => map
                .values()
                .map(Self::largest)
                .max()
                .unwrap_or(0)
                .max(map.len()),
            Self::Optional(Some(value)) => value.largest(),
            _ => 1,
        }
    }

    fn cel(&self) -> cel::Value {
        match self {
            Self::Null => cel::Value::Null,
            Self::Bool(b) => cel::Value::Bool(*b),
            Self::Int(i) => cel::Value::Int(*i),
            Self::Double(d) => cel::Value::Float(*d),
            Self::Text(text) => cel::Value::String(Arc::new(text.clone())),
            Self::Bytes(bytes) => cel::Value::Bytes(Arc::new(bytes.clone())),
            Self::Timestamp(text) => converted(&TIMESTAMP, text),
            Self::Duration(text) => converted(&DURATION, text),
            Self::Optional(value) => {
                let none = cel::objects::OptionalValue::none;
                let value = value.as_ref().map(|value| value.cel());
                let value = value.map_or_else(none, cel::objects::OptionalValue::of);
                cel::Value::Opaque(Arc::new(value))
            }
            Self::List(items) => cel::Value::List(Arc::new(items.iter().map(Self::cel).collect())),
            Self::Map(map) => {
                let entries = map
                    .iter()
                    .map(|(k, v)| (Key::String(Arc::new(k.clone())), v.cel()));
                cel::Value::Map(cel::objects::Map {
                    map: Arc::new(entries.collect()),
                })
            }
        }
    }
}

static TIMESTAMP: LazyLock<Option<cel::Program>> =
    LazyLock::new(|| LIBRARY.compile("timestamp(x)").ok());
static DURATION: LazyLock<Option<cel::Program>> =
    LazyLock::new(|| LIBRARY.compile("duration(x)").ok());

/// A text turned into an instant or a span; itself where it is none.
fn converted(program: &Option<cel::Program>, text: &str) -> cel::Value {
    let value = cel::Value::String(Arc::new(text.to_owned()));
    let mut context = Context::with_env(Arc::clone(&LIBRARY));
    context.add_variable_from_value("x", value.clone());
    program
        .as_ref()
        .and_then(|p| p.execute(&context).ok())
        .unwrap_or(value)
}

/// What a rule's expression must result in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Yes or no.
    Bool,
    /// A text.
    Text,
}

/// A compiled rule; cheap to clone, usable from any thread.
#[derive(Debug, Clone)]
pub struct Rule {
    program: Arc<cel::Program>,
    weights: Arc<Weights>,
    /// Whether it uses Kubernetes' functions of lists.
    lists: bool,
}

type Items = Arc<Vec<cel::Value>>;

fn list_functions(context: &mut Context<'_, '_>) -> Result<(), cel::DeclarationError> {
    context.add_function("isSorted", |This(list): This<Items>| sorted(&list))?;
    context.add_function("sum", |This(list): This<Items>| sum(&list))?;
    context.add_function("min", |This(list): This<Items>| {
        extreme(&list, Ordering::Less)
    })?;
    context.add_function("max", |This(list): This<Items>| {
        extreme(&list, Ordering::Greater)
    })?;
    Ok(())
}

fn ordered(a: &cel::Value, b: &cel::Value) -> Result<Ordering, ExecutionError> {
    a.partial_cmp(b)
        .ok_or_else(|| ExecutionError::function_error("compare", "no such overload"))
}

fn sorted(list: &[cel::Value]) -> Result<bool, ExecutionError> {
    for pair in list.windows(2) {
        if let [a, b] = pair
            && ordered(a, b)? == Ordering::Greater
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn extreme(list: &[cel::Value], wanted: Ordering) -> Result<cel::Value, ExecutionError> {
    let mut found: Option<&cel::Value> = None;
    for item in list {
        match found {
            Some(best) if ordered(item, best)? != wanted => {}
            _ => found = Some(item),
        }
    }
    let empty = || ExecutionError::function_error("list", "min/max called on empty list");
    found.cloned().ok_or_else(empty)
}

fn sum(list: &[cel::Value]) -> Result<cel::Value, ExecutionError> {
    let mut total = cel::Value::Int(0);
    for (i, item) in list.iter().enumerate() {
        total = match (&total, item) {
            (_, first) if i == 0 => first.clone(),
            (cel::Value::Int(a), cel::Value::Int(b)) => {
                let overflow = || ExecutionError::function_error("sum", "integer overflow");
                cel::Value::Int(a.checked_add(*b).ok_or_else(overflow)?)
            }
            (cel::Value::Float(a), cel::Value::Float(b)) => cel::Value::Float(a + b),
            _ => return Err(ExecutionError::function_error("sum", "no such overload")),
        };
    }
    Ok(total)
}

impl Rule {
    /// Compiles a rule over these variables.
    ///
    /// # Errors
    /// The first problem: limits, syntax, names, types, a pattern that is none, or another result than
    /// wanted ([`Stage::Result`]).
    pub fn compile(
        text: &str,
        variables: &[(&str, &Shape)],
        wanted: Wanted,
    ) -> Result<Self, ExprError> {
        if text.len() > MAX_RULE_LENGTH {
            let size = text.len();
            let message = format!(
                "expression code point size exceeds limit: size: {size}, limit {MAX_RULE_LENGTH}"
            );
            return Err(ExprError::new(Stage::Compile, message));
        }
        let program = LIBRARY
            .compile(text)
            .map_err(|e| syntax(text, &Env::default(), &e))?;
        let (nesting, recursion) = depth(program.expression());
        if nesting > MAX_NESTING || recursion > MAX_RECURSION {
            return Err(ExprError::new(
                Stage::Compile,
                "max recursion depth exceeded",
            ));
        }
        let declared: BTreeMap<String, Type> = variables
            .iter()
            .map(|(name, shape)| ((*name).to_owned(), shape.declared()))
            .collect();
        let mut checker = Checker::new(&declared).extended();
        let result = checker.check(program.expression());
        if let Some(finding) = checker.findings.first() {
            let place = position(text, &program, finding.id);
            return Err(ExprError::at(text, place, finding.message.clone()));
        }
        let weights = patterns(program.expression()).map_err(|bad| {
            let place = position(text, &program, bad.id);
            ExprError::at(text, place, "invalid matches argument")
        })?;
        let (fits, message) = match wanted {
            Wanted::Bool => (
                result == Type::Bool,
                "cel expression must evaluate to a bool",
            ),
            Wanted::Text => (
                result == Type::Text,
                "messageExpression must evaluate to a string",
            ),
        };
        if !fits && !result.is_open() {
            return Err(ExprError::new(Stage::Result, message));
        }
        let names = program.references();
        let lists = ["isSorted", "sum", "min", "max"]
            .iter()
            .any(|name| names.has_function(name));
        Ok(Self {
            program: Arc::new(program),
            weights: Arc::new(weights),
            lists,
        })
    }

    /// The highest cost if unknown values have this many elements.
    #[must_use]
    pub fn cost(&self, elements: usize) -> u64 {
        Meter::new(elements).cost(self.program.expression())
    }

    /// The highest cost of a run with values of this many elements: of what patterns weigh and of all texts that it makes.
    #[must_use]
    pub fn price(&self, elements: usize) -> u64 {
        let meter = Meter::new(elements).weighing(&self.weights);
        meter.cost(self.program.expression())
    }

    /// What its patterns weigh together.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weights.values().sum()
    }

    /// Whether the rule uses a variable of that name.
    #[must_use]
    pub fn mentions(&self, name: &str) -> bool {
        self.program.references().has_variable(name)
    }

    fn run(&self, values: &[(&str, &Datum)]) -> Result<cel::Value, ExprError> {
        let mut context = Context::with_env(Arc::clone(&LIBRARY));
        for (name, value) in values {
            context.add_variable_from_value(*name, value.cel());
        }
        if self.lists {
            list_functions(&mut context)
                .map_err(|e| ExprError::new(Stage::Program, e.to_string()))?;
        }
        running(&self.weights, || self.program.execute(&context))
            .map_err(|e| runtime(Stage::Eval, &e))
    }

    /// Whether the rule holds for these values.
    ///
    /// # Errors
    /// What goes wrong with these values, or that the result is neither true nor false.
    pub fn holds(&self, values: &[(&str, &Datum)]) -> Result<bool, ExprError> {
        match self.run(values)? {
            cel::Value::Bool(answer) => Ok(answer),
            _ => Err(ExprError::new(
                Stage::Result,
                "cel expression must evaluate to a bool",
            )),
        }
    }

    /// The text that the expression makes of these values.
    ///
    /// # Errors
    /// What goes wrong with these values, or that the result is no text.
    pub fn text(&self, values: &[(&str, &Datum)]) -> Result<String, ExprError> {
        match self.run(values)? {
            cel::Value::String(text) => Ok(text.as_ref().clone()),
            _ => Err(ExprError::new(
                Stage::Result,
                "messageExpression must evaluate to a string",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
