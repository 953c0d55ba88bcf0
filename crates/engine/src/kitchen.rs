//! Runs a conversation with functions to its end: built-in ones where the documents are, others through
//! the enabled runner.

use std::sync::atomic::Ordering;

use functions::{BuiltIns, Call, Home, Limits, Runner};
use model::Files;
use package::cook::{Cook, CookInput, Cooked};
use package::render::{Conversation, Failure, Item, Options, Output, Render, Rendered, Run, Step};
use store::Announced;

use crate::stats::count;
use crate::{Engine, Error, Result};

/// Where a conversation stands when the pool gives it back.
enum Stop<E> {
    Done(Box<E>),
    Needs(Box<Run>),
}

impl Engine {
    /// Renders a package. What goes wrong in it stands in the status.
    ///
    /// # Errors
    /// The process is on its way out, or the pool broke.
    pub(crate) async fn render(&self, files: Files, options: Options) -> Result<Rendered> {
        self.converse(Render::new(files, options), &mut None).await
    }

    /// Cooks a draft. What was announced is taken back where somebody else's program is waited for.
    ///
    /// # Errors
    /// As [`Engine::render`]; or what is wrong with the package ([`Error::Cooking`]).
    pub(crate) async fn cook(
        &self,
        input: CookInput,
        announced: &mut Option<Announced>,
    ) -> Result<Cooked> {
        count(&self.counters().cooks);
        let cooked = self.converse(Cook::new(input), announced).await?;
        cooked.map_err(|error| Error::Cooking {
            reason: error.reason(),
            class: error.class(),
            message: error.message(),
        })
    }

    async fn converse<C>(&self, mut talk: C, announced: &mut Option<Announced>) -> Result<C::End>
    where
        C: Conversation + Send + 'static,
        C::End: Send + 'static,
    {
        let cpu = self.inner.options.cpu.clone();
        loop {
            let (back, stop, ran) = cpu.run(move || slice(talk)).await?;
            talk = back;
            self.counters().functions.fetch_add(ran, Ordering::Relaxed);
            match stop {
                Stop::Done(end) => return Ok(*end),
                Stop::Needs(run) => {
                    drop(announced.take());
                    count(&self.counters().functions);
                    let runner = &self.ports().functions;
                    let answer = runner.run(call(*run), &Limits::NONE).await;
                    talk.resume(output(answer));
                }
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
            Step::Done(rendered) => return *rendered,
            Step::Run(run) => render.resume(output(runner.run(call(*run), limits).await)),
        }
    }
}

/// Runs built-in functions until one is needed that is not.
fn slice<C: Conversation>(mut talk: C) -> (C, Stop<C::End>, u64) {
    let mut ran = 0;
    loop {
        match talk.next() {
            Step::Done(end) => return (talk, Stop::Done(end), ran),
            Step::Run(run) => {
                let built_in = run.function.image.as_deref().and_then(functions::find);
                // What runs scripts or needs something of this machine is the runner's.
                if built_in.is_none_or(|function| function.home() != Home::Here) {
                    return (talk, Stop::Needs(run), ran);
                }
                ran += 1;
                talk.resume(output(BuiltIns.call(call(*run))));
            }
        }
    }
}

fn call(run: Run) -> Call {
    let items = run.items.into_iter().map(|item| functions::Item {
        id: item.id,
        value: item.value,
        path: item.path,
        index: item.index,
    });
    Call {
        function: run.function,
        config: run.config,
        items: items.collect(),
    }
}

fn output(answer: Result<functions::Outcome, functions::RunError>) -> Result<Output, Failure> {
    let outcome = answer.map_err(|error| Failure(error.to_string()))?;
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
