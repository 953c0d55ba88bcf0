//! Runs a render to its end: built-in functions where the documents are, others through the
//! enabled runner.

use std::sync::atomic::Ordering;

use functions::{BuiltIns, Call, Limits};
use model::Files;
use package::render::{Failure, Item, Options, Output, Render, Rendered, Run, Step};

use crate::{Engine, Result};

/// Where a render stands when the pool gives it back.
enum Stop {
    Done(Box<Rendered>),
    Needs(Box<Run>),
}

impl Engine {
    /// Renders a package. What goes wrong in it stands in the status.
    ///
    /// # Errors
    /// The process is on its way out, or the pool broke.
    pub(crate) async fn render(&self, files: Files, options: Options) -> Result<Rendered> {
        let cpu = self.inner.options.cpu.clone();
        let mut render = Render::new(files, options);
        loop {
            let (back, stop, ran) = cpu.run(move || slice(render)).await?;
            render = back;
            self.counters().functions.fetch_add(ran, Ordering::Relaxed);
            match stop {
                Stop::Done(rendered) => return Ok(*rendered),
                Stop::Needs(run) => {
                    self.counters().functions.fetch_add(1, Ordering::Relaxed);
                    let answer = self
                        .ports()
                        .functions
                        .run(call(*run), &Limits::default())
                        .await;
                    render.resume(output(answer));
                }
            }
        }
    }
}

/// Runs built-in functions until one is needed that is not.
fn slice(mut render: Render) -> (Render, Stop, u64) {
    let mut ran = 0;
    loop {
        match render.next() {
            Step::Done(rendered) => return (render, Stop::Done(rendered), ran),
            Step::Run(run) => {
                let built_in = run.function.image.as_deref().and_then(functions::find);
                if built_in.is_none() {
                    return (render, Stop::Needs(run), ran);
                }
                ran += 1;
                render.resume(output(BuiltIns.call(call(*run))));
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
