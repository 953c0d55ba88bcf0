//! The runner of the functions that are built in.

use async_trait::async_trait;

use crate::registry::{builtins, find, short_name};
use crate::runner::{FunctionCall, FunctionOutcome, Limits, RunError, Runner};

/// The functions of this crate, and nothing else: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltIns;

impl BuiltIns {
    /// Runs one function here and now.
    ///
    /// # Errors
    /// When it is not built in; the error names the flag that would enable a runtime for it.
    pub fn call(&self, call: FunctionCall) -> Result<FunctionOutcome, RunError> {
        let Some(image) = &call.function.image else {
            return Err(RunError::NoRuntime {
                function: call.function.exec.unwrap_or_default(),
                hint: "start with --allow-exec to run commands".to_owned(),
            });
        };
        let Some(built_in) = find(image) else {
            let names = builtins().iter().map(|function| function.name);
            let meant = model::nearest(short_name(image), names);
            let meant = meant.map(|name| format!("did you mean {name:?}? Otherwise "));
            let flags = "start with --fn-runtime=podman or --fn-runtime=docker to run images, --fn-runner=ADDRESS to \
                       have a function runner run them, or --fn-wasm=DIR for modules; `offshoot fn list` lists the \
                       functions that are built in";
            return Err(RunError::NoRuntime {
                function: image.clone(),
                hint: meant.unwrap_or_default() + flags,
            });
        };
        Ok(built_in.outcome(call, None))
    }
}

#[async_trait]
impl Runner for BuiltIns {
    async fn run(&self, call: FunctionCall, _limits: &Limits) -> Result<FunctionOutcome, RunError> {
        self.call(call)
    }
}
