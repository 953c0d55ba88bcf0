//! `starlark`: runs a script over the resources.
//!
//! The dialect is that of the `starlark` crate; docs/starlark.md names where it differs from the catalog's. A script
//! reads no file and no clock. Steps, depth of calls and time are bounded here, memory too as far as the
//! interpreter counts it; where scripts of others run, the runtime puts this function into a process of its own, whose
//! memory the system bounds.

mod bounds;
mod bridge;
mod modules;
mod words;

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use starlark::environment::Module;
use starlark::eval::{BeforeStmtFunc, Evaluator};
use starlark::syntax::{AstModule, Dialect};
use yaml::owned::Value;

use bounds::Script;
use bridge::Told;

use crate::config::Config;
use crate::report::error;
use crate::{FunctionReport, Item, wire};

/// Calls and loop turns of one script.
const STEPS: u64 = 2_000_000;
/// Calls within calls.
const DEPTH: usize = 200;
/// Bytes that the interpreter counts.
const MEMORY: usize = 128 << 20;
/// How long a script may run.
const TIME: Duration = Duration::from_secs(30);
/// Stack of the thread that runs it: enough for what `bounds` lets through.
const STACK: usize = 64 << 20;

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let (name, source) = match script(config) {
        Ok(script) => script,
        Err(why) => return FunctionReport::failure(why),
    };
    let script = match bounds::read(name, &source) {
        Ok(script) => script,
        Err(why) => return FunctionReport::failure(why),
    };
    let input = bridge::input(items, config.0);
    let floats = bridge::whole_floats(&input);
    // The script's values never leave their thread: JSON goes in, JSON comes out.
    let work = std::thread::Builder::new()
        .name("starlark".to_owned())
        .stack_size(STACK)
        .spawn(move || evaluate(script, &input));
    let answer = match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err("the script broke the interpreter".to_owned().into()),
        Err(error) => Err(format!("the script could not be started: {error}").into()),
    };
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(told) => {
            return FunctionReport {
                stderr: told.place.unwrap_or_default(),
                ..FunctionReport::failure(told.message)
            };
        }
    };
    bridge::make_whole(&mut answer.list, &floats);
    // As in the catalog, what a script puts into `results` is no result; here it is at least told.
    let told = wire::results_of(&answer.list);
    let told = told
        .iter()
        .map(|result| format!("{}: {}\n", result.severity.as_str(), result.message));
    let stderr = answer.printed + &told.collect::<String>();
    match bridge::in_range(&answer.list).and_then(|()| bridge::output(items, &answer.list)) {
        Ok(changed) => {
            *items = changed;
            FunctionReport {
                stderr,
                ..FunctionReport::default()
            }
        }
        Err(why) => FunctionReport {
            stderr,
            ..FunctionReport::of([error(why)])
        },
    }
}

/// The script's name and text.
fn script(config: Config<'_>) -> Result<(String, String), String> {
    if config.is_absent() {
        return Err("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`".to_owned());
    }
    let source = if config.is_config_map() {
        config.data("source")
    } else if config.is("fn.kpt.dev/v1alpha1", "StarlarkRun") {
        config.get("source").and_then(Value::text)
    } else {
        let (group, version) = config
            .api_version()
            .split_once('/')
            .unwrap_or_else(|| ("", config.api_version()));
        return Err(format!(
            "`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: {group}/{version}, Kind={}",
            config.kind()
        ));
    };
    match source {
        Some(source) if !source.trim().is_empty() => {
            Ok((config.name().to_owned(), source.to_owned()))
        }
        _ => Err("`source` must not be empty".to_owned()),
    }
}

/// What a script left behind.
struct Answer {
    list: Json,
    printed: String,
}

fn evaluate(mut script: Script, input: &Json) -> Result<Answer, Told> {
    let dialect = Dialect {
        enable_top_level_stmt: true,
        enable_f_strings: false,
        enable_load_reexport: true,
        ..Dialect::Standard
    };
    let text = std::mem::take(&mut script.text);
    let ast = AstModule::parse(&script.name, text, &dialect)
        .map_err(|error| bridge::told(&script, &error))?;
    let printer = bridge::Printer::default();
    let globals = modules::globals();
    let loader = modules::Loader::new()?;
    for load in ast.loads() {
        loader.check(&script, &load)?;
    }
    let started = Instant::now();
    let list = Module::with_temp_heap(|module| -> Result<Json, Told> {
        let context = bridge::context(&module, input);
        module.set("ctx", context);
        let mut evaluator = Evaluator::new(&module);
        let bounds = evaluator
            .set_max_callstack_size(DEPTH)
            .and_then(|()| evaluator.set_max_heap_size(MEMORY))
            .and_then(|()| evaluator.set_max_tick_count(STEPS));
        bounds.map_err(|error| error.to_string())?;
        evaluator.set_check_cancelled(Box::new(move || started.elapsed() > TIME));
        evaluator.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(bridge::Weigh)));
        evaluator.set_print_handler(&printer);
        evaluator.set_loader(&loader);
        evaluator
            .eval_module(ast, &globals)
            .map_err(|error| bridge::told(&script, &error))?;
        Ok(bridge::resource_list(&module)?)
    })?;
    Ok(Answer {
        list,
        printed: printer.text(),
    })
}

#[cfg(test)]
mod tests;
