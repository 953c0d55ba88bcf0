//! What can run a function that is not built in, and where each function is run.
//!
//! [`Runtimes`] resolves: an image is built in whatever its registry prefix and tag, else a WebAssembly module of its
//! name, else the function runner's, else a container; a command is a process. Everything but the built-ins is off
//! until it is enabled, and an image that nothing can run is an error that names the flags that would (X2).

mod container;
mod exec;
mod process;
mod remote;
mod shares;
#[cfg(feature = "wasm")]
mod wasm;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

pub use container::Container;
pub use exec::Exec;
pub use remote::{EvaluateRequest, EvaluateResponse, METHOD as EVALUATE, Remote};
pub use shares::Shares;
#[cfg(feature = "wasm")]
pub use wasm::Wasm;

use crate::builtin::kubeconform::Schemas;
use crate::here::BuiltIns;
use crate::registry::Needs;
use crate::runner::{FunctionCall, FunctionOutcome, Limits, RunError, Runner};
use crate::{find, is_heavy, wire};

/// The runtimes that are enabled.
#[derive(Default)]
pub struct Runtimes {
    /// What one run may use, at most.
    pub limits: Limits,
    /// How many run at once outside of this process, or as modules in it.
    pub shares: Shares,
    /// Schemas for `kubeconform`.
    pub schemas: Option<Arc<Schemas>>,
    /// The program that runs a built-in function in a process of its own (`PROGRAM fn run --here NAME`), so that the
    /// system bounds what scripts take; in this process without.
    pub isolated: Option<PathBuf>,
    /// Commands.
    pub exec: Option<Exec>,
    /// WebAssembly modules.
    #[cfg(feature = "wasm")]
    pub wasm: Option<Wasm>,
    /// The function runner.
    pub remote: Option<Remote>,
    /// Containers.
    pub container: Option<Container>,
}

impl Runtimes {
    fn for_image(&self, image: &str) -> Option<&dyn Runner> {
        #[cfg(feature = "wasm")]
        if let Some(wasm) = self.wasm.as_ref().filter(|wasm| wasm.has(image)) {
            return Some(wasm);
        }
        #[cfg(not(feature = "wasm"))]
        let _ = image;
        let remote = self.remote.as_ref().map(|remote| remote as &dyn Runner);
        remote.or_else(|| {
            self.container
                .as_ref()
                .map(|container| container as &dyn Runner)
        })
    }

    /// Runs a script where the system bounds it.
    async fn apart(
        &self,
        program: &Path,
        name: &str,
        call: &FunctionCall,
        limits: &Limits,
    ) -> Result<FunctionOutcome, RunError> {
        let _place = self.shares.place(call.tenant.as_ref()).await;
        let program = program.display().to_string();
        let argv = [program.as_str(), "fn", "run", "--here", name].map(str::to_owned);
        filter(name, &process::bounded(&argv, limits), call, limits).await
    }
}

#[async_trait]
impl Runner for Runtimes {
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError> {
        let limits = limits.within(&self.limits);
        let Some(image) = call.function.image.clone() else {
            return match &self.exec {
                Some(exec) => {
                    let _place = self.shares.place(call.tenant.as_ref()).await;
                    exec.run(call, &limits).await
                }
                None => BuiltIns.call(call),
            };
        };
        if let Some(built_in) = find(&image) {
            return match (built_in.needs(), &self.isolated) {
                (Needs::Schemas, _) => Ok(built_in.outcome(call, self.schemas.as_deref())),
                (Needs::OwnProcess, Some(program)) => {
                    self.apart(program, built_in.name, &call, &limits).await
                }
                (Needs::Nothing, Some(program)) if is_heavy(&call) => {
                    self.apart(program, built_in.name, &call, &limits).await
                }
                (Needs::Nothing | Needs::OwnProcess, _) => BuiltIns.call(call),
            };
        }
        match self.for_image(&image) {
            Some(runner) => {
                let _place = self.shares.place(call.tenant.as_ref()).await;
                runner.run(call, &limits).await
            }
            None => BuiltIns.call(call),
        }
    }
}

/// Runs a program as a filter of the call's ResourceList.
async fn filter(
    label: &str,
    argv: &[String],
    call: &FunctionCall,
    limits: &Limits,
) -> Result<FunctionOutcome, RunError> {
    let printed = process::run(label, argv, wire::request(call), limits).await?;
    outcome(label, call, &printed.stdout, printed.stderr, printed.code)
}

/// What a function's output means. A function that failed need not print a list.
fn outcome(
    label: &str,
    call: &FunctionCall,
    stdout: &str,
    stderr: String,
    code: i32,
) -> Result<FunctionOutcome, RunError> {
    let failed = |stderr: String| FunctionOutcome {
        items: call.items.clone(),
        results: Vec::new(),
        stderr,
        exit_code: code,
    };
    if stdout.trim().is_empty() {
        if code != 0 {
            return Ok(failed(stderr));
        }
        return Err(RunError::Output {
            function: label.to_owned(),
            why: "it printed nothing".to_owned(),
            stderr,
        });
    }
    match wire::reply(stdout, &call.items) {
        Ok(list) => Ok(FunctionOutcome {
            items: list.items,
            results: list.results,
            stderr,
            exit_code: code,
        }),
        _ if code != 0 => Ok(failed(stderr)),
        Err(error) => Err(RunError::Output {
            function: label.to_owned(),
            why: error.to_string(),
            stderr,
        }),
    }
}
