//! Runs a conversation with functions to its end: built-in ones where the documents are, others through
//! the enabled runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use functions::{BuiltIns, FunctionCall, Limits, Needs, Runner};
use model::Files;
use package::derive::{Derivation, DeriveInput, Derived};
use package::render::{
    Conversation, Item, Options, Output, Render, RenderStep, Rendered, Run, RunFailure,
};
use store::Announced;

use crate::stats::count;
use crate::{Engine, Error, Result};

/// Where a conversation stands when the pool gives it back.
enum Stop<E> {
    Done(Box<E>),
    Needs(Box<Run>),
    /// Nobody waits for it any more.
    Gone,
}

/// Whoever waits for a conversation: when it goes, nothing more is run for it.
#[derive(Default)]
struct Waiting {
    gone: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// Renders a package. What goes wrong in it stands in the status.
///
/// # Errors
/// The process is on its way out, or the pool broke.
pub(crate) async fn render(engine: &Engine, files: Files, options: Options) -> Result<Rendered> {
    converse(engine, Render::new(files, options), &mut None).await
}

/// Derives a draft. What was announced is taken back where somebody else's program is waited for.
///
/// # Errors
/// As [`Engine::render`]; or what is wrong with the package ([`Error::Derive`]).
pub(crate) async fn derive(
    engine: &Engine,
    input: DeriveInput,
    announced: &mut Option<Announced>,
) -> Result<Derived> {
    count(&engine.counters().derivations);
    let derived = converse(engine, Derivation::new(input), announced).await?;
    derived.map_err(|error| Error::Derive {
        reason: error.reason(),
        class: error.class(),
        message: error.message(),
    })
}

/// A conversation with the functions that run right here alone; nothing where it wants another one.
///
/// # Errors
/// The process is on its way out, or the pool broke.
pub(crate) async fn converse_here<C>(engine: &Engine, talk: C) -> Result<Option<C::End>>
where
    C: Conversation + Send + 'static,
    C::End: Send + 'static,
{
    let waiting = Waiting::default();
    let gone = Arc::clone(&waiting.gone);
    let cpu = engine.inner.options.cpu.clone();
    let (_, stop, ran) = cpu.run(move || slice(talk, &gone)).await?;
    engine
        .counters()
        .functions
        .fetch_add(ran, Ordering::Relaxed);
    Ok(match stop {
        Stop::Done(end) => Some(*end),
        Stop::Needs(_) => None,
        Stop::Gone => return Err(Error::Stopped),
    })
}

async fn converse<C>(
    engine: &Engine,
    mut talk: C,
    announced: &mut Option<Announced>,
) -> Result<C::End>
where
    C: Conversation + Send + 'static,
    C::End: Send + 'static,
{
    let cpu = engine.inner.options.cpu.clone();
    let waiting = Waiting::default();
    loop {
        let gone = Arc::clone(&waiting.gone);
        let (back, stop, ran) = cpu.run(move || slice(talk, &gone)).await?;
        talk = back;
        engine
            .counters()
            .functions
            .fetch_add(ran, Ordering::Relaxed);
        match stop {
            Stop::Done(end) => return Ok(*end),
            Stop::Gone => return Err(Error::Stopped),
            Stop::Needs(run) => {
                drop(announced.take());
                count(&engine.counters().functions);
                let runner = &engine.ports().functions;
                let answer = runner.run(call(*run), &Limits::NONE).await;
                talk.resume(output(answer));
            }
        }
    }
}

/// Renders a package without an engine. What goes wrong in it stands in the status.
pub async fn render_alone(
    runner: &dyn Runner,
    limits: &Limits,
    files: Files,
    options: Options,
) -> Rendered {
    let mut render = Render::new(files, options);
    loop {
        match render.next() {
            RenderStep::Done(rendered) => return *rendered,
            RenderStep::Run(run) => render.resume(output(runner.run(call(*run), limits).await)),
        }
    }
}

/// Runs built-in functions until one is needed that is not.
fn slice<C: Conversation>(mut talk: C, gone: &AtomicBool) -> (C, Stop<C::End>, u64) {
    let mut ran = 0;
    loop {
        if gone.load(Ordering::Relaxed) {
            return (talk, Stop::Gone, ran);
        }
        match talk.next() {
            RenderStep::Done(end) => return (talk, Stop::Done(end), ran),
            RenderStep::Run(run) => {
                let built_in = run.function.image.as_deref().and_then(functions::find);
                // What runs scripts, needs something of this machine or may take long is the runner's.
                if built_in.is_none_or(|function| function.needs() != Needs::Nothing) {
                    return (talk, Stop::Needs(run), ran);
                }
                let asked = call(Run::clone(&run));
                if functions::is_heavy(&asked) {
                    return (talk, Stop::Needs(run), ran);
                }
                drop(run);
                ran += 1;
                talk.resume(output(BuiltIns.call(asked)));
            }
        }
    }
}

fn call(run: Run) -> FunctionCall {
    let items = run.items.into_iter().map(|item| functions::Item {
        id: item.id,
        value: item.value,
        path: item.path,
        index: item.index,
    });
    FunctionCall {
        function: run.function,
        config: run.config,
        items: items.collect(),
    }
}

fn output(
    answer: Result<functions::FunctionOutcome, functions::RunError>,
) -> Result<Output, RunFailure> {
    let outcome = answer.map_err(|error| RunFailure(error.to_string()))?;
    let items = outcome.items.into_iter().map(|item| Item {
        id: item.id,
        value: item.value,
        path: item.path,
        index: item.index,
    });
    Ok(Output {
        items: items.collect(),
        results: outcome.results,
        exit_code: outcome.exit_code,
        stderr: outcome.stderr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipeline of many steps does not go on when whoever asked for it has gone.
    #[test]
    fn nothing_is_run_for_nobody() {
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators:\n  - image: set-namespace:v0.4\n    \
                       configMap: {namespace: b}\n";
        let path = model::PackagePath::parse("Kptfile").unwrap();
        let files: Files = [(path, model::File::text(kptfile))].into_iter().collect();
        let waiting = Waiting::default();
        let gone = Arc::clone(&waiting.gone);
        let render = Render::new(files, Options::default());
        assert!(matches!(
            slice(render.clone(), &gone),
            (_, Stop::Done(_), 1)
        ));
        drop(waiting);
        assert!(matches!(slice(render, &gone), (_, Stop::Gone, 0)));
    }
}
