//! `offshoot plan`: what applying, deleting or publishing something would do to every target, before it happens.

mod manifests;
mod suppose;

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::plan::{PlanArgs, PlanOutput};
use crate::client::{Client, PLANS, collection};
use crate::exit::Failure;
use crate::planning;

/// Nothing changes.
const NOTHING: u8 = 0;
/// Something failed.
const FAILED: u8 = 1;
/// Something changes.
const CHANGES: u8 = 2;

/// Plans, and prints the plan.
///
/// # Errors
/// What is supposed cannot be read, the server refuses, or there is no such class.
pub(super) async fn run(args: &PlanArgs) -> Result<(String, ExitCode), Failure> {
    if args.output == PlanOutput::Diff && args.class.is_none() {
        return Err(Failure::usage("-o diff shows one class")
            .hint("name it with --class ID; -o table lists the classes"));
    }
    let spec = spec(args)?;
    let client = Client::connect(&args.connect).await?;
    let body = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan",
        "metadata": {"name": "plan"}, "spec": spec,
    });
    let path = collection(PLANS, &client.namespace, &[]);
    let answer = client.post(&path, &body).await?;
    super::say_warnings(&client);
    let document = answer.pointer("/status/document").cloned();
    let document = document.ok_or_else(|| Failure::new("the server answered without a plan"))?;
    if let Some(file) = &args.out {
        let text = format!("{document:#}\n");
        let written = std::fs::write(file, text);
        written.map_err(|e| Failure::of(&format!("write {}", file.display()), &e))?;
    }
    let text = print(args, &document)?;
    Ok((text, ExitCode::from(code(&document))))
}

/// What the plan says, as an exit code.
fn code(document: &Value) -> u8 {
    match planning::outcome(document) {
        (_, true) => FAILED,
        (true, false) => CHANGES,
        (false, false) => NOTHING,
    }
}

/// What is supposed, as the server is asked.
fn spec(args: &PlanArgs) -> Result<Value, Failure> {
    let objects = manifests::read(&args.files)?;
    let delete: Result<Vec<Value>, Failure> =
        args.delete.iter().map(|d| suppose::deleted(d)).collect();
    let upstreams: Result<Vec<Value>, Failure> =
        args.upstream.iter().map(|u| suppose::upstream(u)).collect();
    Ok(json!({
        "objects": objects,
        "delete": delete?,
        "upstreams": upstreams?,
        "class": args.class.clone().unwrap_or_default(),
        "runFunctions": args.run_functions,
    }))
}

fn print(args: &PlanArgs, document: &Value) -> Result<String, Failure> {
    if let Some(class) = &args.class {
        let classes = document.get("classes").and_then(Value::as_array);
        match classes.map_or(0, Vec::len) {
            0 => {
                let why = format!("there is no class {class:?} in this plan");
                return Err(Failure::new(why).hint("offshoot plan without --class lists all"));
            }
            1 => {}
            found => {
                let why = format!("{found} classes begin with {class:?}");
                return Err(Failure::usage(why).hint("give more digits of its id"));
            }
        }
    }
    Ok(match args.output {
        PlanOutput::Table => planning::table(document, args.all),
        PlanOutput::Json => format!("{document:#}\n"),
        PlanOutput::Markdown => planning::markdown(document, args.all),
        PlanOutput::Diff => {
            let class = args.class.as_deref().unwrap_or_default();
            planning::diff(document, class).unwrap_or_default()
        }
    })
}
