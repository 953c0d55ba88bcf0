//! Runners: what can run a function, and within which limits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::{Class, FunctionResultItem};
use yaml::owned::Value;

use crate::{Item, find};

/// One function to be run.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which one, and what the pipeline says about it.
    pub function: model::Function,
    /// Its configuration.
    pub config: Option<Arc<Value>>,
    /// The resources that it sees.
    pub items: Vec<Item>,
}

/// What a function that ran gave back; it may have failed.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The resources as it left them.
    pub items: Vec<Item>,
    /// What it reported.
    pub results: Vec<FunctionResultItem>,
    /// What it printed to the error stream.
    pub stderr: String,
    /// 0, or how it failed.
    pub exit_code: i32,
}

/// Why a function could not be run at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// No runtime that is enabled can run it.
    #[error("function {function:?} is not built in, and no enabled runtime can run it; {hint}")]
    NoRuntime {
        /// Its image or command.
        function: String,
        /// The flag that would enable one.
        hint: &'static str,
    },
    /// A limit was exceeded.
    #[error("function {function:?} exceeded its limit of {limit}")]
    Limit {
        /// Its image or command.
        function: String,
        /// Which one.
        limit: String,
    },
}

impl RunError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::NoRuntime { .. } => Class::Invalid,
            Self::Limit { .. } => Class::Limit,
        }
    }
}

/// What one run may use (engine.md "Limits").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that it may print.
    pub output: usize,
    /// How long it may take.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output: 32 << 20,
            time: Duration::from_secs(60),
            memory: 256 << 20,
        }
    }
}

/// Something that can run functions.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Runs one function within the limits.
    ///
    /// # Errors
    /// When it could not be run; a function that ran and failed is an [`Outcome`].
    async fn run(&self, call: Call, limits: &Limits) -> Result<Outcome, RunError>;
}

/// The functions of this crate, and nothing else: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltIns;

impl BuiltIns {
    /// Runs one function here and now.
    ///
    /// # Errors
    /// When it is not built in; the error names the flag that would enable a runtime for it.
    pub fn call(&self, call: Call) -> Result<Outcome, RunError> {
        let Call {
            function,
            config,
            mut items,
        } = call;
        let Some(image) = &function.image else {
            return Err(RunError::NoRuntime {
                function: function.exec.unwrap_or_default(),
                hint: "start with --allow-exec to run commands",
            });
        };
        let Some(built_in) = find(image) else {
            return Err(RunError::NoRuntime {
                function: image.clone(),
                hint: "start with --fn-runtime=podman or --fn-runtime=docker to run images",
            });
        };
        let report = built_in.run(&mut items, config.as_deref());
        let exit_code = i32::from(report.failed());
        Ok(Outcome {
            items,
            results: report.results,
            stderr: report.stderr,
            exit_code,
        })
    }
}

#[async_trait]
impl Runner for BuiltIns {
    async fn run(&self, call: Call, _limits: &Limits) -> Result<Outcome, RunError> {
        self.call(call)
    }
}
