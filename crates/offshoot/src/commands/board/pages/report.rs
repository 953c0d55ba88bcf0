//! What the last render of a revision reported: a line for each function, with what it said.

use maud::{Markup, html};
use model::{FunctionResult, FunctionResultItem};
use serde_json::Value;

use super::none;
use crate::visible::{counted, visible};

/// How many results of one function are shown.
const SHOWN: usize = 50;

/// The report, as the API has it.
pub(super) fn main(report: &Value) -> Markup {
    let report = api::read_render_status(report);
    html! {
        @if let Some(error) = &report.error { p.trouble { (visible(error)) } }
        @if report.steps.is_empty() { (none("No function ran.")) }
        @else { table {
            thead { tr { @for head in ["Function", "Result", "What it said"] { th scope="col" { (head) } } } }
            tbody { @for step in &report.steps { (line(step)) } }
        } }
    }
}

fn line(step: &FunctionResult) -> Markup {
    let run = step.image.as_deref().or(step.exec.as_deref());
    let result = match step.exit_code {
        0 => "done".to_owned(),
        code => format!("failed, exit code {code}"),
    };
    html! {
        tr {
            th scope="row" {
                @if !step.name.is_empty() { (visible(&step.name)) " " }
                @if let Some(run) = run { code.soft { (visible(run)) } }
                @if step.validator { " " span.soft { "validator" } }
            }
            td { (result) }
            td.message {
                @for item in step.results.iter().take(SHOWN) { p { (said(item)) } }
                @if let Some(more) = step.results.len().checked_sub(SHOWN).filter(|more| *more > 0) {
                    p.more { "and " (counted(more, "more result", "more results")) }
                }
                @if !step.stderr.is_empty() { pre.told { (visible(&step.stderr)) } }
            }
        }
    }
}

/// One result: how bad it is, where, and what.
fn said(item: &FunctionResultItem) -> String {
    let resource = item.resource.as_ref();
    let resource = resource.map(|r| format!("{} {}", r.kind, r.name));
    let file = item.file.as_ref().map(|(path, _)| path.clone());
    let field = item.field.clone();
    let places = [file, resource, field].into_iter().flatten();
    let places: Vec<String> = places.filter(|place| !place.trim().is_empty()).collect();
    let said = match places.is_empty() {
        true => format!("{}: {}", item.severity.as_str(), item.message),
        false => format!(
            "{}: {}: {}",
            item.severity.as_str(),
            places.join(" "),
            item.message
        ),
    };
    visible(&said).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_a_line_for_each_function_and_what_it_said() {
        let report = json!({
            "error": "the <pipeline> failed",
            "result": { "exitCode": 1, "items": [
                { "image": "set-labels:v0.2.5", "exitCode": 0, "results": [
                    { "message": "set 7 labels in total", "severity": "info" },
                ] },
                { "name": "check", "exec": "./check", "exitCode": 3, "stderr": "no <such> field", "results": [
                    { "message": "too many", "severity": "error", "field": { "path": "spec.replicas" },
                      "file": { "path": "web.yaml" }, "resourceRef": { "apiVersion": "v1", "kind": "Pod", "name": "web" } },
                ] },
            ] },
        });
        let page = main(&report).into_string();
        for shown in [
            "<p class=\"trouble\">the &lt;pipeline&gt; failed</p>",
            "<code class=\"soft\">set-labels:v0.2.5</code></th><td>done</td><td class=\"message\"><p>info: set 7 labels in total</p></td>",
            "check <code class=\"soft\">./check</code></th><td>failed, exit code 3</td>",
            "<p>error: web.yaml Pod web spec.replicas: too many</p>",
            "no &lt;such&gt; field",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains('{'), "{page}");
        let none = main(&json!({ "error": "", "result": { "exitCode": 0 } })).into_string();
        assert!(none.contains("No function ran."), "{none}");
    }
}
