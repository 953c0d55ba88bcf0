//! Deriving: what the machine makes of an upstream package, and how people's edits come back into it
//! (V17); docs/merge.md draws it.
//!
//! *V′* is clone, mutate, render. *M* is the three-way merge of what people made of *V_p* into it. An open draft's
//! *tip* follows *M* in the same way. All three are files; which commits and trailers hold them is `engine`'s business.
//! Like a render, a derivation is a conversation: [`Derivation::next`] says which function to run, [`Derivation::resume`] takes the
//! answer. Nothing here sees a ref, a cluster or a clock.

mod anew;
mod by_render;
mod drafted;
mod error;
mod machine;
mod overwritten;
mod progress;
mod rendered;
mod same;
mod stated;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Condition, Conflict, ConflictId, Files, GitLock, GitUpstream, Pairs, Recipe, RenderStatus,
};

use crate::clone::Marked;
use crate::context;
use crate::documents::Parsed;
use crate::kptfile::{Kptfile, ReadError};
use crate::merge::Occupied;
use crate::mutate::{self, Injected, InjectionPoint, MutateError, Previous};
use crate::render::{Conversation, Output, RenderStep, RunFailure};

use progress::{Halt, Progress};

pub(crate) use anew::recipe_anew;
pub use error::DeriveError;

/// All that a derivation needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeriveInput {
    /// *u′*: the upstream package as it is.
    pub upstream: Files,
    /// What stands in it that is no file, and does not come along: files that were made of it before stay.
    pub upstream_occupied: Occupied,
    /// The same with identity marks, if they are at hand: a fan-out writes and parses them once.
    pub marked: Option<Arc<Marked>>,
    /// What the Kptfile shall say about it.
    pub git_upstream: GitUpstream,
    /// Where it was taken from.
    pub lock: GitLock,
    /// *r′*.
    pub recipe: Recipe,
    /// *p*, if anything was published.
    pub base: Option<Base>,
    /// The draft that is open, if one is.
    pub draft: Option<OpenDraft>,
    /// How many bytes the package's resources may be after any step of its pipeline.
    pub package_bytes: Option<u64>,
}

/// What is published, and what the machine made of its upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// *p*.
    pub published: Files,
    /// *V_p*, or how to come by it.
    pub machine: MachineFiles,
    /// What stands in it that is no file.
    pub occupied: Occupied,
}

/// A draft in which people may have worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDraft {
    /// The newest *M* of this draft, or how to come by it.
    pub machine: MachineFiles,
    /// What stands in the draft now.
    pub tip: Files,
    /// What of it is no file.
    pub occupied: Occupied,
    /// The conflicts recorded so far, with what people said about them.
    pub conflicts: Vec<Conflict>,
    /// The ids that people acknowledged (`spec.resolvedConflicts`), also of conflicts that are not there now.
    pub acknowledged: Vec<ConflictId>,
}

/// The machine's own output that a package stems from (V19a).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineFiles {
    /// The very files, as the trailer names them.
    Known {
        /// The files.
        files: Files,
        /// The readiness gates that the machine added, from the same trailer (V8).
        gates: Vec<String>,
    },
    /// To be derived anew from the package's own lock, with its own values wherever the recipe states one.
    Anew {
        /// The upstream package at that lock.
        upstream: Files,
        /// What the package's Kptfile says about its upstream.
        git_upstream: GitUpstream,
        /// Its lock.
        lock: GitLock,
    },
    /// The raw old upstream stands in for it, as kpt has it.
    Raw(Files),
    /// It is taken to stem from the wanted upstream (`offshoot.dev/relock`).
    Wanted,
}

/// What a derivation made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// *V′*.
    pub v: Files,
    /// *M* (of an open draft: *M′*).
    pub m: Files,
    /// What the draft shall hold: *M* of a new one, *tip′* of an open one.
    pub tip: Files,
    /// Every conflict of the draft, in the order of their places.
    pub conflicts: Vec<Conflict>,
    /// Readiness gates that are ours, to be noted in the trailer (V8).
    pub gates_added: Vec<String>,
    /// How each injection point of the tip fared.
    pub injected: Vec<Injected>,
    /// What the render of the tip reported.
    pub render: RenderStatus,
    /// Conditions to show beside the Kptfile's own: `RenderNotIdempotent`.
    pub conditions: Vec<Condition>,
    /// Whether *M* is *p* but for what runs leave in it: then no draft is made (V17a).
    pub m_equals_p: bool,
    /// Whether *V′* and *M* are the same files.
    pub v_equals_m: bool,
    /// Whether *M* and the tip are the same files.
    pub tip_equals_m: bool,
    /// Whether the tip is the open draft as it stands: the same values in another layout of what runs leave are the same.
    pub tip_equals_draft: bool,
    /// What of all this was parsed when it was written.
    parsed: Parsed,
}

/// What is asked of a result once it is there: what was written is not parsed once more for it.
impl Derived {
    /// The tip's Kptfile but for the report of its render.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn kptfile(&self) -> Result<Kptfile, ReadError> {
        Kptfile::bare(&self.tip, &self.parsed)
    }

    /// The injection points of *V′*, and what they hold.
    ///
    /// # Errors
    /// As [`mutate::injection_points`].
    pub fn points(&self) -> Result<(Vec<InjectionPoint>, BTreeMap<String, Previous>), MutateError> {
        mutate::held(&self.v, &self.parsed)
    }

    /// What the package context of *V′* says.
    pub fn context(&self) -> Pairs {
        context::data_of(&self.v, &self.parsed)
    }
}

/// A derivation under way.
#[derive(Debug, Clone)]
pub struct Derivation {
    input: DeriveInput,
    progress: Progress,
}

impl Derivation {
    /// Begins a derivation.
    pub fn new(input: DeriveInput) -> Self {
        let mut progress = Progress::default();
        progress.package_bytes = input.package_bytes;
        Self { input, progress }
    }

    /// The next function to run, or the end. Asking twice gives the same answer.
    #[must_use = "nothing runs unless somebody runs it"]
    #[expect(
        clippy::should_implement_trait,
        reason = "no iterator: it waits for an answer before it goes on"
    )]
    pub fn next(&mut self) -> RenderStep<Result<Derived, DeriveError>> {
        loop {
            if let Some(run) = self.progress.wanted() {
                return RenderStep::Run(run);
            }
            match steps::derive(&self.input, &mut self.progress) {
                Ok(derived) => return RenderStep::Done(Box::new(Ok(derived))),
                Err(Halt::Failed(error)) => return RenderStep::Done(Box::new(Err(*error))),
                Err(Halt::Rendering) => {}
            }
        }
    }

    /// Takes the answer to the last [`RenderStep::Run`].
    pub fn resume(&mut self, answer: Result<Output, RunFailure>) {
        self.progress.resume(answer);
    }
}

impl Conversation for Derivation {
    type End = Result<Derived, DeriveError>;

    fn next(&mut self) -> RenderStep<Self::End> {
        Self::next(self)
    }

    fn resume(&mut self, answer: Result<Output, RunFailure>) {
        Self::resume(self, answer);
    }
}
