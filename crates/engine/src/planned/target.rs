//! What comes of one variant.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Class, Files, ObjectKey, Revision, Standing, Status};
use package::changes::{self, ClassId, Inputs};
use plan::variant::{BaseRef, Observed, Plan, RevisionRef, Subject, VariantStep};

use super::{Fate, Leaving, PlannedClass, PlannedTarget, UpstreamChange, Verdict};
use crate::prepare::{self, Drafting, Metadata};
use crate::suppose::{NOTED, Noted, Supposed};
use crate::usecase::rendered;
use crate::{Error, Result, held, observe, opening};

/// How often a variant is decided on until a draft follows: what is adopted or taken back comes first.
const ROUNDS: usize = 8;

/// What comes of a variant.
pub(super) struct Planned {
    pub(super) target: PlannedTarget,
    pub(super) change: Option<(ClassId, PlannedClass)>,
    pub(super) leaving: Option<Leaving>,
}

/// Plans one variant; `None` if there is none.
///
/// # Errors
/// The process is on its way out.
pub(super) async fn plan(world: &Supposed, key: ObjectKey) -> Result<Option<Planned>> {
    NOTED
        .scope(Mutex::default(), async move {
            let planned = rounds(world, &key).await?;
            let noted = NOTED.with(|noted| {
                let noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.clone()
            });
            Ok(planned.map(|planned| with_hidden(with_foreign(planned, &noted), &noted)))
        })
        .await
}

/// What a function of others makes is not known before it runs, and may be otherwise the next time.
fn with_foreign(mut planned: Planned, noted: &Noted) -> Planned {
    if noted.foreign.is_empty() {
        return planned;
    }
    let names = joined(&noted.foreign);
    let target = &mut planned.target;
    target.tree = None;
    if target.verdict == Verdict::Failed {
        target.verdict = Verdict::Unknown;
        let why = format!("function {names} is not built in; --run-functions runs it for the plan");
        target.why = ("FunctionNotRun".to_owned(), why.clone());
        target.inexact = Some(why);
    } else {
        target.inexact = Some(format!("function {names}, which is not built in, was run"));
    }
    planned
}

/// What would be injected of an object that whoever plans may not read is not told: where the package holds something of
/// it already, that is what was planned with, and otherwise nothing is known.
fn with_hidden(mut planned: Planned, noted: &Noted) -> Planned {
    let target = &mut planned.target;
    if noted.hidden.is_empty() || target.verdict == Verdict::Leave {
        return planned;
    }
    let why = format!("you may not read {}", joined(&noted.hidden));
    target.tree = None;
    // Nothing is read of those, and nothing is known of whether they are there.
    target.absent.clear();
    if target.verdict == Verdict::Failed && target.why.0 == plan::variant::words::WRITER_UNKNOWN {
        target.verdict = Verdict::Unknown;
        target.why = ("MayNotRead".to_owned(), why.clone());
    }
    let more = target.inexact.take().map(|more| format!("; {more}"));
    target.inexact = Some(why + &more.unwrap_or_default());
    planned
}

fn joined(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}

async fn rounds(world: &Supposed, key: &ObjectKey) -> Result<Option<Planned>> {
    let mut leaving: Option<Leaving> = None;
    for _ in 0..ROUNDS {
        let observed = observe::variant(&world.engine, observe::Sink::dropped(), key).await;
        let observed = match observed {
            Ok(Some(observed)) => observed,
            Ok(None) => return Ok(None),
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => return Ok(Some(unseen(world, key, &error))),
        };
        let decided = plan::variant::decide(&observed);
        super::leave::note(&observed, &decided, &mut leaving);
        let target = PlannedTarget {
            verdict: Verdict::Unchanged,
            ..blank(world, &observed)
        };
        if observed.variant.meta().is_deleting() {
            let target = PlannedTarget {
                verdict: Verdict::Leave,
                ..target
            };
            return Ok(Some(done(target, leaving)));
        }
        if let Some(step) = decided.steps.iter().find(|s| is_draft(s)) {
            let mut planned = draft(world, &observed, step, target).await?;
            if let Some(rival) = Supposed::tied(&observed) {
                planned.target.doubt(&format!("packagevariant '{rival}' is to have the same package: whichever is made first has it"));
            }
            if let Some(mut goes) = leaving {
                let withdrawn = planned.leaving.take();
                let withdrawn = withdrawn.into_iter().flat_map(|w| w.revisions);
                goes.revisions.extend(withdrawn);
                planned.leaving = Some(goes);
            }
            return Ok(Some(planned));
        }
        if !carry_out(world, key, &decided) {
            return Ok(Some(done(stays(&observed, &decided, target), leaving)));
        }
    }
    let error = Error::conflict("it is decided anew again and again");
    Ok(Some(unseen(world, key, &error)))
}

fn done(target: PlannedTarget, leaving: Option<Leaving>) -> Planned {
    Planned {
        target,
        change: None,
        leaving,
    }
}

fn is_draft(step: &VariantStep) -> bool {
    matches!(
        step,
        VariantStep::CreateDraft(_) | VariantStep::UpdateDraft(_) | VariantStep::RenderDraft { .. }
    )
}

/// Puts into the world what changes no content; answers whether anything else may be decided then.
fn carry_out(world: &Supposed, key: &ObjectKey, decided: &Plan) -> bool {
    let mut more = false;
    for step in &decided.steps {
        let Some((seen, change)) = prepare::metadata(key, step) else {
            continue;
        };
        let known = world.engine.world(|w| w.revisions.get(&seen.key));
        if let Some(known) = known {
            let mut revision = (*known).clone();
            change(Metadata {
                lifecycle: &mut revision.lifecycle,
                meta: &mut revision.meta,
            });
            world.put_revision(revision);
            more = true;
        }
    }
    more
}

/// What nobody can look at.
fn unseen(world: &Supposed, key: &ObjectKey, error: &Error) -> Planned {
    let known = world.engine.world(|w| w.variant(key).cloned());
    let parsed = known.as_ref().and_then(|v| v.parsed.as_ref().ok());
    let target = PlannedTarget {
        variant: key.clone(),
        set: None,
        place: parsed.map(|v| {
            let place = &v.spec.downstream;
            (place.repo.clone(), place.package.clone())
        }),
        step: None,
        verdict: Verdict::Unknown,
        inexact: None,
        class: None,
        upstream: None,
        draft: None,
        tree: None,
        inputs: Inputs::default(),
        absent: Vec::new(),
        conflicts: Vec::new(),
        why: error.reason(),
    };
    done(target, None)
}

/// A target of which nothing is planned yet.
fn blank(world: &Supposed, o: &Observed) -> PlannedTarget {
    let key = o.variant.key();
    let set = o.variant.meta().controller();
    let set = set.filter(|c| c.kind == plan::variant::words::SET_KIND);
    let set = set.and_then(|c| model::ObjectName::parse(&c.name).ok());
    let place = match &o.variant {
        Subject::Valid(variant) => {
            let place = &variant.spec.downstream;
            Some((place.repo.clone(), place.package.clone()))
        }
        Subject::Invalid { .. } => None,
    };
    PlannedTarget {
        variant: key.clone(),
        set: set.map(|name| ObjectKey::new(key.namespace.clone(), name)),
        place,
        absent: o.absent.clone(),
        ..unseen(world, key, &Error::conflict("")).target
    }
}

/// A target for which no draft is made: up to date, waiting, or stuck.
fn stays(o: &Observed, decided: &Plan, mut target: PlannedTarget) -> PlannedTarget {
    target.why = (String::new(), String::new());
    let condition = |kind: &str, status: Status| {
        let mut all = decided.status.conditions.iter();
        all.find(|c| c.kind == kind && c.status == status)
    };
    if let Some(stalled) = condition("Stalled", Status::True) {
        target.verdict = Verdict::Failed;
        target.why = (stalled.reason.clone(), stalled.message.clone());
        return target;
    }
    let Some(ready) = condition("Ready", Status::False) else {
        return target;
    };
    target.why = (ready.reason.clone(), ready.message.clone());
    if decided.waits_for_a_person() {
        let hints = decided.report.notes.iter().filter_map(|n| n.hint.as_ref());
        for hint in hints {
            target.why.1.push_str(&format!("; {hint}"));
        }
    } else if o.unreadable.is_some() || decided.report.waits || passes(&decided.status) {
        target.verdict = Verdict::Unknown;
    }
    target
}

/// Whether what a variant waits for passes by itself, whichever of its repositories it is.
fn passes(status: &model::VariantStatus) -> bool {
    Standing::of(status, status.observed_generation) == Standing::Waiting
}

/// A draft's step: what it would make.
async fn draft(
    world: &Supposed,
    o: &Observed,
    step: &VariantStep,
    mut target: PlannedTarget,
) -> Result<Planned> {
    let made = match make(world, o, step).await {
        Ok(made) => made,
        Err(Error::Stopped) => return Err(Error::Stopped),
        Err(error) => {
            target.why = error.reason();
            // What passes by itself, a repository that is away as well: nobody knows what comes of it then.
            target.verdict = match error.retry_class() {
                Class::Unavailable => Verdict::Unknown,
                _ => Verdict::Failed,
            };
            return Ok(done(target, None));
        }
    };
    let (base, upstream) = match step {
        VariantStep::CreateDraft(step) => (step.base.as_ref(), Some(&step.upstream)),
        VariantStep::UpdateDraft(step) => (step.base.as_ref(), Some(&step.upstream)),
        _ => (None, None),
    };
    target.why = (String::new(), String::new());
    if let Some(upstream) = upstream {
        let unreal = world.is_unreal(&upstream.key);
        target.upstream = Some(upstream_change(o, base, upstream, unreal));
        target.inexact = unreal.then(|| {
            "its upstream is supposed from a directory, so that its commit does not exist yet"
                .to_owned()
        });
    }
    let Made { record, files } = match made {
        Content::Draft(made) => *made,
        Content::Published => return Ok(done(target, None)),
        Content::Withdrawn(draft, published) => return Ok(withdrawn(target, &draft, &published)),
    };
    target.verdict = verdict(&target, base, &record);
    target.draft = Some(record.key.name.clone());
    let blocks = |c: &&model::Conflict| c.blocks();
    target.conflicts = record.conflicts.iter().filter(blocks).cloned().collect();
    target.tree = target.inexact.is_none().then_some(record.tree);
    let change = class(world, &record, (base, upstream), files, &mut target).await?;
    Ok(Planned {
        target,
        change,
        leaving: None,
    })
}

fn verdict(target: &PlannedTarget, base: Option<&BaseRef>, record: &Revision) -> Verdict {
    if record.conflicts.iter().any(model::Conflict::blocks) {
        return Verdict::Conflict;
    }
    match (&target.upstream, base) {
        (Some(_), None) => Verdict::Create,
        (Some(change), Some(_)) => {
            let from = change.from.as_ref().and_then(|(_, commit)| *commit);
            match change.to.1 {
                Some(to) if from == Some(to) => Verdict::Edit,
                _ => Verdict::Upgrade,
            }
        }
        (None, _) => Verdict::Edit,
    }
}

/// A draft that is deleted, since what is wanted is published already (V20): no content changes, but what waits for people does.
fn withdrawn(mut target: PlannedTarget, draft: &Revision, published: &RevisionRef) -> Planned {
    let (name, stays) = (&draft.key.name, &published.key.name);
    let why = format!("draft {name} is deleted: what is wanted equals {stays}");
    target.verdict = Verdict::Edit;
    target.why = ("DraftSuperseded".to_owned(), why.clone());
    let leaving = Leaving {
        variant: target.variant.clone(),
        why,
        revisions: vec![Fate {
            name: name.clone(),
            fate: Fate::DELETED,
            tree: Some(draft.tree),
        }],
        branch: None,
    };
    done(target, Some(leaving))
}

/// What a step makes.
struct Made {
    record: Revision,
    files: Files,
}

/// What comes of a step on a draft.
enum Content {
    /// A draft.
    Draft(Box<Made>),
    /// Nothing: what is wanted is published, and no draft is open.
    Published,
    /// The open draft goes, since what is wanted is published.
    Withdrawn(Arc<Revision>, RevisionRef),
}

/// What a step on a draft would make.
async fn make(world: &Supposed, o: &Observed, step: &VariantStep) -> Result<Content> {
    let engine = &world.engine;
    let key = o.variant.key();
    match step {
        VariantStep::CreateDraft(step) => {
            let open = opening::open(engine, &step.key.namespace, &step.repository).await?;
            let uid = engine
                .ports()
                .ids
                .revision_uid(&step.key.namespace, &step.key.name);
            let drafting = Box::pin(prepare::create(engine, key, &open, uid, step)).await?;
            Ok(content(drafting))
        }
        VariantStep::UpdateDraft(step) => {
            let old = held::revision(engine, &step.draft.key).await?;
            let open = opening::open(engine, &old.key.namespace, &old.repository).await?;
            let uid = o.variant.meta().uid.as_ref();
            let drafting = prepare::update(engine, key, uid, (&open, &old), step);
            Ok(content(Box::pin(drafting).await?))
        }
        VariantStep::RenderDraft { revision, .. } => {
            let old = held::revision(engine, &revision.key).await?;
            let open = opening::open(engine, &old.key.namespace, &old.repository).await?;
            let by = prepare::service(engine, key);
            let (record, files) = Box::pin(rendered(engine, &by, &open, &old)).await?;
            Ok(Content::Draft(Box::new(Made { record, files })))
        }
        _ => Ok(Content::Published),
    }
}

/// What was prepared, as far as a plan tells of it.
fn content(drafting: Drafting<'_>) -> Content {
    match drafting {
        Drafting::Draft(draft) => {
            let files = draft.files;
            let record = draft.transaction.into_record();
            let made = record.map(|record| Box::new(Made { record, files }));
            made.map_or(Content::Published, Content::Draft)
        }
        Drafting::Equal(equal) => match equal.superseded {
            Some((draft, _)) => Content::Withdrawn(draft, equal.noted),
            None => Content::Published,
        },
    }
}

fn upstream_change(
    o: &Observed,
    base: Option<&BaseRef>,
    upstream: &Revision,
    unreal: bool,
) -> UpstreamChange {
    let published = base.and_then(|base| {
        let mut all = o.downstream.iter();
        all.find(|r| r.key == base.revision.key)
    });
    let lock = published.and_then(|p| p.upstream_lock.as_ref());
    let from = lock.map(|lock| {
        let name = lock.git_ref.rsplit('/').next().unwrap_or_default();
        (name.to_owned(), lock.commit)
    });
    let name = match upstream.revision.is_numbered() {
        true => format!("v{}", upstream.revision),
        false => upstream.workspace.to_string(),
    };
    let lock = upstream.self_lock.as_ref();
    let commit = lock.and_then(|lock| lock.commit).filter(|_| !unreal);
    UpstreamChange {
        repository: upstream.repository.clone(),
        package: upstream.package.clone(),
        from,
        to: (name, commit),
    }
}

/// The class of a change: from what is published to what the draft would hold.
async fn class(
    world: &Supposed,
    record: &Revision,
    (base, upstream): (Option<&BaseRef>, Option<&Arc<Revision>>),
    files: Files,
    target: &mut PlannedTarget,
) -> Result<Option<(ClassId, PlannedClass)>> {
    let Some(upstream) = upstream else {
        return Ok(None);
    };
    let engine = &world.engine;
    let published = match base {
        Some(base) => {
            let open = opening::open(engine, &record.key.namespace, &record.repository).await?;
            Some(open.snapshot(base.tree)?.files.clone())
        }
        None => None,
    };
    let from = changes::WantedUpstream {
        repository: upstream.repository.clone(),
        package: upstream.package.clone(),
        tree: upstream.tree,
    };
    let place = (
        record.package.clone(),
        record.repository.clone(),
        record.key.namespace.clone(),
    );
    let first = target.variant.clone();
    // The uid of the upstream's Repository: a server and a directory know it, and no plan tells it.
    let namespace = &upstream.key.namespace;
    let uid = engine.world(|w| {
        let repository = w.repository(namespace, &upstream.repository);
        repository.and_then(|r| r.meta.uid.clone())
    });
    let hash_key = changes::HashKey::new(uid.map(|uid| uid.to_string()).unwrap_or_default());
    let (cpu, recurring) = (
        engine.inner.options.cpu.clone(),
        Arc::clone(&world.recurring),
    );
    let (id, class, inputs) = cpu
        .run(move || {
            let (package, repository, namespace) = &place;
            let names = changes::TargetNames {
                package,
                repository,
                namespace,
                variant: Some(&first.name),
            };
            let inputs = changes::inputs_of(names, published.as_ref(), &files);
            let before = published.unwrap_or_default();
            let found = changes::changes_like(&before, &files, &inputs, &recurring);
            let found = found.keyed(hash_key);
            let class = PlannedClass {
                first,
                before: changes::differing(&before, &files),
                after: changes::differing(&files, &before),
                changes: found,
            };
            (class.changes.id(&from), class, inputs)
        })
        .await?;
    target.class = Some(id);
    target.inputs = inputs;
    Ok(Some((id, class)))
}
