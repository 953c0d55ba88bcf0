//! Runners: what can run a function, and within which limits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::{Class, FunctionResultItem};
use yaml::owned::Value;

use crate::Item;

/// One function to be run.
#[derive(Debug, Clone)]
pub struct FunctionCall {
    /// Which one, and what the pipeline says about it.
    pub function: model::Function,
    /// Its configuration.
    pub config: Option<Arc<Value>>,
    /// The resources that it sees.
    pub items: Vec<Item>,
    /// For which tenant it runs, such as a namespace: those of one share what may run at once.
    pub tenant: Option<Arc<str>>,
}

/// What a function that ran gave back; it may have failed.
#[derive(Debug, Clone)]
pub struct FunctionOutcome {
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
        /// The built-in function that was probably meant, and the flag that would enable a runtime.
        hint: String,
    },
    /// A limit was exceeded.
    #[error("function {function:?} exceeded its limit of {limit}")]
    Limit {
        /// Its image or command.
        function: String,
        /// Which one.
        limit: String,
    },
    /// It could not be started.
    #[error("cannot start function {function:?}: {why}")]
    Start {
        /// Its image or command.
        function: String,
        /// Why.
        why: String,
    },
    /// It ran, but what it printed is no ResourceList.
    #[error("function {function:?} printed no ResourceList: {why}; run it alone with `offshoot fn run` to see its output{}", told(.stderr))]
    Output {
        /// Its image or command.
        function: String,
        /// What is wrong with it.
        why: String,
        /// What it printed to the error stream.
        stderr: String,
    },
    /// The function runner does not answer.
    #[error("the function runner cannot run {function:?}: {why}")]
    Remote {
        /// Its image.
        function: String,
        /// Why.
        why: String,
    },
}

fn told(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        String::new()
    } else {
        format!("; it said: {stderr}")
    }
}

impl RunError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::NoRuntime { .. } | Self::Start { .. } | Self::Output { .. } => Class::Invalid,
            Self::Remote { .. } => Class::Unavailable,
            Self::Limit { .. } => Class::Limit,
        }
    }
}

/// What one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that it may print.
    pub output: usize,
    /// How long it may take.
    pub time: Duration,
    /// Bytes of memory.
    pub memory: usize,
    /// Steps of a script or module.
    pub steps: u64,
}

impl Limits {
    /// No limit of the caller's: those of the runner hold.
    pub const NONE: Self = Self {
        output: usize::MAX,
        time: Duration::MAX,
        memory: usize::MAX,
        steps: u64::MAX,
    };

    /// The smaller of two, each.
    pub fn within(&self, other: &Self) -> Self {
        Self {
            output: self.output.min(other.output),
            time: self.time.min(other.time),
            memory: self.memory.min(other.memory),
            steps: self.steps.min(other.steps),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output: 32 << 20,
            time: Duration::from_secs(60),
            memory: 256 << 20,
            steps: 10_000_000_000,
        }
    }
}

/// Something that can run functions.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Runs one function within the limits.
    ///
    /// # Errors
    /// When it could not be run; a function that ran and failed is an [`FunctionOutcome`].
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError>;
}
