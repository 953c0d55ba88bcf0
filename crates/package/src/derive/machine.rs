//! The machine's output of an upstream revision (*V*), and the one that a package stems from (*V_p*).

use std::collections::BTreeMap;

use model::{Files, GitLock, GitUpstream, Recipe, RenderStatus};

use crate::clone::{CloneSpec, Marked, clone_with};
use crate::merge::Occupied;
use crate::mutate::{self, Injected, Mutated, Mutation, Previous, points_of};
use crate::render::{Options, Rendered};

use super::anew::{own_previous, recipe_anew};
use super::progress::{Halt, Progress};
use super::{DeriveError, DeriveInput, MachineFiles};

/// An upstream package and where it is from.
#[derive(Clone, Copy)]
pub(super) struct Upstream<'i> {
    pub(super) files: &'i Files,
    /// The same with identity marks, if they are known.
    pub(super) marked: Option<&'i Marked>,
    pub(super) git: &'i GitUpstream,
    pub(super) lock: &'i GitLock,
}

/// Something made: files, and what is to be said about them.
#[derive(Debug, Clone)]
pub(super) struct MachineOutput {
    pub(super) files: Files,
    pub(super) injected: Vec<Injected>,
    pub(super) gates: Vec<String>,
    pub(super) render: RenderStatus,
}

/// The base of a merge: what a package stems from.
pub(super) struct MergeBase {
    pub(super) files: Files,
    /// Whether the machine made it, rather than upstream's authors alone.
    pub(super) ours: bool,
    /// The readiness gates that the machine added to it.
    pub(super) gates: Vec<String>,
}

impl MergeBase {
    pub(super) fn of(output: &MachineOutput) -> Self {
        Self {
            files: output.files.clone(),
            ours: true,
            gates: output.gates.clone(),
        }
    }

    /// The same with other files.
    pub(super) fn holding(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// The same without the files in whose place upstream has what is no file; `None` where there are none such.
    pub(super) fn known_beside(&self, occupied: &Occupied, upstream: &Files) -> Option<Self> {
        let files = occupied.unknown_in(&self.files, upstream)?;
        Some(Self {
            files,
            gates: self.gates.clone(),
            ..*self
        })
    }
}

/// *M* of a draft in which people work: what the machine made when it wrote the draft, found like *V_p* of a published revision.
pub(super) fn base_of_draft(
    input: &DeriveInput,
    progress: &mut Progress,
    draft: &super::OpenDraft,
) -> Result<Option<MergeBase>, Halt> {
    base_of(input, progress, &draft.machine, &draft.tip)
}

/// The machine output that a package stems from; none where it is to be taken for the wanted one.
pub(super) fn base_of(
    input: &DeriveInput,
    progress: &mut Progress,
    machine_files: &MachineFiles,
    package: &Files,
) -> Result<Option<MergeBase>, Halt> {
    let (files, ours, gates) = match machine_files {
        MachineFiles::Known { files, gates } => (files.clone(), true, gates.clone()),
        MachineFiles::Raw(files) => (files.clone(), false, Vec::new()),
        MachineFiles::Wanted => return Ok(None),
        MachineFiles::Anew {
            upstream,
            git_upstream,
            lock,
        } => {
            let recipe = recipe_anew(&input.recipe, package);
            let upstream = Upstream {
                files: upstream,
                marked: None,
                git: git_upstream,
                lock,
            };
            let previous = own_previous(package);
            let output = machine(progress, upstream, &recipe, &previous)?;
            (output.files, true, output.gates)
        }
    };
    Ok(Some(MergeBase { files, ours, gates }))
}

/// What points held before: the draft's word counts over the published one's, the recipe's over both (V22).
pub(super) fn previous(
    input: &DeriveInput,
    merge_base: Option<&MergeBase>,
    drafted: Option<&MergeBase>,
) -> BTreeMap<String, Previous> {
    let of = |files: &Files| own_previous(files);
    // The machine's own output says what the points held; a published package may be edited, and stands in only where there is none.
    let mut all = match (merge_base, &input.base) {
        (Some(merge_base), _) if merge_base.ours => of(&merge_base.files),
        (_, Some(base)) => of(&base.published),
        _ => BTreeMap::new(),
    };
    all.extend(
        drafted
            .filter(|merge_base| merge_base.ours)
            .map(|merge_base| of(&merge_base.files))
            .unwrap_or_default(),
    );
    all.extend(input.recipe.kept.iter().map(|kept| {
        let kind = kept.gvk.rsplit('/').next().unwrap_or_default();
        let previous = Previous {
            name: kept.injected.clone(),
            content: kept.content.to_string(),
        };
        (format!("config.injection.{kind}.{}", kept.point), previous)
    }));
    all
}

/// *V(u, r)*: clone, mutate, render; points that appear by rendering are injected and rendered once more (V2).
pub(super) fn machine(
    progress: &mut Progress,
    upstream: Upstream<'_>,
    recipe: &Recipe,
    previous: &BTreeMap<String, Previous>,
) -> Result<MachineOutput, Halt> {
    let mutated = progress.mutate(|parsed| {
        let spec = CloneSpec {
            package: recipe.package.clone(),
            upstream: upstream.git.clone(),
            lock: upstream.lock.clone(),
            deployment: recipe.deployment,
        };
        let cloned = clone_with(upstream.files, upstream.marked, &spec, parsed);
        let cloned = cloned.map_err(DeriveError::Clone)?;
        let mutations = Mutation::of(recipe, previous.clone());
        mutate::apply_known(&cloned.files, &mutations, parsed).map_err(DeriveError::Mutate)
    })?;
    let rendered = render(progress, &mutated.files, recipe)?;
    let output = |mutated: Mutated, rendered: Rendered| MachineOutput {
        files: rendered.files,
        injected: mutated.injected,
        gates: mutated.gates_added,
        render: rendered.status,
    };
    let known: Vec<String> = mutated
        .injected
        .iter()
        .map(|i| i.point.condition_type())
        .collect();
    let now = points_of(&rendered.files, progress.parsed()).map_err(DeriveError::Mutate)?;
    // Most pipelines make no points: then the first run is the last.
    if now
        .iter()
        .all(|point| known.contains(&point.condition_type()))
    {
        return Ok(output(mutated, rendered));
    }
    let mut second = progress.mutate(|parsed| {
        let (injections, previous) = (recipe.injections.clone(), previous.clone());
        let again = [Mutation::Inject {
            injections,
            previous,
        }];
        mutate::apply_known(&rendered.files, &again, parsed).map_err(DeriveError::Mutate)
    })?;
    second.gates_added.splice(0..0, mutated.gates_added);
    let rendered = render(progress, &second.files, recipe)?;
    Ok(output(second, rendered))
}

/// Renders; a failure ends the derivation unless the recipe says that it shall not (V2).
pub(super) fn render(
    progress: &mut Progress,
    files: &Files,
    recipe: &Recipe,
) -> Result<Rendered, Halt> {
    let keep = recipe.push_on_render_failure;
    let options = Options {
        gate_failure: keep,
        tell_unread: true,
        ..Options::default()
    };
    let rendered = progress.render(files, options)?;
    if !rendered.status.succeeded() && !keep {
        return Err(DeriveError::Render(Box::new(rendered.status)).into());
    }
    Ok(rendered)
}
