//! Compiling and evaluating.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cel::{Context, ExecutionError};

use crate::check::Checker;
use crate::cost::{Meter, depth};
use crate::error::{ExprError, Position, Stage};
use crate::fold::constant_error;
use crate::matches::{Weights, declare, patterns, running};
use crate::types::Type;
use crate::{Bindings, Declared};

/// The longest expression, in bytes.
pub const MAX_LENGTH: usize = 2048;
/// The deepest nesting; a chain of one operator does not nest.
pub const MAX_NESTING: usize = 32;
/// The deepest recursion, chains included.
pub const MAX_RECURSION: usize = 250;
/// The highest cost, counted before it runs.
pub const MAX_COST: u64 = 1_000_000;
/// The highest cost with texts as long as they are.
const MAX_SCALED: u64 = 20 * MAX_COST;
/// What an unknown string or map counts as (as cel-go estimates).
const UNKNOWN: usize = 64;

/// The standard library without optional values and extensions.
static LIBRARY: LazyLock<Arc<cel::Env>> = LazyLock::new(|| {
    let mut env = cel::Env::stdlib().with_optional_support(false);
    env.set_error_on_duplicate_map_keys(false);
    let added = declare(&mut env);
    debug_assert!(added.is_ok(), "nothing else declares `matches`");
    Arc::new(env)
});

/// The variables that expressions may use.
#[derive(Debug, Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, Type>,
    hints: BTreeMap<String, String>,
}

impl Env {
    /// Declares a variable.
    #[must_use]
    pub fn with(mut self, name: &str, declared: Declared) -> Self {
        let t = match declared {
            Declared::Text => Type::Text,
            Declared::Dyn => Type::Dyn,
        };
        self.variables.insert(name.to_owned(), t);
        self
    }

    /// Adds a sentence to the error about this undeclared name.
    #[must_use]
    pub fn hint(mut self, name: &str, hint: &str) -> Self {
        self.hints.insert(name.to_owned(), hint.to_owned());
        self
    }
}

/// A compiled expression. It can be shared between threads and evaluated any number of times.
#[derive(Debug, Clone)]
pub struct Program {
    program: Arc<cel::Program>,
    weights: Arc<Weights>,
}

impl Program {
    /// Compiles an expression: its limits, its syntax, its names and types, its cost, and its
    /// constant parts. Its result must be a string, or be known only when it runs.
    ///
    /// # Errors
    /// All problems of the first stage that has some; the message is cel-go's where it has one.
    pub fn compile(text: &str, env: &Env) -> Result<Self, ExprError> {
        if text.len() > MAX_LENGTH {
            return Err(ExprError::new(
                Stage::Compile,
                format!(
                    "expression code point size exceeds limit: size: {}, limit {MAX_LENGTH}",
                    text.len()
                ),
            ));
        }
        let program = LIBRARY.compile(text).map_err(|e| syntax(text, env, &e))?;
        let (nesting, recursion) = depth(program.expression());
        if nesting > MAX_NESTING || recursion > MAX_RECURSION {
            return Err(ExprError::new(
                Stage::Compile,
                format!(
                    "max recursion depth exceeded: nesting {nesting} of {MAX_NESTING}, recursion {recursion} of {MAX_RECURSION}"
                ),
            ));
        }
        types(text, env, &program)?;
        let weights = patterns(program.expression()).map_err(|bad| {
            let place = position(text, &program, bad.id);
            let message = format!("'{}' not a valid regex: {}", bad.text, bad.why);
            ExprError {
                stage: Stage::Program,
                ..ExprError::at(text, place, message)
            }
        })?;
        affordable(&program, &weights, UNKNOWN, 1)?;
        let context = Context::with_env(Arc::clone(&LIBRARY));
        if let Some(error) = constant_error(program.expression(), &context) {
            return Err(runtime(Stage::Program, &error));
        }
        Ok(Self {
            program: Arc::new(program),
            weights: Arc::new(weights),
        })
    }

    /// What its patterns weigh together.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weights.values().sum()
    }

    /// Evaluates to a string.
    ///
    /// # Errors
    /// What goes wrong with these values, or that the result is no string.
    pub fn eval(&self, bindings: &Bindings) -> Result<String, ExprError> {
        let (largest, scale) = (bindings.largest(), bindings.longest().div_ceil(UNKNOWN));
        if largest > UNKNOWN || scale > 1 {
            affordable(&self.program, &self.weights, largest.max(UNKNOWN), scale)?;
        }
        let mut context = Context::with_env(Arc::clone(&LIBRARY));
        for (name, value) in bindings.iter() {
            context.add_variable_as_val(name.as_str(), value.clone().into_val());
        }
        let run = running(&self.weights, || self.program.execute(&context));
        let value = run.map_err(|e| match &e {
            ExecutionError::UnexpectedType { want, .. } if want.contains("representable") => {
                let message = "type conversion error from map to 'string'";
                ExprError::new(Stage::Result, message)
            }
            _ => runtime(Stage::Eval, &e),
        })?;
        match value {
            cel::Value::String(text) => {
                Ok(Arc::try_unwrap(text).unwrap_or_else(|shared| shared.as_ref().clone()))
            }
            other => Err(ExprError::new(Stage::Result, not_text(&other))),
        }
    }
}

/// Whether an expression is cheap enough over maps of so many entries, and texts that are so many times longer than an
/// unknown one is taken to be.
fn affordable(
    program: &cel::Program,
    weights: &Weights,
    unknown: usize,
    scale: usize,
) -> Result<(), ExprError> {
    let meter = Meter::new(unknown).weighing(weights);
    let cost = meter.cost(program.expression());
    if cost <= MAX_COST && cost.saturating_mul(scale as u64) <= MAX_SCALED {
        return Ok(());
    }
    Err(ExprError::new(
        Stage::Compile,
        format!("the expression may cost {cost}, which exceeds the limit of {MAX_COST}"),
    ))
}

/// Names and types, and that the result can be a string.
fn types(text: &str, env: &Env, program: &cel::Program) -> Result<(), ExprError> {
    let mut checker = Checker::new(&env.variables);
    let result = checker.check(program.expression());
    let place = |id: u64| position(text, program, id);
    if let Some(finding) = checker.findings.first() {
        let mut message = finding.message.clone();
        for (name, hint) in &env.hints {
            if message.contains(&format!("undeclared reference to '{name}'")) {
                message = format!("{message}: {hint}");
            }
        }
        return Err(ExprError::at(text, place(finding.id), message));
    }
    if result.is_open() || result == Type::Text {
        return Ok(());
    }
    let message = match &result {
        Type::Int | Type::Uint => format!("unsupported type conversion from '{result}' to string"),
        Type::Meta(_) => "type conversion not supported for 'type'".to_owned(),
        Type::Null => "type conversion error from 'null_type' to 'string'".to_owned(),
        Type::Double => "type conversion error from Double to 'string'".to_owned(),
        Type::Bytes => "type conversion error from Bytes to 'string'".to_owned(),
        Type::Timestamp => "type conversion error from 'Timestamp' to 'string'".to_owned(),
        Type::Duration => "type conversion error from 'Duration' to 'string'".to_owned(),
        Type::List(_) => "type conversion error from list to 'string'".to_owned(),
        Type::Map(..) => "type conversion error from map to 'string'".to_owned(),
        other => format!("type conversion error from {other} to 'string'"),
    };
    let mut error = ExprError::at(text, place(program.expression().id), message);
    error.stage = Stage::Result;
    Err(error)
}

/// Where the node of this id stands, in characters.
pub(crate) fn position(text: &str, program: &cel::Program, id: u64) -> Position {
    let offset = program
        .source_info()
        .offset_for(id)
        .map_or(0, |(start, _)| start as usize);
    let (mut line, mut column) = (1, 1);
    for c in text.chars().take(offset) {
        if c == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    Position { line, column }
}

pub(crate) fn syntax(text: &str, env: &Env, errors: &cel::ParseErrors) -> ExprError {
    let Some(first) = errors.errors.first() else {
        return ExprError::new(Stage::Compile, "Syntax error");
    };
    let count = |n: isize| usize::try_from(n).unwrap_or(0).max(1);
    let position = Position {
        line: count(first.pos.0),
        column: count(first.pos.1),
    };
    if first.msg.contains("Recursion limit") {
        return ExprError::new(Stage::Compile, "max recursion depth exceeded");
    }
    let mut message = first.msg.clone();
    let reserved = message.strip_prefix("reserved identifier: ");
    if let Some(hint) = reserved.and_then(|name| env.hints.get(name)) {
        message = format!("{message}: {hint}");
    }
    ExprError::at(text, position, message)
}

/// A run-time error in cel-go's words.
pub(crate) fn runtime(stage: Stage, error: &ExecutionError) -> ExprError {
    let message = match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(_, cel::Value::UInt(_), _) => {
            "unsigned integer overflow".to_owned()
        }
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(i)) => {
            format!("index out of bounds: {i}")
        }
        ExecutionError::UnsupportedIndex(key, _) => format!("no such key: {}", plain(key)),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::NoSuchOverload(_) => "no such overload".to_owned(),
        other => other.to_string(),
    };
    ExprError::new(stage, message)
}

fn plain(value: &cel::Value) -> String {
    match value {
        cel::Value::Int(i) => i.to_string(),
        cel::Value::UInt(u) => u.to_string(),
        cel::Value::String(text) => text.to_string(),
        cel::Value::Bool(b) => b.to_string(),
        other => other.type_of().to_string(),
    }
}

fn not_text(value: &cel::Value) -> String {
    match value {
        cel::Value::Int(_) => "unsupported type conversion from 'int' to string".to_owned(),
        cel::Value::UInt(_) => "unsupported type conversion from 'uint' to string".to_owned(),
        cel::Value::Float(_) => "type conversion error from Double to 'string'".to_owned(),
        cel::Value::Bytes(_) => "type conversion error from Bytes to 'string'".to_owned(),
        cel::Value::Null => "type conversion error from 'null_type' to 'string'".to_owned(),
        cel::Value::List(_) => "type conversion error from list to 'string'".to_owned(),
        cel::Value::Map(_) => "type conversion error from map to 'string'".to_owned(),
        cel::Value::Bool(_) => "type conversion error from bool to 'string'".to_owned(),
        other => format!(
            "type conversion error from '{}' to 'string'",
            other.type_of()
        ),
    }
}
