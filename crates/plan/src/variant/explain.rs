//! Plans as text: what `offshoot plan` prints, what goldens compare, and one line a step.

use std::fmt;

use model::{Lifecycle, Task};

use super::injection::STALE;
use super::{CreateDraft, MachineBase, OnEqual, Plan, UpdateDraft, VariantStep, origin, words};
use crate::Report;
use crate::report::{counted, last, then};

impl VariantStep {
    /// What it does, in a few words.
    pub fn summary(&self) -> String {
        match self {
            Self::AddFinalizer { finalizer, .. } => format!("add finalizer {finalizer}"),
            Self::RemoveFinalizer { finalizer, .. } => format!("remove finalizer {finalizer}"),
            Self::CreateDraft(draft) => {
                format!("create draft {} ({})", draft.key.name, task(&draft.task))
            }
            Self::UpdateDraft(update) => format!(
                "update draft {} ({})",
                update.draft.key.name,
                update.why.join(", ")
            ),
            Self::RenderDraft { revision, .. } => format!("render draft {}", revision.key.name),
            Self::RevertToDraft { revision } => {
                format!("revert {} to draft", revision.key.name)
            }
            Self::DeleteRevision { revision, why } => {
                format!("delete {} {}: {why}", revision.lifecycle, revision.key.name)
            }
            Self::ProposeDeletion { revision, .. } => {
                format!("propose deletion of {}", revision.key.name)
            }
            Self::WithdrawDeletionProposal { revision, .. } => {
                format!("withdraw deletion proposal of {}", revision.key.name)
            }
            Self::Orphan { revision, why, .. } => {
                format!("orphan {} {}: {why}", revision.lifecycle, revision.key.name)
            }
            Self::Adopt { revision, .. } => {
                format!("adopt {} {}", revision.lifecycle, revision.key.name)
            }
            Self::NoteDigest { revision, .. } => {
                format!("note on {} that nothing changes", revision.key.name)
            }
        }
    }

    /// What it carries, one fact a line.
    fn details(&self) -> Vec<String> {
        match self {
            Self::CreateDraft(draft) => create(draft),
            Self::UpdateDraft(draft) => update(draft),
            Self::ProposeDeletion {
                annotations,
                disown,
                ..
            } => {
                let mut lines: Vec<String> = annotations
                    .iter()
                    .map(|(k, v)| format!("annotate {k}={v}"))
                    .collect();
                lines.extend(disown.iter().map(|uid| format!("disown {uid}")));
                lines
            }
            Self::Adopt {
                owner,
                replace,
                labels,
                annotations,
                ..
            } => {
                let mut lines = vec![format!("owner {} {}", owner.kind, owner.name)];
                lines.extend(replace.iter().map(|uid| format!("replaces owner {uid}")));
                lines.extend(told(labels).map(|(k, v)| format!("label {k}={v}")));
                lines.extend(annotations.iter().map(|(k, v)| format!("annotate {k}={v}")));
                lines
            }
            _ => Vec::new(),
        }
    }
}

fn task(task: &Task) -> String {
    match task {
        Task::Init { .. } => "init".to_owned(),
        Task::Clone { upstream } => format!("clone {upstream}"),
        Task::CloneGit(source) => format!("clone {}", source.repo),
        Task::Edit { source } => format!("edit {source}"),
        Task::Upgrade {
            old_upstream,
            new_upstream,
            local,
            strategy,
        } => format!(
            "upgrade {local} from {old_upstream} to {new_upstream}, {}",
            strategy.as_str()
        ),
    }
}

fn create(draft: &CreateDraft) -> Vec<String> {
    let mut lines = vec![format!("upstream {}", draft.upstream.key.name)];
    if let Some(base) = &draft.base {
        lines.push(format!(
            "base {} ({})",
            base.revision.key.name,
            machine(&base.machine)
        ));
    }
    lines.extend(recipe(&draft.recipe));
    lines.extend(told(&draft.labels).map(|(k, v)| format!("label {k}={v}")));
    lines.extend(
        draft
            .annotations
            .iter()
            .map(|(k, v)| format!("annotate {k}={v}")),
    );
    lines.extend(equal(&draft.on_equal));
    lines
}

/// The labels that the spec names: those that say whose a revision is are always there.
fn told(labels: &model::Pairs) -> impl Iterator<Item = (&String, &String)> {
    labels.iter().filter(|(key, _)| !origin::is_ours(key))
}

fn update(draft: &UpdateDraft) -> Vec<String> {
    let mut lines = vec![
        format!("upstream {}", draft.upstream.key.name),
        format!("draft's own machine output: {}", machine(&draft.draft_base)),
    ];
    if let Some(base) = &draft.base {
        lines.push(format!(
            "base {} ({})",
            base.revision.key.name,
            machine(&base.machine)
        ));
    }
    lines.extend(recipe(&draft.recipe));
    lines.extend(equal(&draft.on_equal));
    lines
}

fn recipe(recipe: &model::Recipe) -> Vec<String> {
    let mut lines: Vec<String> = recipe
        .context
        .iter()
        .map(|(k, v)| format!("context {k}={v}"))
        .collect();
    lines.extend(
        recipe
            .remove_keys
            .iter()
            .map(|k| format!("context without {k}")),
    );
    for (list, functions) in [
        ("mutator", &recipe.pipeline.mutators),
        ("validator", &recipe.pipeline.validators),
    ] {
        for (i, function) in functions.iter().enumerate() {
            let runs = function.image.as_deref().or(function.exec.as_deref());
            lines.push(format!(
                "{list} PackageVariant.{}.{}.{i}: {}",
                recipe.variant,
                function.name,
                runs.unwrap_or_default()
            ));
        }
    }
    for injection in &recipe.injections {
        for (gvk, found) in &injection.found {
            lines.push(format!(
                "inject {gvk} {}: {}",
                injection.name,
                outcome(found)
            ));
        }
    }
    lines.extend(
        recipe
            .kept
            .iter()
            .map(|k| format!("keep {} {} as injected from {}", k.gvk, k.point, k.injected)),
    );
    lines
}

fn outcome(found: &model::InjectionOutcome) -> String {
    match found {
        model::InjectionOutcome::Content(content) => content.to_string(),
        model::InjectionOutcome::FieldMissing(field) => format!("without {field}"),
        model::InjectionOutcome::Absent => "absent".to_owned(),
        model::InjectionOutcome::KindMissing => "kind unknown".to_owned(),
        model::InjectionOutcome::Unreadable(why) => format!("unreadable: {why}"),
    }
}

fn machine(base: &MachineBase) -> String {
    match base {
        MachineBase::Fresh => "none".to_owned(),
        MachineBase::Known(machine) => {
            format!("machine output known, workspace {}", machine.workspace)
        }
        MachineBase::Anew(lock) => format!("machine output derived anew from {}", lock.git_ref),
        MachineBase::Raw(name) => format!("raw upstream {name}"),
        MachineBase::Wanted => "supposed to stem from the wanted upstream".to_owned(),
    }
}

fn equal(on_equal: &OnEqual) -> Option<String> {
    match on_equal {
        OnEqual::Never => None,
        OnEqual::NoteDigest(revision) => {
            Some(format!("if equal to {}: only note it", revision.key.name))
        }
        OnEqual::DeleteDraft(revision) => Some(format!(
            "if equal to {} and nobody else's: delete the draft",
            revision.key.name
        )),
    }
}

/// The whole plan as text, stable enough for goldens: no digests, no versions.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        writeln!(f, "steps:")?;
        self.rest(f)?;
        writeln!(f, "next: {}", self.then())
    }
}

/// The same for people: a heading without anything below it tells nothing.
struct Told<'a>(&'a Plan);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(plan) = self;
        let report = plan.for_people();
        write!(f, "{report}")?;
        if !plan.steps.is_empty() {
            writeln!(f, "steps:")?;
        }
        plan.rest(f)?;
        let next = then(plan.next, &report, &plan.status.conditions, false);
        writeln!(f, "{}", last(&next, plan.steps.len()))
    }
}

impl Plan {
    /// The report, and for whom a variant waits that itself has nothing to do.
    fn for_people(&self) -> Report {
        let mut report = self.report.clone();
        if report.state != "up to date" || !self.steps.is_empty() {
            return report;
        }
        let status = &self.status;
        let words = status.words(status.observed_generation);
        words.clone_into(&mut report.state);
        let missing = status.injection.iter().find(|n| n.reason != STALE);
        for target in &status.downstream_targets {
            let (waits, verb) = match target.lifecycle {
                Lifecycle::Draft => ("to be proposed", "propose"),
                Lifecycle::Proposed => ("for approval", "approve"),
                Lifecycle::Published | Lifecycle::DeletionProposed => continue,
            };
            let name = &target.name;
            let (said, hint) = match (target.gates, missing) {
                (0, _) => (
                    format!("'{name}' waits {waits}"),
                    format!("offshoot rpkg {verb} {name}"),
                ),
                (_, Some(note)) => (
                    format!("'{name}' cannot be approved: {} is not true", note.point),
                    "make what spec.injectors names, or name in it what is there".to_owned(),
                ),
                (gates, None) => (
                    format!(
                        "'{name}' cannot be approved: {} not true",
                        counted(gates, "gate is", "gates are")
                    ),
                    format!("offshoot why pkgrev/{name} says what they ask for"),
                ),
            };
            report.hint(said, hint);
        }
        report
    }

    /// Whether it waits until a person decides, so that it is known what comes of it until then: nothing.
    pub fn waits_for_a_person(&self) -> bool {
        let ready = self.status.condition(words::READY);
        let reason = ready.map_or("", |c| c.reason.as_str());
        [words::DELETION_PROPOSED, words::DIVERGED].contains(&reason)
    }

    /// Everything between the heading of the steps and the last line.
    fn rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "- {}", step.summary())?;
            for line in step.details() {
                writeln!(f, "    {line}")?;
            }
        }
        writeln!(f, "status:")?;
        for c in &self.status.conditions {
            writeln!(f, "- {}={} {}: {}", c.kind, c.status, c.reason, c.message)?;
        }
        for note in &self.status.injection {
            writeln!(f, "- {} {}: {}", note.point, note.reason, note.message)?;
        }
        for t in &self.status.downstream_targets {
            let lock = t.upstream_lock.as_ref().map_or("-", |l| l.git_ref.as_str());
            writeln!(f, "- target {} {} from {lock}", t.name, t.lifecycle)?;
        }
        Ok(())
    }

    fn then(&self) -> String {
        then(self.next, &self.report, &self.status.conditions, false)
    }
}

/// The plan as `offshoot why` prints it.
pub fn explain(plan: &Plan) -> String {
    Told(plan).to_string()
}
