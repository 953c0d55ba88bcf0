//! Parts that are the same for all inputs are tried once, when the program is built: conversions
//! of literals. That is where cel-go finds their errors, too.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr};
use cel::{Context, ExecutionError};

const CONVERSIONS: [&str; 8] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "string",
    "timestamp",
    "uint",
];

/// The first error of a constant part.
pub(crate) fn constant_error(node: &IdedExpr, context: &Context<'_, '_>) -> Option<ExecutionError> {
    let inner = |n: &IdedExpr| constant_error(n, context);
    match &node.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .find_map(inner)
            .or_else(|| call_error(node, call, context)),
        Expr::Select(select) => inner(&select.operand),
        Expr::List(list) => list.elements.iter().find_map(inner),
        Expr::Map(map) => map.entries.iter().find_map(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => inner(&entry.key).or_else(|| inner(&entry.value)),
            EntryExpr::StructField(field) => inner(&field.value),
        }),
        Expr::Comprehension(c) => [
            &c.iter_range,
            &c.accu_init,
            &c.loop_cond,
            &c.loop_step,
            &c.result,
        ]
        .into_iter()
        .find_map(inner),
        _ => None,
    }
}

fn call_error(
    node: &IdedExpr,
    call: &CallExpr,
    context: &Context<'_, '_>,
) -> Option<ExecutionError> {
    let name = call.func_name.as_str();
    if CONVERSIONS.contains(&name) && call.args.iter().all(is_constant) {
        return context.resolve(node).err();
    }
    None
}

fn is_constant(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Literal(_) => true,
        Expr::Call(call) => {
            call.target.is_none()
                && CONVERSIONS.contains(&call.func_name.as_str())
                && call.args.iter().all(is_constant)
        }
        _ => false,
    }
}
