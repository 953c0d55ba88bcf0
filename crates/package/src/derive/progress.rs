//! What a derivation has done so far, so that its walk can be taken again after each render.
//!
//! The walk is written straight through. Where it needs a render that is not done yet, it stops, and begins anew
//! once the render is done; every step that was finished is answered from here, in order, instead of being done again.

use std::collections::BTreeMap;

use model::{Conflict, Files};

use crate::documents::Parsed;
use crate::merge::Merged;
use crate::mutate::{Mutated, Previous};
use crate::render::{Options, Output, Render, RenderStep, Rendered, Run, RunFailure};

use super::DeriveError;

/// Why a walk stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// A render is under way.
    Rendering,
    /// It cannot go on.
    Failed(Box<DeriveError>),
}

impl From<DeriveError> for Halt {
    fn from(error: DeriveError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A finished step.
#[derive(Debug, Clone)]
enum Done {
    Rendered(Box<Rendered>),
    Merged(Merged),
    Mutated(Mutated),
    Settled(Vec<Conflict>),
    Previous(BTreeMap<String, Previous>),
    Kinds(Vec<String>),
}

/// The steps done, and the render under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    done: Vec<Done>,
    next: usize,
    render: Option<Box<Render>>,
    /// How many bytes a package's resources may be after any step.
    pub(super) package_bytes: Option<u64>,
    /// What a step wrote, as it was parsed: the next one reads it.
    parsed: Parsed,
}

impl Progress {
    /// A walk begins.
    pub(super) fn begin(&mut self) {
        self.next = 0;
    }

    /// The function that the render under way wants; a render that ends is noted.
    pub(super) fn wanted(&mut self) -> Option<Box<Run>> {
        match self.render.as_mut()?.next() {
            RenderStep::Run(run) => Some(run),
            RenderStep::Done(rendered) => {
                let written = self.render.take().map(|render| render.into_written());
                self.parsed.extend(written.unwrap_or_default());
                self.done.push(Done::Rendered(rendered));
                None
            }
        }
    }

    pub(super) fn resume(&mut self, answer: Result<Output, RunFailure>) {
        if let Some(render) = &mut self.render {
            render.resume(answer);
        }
    }

    /// What was parsed so far.
    pub(super) fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    fn step(&mut self) -> Option<&Done> {
        self.next += 1;
        self.done.get(self.next - 1)
    }

    /// Renders a package.
    pub(super) fn render(&mut self, files: &Files, options: Options) -> Result<Rendered, Halt> {
        if let Some(Done::Rendered(rendered)) = self.step() {
            return Ok(Rendered::clone(rendered));
        }
        let options = Options {
            package_bytes: self.package_bytes,
            ..options
        };
        self.render = Some(Box::new(Render::known(
            files.clone(),
            options,
            &self.parsed,
        )));
        Err(Halt::Rendering)
    }

    /// Mutates once.
    pub(super) fn mutate(
        &mut self,
        make: impl FnOnce(&mut Parsed) -> Result<Mutated, DeriveError>,
    ) -> Result<Mutated, Halt> {
        if let Some(Done::Mutated(mutated)) = self.step() {
            return Ok(mutated.clone());
        }
        let mutated = make(&mut self.parsed)?;
        self.done.push(Done::Mutated(mutated.clone()));
        Ok(mutated)
    }

    /// Merges once.
    pub(super) fn merge(
        &mut self,
        make: impl FnOnce() -> Result<Merged, DeriveError>,
    ) -> Result<Merged, Halt> {
        if let Some(Done::Merged(merged)) = self.step() {
            return Ok(merged.clone());
        }
        let merged = make()?;
        self.done.push(Done::Merged(merged.clone()));
        Ok(merged)
    }

    /// Settles the conflicts of a merge once.
    pub(super) fn settle(&mut self, make: impl FnOnce() -> Vec<Conflict>) -> Vec<Conflict> {
        if let Some(Done::Settled(conflicts)) = self.step() {
            return conflicts.clone();
        }
        let conflicts = make();
        self.done.push(Done::Settled(conflicts.clone()));
        conflicts
    }

    /// Looks once at what injection points held before.
    pub(super) fn previous(
        &mut self,
        make: impl FnOnce() -> BTreeMap<String, Previous>,
    ) -> BTreeMap<String, Previous> {
        if let Some(Done::Previous(previous)) = self.step() {
            return previous.clone();
        }
        let previous = make();
        self.done.push(Done::Previous(previous.clone()));
        previous
    }

    /// Looks once at which conditions belong to injection points.
    pub(super) fn kinds(&mut self, make: impl FnOnce(&Parsed) -> Vec<String>) -> Vec<String> {
        if let Some(Done::Kinds(kinds)) = self.step() {
            return kinds.clone();
        }
        let kinds = make(&self.parsed);
        self.done.push(Done::Kinds(kinds.clone()));
        kinds
    }
}
