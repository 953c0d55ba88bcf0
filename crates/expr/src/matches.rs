//! `matches`: each pattern is read when the expression is compiled, and built once.
//!
//! The library's own function builds the pattern anew at each call, and so large as it is. Here what a run may build is
//! bounded by weight, whether or not it was built before, so that the answer is the same each time; what was built is kept for all
//! runs together, up to a weight.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::{CelBool, CelString};
use cel::{DeclarationError, ExecutionError};
use regex::Regex;

use crate::pattern::Pattern;

/// What all patterns of one expression may weigh.
pub const MAX_PATTERNS: u64 = 20_000;
/// What a pattern may weigh that is known only when the expression runs.
pub(crate) const MAX_MADE: u64 = 500;
/// What the patterns weigh that are kept built.
const KEPT: u64 = 100_000;

/// The patterns that stand in an expression, with their weights.
pub(crate) type Weights = BTreeMap<String, u64>;

/// A pattern that stands in an expression and is none, or too large.
pub(crate) struct BadPattern {
    /// The node of the pattern.
    pub(crate) id: u64,
    pub(crate) text: String,
    pub(crate) why: String,
}

/// The pattern of a call of `matches`, where it is written out.
pub(crate) fn written(call: &CallExpr) -> Option<(u64, &str)> {
    let argument = call.args.last().filter(|_| call.func_name == "matches")?;
    match &argument.expr {
        Expr::Literal(LiteralValue::String(text)) => Some((argument.id, text.inner())),
        _ => None,
    }
}

/// Reads all patterns of an expression.
pub(crate) fn patterns(root: &IdedExpr) -> Result<Weights, BadPattern> {
    let mut weights = Weights::new();
    let mut total = 0_u64;
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if let Expr::Call(call) = &node.expr
            && let Some((id, text)) = written(call)
            && !weights.contains_key(text)
        {
            let bad = |why: String| BadPattern {
                id,
                text: text.to_owned(),
                why,
            };
            let weight = Pattern::parse(text).map_err(bad)?.weight();
            total = total.saturating_add(weight);
            if total > MAX_PATTERNS {
                let why = format!("all patterns weigh more than {MAX_PATTERNS}");
                return Err(bad(why));
            }
            weights.insert(text.to_owned(), weight);
        }
        stack.extend(children(node).into_iter().rev());
    }
    Ok(weights)
}

/// Declares `matches` as a function and as a method of texts.
pub(crate) fn declare(env: &mut cel::Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>, id = "matches")?;
    cel::add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>)
}

fn matches(this: &CelString<'_>, pattern: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let found = RUN.with_borrow_mut(|run| run.find(pattern.inner()));
    let regex = found.map_err(|why| ExecutionError::function_error("matches", why))?;
    Ok(CelBool::from(regex.is_match(this.inner())))
}

/// What one run of an expression has used of patterns.
#[derive(Default)]
struct Run {
    written: Arc<Weights>,
    built: BTreeMap<String, Arc<Regex>>,
    spent: u64,
}

thread_local! {
    /// The run of this thread: functions of the library are handed nothing but their arguments.
    static RUN: RefCell<Run> = RefCell::default();
}

/// Runs an expression with these patterns.
pub(crate) fn running<T>(written: &Arc<Weights>, work: impl FnOnce() -> T) -> T {
    let begin = Run {
        written: Arc::clone(written),
        ..Run::default()
    };
    RUN.set(begin);
    let answer = work();
    RUN.take();
    answer
}

impl Run {
    fn find(&mut self, text: &str) -> Result<Arc<Regex>, String> {
        if let Some(found) = self.built.get(text) {
            return Ok(Arc::clone(found));
        }
        let invalid = |why: String| format!("'{text}' not a valid regex: {why}");
        let pattern = Pattern::parse(text).map_err(invalid)?;
        let weight = pattern.weight();
        if !self.written.contains_key(text) && weight > MAX_MADE {
            return Err(invalid("expression too large".to_owned()));
        }
        self.spent = self.spent.saturating_add(weight);
        if self.spent > MAX_PATTERNS {
            return Err(format!("all patterns weigh more than {MAX_PATTERNS}"));
        }
        let regex = shared(text, &pattern).map_err(invalid)?;
        self.built.insert(text.to_owned(), Arc::clone(&regex));
        Ok(regex)
    }
}

/// What was built, in two generations: when the younger is full, the elder is forgotten.
#[derive(Default)]
struct Kept {
    young: BTreeMap<String, Arc<Regex>>,
    old: BTreeMap<String, Arc<Regex>>,
    weight: u64,
}

static KEPT_BUILT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// A pattern that was built before, or now.
fn shared(text: &str, pattern: &Pattern) -> Result<Arc<Regex>, String> {
    let lock = || KEPT_BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let known = {
        let kept = lock();
        kept.young.get(text).or_else(|| kept.old.get(text)).cloned()
    };
    let regex = match known {
        Some(regex) => regex,
        None => Arc::new(pattern.build()?),
    };
    let mut kept = lock();
    if !kept.young.contains_key(text) {
        kept.weight += pattern.weight() + text.len() as u64;
        kept.young.insert(text.to_owned(), Arc::clone(&regex));
    }
    if kept.weight > KEPT / 2 {
        kept.old = std::mem::take(&mut kept.young);
        kept.weight = 0;
    }
    Ok(regex)
}

/// The nodes right below a node, in the order of the text.
pub(crate) fn children(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                EntryExpr::StructField(field) => vec![&field.value],
            })
            .collect(),
        Expr::Comprehension(c) => vec![
            &c.iter_range,
            &c.accu_init,
            &c.loop_cond,
            &c.loop_step,
            &c.result,
        ],
        _ => Vec::new(),
    }
}
