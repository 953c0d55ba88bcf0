//! One expression alone, with the variables of a template: what `offshoot template eval` yields.

use std::collections::BTreeMap;

use expr::{Bindings, ExprError, Program, Value};

use super::compile::environment;

/// Evaluates an expression with these variables. In `downstream.repoExpr` the repository is not known yet (R153).
/// It is to be called on a thread with a large stack.
///
/// # Errors
/// What is wrong with it, with its place, as the set's condition would say it.
pub fn evaluate(
    text: &str,
    variables: &BTreeMap<String, Value>,
    of_repo: bool,
) -> Result<String, ExprError> {
    let (repo, rest) = environment();
    let program = Program::compile(text, if of_repo { &repo } else { &rest })?;
    let mut bindings = Bindings::default();
    for (name, value) in variables {
        bindings.set(name, value);
    }
    program.eval(&bindings)
}
