//! The walk from an upstream package to a draft, written straight through.

use std::collections::BTreeMap;

use model::{Condition, Conflict, Decision, Files, Status};

use crate::conflicts;
use crate::documents::Parsed;
use crate::kptfile::Kptfile;
use crate::merge::{MergeOptions, Occupied, merge};
use crate::mutate::{self, Mutated, Mutation, Previous};
use crate::render::Options;

use super::machine::{
    MachineOutput, MergeBase, Upstream, base_of, base_of_draft, machine, previous, render,
};
use super::overwritten::{lost_in, overwritten};
use super::progress::{Halt, Progress};
use super::same::{alike, alike_but_status, bare, point_conditions, without_gates};
use super::{
    DeriveError, DeriveInput, Derived, MachineFiles, by_render, drafted, rendered, stated,
};

/// What a merge with people's edits came to.
struct MergedOutput {
    output: MachineOutput,
    conflicts: Vec<Conflict>,
}

/// Takes the walk from the beginning, over what is done already.
pub(super) fn derive(input: &DeriveInput, progress: &mut Progress) -> Result<Derived, Halt> {
    progress.begin();
    let recipe = &input.recipe;
    let merge_base = match &input.base {
        Some(base) => base_of(input, progress, &base.machine, &base.published)?,
        None => None,
    };
    let draft_base = match &input.draft {
        Some(draft) => base_of_draft(input, progress, draft)?,
        None => None,
    };
    // What points held is asked of the machine's outputs, not of what people made of them: an edit there is an edit to merge.
    let bases = (merge_base.as_ref(), draft_base.as_ref());
    let previous = progress.previous(|| previous(input, bases.0, bases.1));
    let upstream = Upstream {
        files: &input.upstream,
        marked: input.marked.as_deref(),
        git: &input.git_upstream,
        lock: &input.lock,
    };
    let v = machine(progress, upstream, recipe, &previous)?;
    let mut walk = Walk {
        input,
        previous,
        v: v.clone(),
        kinds: Vec::new(),
        twice: None,
        notes: Vec::new(),
    };
    walk.kinds = progress.kinds(|parsed| walk.point_kinds(bases.0, bases.1, parsed));
    let m = match &input.base {
        Some(base) => {
            // Taken to stem from the wanted upstream: all that differs from it is people's.
            let merge_base = merge_base.unwrap_or_else(|| MergeBase::of(&v));
            let options = MergeOptions {
                by_values: !matches!(base.machine, MachineFiles::Known { .. }),
                ..MergeOptions::against_base(recipe.strategy, recipe.conflict_policy)
            };
            walk.merge_into(
                progress,
                "the published revision",
                &merge_base,
                (&base.published, &base.occupied),
                &v,
                &options,
            )?
        }
        None => MergedOutput {
            output: v.clone(),
            conflicts: Vec::new(),
        },
    };
    // The same step once more, one floor up: M' stands for V', what stands in the draft for what was published.
    let (tip, conflicts) = match &input.draft {
        Some(draft) => {
            let merge_base = draft_base.unwrap_or_else(|| MergeBase::of(&m.output));
            let options = MergeOptions::in_draft(recipe.conflict_policy);
            let was = merge_base.files.clone();
            let ready = drafted::ready(draft, recipe, &was, (&m.output.files, &v.files));
            let of = merge_base.holding(ready.merge_base);
            let local = (&ready.local, &draft.occupied);
            let mut tip =
                walk.merge_into(progress, "the draft", &of, local, &m.output, &options)?;
            tip.conflicts.extend(ready.taken);
            let merges = (m.conflicts.clone(), tip.conflicts);
            let joined = drafted::carried(input, draft, merges, &was, [&v, &m.output, &tip.output]);
            (tip.output, joined)
        }
        None => (m.output.clone(), m.conflicts.clone()),
    };
    walk.serve(progress, m, tip, conflicts)
}

/// What the walk carries from step to step.
struct Walk<'i> {
    input: &'i DeriveInput,
    previous: BTreeMap<String, Previous>,
    v: MachineOutput,
    kinds: Vec<String>,
    /// *V′* rendered once more, if that was asked for: whether it stayed.
    twice: Option<bool>,
    notes: Vec<Condition>,
}

impl Walk<'_> {
    fn point_kinds(
        &self,
        merge_base: Option<&MergeBase>,
        drafted: Option<&MergeBase>,
        parsed: &Parsed,
    ) -> Vec<String> {
        let mut packages = vec![&self.v.files];
        packages.extend(
            [merge_base, drafted]
                .into_iter()
                .flatten()
                .map(|merge_base| &merge_base.files),
        );
        packages.extend(self.input.base.iter().map(|base| &base.published));
        packages.extend(self.input.draft.iter().map(|draft| &draft.tip));
        point_conditions(&packages, parsed)
    }

    /// Brings what people made of `merge_base` into `next`: merged, stated again, rendered where it differs from it.
    fn merge_into(
        &mut self,
        progress: &mut Progress,
        what: &'static str,
        merge_base: &MergeBase,
        (local, occupied): (&Files, &Occupied),
        next: &MachineOutput,
        options: &MergeOptions,
    ) -> Result<MergedOutput, Halt> {
        let known = merge_base.known_beside(&self.input.upstream_occupied, &next.files);
        let merge_base = known.as_ref().unwrap_or(merge_base);
        // Nobody edited: most of a fleet ends here, and nothing of it was parsed.
        let untouched = alike(&merge_base.files, local, &self.kinds)?;
        if untouched && occupied.leaves_room_for(&next.files) {
            return Ok(MergedOutput {
                output: next.clone(),
                conflicts: Vec::new(),
            });
        }
        let kinds = self.kinds.clone();
        let (old, new) = (&merge_base.gates, &next.gates);
        // Reports of runs and gates of ours are no edits of anybody; each side loses those that it was given.
        let sides = |local: &Files| -> Result<[Files; 3], DeriveError> {
            Ok([
                without_gates(bare(&merge_base.files, &kinds)?, old)?,
                without_gates(bare(local, &kinds)?, old)?,
                without_gates(bare(&next.files, &kinds)?, new)?,
            ])
        };
        let merging = |local: &Files, options: &MergeOptions| {
            let [base, local, upstream] = sides(local)?;
            let mut merged = merge(&base, &local, &upstream, options)
                .map_err(|source| DeriveError::Merge { what, source })?;
            merged.beside(occupied, [&base, &local, &upstream], options);
            Ok(merged)
        };
        let mut merged = progress.merge(|| merging(local, options))?;
        // What a run alone wrote into a resource that upstream deletes is no edit to defend (M4): merged once more without it.
        let undone = rendered::undone(progress, &merge_base.files, local, &merged.conflicts)?;
        let local = undone.as_ref().unwrap_or(local);
        if undone.is_some() {
            merged = progress.merge(|| merging(local, options))?;
        }
        // The merge may have let a person's value win where the recipe states one: the recipe is written last.
        let restated = progress.mutate(|parsed| self.restate(&merged.files, parsed))?;
        let mut conflicts = progress.settle(|| {
            let places = stated::places(&restated.files, &self.input.recipe);
            let seen = (&merge_base.files, local, &restated.files);
            stated::settle(merged.conflicts, &places, seen, merge_base.ours)
        });
        let output = if alike(&restated.files, &next.files, &self.kinds)? {
            next.clone()
        } else {
            let mut output = self.finish(progress, &restated)?;
            output.gates.extend(next.gates.iter().cloned());
            // Without an output of ours as base, a render's own values would count as edits that it overwrote.
            let derived = (&restated.files, &output.files);
            let changed = lost_in((&merge_base.files, local), derived);
            if merge_base.ours && !changed.is_empty() {
                let [base, local, _] = sides(local)?;
                let lost = overwritten((&base, &local), changed, &conflicts);
                conflicts.extend(lost);
                crate::place::sort(&mut conflicts);
            }
            output
        };
        // Whether a conflict matters is seen by deciding it the other way: where the pipeline then makes the same package, nobody has to look.
        for decided in [Decision::Upstream, Decision::Local] {
            let asks = |c: &Conflict| c.blocks() && c.decision == decided;
            if !conflicts.iter().any(asks) || self.twice == Some(false) {
                continue;
            }
            let other =
                progress.merge(|| merging(local, &by_render::otherwise(options, decided)))?;
            // Some are decided so under every policy: there is no other way to compare with.
            let turned = by_render::turned(&conflicts, &other.conflicts, decided);
            let other = progress.mutate(|parsed| self.restate(&other.files, parsed))?;
            let packages = (&restated.files, &output.files, &other.files);
            by_render::mark(progress, &mut conflicts, &turned, packages)?;
        }
        Ok(MergedOutput { output, conflicts })
    }

    /// Writes what the recipe states outright once more (V17).
    fn restate(&self, files: &Files, parsed: &mut Parsed) -> Result<Mutated, DeriveError> {
        let input = self.input;
        let files = stated::locked(files, &input.git_upstream, &input.lock)
            .map_err(DeriveError::Kptfile)?;
        let mut mutations = Mutation::of(&input.recipe, self.previous.clone());
        if let Some(Mutation::Context { create, .. }) = mutations.first_mut() {
            *create = true;
        }
        mutate::apply_known(&files, &mutations, parsed).map_err(DeriveError::Mutate)
    }

    /// Renders what was merged, unless the pipeline does not come to rest on the machine's own output (V17a).
    fn finish(
        &mut self,
        progress: &mut Progress,
        restated: &Mutated,
    ) -> Result<MachineOutput, Halt> {
        let stays = match self.twice {
            Some(stays) => stays,
            None => self.render_twice(progress)?,
        };
        let (files, render) = if stays {
            let rendered = render(progress, &restated.files, &self.input.recipe)?;
            (rendered.files, rendered.status)
        } else {
            (self.with_status(&restated.files)?, self.v.render.clone())
        };
        Ok(MachineOutput {
            files,
            injected: restated.injected.clone(),
            gates: restated.gates_added.clone(),
            render,
        })
    }

    fn render_twice(&mut self, progress: &mut Progress) -> Result<bool, Halt> {
        let options = Options {
            trace: true,
            tell_unread: true,
            ..Options::default()
        };
        let again = progress.render(&self.v.files, options)?;
        // A second run that fails says nothing about the first: its output is taken as it is.
        let stays = !again.status.succeeded() || alike_but_status(&again.files, &self.v.files);
        self.twice = Some(stays);
        if !stays {
            let function = again
                .changed_by
                .first()
                .map_or("the pipeline", String::as_str);
            let message = format!(
                "function {function:?} changes its own output when it runs again, so what people changed is not rendered"
            );
            let kind = "RenderNotIdempotent";
            self.notes
                .push(Condition::new(kind, Status::True, "OutputChanges", message));
        }
        Ok(stays)
    }

    /// The machine's render status on files that were not rendered.
    fn with_status(&self, files: &Files) -> Result<Files, DeriveError> {
        let (Ok(from), Ok(to)) = (Kptfile::of_files(&self.v.files), Kptfile::of_files(files))
        else {
            return Ok(files.clone());
        };
        let fields = from.fields();
        let mut edits = vec![crate::kptfile::Edit::SetRenderStatus(
            fields.render_status.clone(),
        )];
        edits.extend(
            fields
                .condition("Rendered")
                .cloned()
                .map(crate::kptfile::Edit::SetCondition),
        );
        let mut files = files.clone();
        to.edit(&edits)
            .map_err(DeriveError::Kptfile)?
            .put(&mut files);
        Ok(files)
    }

    /// Puts gates into what was made, and says how it all compares.
    fn serve(
        self,
        progress: &Progress,
        m: MergedOutput,
        tip: MachineOutput,
        conflicts: Vec<Conflict>,
    ) -> Result<Derived, Halt> {
        let m_files = gated(&m.output.files, &m.conflicts)?;
        let tip_files = gated(&tip.files, &conflicts)?;
        let mut gates = self.v.gates.clone();
        gates.extend(m.output.gates);
        gates.extend(tip.gates);
        gates.extend(conflicts::condition(&conflicts).map(|_| conflicts::GATE.to_owned()));
        gates.sort();
        gates.dedup();
        let m_equals_p = match &self.input.base {
            Some(base) => alike(&m_files, &base.published, &self.kinds)?,
            None => false,
        };
        let tip_equals_draft = match &self.input.draft {
            Some(draft) => stands(&tip_files, &draft.tip, &self.kinds)?,
            None => false,
        };
        Ok(Derived {
            m_equals_p,
            tip_equals_draft,
            v_equals_m: self.v.files == m_files,
            tip_equals_m: m_files == tip_files,
            v: self.v.files,
            m: m_files,
            tip: tip_files,
            conflicts,
            gates_added: gates,
            injected: tip.injected,
            render: tip.render,
            conditions: self.notes,
            parsed: progress.parsed().clone(),
        })
    }
}

/// Whether a draft is what it would become, its conditions among it.
fn stands(tip: &Files, draft: &Files, kinds: &[String]) -> Result<bool, DeriveError> {
    let told = |files: &Files| {
        let kptfile = Kptfile::of_files(files).ok()?;
        let fields = kptfile.fields();
        let gates = fields.info.readiness_gates.clone();
        Some((
            fields.conditions.clone(),
            gates,
            fields.render_status.clone(),
        ))
    };
    Ok(alike(tip, draft, kinds)? && told(tip) == told(draft))
}

/// The files with the gate that open conflicts keep closed.
fn gated(files: &Files, conflicts: &[Conflict]) -> Result<Files, DeriveError> {
    let file = files
        .get(&crate::kptfile::path())
        .and_then(|file| file.as_text());
    // There is neither a gate to put nor one to take away: the Kptfile need not be parsed.
    if conflicts.is_empty() && file.is_some_and(|text| !text.contains(conflicts::GATE)) {
        return Ok(files.clone());
    }
    let Ok(kptfile) = Kptfile::of_files(files) else {
        return Ok(files.clone());
    };
    let kptfile = conflicts::put_gate(&kptfile, conflicts).map_err(DeriveError::Kptfile)?;
    let mut files = files.clone();
    kptfile.put(&mut files);
    Ok(files)
}
