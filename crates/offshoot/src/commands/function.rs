//! `offshoot fn`: functions as filters of a ResourceList, and what is known about those that are built in.

use std::io::Read as _;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use functions::wire::{ReadError, ResourceListText};
use functions::{FunctionOutcome, Runner as _};
use serde_json::json;
use yaml::owned::Value;

use super::{print, say_plain, wait, write_out};
use crate::cli::local::{Fn, FnArgs, Format, RunArgs};
use crate::exit::ExitFailure;
use crate::runtimes;

/// Runs one verb.
///
/// # Errors
/// It failed, and why.
pub(super) fn run(args: &FnArgs) -> Result<ExitCode, ExitFailure> {
    match &args.verb {
        Fn::List { format } => print(&list(*format)),
        Fn::Doc { image } => print(doc(image)?),
        Fn::Run(args) => one(args),
    }
}

fn list(format: Format) -> String {
    let all = functions::builtins();
    if format == Format::Json {
        let all: Vec<_> = all
            .iter()
            .map(|function| json!({"name": function.name, "about": function.about}))
            .collect();
        // Writing a JSON value to a string cannot fail.
        return serde_json::to_string_pretty(&all).unwrap_or_default() + "\n";
    }
    let width = all
        .iter()
        .map(|function| function.name.len())
        .max()
        .unwrap_or_default();
    let lines = all
        .iter()
        .map(|function| format!("{:width$}  {}\n", function.name, function.about));
    lines.collect()
}

fn doc(image: &str) -> Result<&'static str, ExitFailure> {
    let known = functions::find(image).ok_or_else(|| {
        ExitFailure::new(format!("{image:?} is not built in"))
            .hint("`offshoot fn list` lists what is")
    })?;
    Ok(known.doc)
}

/// Filters standard input; what the function answered is printed even if it failed.
fn one(args: &RunArgs) -> Result<ExitCode, ExitFailure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| ExitFailure::of("read standard input", &error))?;
    let document =
        ResourceListText::read(&text).map_err(|error| unreadable("standard input", &error))?;
    let config = args.config.as_deref().map(config).transpose()?;
    let function = model::Function {
        image: args.image.clone(),
        exec: args.exec.clone(),
        ..model::Function::default()
    };
    let mut runner = runtimes::of(&args.runtimes)?;
    if args.here {
        runner.isolated = None;
        end_with_parent();
    }
    let limits = args.runtimes.limits();
    let call = document.call(function, config);
    let outcome: FunctionOutcome = wait(async { Ok(runner.run(call, &limits).await) })?
        .map_err(|error| ExitFailure::of("run the function", &error))?;
    let answer = document
        .answer(&outcome)
        .map_err(|error| ExitFailure::of("answer", &error))?;
    write_out(&answer)?;
    say_plain(&outcome.stderr);
    Ok(ExitCode::from(u8::from(outcome.exit_code != 0)))
}

/// Ends this process when the one that started it is gone: nobody waits for its answer, and nobody else would end it.
fn end_with_parent() {
    let parent = parent_id();
    let watch = move || {
        while parent_id() == parent {
            std::thread::sleep(Duration::from_secs(1));
        }
        std::process::exit(1);
    };
    // Where no thread can be started its bounds on time and memory are left.
    drop(std::thread::Builder::new().spawn(watch));
}

fn config(path: &Path) -> Result<Arc<Value>, ExitFailure> {
    let failed = |error: &dyn std::error::Error| {
        ExitFailure::of(&format!("read the configuration {}", path.display()), error)
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let stream = yaml::Stream::parse(text.as_str(), &yaml::Limits::default());
    let stream = stream.map_err(|error| failed(&error))?;
    let mut documents = stream.documents().filter(|document| !document.is_empty());
    let value = match documents.next() {
        Some(document) => Value::read(&document).map_err(|error| failed(&error))?,
        None => Value::null(),
    };
    if value.as_map().is_none() || documents.next().is_some() {
        return Err(
            ExitFailure::new(format!("{} does not hold one resource", path.display()))
                .hint("give a file with one document that has apiVersion, kind and metadata.name"),
        );
    }
    Ok(Arc::new(value))
}

fn unreadable(what: &str, error: &ReadError) -> ExitFailure {
    let failure = ExitFailure::new(format!("{what}: {error}"));
    match error.snippet() {
        Some(snippet) => failure.hint(format!("look at\n{snippet}")),
        None => failure.hint("give a ResourceList, as `kpt fn source DIR` prints it"),
    }
}
