//! How much work an expression can be at most, and how deep it nests, before it runs.
//!
//! Every unknown string or map counts as so many elements; a comprehension costs its body times
//! its range; values that grow by concatenation are followed, so that doubling is seen.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use crate::matches::{MAX_MADE, Weights, children, written};

/// How big a value can be, level by level: its elements (or bytes), theirs, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Size {
    levels: Vec<u64>,
    /// Every deeper level: one where the shape is known, more where it is not.
    rest: u64,
}

impl Size {
    fn one() -> Self {
        Self::of(1)
    }

    fn of(count: u64) -> Self {
        Self {
            levels: vec![count],
            rest: 1,
        }
    }

    fn count(&self) -> u64 {
        self.levels.first().copied().unwrap_or(self.rest)
    }

    /// An element of it.
    fn inside(&self) -> Self {
        Self {
            levels: self.levels.iter().skip(1).copied().collect(),
            rest: self.rest,
        }
    }

    /// A list of so many of these.
    fn times(&self, count: u64) -> Self {
        let mut levels = vec![count];
        levels.extend(&self.levels);
        Self {
            levels,
            rest: self.rest,
        }
    }

    /// Everything in it.
    fn whole(&self) -> u64 {
        self.levels
            .iter()
            .fold(self.rest.max(1), |all, n| all.saturating_mul((*n).max(1)))
    }

    /// Level by level, by this rule for the first and the larger for the others.
    fn with(&self, other: &Self, first: impl Fn(u64, u64) -> u64) -> Self {
        let at = |size: &Self, i: usize| size.levels.get(i).copied().unwrap_or(size.rest);
        let levels = (0..self.levels.len().max(other.levels.len()).max(1))
            .map(|i| {
                let (a, b) = (at(self, i), at(other, i));
                if i == 0 { first(a, b) } else { a.max(b) }
            })
            .collect();
        Self {
            levels,
            rest: self.rest.max(other.rest),
        }
    }

    fn max(&self, other: &Self) -> Self {
        self.with(other, u64::max)
    }

    fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

/// Adds up the cost of an expression.
pub(crate) struct Meter<'w> {
    unknown: u64,
    /// The patterns, where what they weigh and what texts grow to counts.
    weights: Option<&'w Weights>,
    scopes: Vec<(String, Size)>,
}

impl<'w> Meter<'w> {
    /// A meter that takes unknown values to have this many elements.
    pub(crate) fn new(unknown: usize) -> Self {
        Self {
            unknown: unknown as u64,
            weights: None,
            scopes: Vec::new(),
        }
    }

    /// Counts what patterns weigh, not how long they are, and follows the texts that functions make.
    pub(crate) fn weighing(mut self, weights: &'w Weights) -> Self {
        self.weights = Some(weights);
        self
    }

    /// The highest possible cost.
    pub(crate) fn cost(mut self, node: &IdedExpr) -> u64 {
        self.node(node).0
    }

    fn dynamic(&self) -> Size {
        Size {
            levels: Vec::new(),
            rest: self.unknown,
        }
    }

    fn node(&mut self, node: &IdedExpr) -> (u64, Size) {
        match &node.expr {
            Expr::Unspecified | Expr::Struct(_) => (1, Size::one()),
            Expr::Literal(literal) => (1, literal_size(literal)),
            Expr::Ident(name) => {
                let scoped = self.scopes.iter().rev().find(|(n, _)| n == name);
                (1, scoped.map_or_else(|| self.dynamic(), |(_, s)| s.clone()))
            }
            Expr::Select(select) => {
                let (cost, operand) = self.node(&select.operand);
                (cost.saturating_add(1), operand.inside())
            }
            Expr::List(list) => self.literal(list.elements.iter()),
            Expr::Map(map) => {
                let values = map.entries.iter().flat_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                    EntryExpr::StructField(field) => vec![&field.value],
                });
                self.literal(values)
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn literal<'e>(&mut self, elements: impl Iterator<Item = &'e IdedExpr>) -> (u64, Size) {
        let (mut cost, mut count) = (1_u64, 0);
        let mut each = Size::of(0);
        for element in elements {
            let (c, size) = self.node(element);
            cost = cost.saturating_add(c);
            count += 1;
            each = each.max(&size);
        }
        (cost, each.times(count))
    }

    fn call(&mut self, call: &CallExpr) -> (u64, Size) {
        let mut cost = 1_u64;
        let mut sizes = Vec::new();
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            let (c, size) = self.node(argument);
            cost = cost.saturating_add(c);
            sizes.push(size);
        }
        let nth = |i: usize| sizes.get(i).cloned().unwrap_or_else(Size::one);
        let (first, second) = (nth(0), nth(1));
        let (own, size) = match call.func_name.as_str() {
            "_+_" => {
                let sum = first.plus(&second);
                (sum.count() / 10, sum)
            }
            "_?_:_" => (0, second.max(&nth(2))),
            "_[_]" | "_[?_]" | "_?._" => (0, first.inside()),
            // What may not be there is as large as what is.
            "value" | "orValue" | "or" | "of" | "ofNonZeroValue" => (0, first.max(&second)),
            "@in" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "contains" => {
                (first.whole().max(second.whole()) / 10, Size::one())
            }
            "matches" => {
                let weight = self.weights.map_or(0, |weights| {
                    let known = written(call).and_then(|(_, text)| weights.get(text));
                    known.copied().unwrap_or(MAX_MADE)
                });
                let work = first.count().saturating_mul(second.count().max(weight));
                (work / 40, Size::one())
            }
            "string" | "bytes" | "dyn" => (first.count() / 10, first),
            name if self.weights.is_some() => made(name, &first, &second, &nth(2)),
            _ => (first.count() / 10, Size::one()),
        };
        (cost.saturating_add(own), size)
    }

    fn comprehension(&mut self, c: &ComprehensionExpr) -> (u64, Size) {
        let (range_cost, range) = self.node(&c.iter_range);
        let (start_cost, start) = self.node(&c.accu_init);
        self.scopes.push((c.iter_var.clone(), range.inside()));
        self.scopes.push((c.accu_var.clone(), start.clone()));
        let (condition, _) = self.node(&c.loop_cond);
        let (step, grown) = self.node(&c.loop_step);
        let total = grown.inside().times(range.count().max(start.count()));
        self.scopes.pop();
        self.scopes.push((c.accu_var.clone(), total));
        let (result_cost, result) = self.node(&c.result);
        self.scopes.pop();
        self.scopes.pop();
        let body = condition.saturating_add(step).saturating_add(1);
        let cost = range_cost
            .saturating_add(start_cost)
            .saturating_add(range.count().saturating_mul(body))
            .saturating_add(result_cost);
        (cost, result)
    }
}

/// What a function of texts and lists costs, and how large its answer can be.
fn made(name: &str, first: &Size, second: &Size, third: &Size) -> (u64, Size) {
    let size = match name {
        // Also between any two characters, if what is looked for is empty.
        "replace" => {
            let pieces = first.count().saturating_add(1);
            Size::of(pieces.saturating_mul(third.count().saturating_add(1)))
        }
        "join" => {
            let piece = first.inside().count().saturating_add(second.count());
            Size::of(first.count().saturating_mul(piece))
        }
        "split" => Size::of(first.count()).times(first.count().saturating_add(1)),
        "quote" | "strings.quote" => Size::of(first.count().saturating_mul(6).max(64)),
        "lowerAscii" | "upperAscii" | "trim" | "substring" | "charAt" | "reverse" => first.clone(),
        "min" | "max" => first.inside(),
        _ => return (first.count() / 10, Size::one()),
    };
    (first.count().max(size.count()) / 10, size)
}

fn literal_size(literal: &LiteralValue) -> Size {
    let count = match literal {
        LiteralValue::String(text) => text.inner().len() as u64,
        LiteralValue::Bytes(bytes) => bytes.inner().len() as u64,
        _ => 1,
    };
    Size::of(count)
}

/// How deep an expression nests, and how deep evaluating it recurses: a chain of one operator
/// (`a + b + c`) recurses without nesting. Walks without recursion, because it guards the stack.
pub(crate) fn depth(root: &IdedExpr) -> (usize, usize) {
    let (mut nesting, mut recursion) = (0, 0);
    let mut stack = vec![(root, 1_usize, 1_usize, "")];
    while let Some((node, nested, deep, above)) = stack.pop() {
        let operator = match &node.expr {
            Expr::Call(call) => call.func_name.as_str(),
            Expr::Select(_) => ".",
            _ => "",
        };
        let chains = matches!(operator, "_+_" | "_&&_" | "_||_" | ".") && operator == above;
        let nested = if chains { nested - 1 } else { nested };
        nesting = nesting.max(nested);
        recursion = recursion.max(deep);
        for child in children(node) {
            stack.push((child, nested + 1, deep + 1, operator));
        }
    }
    (nesting, recursion)
}
