//! What is wrong with a spec that could be parsed, in Porch's words (R13–R16, A4).
//!
//! What cannot be parsed at all is reported by the door; a variant is either here or there.

use model::{Function, MOST_FUNCTIONS, Problem, VariantSpec};

use super::Feeder;

/// Keys of the package context that belong to the package (R13).
const RESERVED: [&str; 2] = ["name", "package-path"];

/// All problems of a spec, in Porch's order: upstream, downstream, context, injectors, then
/// what we check beyond it.
pub fn validate(spec: &VariantSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    context(spec, &mut problems);
    for (i, injector) in spec.injectors.iter().enumerate() {
        if injector.name.is_empty() {
            let field = format!("spec.injectors[{i}].name");
            problems.push(Problem::new(&field, format!("{field} must not be empty")));
        }
    }
    functions("mutators", &spec.pipeline.mutators, &mut problems);
    functions("validators", &spec.pipeline.validators, &mut problems);
    let (up, down) = (&spec.upstream, &spec.downstream);
    if up.repo == down.repo && up.package == down.package {
        problems.push(
            Problem::new(
                "spec.downstream",
                format!(
                    "spec.downstream must not be the upstream package itself ('{}' in repo '{}')",
                    up.package, up.repo
                ),
            )
            .hint("choose another downstream package or repository"),
        );
    }
    problems
}

fn context(spec: &VariantSpec, problems: &mut Vec<Problem>) {
    let data = &spec.context.data;
    for key in RESERVED.iter().filter(|k| data.contains_key(**k)) {
        problems.push(Problem::new(
            "spec.packageContext.data",
            format!(
                "spec.packageContext.data: Invalid value: {}: must not contain the key \"{key}\"",
                json_map(data.iter().map(|(k, v)| (k.as_str(), v.as_str())))
            ),
        ));
    }
    let remove = &spec.context.remove_keys;
    for key in RESERVED.iter().filter(|k| remove.contains(**k)) {
        let list: Vec<String> = remove.iter().map(|k| json_text(k)).collect();
        problems.push(Problem::new(
            "spec.packageContext.removeKeys",
            format!(
                "spec.packageContext.removeKeys: Invalid value: [{}]: must not contain the key \"{key}\"",
                list.join(",")
            ),
        ));
    }
}

/// An image or a command, and a name without dots: our names separate their parts by them (R14).
fn functions(list: &str, functions: &[Function], problems: &mut Vec<Problem>) {
    if functions.len() > MOST_FUNCTIONS {
        let field = format!("spec.pipeline.{list}");
        let count = functions.len();
        let what = format!("{field} has {count} functions; {MOST_FUNCTIONS} may run");
        problems.push(Problem::new(field, what));
        return;
    }
    for (i, function) in functions.iter().enumerate() {
        let field = format!("spec.pipeline.{list}[{i}]");
        let given = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.is_empty());
        if !given(&function.image) && !given(&function.exec) {
            problems.push(Problem::new(
                format!("{field}.image"),
                format!("{field}.image must not be empty"),
            ));
        }
        if function.name.contains('.') {
            problems.push(Problem::new(
                format!("{field}.name"),
                format!("{field}.name must not contain '.'"),
            ));
        }
    }
}

/// The chain of variants that leads from the downstream back to itself, if there is one (V24).
pub(super) fn cycle(spec: &VariantSpec, feeders: &[Feeder]) -> Option<String> {
    let closing = feeders.iter().position(|f| {
        f.upstream.repo == spec.downstream.repo && f.upstream.package == spec.downstream.package
    })?;
    let names: Vec<String> = feeders
        .iter()
        .take(closing + 1)
        .map(|f| f.variant.to_string())
        .collect();
    Some(names.join(", "))
}

fn json_map<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let inner: Vec<String> = pairs
        .map(|(k, v)| format!("{}:{}", json_text(k), json_text(v)))
        .collect();
    format!("{{{}}}", inner.join(","))
}

/// A text as JSON writes it.
pub(crate) fn json_text(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                // Writing to a String cannot fail.
                _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
