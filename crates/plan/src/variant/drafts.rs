//! Drafts: made where a published state is behind its inputs, brought in line where one is open
//! (V18), and left alone where one waits for approval.

mod proposed;

use std::sync::Arc;

use model::{
    Condition, Conflict, Digest, Lifecycle, Machine, NOT_TAGGED, ObjectKey, ObjectName, Revision,
    Status, Task, WorkspaceName,
};

use super::holdings::{Holdings, workspace_number};
use super::inputs::Inputs;
use super::published::{base_ref, deletion_proposed, is_put_back, no_lock, withdrawn};
use super::status::not_ready;
use super::stop::{Stop, again};
use super::{
    BaseRef, CreateDraft, MachineBase, Observed, OnEqual, Plan, RevisionRef, UpdateDraft,
    VariantStep, origin, retry, status, words,
};
use crate::{Next, Report, digest};

/// Why a draft is behind that was made of what was published before.
const BASE_CHANGED: &str = "the published base changed";

/// Plans the drafts, given that everything else is in order.
pub(super) fn plan(
    o: &Observed,
    inputs: &Inputs<'_>,
    holdings: &Holdings,
    extra: Vec<Condition>,
) -> Result<Plan, Box<Stop>> {
    if let Some(plan) = withdrawn(o, holdings) {
        return Ok(plan);
    }
    if let Some(base) = &holdings.base
        && base.revision.lifecycle == Lifecycle::DeletionProposed
    {
        return deletion_proposed(base);
    }
    let base = match &holdings.base {
        Some(choice) => Some(base_ref(o, inputs.variant, choice, holdings)?),
        None => None,
    };
    let mut work = Work {
        o,
        inputs,
        holdings,
        base,
        steps: Vec::new(),
        waiting: None,
        held_back: false,
        report: Report::of("up to date"),
    };
    if holdings.open.is_empty() {
        work.published()?;
    } else {
        for draft in &holdings.open {
            work.open(draft)?;
        }
    }
    Ok(work.finish(extra))
}

/// A plan of drafts while it grows.
struct Work<'a> {
    o: &'a Observed,
    inputs: &'a Inputs<'a>,
    holdings: &'a Holdings,
    base: Option<BaseRef>,
    steps: Vec<VariantStep>,
    waiting: Option<Condition>,
    /// Whether it waits because its input failed before: only then does time alone change anything.
    held_back: bool,
    report: Report,
}

impl Work<'_> {
    /// No draft is open: is the published state behind its inputs?
    fn published(&mut self) -> Result<(), Box<Stop>> {
        let Some(base) = self.base.clone() else {
            "no downstream".clone_into(&mut self.report.state);
            self.report.note("there is no downstream package: clone it");
            let upstream = self.inputs.upstream.key.name.clone();
            return self.create(Task::Clone { upstream }, None, OnEqual::Never);
        };
        let Some(choice) = &self.holdings.base else {
            return Ok(());
        };
        let known = match &base.machine {
            MachineBase::Known(machine) => Some(machine.digest.clone()),
            _ => None,
        };
        newer_format(known.as_ref())?;
        let noted = choice.revision.noted_digest.as_deref();
        let today = self.inputs.digest.as_str();
        let again = self.wanted_back(&choice.revision);
        let made_today = known.as_ref().is_some_and(|d| d.as_str() == today);
        let is_today = (made_today && !is_put_back(&choice.revision, self.inputs.upstream))
            || noted == Some(today);
        if is_today && !again {
            let name = &choice.revision.key.name;
            if let Some(head) = self.holdings.untagged() {
                "tag to put back".clone_into(&mut self.report.state);
                self.report.hint(
                    format!(
                        "the branch has today's inputs, and no tag publishes that; the latest tag is of '{name}'"
                    ),
                    tag_again(head),
                );
            } else {
                self.report.note(format!("'{name}' has today's inputs"));
            }
            return Ok(());
        }
        let task = self.task(&choice.revision);
        let on_equal = if again {
            OnEqual::Never
        } else {
            OnEqual::NoteDigest(base.revision.clone())
        };
        self.create(task, Some(base), on_equal)
    }

    /// Did a person have the latest revision deleted and now wants it back (V10)? What it held still stands on the
    /// branch: a draft of that is no draft without a difference. An annotation that was answered asks for nothing.
    fn wanted_back(&self, published: &Revision) -> bool {
        let place = &self.inputs.variant.spec.downstream;
        let next = next_workspace(&self.o.downstream).ok();
        let next = next.map(|ws| model::compose_name(&place.repo, &place.package, &ws));
        let asked = self.inputs.variant.meta.annotations.get(words::RECREATE);
        let head = self.holdings.head.as_ref();
        asked.is_some() && asked == next.as_ref() && head.is_some_and(|h| h.tree != published.tree)
    }

    /// Upgrade if the lock is not the wanted upstream's, else edit (R22, R24, R25, V1).
    fn task(&mut self, published: &Revision) -> Task {
        let new = self.inputs.upstream;
        if has_lock_of(published, new) {
            "mutations changed".clone_into(&mut self.report.state);
            self.report.note(format!(
                "'{}' has the wanted upstream, but spec or injected objects changed",
                published.key.name
            ));
            return Task::Edit {
                source: published.key.name.clone(),
            };
        }
        "upstream changed".clone_into(&mut self.report.state);
        self.report.note(format!(
            "'{}' stems from {}, wanted is '{}'",
            published.key.name,
            published
                .upstream_lock
                .as_ref()
                .map_or("an unknown upstream", |l| l.git_ref.as_str()),
            new.key.name
        ));
        let old = old_upstream(published, &self.o.downstream, 0);
        Task::Upgrade {
            old_upstream: old.unwrap_or_else(|| new.key.name.clone()),
            new_upstream: new.key.name.clone(),
            local: published.key.name.clone(),
            strategy: self.inputs.variant.spec.strategy,
        }
    }

    fn create(
        &mut self,
        task: Task,
        base: Option<BaseRef>,
        on_equal: OnEqual,
    ) -> Result<(), Box<Stop>> {
        if self.failed_before(&self.inputs.full) {
            return Ok(());
        }
        let downstream = &self.inputs.variant.spec.downstream;
        let workspace = next_workspace(&self.o.downstream)?;
        let name = model::compose_name(&downstream.repo, &downstream.package, &workspace);
        let name = ObjectName::parse(&name).map_err(|e| {
            Stop::stalled(
                "NameNotValid",
                format!("the draft would be called {name:?}: {e}"),
            )
        })?;
        let head = self.holdings.head.as_ref().map(|head| head.tree);
        let directory = head.or_else(|| base.as_ref().map(|b| b.tree));
        self.steps
            .push(VariantStep::CreateDraft(Box::new(CreateDraft {
                key: ObjectKey::new(self.inputs.variant.key.namespace.clone(), name),
                repository: downstream.repo.clone(),
                package: downstream.package.clone(),
                workspace,
                task,
                upstream: Arc::clone(self.inputs.upstream),
                base,
                directory,
                recipe: self.inputs.recipe.clone(),
                digest: self.inputs.digest.clone(),
                full_digest: self.inputs.full.clone(),
                owner: words::owner(&self.inputs.variant.key, self.inputs.uid),
                labels: origin::labels(self.inputs.variant),
                annotations: self.inputs.variant.spec.annotations.clone(),
                on_equal,
            })));
        Ok(())
    }

    /// One open revision of ours: in line, to be brought in line, or waiting for an approver.
    fn open(&mut self, draft: &Arc<Revision>) -> Result<(), Box<Stop>> {
        let known = draft.machine.as_ref().map(|m| &m.full_digest);
        newer_format(known)?;
        let noted = draft.noted_digest.as_deref();
        let is_today = match known {
            Some(digest) => *digest == self.inputs.full,
            None => noted == Some(self.inputs.full.as_str()),
        };
        let name = &draft.key.name;
        if is_today {
            self.report
                .note(format!("{} '{name}' has today's inputs", draft.lifecycle));
            self.gates_of_proposed(draft);
            self.render(draft);
            return Ok(());
        }
        let why = self.why(draft.machine.as_ref());
        if draft.lifecycle == Lifecycle::Proposed {
            self.proposed(draft, &why);
            return Ok(());
        }
        let draft_base = match (&draft.machine, &draft.upstream_lock) {
            (Some(machine), _) => MachineBase::Known(machine.clone()),
            (None, Some(lock)) => MachineBase::Anew(lock.clone()),
            (None, None)
                if self
                    .inputs
                    .variant
                    .meta
                    .annotations
                    .contains_key(words::RELOCK) =>
            {
                MachineBase::Wanted
            }
            (None, None) => {
                let stop = no_lock(name);
                self.report.notes.push(stop.note());
                self.waiting = Some(stop.ready);
                return Ok(());
            }
        };
        "draft is behind".clone_into(&mut self.report.state);
        self.report
            .note(format!("Draft '{name}' is behind: {}", why.join(", ")));
        if self.failed_before(&self.inputs.full) {
            return Ok(());
        }
        self.steps
            .push(VariantStep::UpdateDraft(Box::new(UpdateDraft {
                draft: RevisionRef::of(draft),
                workspace: draft.workspace.clone(),
                machine: draft.machine.clone(),
                draft_base,
                upstream: Arc::clone(self.inputs.upstream),
                on_equal: self.on_equal(draft),
                base: self.base.clone(),
                recipe: self.inputs.recipe.clone(),
                digest: self.inputs.digest.clone(),
                full_digest: self.inputs.full.clone(),
                why,
            })));
        Ok(())
    }

    /// What came from another server stays as that server left it for as long as we would make the same of it (A5).
    fn on_equal(&self, draft: &Revision) -> OnEqual {
        if is_inherited(draft) {
            return OnEqual::NoteDigest(RevisionRef::of(draft));
        }
        self.base.as_ref().map_or(OnEqual::Never, |base| {
            OnEqual::DeleteDraft(base.revision.clone())
        })
    }

    /// What a person pushed without rendering is rendered at once (V14), and the gate of conflicts opens where an edit
    /// that was pushed answered the last of them (V4a).
    fn render(&mut self, draft: &Revision) {
        let gate = |kind| draft.condition(kind).map(|c| c.status);
        let answered = gate(words::CONFLICTS).is_some_and(|status| status != Status::True)
            && !draft.conflicts.iter().any(Conflict::blocks);
        let unrendered = gate(words::RENDERED) == Some(Status::Unknown);
        if draft.lifecycle != Lifecycle::Draft || !(unrendered || answered) {
            return;
        }
        let name = &draft.key.name;
        let (state, what) = if unrendered {
            ("draft is not rendered", "was pushed without being rendered")
        } else {
            (
                "conflicts are decided",
                "was pushed with an answer to its conflicts",
            )
        };
        state.clone_into(&mut self.report.state);
        self.report.note(format!("Draft '{name}' {what}"));
        let digest = digest::render(&self.inputs.full, draft.commit);
        if self.failed_before(&digest) {
            return;
        }
        self.steps.push(VariantStep::RenderDraft {
            revision: RevisionRef::of(draft),
            digest,
        });
    }

    /// Which of the inputs changed since the machine's newest commit.
    fn why(&self, machine: Option<&Machine>) -> Vec<String> {
        let Some(machine) = machine else {
            return vec!["it was made by somebody else".to_owned()];
        };
        let mut why = Vec::new();
        if machine.digest != self.inputs.digest {
            why.push("upstream, spec or injected objects changed".to_owned());
        }
        if machine.base_tree != self.base.as_ref().map(|b| b.tree) {
            why.push(BASE_CHANGED.to_owned());
        }
        if why.is_empty() {
            why.push("merge policies changed".to_owned());
        }
        why
    }

    /// The same input failed before: it is not tried again until it is time (V16).
    fn failed_before(&mut self, digest: &Digest) -> bool {
        let Some(failure) = &self.o.failure else {
            return false;
        };
        let request = self.inputs.variant.meta.annotations.get(words::RECONCILE);
        let asked = request.is_some() && request != self.o.status.handled.as_ref();
        if failure.digest != *digest || failure.due || asked {
            return false;
        }
        let before = format!(
            "the same input failed before ({}): {}",
            failure.reason, failure.message
        );
        match retry(failure) {
            Next::Rest => self.report.hint(
                before,
                format!(
                    "mend what it names; to try the same again, annotate the variant with {}=<something new>",
                    words::RECONCILE
                ),
            ),
            _ => self.report.note(before),
        }
        self.waiting = Some(not_ready(&failure.reason, &failure.message));
        self.held_back = true;
        true
    }

    fn finish(mut self, mut extra: Vec<Condition>) -> Plan {
        if self.holdings.base.as_ref().is_some_and(|b| b.from_branch) {
            extra.push(branch_changed(self.holdings));
        }
        extra.extend(self.off_branch());
        let reverting = self
            .steps
            .iter()
            .any(|s| matches!(s, VariantStep::RevertToDraft { .. }));
        if reverting {
            return again(self.o, "taking back a proposal", self.steps);
        }
        if self.waiting.is_none()
            && let Some(trouble) = status::trouble(&self.holdings.open)
        {
            if self.steps.is_empty() {
                trouble.state.clone_into(&mut self.report.state);
            }
            self.report.hint(trouble.message, trouble.hint);
        }
        let targets = status::targets(self.o, self.holdings, &self.steps);
        let failed = self.o.failure.as_ref().filter(|_| self.held_back);
        let ready = self
            .waiting
            .unwrap_or_else(|| status::ready(&self.holdings.open));
        let mut status = status::of(self.o, status::valid(), ready, extra, targets);
        status.upstream = Some(self.inputs.upstream.key.name.clone());
        Plan {
            next: failed.map_or(Next::Rest, retry),
            steps: self.steps,
            report: self.report,
            status,
        }
    }
}

impl Work<'_> {
    /// What is told early of a branch that holds something else in the package's place: nothing that is drafted can be
    /// approved until somebody puts back what was published.
    fn off_branch(&mut self) -> Option<Condition> {
        let (off, base) = (self.o.off_branch.as_ref()?, self.holdings.base.as_ref()?);
        let place = &self.inputs.variant.spec.downstream;
        let branch = self.o.repositories.get(&place.repo)?.branch.as_str();
        let message = format!(
            "BranchDiverged: {}; no draft of it can be approved",
            off.what(&place.package, branch)
        );
        let hint = off.way_out(&base.revision);
        let said = format!("{message}; {hint}");
        self.report.hint(message, hint);
        Some(Condition::new(
            words::BRANCH_CHANGED,
            Status::True,
            off.reason(),
            said,
        ))
    }
}

/// How the branch differs from what is published: somebody worked there, or took the tag away that published it.
fn branch_changed(holdings: &Holdings) -> Condition {
    let (reason, message) = match holdings.untagged() {
        None => (
            "ChangedSincePublished",
            "the package was changed on the branch since it was published; drafts start from the branch".to_owned(),
        ),
        Some(head) => (
            NOT_TAGGED,
            format!(
                "the branch holds what was approved last, and no tag publishes it any more; drafts start from the branch; {}",
                tag_again(head)
            ),
        ),
    };
    Condition::new(words::BRANCH_CHANGED, Status::True, reason, &message)
}

/// What a person does about an approved state without a tag.
fn tag_again(head: &Revision) -> String {
    format!(
        "to publish it again, put its tag (TagDeleted of the Repository names it) on commit {} in git",
        head.commit
    )
}

/// Whether a revision of ours came with its owner from another server: nobody adopted it, and no machine of ours made it.
fn is_inherited(revision: &Revision) -> bool {
    let annotations = &revision.meta.annotations;
    revision.machine.is_none() && !annotations.contains_key(words::ADOPTED_BY)
}

/// Whether a revision's lock is the upstream's own.
fn has_lock_of(revision: &Revision, upstream: &Revision) -> bool {
    match (&revision.upstream_lock, &upstream.self_lock) {
        (Some(have), Some(want)) => have.same_content(want),
        _ => false,
    }
}

/// A digest of a format that we do not know was written by a newer one of us (X7).
fn newer_format(digest: Option<&Digest>) -> Result<(), Box<Stop>> {
    match digest {
        Some(d) if d.format() > digest::FORMAT => Err(Stop::stalled(
            "NewerFormat",
            format!(
                "the downstream was written by a newer version (format {}, known is {})",
                d.format(),
                digest::FORMAT
            ),
        )
        .hint("run the newer version")),
        _ => Ok(()),
    }
}

/// The next free `packagevariant-N` of the package: beyond every number in use (R50).
fn next_workspace(revisions: &[Arc<Revision>]) -> Result<WorkspaceName, Box<Stop>> {
    let highest = revisions.iter().filter_map(|r| workspace_number(r)).max();
    let number = highest.unwrap_or(0).saturating_add(1);
    let name = format!("{}{number}", words::WORKSPACE_PREFIX);
    WorkspaceName::parse(&name)
        .map_err(|e| Stop::stalled("NameNotValid", format!("no workspace can follow: {e}")))
}

/// The registered revision that a published one was cloned from or upgraded to last, through the
/// revisions that were copied from one another.
fn old_upstream(revision: &Revision, all: &[Arc<Revision>], depth: usize) -> Option<ObjectName> {
    match revision.tasks.first()? {
        Task::Clone { upstream } => Some(upstream.clone()),
        Task::Upgrade { new_upstream, .. } => Some(new_upstream.clone()),
        Task::Edit { source } if depth < all.len() => {
            let source = all.iter().find(|r| r.key.name == *source)?;
            old_upstream(source, all, depth + 1)
        }
        _ => None,
    }
}
