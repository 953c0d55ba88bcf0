//! The decision, as a numbered walk: each step either stops with a reason or leads on (R21).

use std::sync::Arc;

use model::{Condition, Downstream, Status, Uid, UpstreamVersion, Variant};

use super::holdings::Holdings;
use super::inputs::Inputs;
use super::status::not_ready;
use super::stop::{Stop, again};
use super::{
    Observed, Plan, Subject, UpstreamResolution, VariantStep, Writer, adopt, drafts, leave, lost,
    retry, status, validate, words,
};
use crate::{Next, Report};

/// Decides what to do about one variant.
///
/// 1. A variant that is being deleted, or whose namespace is, leaves (R103–R107, V10).
/// 2. What is wrong with its spec stops everything, and so does an upstream that it makes itself (R16, V24).
/// 3. Upstream and repositories must be there, and what is downstream readable (R113, R8, V6).
/// 4. The older of two variants for one downstream works; of one second, the one that has a revision there (V15).
/// 5. What another variant that is being deleted still holds there is waited for.
/// 6. A downstream that a person deleted stays away until told otherwise (V10).
/// 7. What exists already is adopted, ignored, or in the way (V9, V15). Where all its tags were taken away in git, nothing is
///    made before one is back (V20).
/// 8. Drafts are made and updated where inputs changed (V17–V22); a proposed revision waits for its approver (V3,
///    [`drafts`]).
/// 9. What a retargeting left behind goes last (R31).
///
/// Whatever comes of it, its finalizer is put on before all other steps (R106).
///
/// A suspended variant is told what would happen.
pub fn decide(o: &Observed) -> Plan {
    if o.is_leaving() {
        return leave::decide(o);
    }
    let mut plan = match &o.variant {
        Subject::Invalid { problems, .. } => {
            let mut plan = Stop::invalid(problems).plan(o);
            leave::warn(o, &mut plan.report);
            plan
        }
        Subject::Valid(variant) => {
            let plan = work(o, variant).unwrap_or_else(|stop| stop.plan(o));
            if o.is_suspended() {
                suspended(o, plan)
            } else {
                plan
            }
        }
    };
    if !o
        .variant
        .meta()
        .finalizers
        .iter()
        .any(|f| f == words::FINALIZER)
    {
        plan.steps.insert(
            0,
            VariantStep::AddFinalizer {
                finalizer: words::FINALIZER.to_owned(),
                resource_version: o.variant.meta().resource_version.clone(),
            },
        );
    }
    plan
}

fn work(o: &Observed, variant: &Variant) -> Result<Plan, Box<Stop>> {
    let problems = validate::validate(&variant.spec);
    if !problems.is_empty() {
        return Err(Stop::invalid(&problems));
    }
    let uid = variant
        .meta
        .uid
        .clone()
        .ok_or_else(|| Stop::waiting("NotStored", "the variant has no uid yet"))?;
    cycle(o, variant)?;
    let upstream = upstream(o, variant)?;
    let repository = downstream_repository(o, variant)?;
    readable(o)?;
    let holdings = Holdings::of(o, variant, &uid);
    let contested = rivals(o, variant, &uid, &holdings)?;
    leaving(o, &holdings)?;
    deleted(o, variant)?;
    let adoption = adopt::adopt(o, variant, &uid, &holdings)?;
    if !adoption.steps.is_empty() {
        return Ok(again(o, "adopting", adoption.steps));
    }
    let mut extra = contested;
    extra.extend(adoption.conditions);
    lost::lost_tag(o, variant, &extra)?;
    extra.extend(writer(o, variant)?);
    let inputs = Inputs::of(o, variant, &uid, &upstream, repository, &holdings);
    let mut plan = drafts::plan(o, &inputs, &holdings, extra)?;
    let made = plan
        .steps
        .iter()
        .any(|s| matches!(s, VariantStep::CreateDraft(_)));
    if holdings.established() && !made {
        plan.steps
            .extend(leave::left_behind(o, variant, &uid, &mut plan.report));
    }
    Ok(plan)
}

fn cycle(o: &Observed, variant: &Variant) -> Result<(), Box<Stop>> {
    match validate::cycle(&variant.spec, &o.feeders) {
        None => Ok(()),
        Some(through) => Err(Stop::stalled(
            "UpstreamCycle",
            format!(
                "the upstream package '{}' in repo '{}' is made from this variant's own downstream, through {through}",
                variant.spec.upstream.package, variant.spec.upstream.repo
            ),
        )
        .hint("point one of these variants at another upstream package")),
    }
}

/// The upstream revision to follow (R113, V24).
fn upstream(o: &Observed, variant: &Variant) -> Result<Arc<model::Revision>, Box<Stop>> {
    let spec = &variant.spec.upstream;
    let named = format!(
        "'{}' in repo '{}'",
        super::upstream::display(spec),
        spec.repo
    );
    match &o.upstream {
        UpstreamResolution::Found(revision) => Ok(Arc::clone(revision)),
        UpstreamResolution::NotPublished(revision) => Err(Stop::stalled(
            "UpstreamNotPublished",
            format!(
                "upstream package revision {named} is {}, not published",
                revision.lifecycle
            ),
        )
        .hint("approve it, or set spec.upstream.allowUnpublished")),
        UpstreamResolution::NotFound { others } => {
            let message = super::upstream::not_found(spec, others);
            match o.repositories.get(&spec.repo) {
                None => Err(Stop::stalled(
                    "UpstreamNotFound",
                    format!("{message}: the repository is not registered"),
                )
                .hint(format!(
                    "register a Repository '{}' in this namespace",
                    spec.repo
                ))),
                Some(repository) => match &repository.ready {
                    Ok(()) => Err(no_such_revision(spec, repository, message)),
                    Err(why) => Err(Stop::waiting(
                        "RepositoryNotReady",
                        format!("{message}: the repository is not ready: {why}"),
                    )),
                },
            }
        }
    }
}

/// A workspace of the branch's name is asked for by people who know Porch: there, it names the
/// head of the branch, and can never be cloned (A2).
fn no_such_revision(
    spec: &model::Upstream,
    repository: &super::RepositorySummary,
    message: String,
) -> Box<Stop> {
    let stop = Stop::stalled("UpstreamNotFound", message);
    match &spec.version {
        UpstreamVersion::Workspace(name) if name.as_str() == repository.branch => {
            stop.hint(format!(
                "the head of the branch is spec.upstream.revision: {name}; leave both out for the latest published revision"
            ))
        }
        _ => stop,
    }
}

/// The downstream repository must be registered and writable (R8).
fn downstream_repository<'a>(
    o: &'a Observed,
    variant: &Variant,
) -> Result<&'a super::RepositorySummary, Box<Stop>> {
    let name = &variant.spec.downstream.repo;
    let repository = o.repositories.get(name).ok_or_else(|| {
        Stop::stalled(
            "DownstreamRepositoryNotFound",
            format!("downstream repository '{name}' is not registered"),
        )
        .hint(format!("register a Repository '{name}' in this namespace"))
    })?;
    if let Err(why) = &repository.ready {
        let message = format!("downstream repository '{name}' is not ready: {why}");
        return Err(Stop::waiting("RepositoryNotReady", message));
    }
    if let Err(why) = &repository.writable {
        let message = format!("downstream repository '{name}' cannot be written to: {why}");
        return Err(Stop::stalled("DownstreamRepositoryNotWritable", message));
    }
    Ok(repository)
}

/// Contents that cannot be read stop everything (V6); what only somebody can mend is said to be stalled, and
/// the rest is tried again as a failed derivation is (V16).
fn readable(o: &Observed) -> Result<(), Box<Stop>> {
    let Some((reason, failure)) = &o.unreadable else {
        return Ok(());
    };
    let next = retry(failure);
    let mut stop = match next {
        Next::Rest => Stop::stalled(reason, &failure.message),
        _ => Stop::waiting(reason, &failure.message),
    };
    stop.next = next;
    Err(stop)
}

/// Two variants for one downstream: the older works and says so, the younger stalls; of two made in one second,
/// the one that owns a revision there works, else the one with the smaller uid (V15).
fn rivals(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    holdings: &Holdings,
) -> Result<Vec<Condition>, Box<Stop>> {
    let Downstream { repo, package } = &variant.spec.downstream;
    let me: super::Rank<'_> = (&variant.meta.created, !holdings.owns, uid);
    let mut claiming: Vec<_> = o
        .rivals
        .iter()
        .filter(|r| !r.deleting && r.uid != *uid)
        .collect();
    claiming.sort_by(|a, b| a.rank().cmp(&b.rank()));
    match claiming.first() {
        None => Ok(Vec::new()),
        Some(first) if first.rank() < me => {
            let key = &first.key;
            let by = match first.created == variant.meta.created {
                false => format!("the older packagevariant '{key}'"),
                true if first.holds => {
                    format!("packagevariant '{key}' of the same second, which has a revision there")
                }
                true => format!("packagevariant '{key}' of the same second"),
            };
            Err(Stop::stalled(
                words::CLAIMED,
                format!(
                    "downstream package '{package}' in repo '{repo}' is already claimed by {by}"
                ),
            )
            .hint("delete one of the two variants, or choose another downstream"))
        }
        Some(_) => {
            let names: Vec<String> = claiming.iter().map(|r| r.key.to_string()).collect();
            Ok(vec![Condition::new(
                words::CONTESTED,
                Status::True,
                "OlderWorks",
                format!("also claimed by: {}", names.join(", ")),
            )])
        }
    }
}

/// A variant that is being deleted claims nothing, but an open revision there is its own until it has left: a second one made
/// beside it would be taken over together with it.
fn leaving(o: &Observed, holdings: &Holdings) -> Result<(), Box<Stop>> {
    let mut going = o.rivals.iter().filter(|r| r.deleting);
    let found = going.find_map(|rival| {
        let mut foreign = holdings.foreign_open.iter();
        let left = foreign.find(|r| r.meta.is_owned_by(&rival.uid))?;
        Some((rival, left))
    });
    match found.filter(|_| !holdings.owns) {
        None => Ok(()),
        Some((rival, left)) => Err(Stop::waiting(
            "DownstreamClaimed",
            format!(
                "package revision '{}' belongs to packagevariant '{}', which is being deleted",
                left.key.name, rival.key
            ),
        )),
    }
}

/// Without a known writer nothing is read: what was injected stays, and where that is not all there is to inject, no
/// draft is made or changed (X6).
fn writer(o: &Observed, variant: &Variant) -> Result<Option<Condition>, Box<Stop>> {
    let Writer::Unknown { lacking } = o.writer else {
        return Ok(None);
    };
    let set = variant
        .meta
        .controller()
        .filter(|c| c.kind == "PackageVariantSet");
    let set = set.and_then(|set| model::ObjectName::parse(&set.name).ok());
    let (short, key) = match set {
        Some(set) => (
            "pvset",
            model::ObjectKey::new(variant.key.namespace.clone(), set),
        ),
        None => ("pvar", variant.key.clone()),
    };
    let message = format!(
        "objects to inject are read for nobody, and what was injected stays: {}",
        words::writer_unknown(short, &key)
    );
    let says = |message: &str| {
        Condition::new(
            words::WRITER_UNKNOWN,
            Status::True,
            "NoRecordedWriter",
            message,
        )
    };
    if !lacking {
        return Ok(Some(says(&message)));
    }
    let mut stop = Stop::stalled(words::WRITER_UNKNOWN, message.as_str());
    stop.extra = vec![says(&message)];
    Err(stop)
}

/// A published downstream whose deletion a person proposed and somebody approved (V10).
fn deleted(o: &Observed, variant: &Variant) -> Result<(), Box<Stop>> {
    match status::deleted_downstream(o, variant) {
        None => Ok(()),
        Some(name) => Err(Stop::stalled(
            "DownstreamDeleted",
            format!("package revision '{name}' was proposed for deletion by a person and deleted"),
        )
        .hint(format!(
            "annotate the variant with {}={name} to make the package again, or delete the variant",
            words::RECREATE
        ))),
    }
}

/// Leaves everything as it is and says what would happen otherwise.
fn suspended(o: &Observed, mut plan: Plan) -> Plan {
    let would: Vec<String> = plan.steps.iter().map(VariantStep::summary).collect();
    let what = match o.set_suspended {
        true => "suspended with its set",
        false => "suspended",
    };
    if would.is_empty() {
        plan.report.note(what);
        return plan;
    }
    let mut report = Report::of("suspended");
    report.notes = plan.report.notes;
    for step in &would {
        report.note(format!("would: {step}"));
    }
    let ready = not_ready("Suspended", &format!("{what}; would {}", would.join(", ")));
    Plan {
        steps: Vec::new(),
        report,
        status: status::of(
            o,
            status::valid(),
            ready,
            Vec::new(),
            status::current_targets(o),
        ),
        next: Next::Rest,
    }
}
