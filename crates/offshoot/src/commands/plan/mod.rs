//! `offshoot plan`: what applying, deleting or publishing something would do to every target, before it happens.

mod contents;
mod manifests;
mod offline;
mod suppose;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

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
    let document = match &args.offline {
        None => ask(&Client::connect(&args.connect).await?, &spec).await?,
        Some(dir) => {
            let offline = offline::start(dir, args.connect.namespace.as_deref()).await?;
            let asked = match offline.client().await {
                Ok(client) => ask(&client, &spec).await,
                Err(why) => Err(why),
            };
            let said = asked.map(|mut document| {
                offline.say(&mut document);
                document
            });
            offline.stop().await;
            said?
        }
    };
    if let Some(file) = &args.out {
        let text = format!("{document:#}\n");
        let written = std::fs::write(file, text);
        written.map_err(|e| Failure::of(&format!("write {}", file.display()), &e))?;
    }
    if !args.upstream.is_empty() && planning::outcome(&document) == (false, false) {
        super::say(
            "nobody follows what --upstream supposes: who names a revision stays there; give the changed manifest, too, with -f",
        );
    }
    let text = print(args, &document)?;
    Ok((text, ExitCode::from(code(&document))))
}

/// The document that a server answers.
async fn ask(client: &Client, spec: &Value) -> Result<Value, Failure> {
    let body = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan",
        "metadata": {"name": "plan"}, "spec": spec,
    });
    let path = collection(PLANS, &client.namespace, &[]);
    let answer = waited(client.post(&path, &body)).await?;
    super::say_warnings(client);
    let document = answer.pointer("/status/document").cloned();
    document.ok_or_else(|| Failure::new("the server answered without a plan"))
}

/// Says on a terminal how long the answer takes, and takes that away again.
async fn waited<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let mut seconds = 0;
    loop {
        let pause = tokio::time::sleep(Duration::from_secs(1));
        tokio::select! {
            done = &mut answer => {
                if seconds > 0 {
                    wait_line("");
                }
                return done;
            }
            () = pause => {
                seconds += 1;
                wait_line(&format!("planning, {seconds} s …"));
            }
        }
    }
}

/// One line of standard error that the next one replaces; nothing where nobody watches.
fn wait_line(text: &str) {
    let mut out = std::io::stderr().lock();
    if out.is_terminal() {
        // Whether it is seen is no matter.
        drop(write!(out, "\r\x1b[K{text}").and_then(|()| out.flush()));
    }
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
    let terminal = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let shown = |text: String| match terminal {
        true => planning::coloured(&text),
        false => text,
    };
    Ok(match args.output {
        PlanOutput::Table => shown(planning::table(document, args.all)),
        PlanOutput::Json => format!("{document:#}\n"),
        PlanOutput::Markdown => planning::markdown(document, args.all),
        PlanOutput::Diff => {
            let class = args.class.as_deref().unwrap_or_default();
            shown(planning::diff(document, class).unwrap_or_default())
        }
    })
}
