//! The walk from an upstream package to a draft, written straight through.

use std::collections::BTreeMap;

use model::{
    Condition, Conflict, Decision, Files, GitLock, GitUpstream, Recipe, RenderStatus, Status,
};

use crate::clone::{CloneSpec, clone_with};
use crate::conflicts;
use crate::kptfile::Kptfile;
use crate::merge::{MergeOptions, merge};
use crate::mutate::{self, Injected, Mutated, Mutation, Previous, injection_points};
use crate::render::{Options, Rendered};

use super::kitchen::{Halt, Kitchen};
use super::overwritten::overwritten;
use super::recook::{own_previous, recook_recipe};
use super::same::{alike, alike_but_status, bare, point_conditions, without_gates};
use super::{CookError, CookInput, Cooked, MachineFiles, derived, drafted, stated};

/// An upstream package and where it is from.
#[derive(Clone, Copy)]
pub(super) struct Upstream<'i> {
    pub(super) files: &'i Files,
    /// The same with identity marks, if they are known.
    pub(super) marked: Option<&'i Files>,
    pub(super) git: &'i GitUpstream,
    pub(super) lock: &'i GitLock,
}

/// Something made: files, and what is to be said about them.
#[derive(Debug, Clone)]
pub(super) struct Dish {
    pub(super) files: Files,
    pub(super) injected: Vec<Injected>,
    pub(super) gates: Vec<String>,
    pub(super) render: RenderStatus,
}

/// The other side of a merge: what a package stems from.
struct Stem {
    files: Files,
    /// Whether the machine made it, rather than upstream's authors alone.
    ours: bool,
    /// The readiness gates that the machine added to it.
    gates: Vec<String>,
}

impl Stem {
    fn of(dish: &Dish) -> Self {
        Self {
            files: dish.files.clone(),
            ours: true,
            gates: dish.gates.clone(),
        }
    }
}

/// What a merge with people's edits came to.
struct Blend {
    dish: Dish,
    conflicts: Vec<Conflict>,
}

/// Takes the walk from the beginning, over what is done already.
pub(super) fn cook(input: &CookInput, kitchen: &mut Kitchen) -> Result<Cooked, Halt> {
    kitchen.begin();
    let recipe = &input.recipe;
    let stem = match &input.base {
        Some(base) => stem(input, kitchen, &base.machine, &base.published)?,
        None => None,
    };
    let drafted_stem = match &input.draft {
        Some(draft) => stem_of_draft(input, kitchen, draft)?,
        None => None,
    };
    let previous = previous(input, stem.as_ref(), drafted_stem.as_ref());
    let upstream = Upstream {
        files: &input.upstream,
        marked: input.marked.as_deref(),
        git: &input.git_upstream,
        lock: &input.lock,
    };
    let v = machine(kitchen, upstream, recipe, &previous)?;
    let mut walk = Walk {
        input,
        previous,
        v: v.clone(),
        kinds: Vec::new(),
        twice: None,
        notes: Vec::new(),
    };
    walk.kinds = walk.point_kinds(stem.as_ref(), drafted_stem.as_ref());
    let m = match &input.base {
        Some(base) => {
            let stem = stem.unwrap_or_else(|| Stem::of(&v));
            let options = MergeOptions::against_base(recipe.strategy, recipe.conflict_policy);
            walk.blend(
                kitchen,
                "the published revision",
                &stem,
                &base.published,
                &v,
                &options,
            )?
        }
        None => Blend {
            dish: v.clone(),
            conflicts: Vec::new(),
        },
    };
    let (tip, conflicts) = match &input.draft {
        Some(draft) => {
            let stem = drafted_stem.unwrap_or_else(|| Stem::of(&m.dish));
            let options = MergeOptions::in_draft(recipe.conflict_policy);
            let ready = drafted::ready(draft, recipe, &stem.files, &m.dish.files);
            let (files, local) = (ready.stem, ready.local);
            let stem = Stem { files, ..stem };
            let mut tip = walk.blend(kitchen, "the draft", &stem, &local, &m.dish, &options)?;
            tip.conflicts.extend(ready.taken);
            let merges = (m.conflicts.clone(), tip.conflicts);
            let joined = drafted::carried(input, draft, merges, (&m.dish, &tip.dish));
            (tip.dish, joined)
        }
        None => (m.dish.clone(), m.conflicts.clone()),
    };
    walk.serve(m, tip, conflicts)
}

/// *V_p* of a draft in which people work, which may be found like that of a published revision.
fn stem_of_draft(
    input: &CookInput,
    kitchen: &mut Kitchen,
    draft: &super::OpenDraft,
) -> Result<Option<Stem>, Halt> {
    stem(input, kitchen, &draft.machine, &draft.tip)
}

/// The machine output that a package stems from; none where it is to be taken for the wanted one.
fn stem(
    input: &CookInput,
    kitchen: &mut Kitchen,
    machine_files: &MachineFiles,
    package: &Files,
) -> Result<Option<Stem>, Halt> {
    let (files, ours, gates) = match machine_files {
        MachineFiles::Known { files, gates } => (files.clone(), true, gates.clone()),
        MachineFiles::Raw(files) => (files.clone(), false, Vec::new()),
        MachineFiles::Wanted => return Ok(None),
        MachineFiles::Recook {
            upstream,
            git_upstream,
            lock,
        } => {
            let recipe = recook_recipe(&input.recipe, package);
            let upstream = Upstream {
                files: upstream,
                marked: None,
                git: git_upstream,
                lock,
            };
            let previous = own_previous(package);
            let dish = machine(kitchen, upstream, &recipe, &previous)?;
            (dish.files, true, dish.gates)
        }
    };
    Ok(Some(Stem { files, ours, gates }))
}

/// What points held before: the draft's word counts over the published one's, the recipe's over both (V22).
fn previous(
    input: &CookInput,
    stem: Option<&Stem>,
    drafted: Option<&Stem>,
) -> BTreeMap<String, Previous> {
    let of = |files: &Files| own_previous(files);
    let mut all = match (stem, &input.base) {
        (Some(stem), _) if stem.ours => of(&stem.files),
        (_, Some(base)) => of(&base.published),
        _ => BTreeMap::new(),
    };
    all.extend(
        drafted
            .filter(|stem| stem.ours)
            .map(|stem| of(&stem.files))
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
    kitchen: &mut Kitchen,
    upstream: Upstream<'_>,
    recipe: &Recipe,
    previous: &BTreeMap<String, Previous>,
) -> Result<Dish, Halt> {
    let mutated = kitchen.mutate(|| {
        let spec = CloneSpec {
            package: recipe.package.clone(),
            upstream: upstream.git.clone(),
            lock: upstream.lock.clone(),
            deployment: recipe.deployment,
        };
        let cloned = clone_with(upstream.files, upstream.marked, &spec);
        let cloned = cloned.map_err(CookError::Clone)?;
        let mutations = Mutation::of(recipe, previous.clone());
        mutate::apply(&cloned.files, &mutations).map_err(CookError::Mutate)
    })?;
    let rendered = render(kitchen, &mutated.files, recipe)?;
    let dish = |mutated: Mutated, rendered: Rendered| Dish {
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
    let now = injection_points(&rendered.files).map_err(CookError::Mutate)?;
    if now
        .iter()
        .all(|point| known.contains(&point.condition_type()))
    {
        return Ok(dish(mutated, rendered));
    }
    let mut second = kitchen.mutate(|| {
        let (injections, previous) = (recipe.injections.clone(), previous.clone());
        let again = [Mutation::Inject {
            injections,
            previous,
        }];
        mutate::apply(&rendered.files, &again).map_err(CookError::Mutate)
    })?;
    second.gates_added.splice(0..0, mutated.gates_added);
    let rendered = render(kitchen, &second.files, recipe)?;
    Ok(dish(second, rendered))
}

/// Renders; a failure ends the cook unless the recipe says that it shall not (V2).
fn render(kitchen: &mut Kitchen, files: &Files, recipe: &Recipe) -> Result<Rendered, Halt> {
    let keep = recipe.push_on_render_failure;
    let options = Options {
        gate_failure: keep,
        tell_unread: true,
        ..Options::default()
    };
    let rendered = kitchen.render(files, options)?;
    if !rendered.status.succeeded() && !keep {
        return Err(CookError::Render(Box::new(rendered.status)).into());
    }
    Ok(rendered)
}

/// What the walk carries from step to step.
struct Walk<'i> {
    input: &'i CookInput,
    previous: BTreeMap<String, Previous>,
    v: Dish,
    kinds: Vec<String>,
    /// *V′* rendered once more, if that was asked for: whether it stayed.
    twice: Option<bool>,
    notes: Vec<Condition>,
}

impl Walk<'_> {
    fn point_kinds(&self, stem: Option<&Stem>, drafted: Option<&Stem>) -> Vec<String> {
        let mut packages = vec![&self.v.files];
        packages.extend(
            [stem, drafted]
                .into_iter()
                .flatten()
                .map(|stem| &stem.files),
        );
        packages.extend(self.input.base.iter().map(|base| &base.published));
        packages.extend(self.input.draft.iter().map(|draft| &draft.tip));
        point_conditions(&packages)
    }

    /// Brings what people made of `stem` into `next`: merged, stated again, rendered where it differs from it.
    fn blend(
        &mut self,
        kitchen: &mut Kitchen,
        what: &'static str,
        stem: &Stem,
        local: &Files,
        next: &Dish,
        options: &MergeOptions,
    ) -> Result<Blend, Halt> {
        if alike(&stem.files, local, &self.kinds)? {
            return Ok(Blend {
                dish: next.clone(),
                conflicts: Vec::new(),
            });
        }
        let kinds = self.kinds.clone();
        let (old, new) = (&stem.gates, &next.gates);
        let sides = || -> Result<[Files; 3], CookError> {
            Ok([
                without_gates(bare(&stem.files, &kinds)?, old)?,
                without_gates(bare(local, &kinds)?, old)?,
                without_gates(bare(&next.files, &kinds)?, new)?,
            ])
        };
        let merged = kitchen.merge(|| {
            let [base, local, upstream] = sides()?;
            merge(&base, &local, &upstream, options)
                .map_err(|source| CookError::Merge { what, source })
        })?;
        let restated = kitchen.mutate(|| self.restate(&merged.files))?;
        let places = stated::places(&restated.files, &self.input.recipe);
        let seen = (&stem.files, local, &restated.files);
        let mut conflicts = stated::settle(merged.conflicts, &places, seen, stem.ours);
        let dish = if alike(&restated.files, &next.files, &self.kinds)? {
            next.clone()
        } else {
            let mut dish = self.finish(kitchen, &restated)?;
            dish.gates.extend(next.gates.iter().cloned());
            if stem.ours {
                let [base, local, _] = sides()?;
                let cooked = (&restated.files, &dish.files);
                let lost = overwritten((&base, &local), cooked, &conflicts);
                conflicts.extend(lost);
                conflicts::sort(&mut conflicts);
            }
            dish
        };
        for decided in [Decision::Upstream, Decision::Local] {
            let asks = |c: &Conflict| c.blocks() && c.decision == decided;
            if !conflicts.iter().any(asks) || self.twice == Some(false) {
                continue;
            }
            let other = kitchen.merge(|| {
                let [base, local, upstream] = sides()?;
                let options = derived::otherwise(options, decided);
                merge(&base, &local, &upstream, &options)
                    .map_err(|source| CookError::Merge { what, source })
            })?;
            // Some are decided so under every policy: there is no other way to compare with.
            let turned = derived::turned(&conflicts, &other.conflicts, decided);
            let other = kitchen.mutate(|| self.restate(&other.files))?;
            let packages = (&restated.files, &dish.files, &other.files);
            derived::mark(kitchen, &mut conflicts, &turned, packages)?;
        }
        Ok(Blend { dish, conflicts })
    }

    /// Writes what the recipe states outright once more (V17).
    fn restate(&self, files: &Files) -> Result<Mutated, CookError> {
        let input = self.input;
        let files =
            stated::locked(files, &input.git_upstream, &input.lock).map_err(CookError::Kptfile)?;
        let mut mutations = Mutation::of(&input.recipe, self.previous.clone());
        if let Some(Mutation::Context { create, .. }) = mutations.first_mut() {
            *create = true;
        }
        mutate::apply(&files, &mutations).map_err(CookError::Mutate)
    }

    /// Renders what was merged, unless the pipeline does not come to rest on the machine's own output (V17a).
    fn finish(&mut self, kitchen: &mut Kitchen, restated: &Mutated) -> Result<Dish, Halt> {
        let stays = match self.twice {
            Some(stays) => stays,
            None => self.render_twice(kitchen)?,
        };
        let (files, render) = if stays {
            let rendered = render(kitchen, &restated.files, &self.input.recipe)?;
            (rendered.files, rendered.status)
        } else {
            (self.with_status(&restated.files)?, self.v.render.clone())
        };
        Ok(Dish {
            files,
            injected: restated.injected.clone(),
            gates: restated.gates_added.clone(),
            render,
        })
    }

    fn render_twice(&mut self, kitchen: &mut Kitchen) -> Result<bool, Halt> {
        let options = Options {
            trace: true,
            tell_unread: true,
            ..Options::default()
        };
        let again = kitchen.render(&self.v.files, options)?;
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
    fn with_status(&self, files: &Files) -> Result<Files, CookError> {
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
        to.edit(&edits).map_err(CookError::Kptfile)?.put(&mut files);
        Ok(files)
    }

    /// Puts gates into what was made, and says how it all compares.
    fn serve(self, m: Blend, tip: Dish, conflicts: Vec<Conflict>) -> Result<Cooked, Halt> {
        let m_files = gated(&m.dish.files, &m.conflicts)?;
        let tip_files = gated(&tip.files, &conflicts)?;
        let mut gates = self.v.gates.clone();
        gates.extend(m.dish.gates);
        gates.extend(tip.gates);
        gates.extend(conflicts::condition(&conflicts).map(|_| conflicts::GATE.to_owned()));
        gates.sort();
        gates.dedup();
        let m_equals_p = match &self.input.base {
            Some(base) => alike(&m_files, &base.published, &self.kinds)?,
            None => false,
        };
        Ok(Cooked {
            m_equals_p,
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
            warnings: Vec::new(),
        })
    }
}

/// The files with the gate that open conflicts keep closed.
fn gated(files: &Files, conflicts: &[Conflict]) -> Result<Files, CookError> {
    let file = files
        .get(&crate::kptfile::path())
        .and_then(|file| file.as_text());
    if conflicts.is_empty() && file.is_some_and(|text| !text.contains(conflicts::GATE)) {
        return Ok(files.clone());
    }
    let Ok(kptfile) = Kptfile::of_files(files) else {
        return Ok(files.clone());
    };
    let kptfile = conflicts::put_gate(&kptfile, conflicts).map_err(CookError::Kptfile)?;
    let mut files = files.clone();
    kptfile.put(&mut files);
    Ok(files)
}
