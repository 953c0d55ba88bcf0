//! `offshoot plan`: what applying, deleting or publishing something would do to every target, before it happens.

mod contents;
mod manifests;
mod offline;
mod suppose;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use model::Class;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::waiting::waited;
use crate::cli::plan::{PlanArgs, PlanOutput};
use crate::client::{Client, PLANS, collection};
use crate::exit::ExitFailure;
use crate::planning;

/// Nothing changes.
const NOTHING: u8 = 0;
/// Something failed.
const FAILED: u8 = 1;
/// Something changes.
const CHANGES: u8 = 2;
/// Somebody interrupted it, as shells say it.
const INTERRUPTED: u8 = 130;

/// Plans, and prints the plan.
///
/// # Errors
/// What is supposed cannot be read, the server refuses, or there is no such class.
pub(super) async fn run(args: &PlanArgs) -> Result<(String, ExitCode), ExitFailure> {
    if args.output == PlanOutput::Diff && args.class.is_none() {
        return Err(ExitFailure::usage("-o diff shows one class")
            .hint("name it with --class ID; -o table lists the classes"));
    }
    let (spec, folders) = spec(args)?;
    let document = match &args.offline {
        None => ask(&Client::connect(&args.connect).await?, &spec).await,
        Some(dir) => match without_server(dir, args.connect.namespace.as_deref(), &spec).await {
            Ok(None) => return Ok((String::new(), ExitCode::from(INTERRUPTED))),
            document => document.map(Option::unwrap_or_default),
        },
    };
    let mut document = document.map_err(|why| match largest(&folders) {
        Some(file) if why.class() == Some(Class::Limit) => why.hint(file),
        _ => why,
    })?;
    note(&mut document, &folders);
    if let Some(file) = &args.out {
        let text = format!("{document:#}\n");
        let written = std::fs::write(file, text);
        written.map_err(|e| ExitFailure::of(&format!("write {}", file.display()), &e))?;
    }
    if !args.upstream.is_empty() && planning::outcome(&document) == (false, false) {
        super::say(match args.files.is_empty() {
            true => {
                "nobody follows what --upstream supposes: who names a revision stays there; give the changed manifest, too, with -f"
            }
            false => {
                "what --upstream supposes changes nothing: it holds what is there already, or nobody follows it; -o json tells of each target why"
            }
        });
    }
    let text = print(args, &document)?;
    Ok((text, ExitCode::from(code(&document))))
}

/// The document of a directory; `None` if somebody interrupted it. Whatever comes, the copies of the clones go.
async fn without_server(
    dir: &Path,
    namespace: Option<&str>,
    spec: &Value,
) -> Result<Option<Value>, ExitFailure> {
    let interrupted = interrupted()?;
    let mut interrupted = std::pin::pin!(interrupted);
    let copies = offline::Copies::new()?;
    let offline = tokio::select! {
        started = offline::start(dir, namespace, &copies) => started,
        () = &mut interrupted => {
            copies.remove().await;
            return Ok(None);
        }
    };
    let offline = match offline {
        Ok(offline) => offline,
        Err(why) => {
            copies.remove().await;
            return Err(why);
        }
    };
    let asked = async {
        let client = offline.client().await?;
        let mut document = ask(&client, spec)
            .await
            .map_err(|why| offline.with_unknown(why))?;
        offline.say(&mut document);
        Ok(document)
    };
    let said = tokio::select! {
        document = asked => document.map(Some),
        () = &mut interrupted => Ok(None),
    };
    offline.stop().await;
    copies.remove().await;
    said
}

/// Comes back once somebody ends this process: with Ctrl-C, as a job that is stopped, or by closing its terminal.
fn interrupted() -> Result<impl Future<Output = ()>, ExitFailure> {
    let failed = |e: std::io::Error| ExitFailure::of("listen for signals", &e);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = hangup.recv() => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The document that a server answers.
async fn ask(client: &Client, spec: &Value) -> Result<Value, ExitFailure> {
    let body = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "Plan",
        "metadata": {"name": "plan"}, "spec": spec,
    });
    let path = collection(PLANS, &client.namespace, &[]);
    let answer = waited("planning", client.post(&path, &body)).await?;
    super::say_warnings(client);
    let document = answer.pointer("/status/document").cloned();
    document.ok_or_else(|| ExitFailure::new("the server answered without a plan"))
}

/// What the plan says, as an exit code.
fn code(document: &Value) -> u8 {
    match planning::outcome(document) {
        (_, true) => FAILED,
        (true, false) => CHANGES,
        (false, false) => NOTHING,
    }
}

/// What of the directories that are supposed stands in no plan, said in the plan: who reads it elsewhere is told, too.
fn note(document: &mut Value, folders: &[suppose::Folder]) {
    let left_out: Vec<Value> = folders
        .iter()
        .filter_map(suppose::Folder::unknown)
        .map(|(what, why)| json!({ "what": what, "why": why }))
        .collect();
    if left_out.is_empty() {
        return;
    }
    if let Some(unknown) = document.get_mut("unknown").and_then(Value::as_array_mut) {
        unknown.extend(left_out);
    }
    document["plan"] = planning::id_of(document).into();
}

/// The largest file of the largest directory.
fn largest(folders: &[suppose::Folder]) -> Option<String> {
    let all = |f: &&suppose::Folder| f.largest.as_ref().map(|(_, _, all)| *all);
    folders.iter().max_by_key(all)?.too_large()
}

/// What is supposed, as the server is asked, and the directories that it is of.
fn spec(args: &PlanArgs) -> Result<(Value, Vec<suppose::Folder>), ExitFailure> {
    let objects = manifests::named(&args.files)?;
    let delete: Result<Vec<Value>, ExitFailure> =
        args.delete.iter().map(|d| suppose::deleted(d)).collect();
    let mut upstreams = Vec::new();
    let mut folders = Vec::new();
    for upstream in &args.upstream {
        let upstream = suppose::upstream(upstream)?;
        upstreams.push(upstream.asked);
        folders.extend(upstream.folder);
    }
    let spec = json!({
        "objects": objects,
        "delete": delete?,
        "upstreams": upstreams,
        "class": args.class.clone().unwrap_or_default(),
        "runFunctions": args.run_functions,
    });
    Ok((spec, folders))
}

fn print(args: &PlanArgs, document: &Value) -> Result<String, ExitFailure> {
    if let Some(class) = &args.class {
        let classes = document.get("classes").and_then(Value::as_array);
        match classes.map_or(0, Vec::len) {
            0 => {
                let why = format!("there is no class {class:?} in this plan");
                return Err(ExitFailure::new(why).hint("offshoot plan without --class lists all"));
            }
            1 => {}
            found => {
                let why = format!("{found} classes begin with {class:?}");
                return Err(ExitFailure::usage(why).hint("give more digits of its id"));
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
