//! Runs a conversation with functions to its end: built-in ones where the documents are, others through
//! the enabled runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use functions::{BuiltIns, FunctionCall, Limits, Needs, Runner};
use model::{Files, Namespace};
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
pub(crate) async fn render(
    engine: &Engine,
    tenant: &Namespace,
    files: Files,
    options: Options,
) -> Result<Rendered> {
    converse(engine, tenant, Render::new(files, options), &mut None).await
}

/// Derives a draft. What was announced is taken back where somebody else's program is waited for.
///
/// # Errors
/// As [`Engine::render`]; or what is wrong with the package ([`Error::Derive`]).
pub(crate) async fn derive(
    engine: &Engine,
    tenant: &Namespace,
    input: DeriveInput,
    announced: &mut Option<Announced>,
) -> Result<Derived> {
    count(&engine.counters().derivations);
    let derived = converse(engine, tenant, Derivation::new(input), announced).await?;
    derived.map_err(|error| Error::Derive {
        reason: error.reason(),
        class: error.class(),
        message: error.message(),
    })
}

/// A conversation with built-in functions alone; nothing where it wants another one.
///
/// # Errors
/// The process is on its way out, or the pool broke.
pub(crate) async fn converse_built_in<C>(
    engine: &Engine,
    tenant: &Namespace,
    mut talk: C,
) -> Result<Option<C::End>>
where
    C: Conversation + Send + 'static,
    C::End: Send + 'static,
{
    let waiting = Waiting::default();
    loop {
        let (back, stop) = turn(engine, talk, &waiting).await?;
        talk = back;
        match stop {
            Stop::Done(end) => return Ok(Some(*end)),
            Stop::Gone => return Err(Error::Stopped),
            Stop::Needs(run) if built_in(&run).is_some() => {
                talk.resume(by_runner(engine, tenant, *run).await);
            }
            Stop::Needs(_) => return Ok(None),
        }
    }
}

async fn converse<C>(
    engine: &Engine,
    tenant: &Namespace,
    mut talk: C,
    announced: &mut Option<Announced>,
) -> Result<C::End>
where
    C: Conversation + Send + 'static,
    C::End: Send + 'static,
{
    let waiting = Waiting::default();
    loop {
        let (back, stop) = turn(engine, talk, &waiting).await?;
        talk = back;
        match stop {
            Stop::Done(end) => return Ok(*end),
            Stop::Gone => return Err(Error::Stopped),
            Stop::Needs(run) => {
                drop(announced.take());
                talk.resume(by_runner(engine, tenant, *run).await);
            }
        }
    }
}

/// Goes on in the pool until the conversation stops.
async fn turn<C>(engine: &Engine, talk: C, waiting: &Waiting) -> Result<(C, Stop<C::End>)>
where
    C: Conversation + Send + 'static,
    C::End: Send + 'static,
{
    let cpu = engine.inner.options.cpu.clone();
    let gone = Arc::clone(&waiting.gone);
    let (back, stop, ran) = cpu.run(move || slice(talk, &gone)).await?;
    engine
        .counters()
        .functions
        .fetch_add(ran, Ordering::Relaxed);
    Ok((back, stop))
}

/// Runs a function for a tenant: those of one namespace share what may run at once.
async fn by_runner(
    engine: &Engine,
    tenant: &Namespace,
    run: Run,
) -> std::result::Result<Output, RunFailure> {
    count(&engine.counters().functions);
    let runner = &engine.ports().functions;
    let call = FunctionCall {
        tenant: Some(Arc::from(tenant.as_str())),
        ..call(run)
    };
    output(runner.run(call, &Limits::NONE).await)
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
                // What runs scripts, needs something of this machine or may take long is the runner's.
                if built_in(&run).is_none_or(|function| function.needs() != Needs::Nothing) {
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

fn built_in(run: &Run) -> Option<&'static functions::BuiltIn> {
    run.function.image.as_deref().and_then(functions::find)
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
        tenant: None,
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
