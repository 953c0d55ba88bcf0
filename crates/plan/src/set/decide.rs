//! The decision about a set, as a numbered walk (variant-semantics.md §2.1).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectName, OnError, Revision, TargetSelection, Uid, VariantSet};

use super::diff::{Desired, Diff, diff};
use super::observed::{Existing, Observed, Subject};
use super::render::Renderer;
use super::status::{self, Failure};
use super::unroll::{Origin, Unrolled, unroll};
use super::{Compiled, Plan, Step, guard};
use crate::variant::Resolution;
use crate::{Next, Report};

/// The most targets of one set.
pub const MAX_TARGETS: usize = 50_000;

/// Decides what to do about one set. It runs expressions: call it on a thread with a large stack.
///
/// 1. A set that is being deleted makes nothing; its variants follow by garbage collection.
/// 2. What is wrong with it, or with its templates, stops everything (§2.2, S4).
/// 3. Its upstream must be there (§2.1.4).
/// 4. Targets are unrolled and rendered, all before anything is written (S2).
/// 5. What shall be is compared with what is (S1, S8).
/// 6. The shrink fuse judges the deletions (S3).
pub fn decide(o: &Observed) -> Plan {
    if o.set.meta().is_deleting() {
        return still(o, "deleting");
    }
    match &o.set {
        Subject::Invalid { problems, .. } => {
            status::stop(o, "ValidationError", &model::join_problems(problems))
        }
        Subject::Valid { set, templates } => match templates.as_ref() {
            Err(problems) => status::stop(o, "TemplateError", &model::join_problems(problems)),
            Ok(compiled) => work(o, set, compiled),
        },
    }
}

fn still(o: &Observed, state: &str) -> Plan {
    Plan {
        steps: Vec::new(),
        report: Report::of(state),
        status: o.status.clone(),
        next: Next::Rest,
    }
}

fn work(o: &Observed, set: &VariantSet, compiled: &Compiled) -> Plan {
    let Some(uid) = &set.meta.uid else {
        return still(o, "not stored yet");
    };
    if let Some(problem) = secrets(set) {
        return status::stop(o, "ValidationError", &problem);
    }
    let upstream = match upstream(o, set) {
        Ok(upstream) => upstream,
        Err((reason, message)) => return status::stop(o, reason, &message),
    };
    let unrolled = unroll(o, set);
    if unrolled.entries.len() > MAX_TARGETS {
        let message = format!(
            "the targets come to {} package variants, more than {MAX_TARGETS}",
            unrolled.entries.len()
        );
        return status::stop(o, "TooManyTargets", &message);
    }
    let mut desired = render(o, set, compiled, &upstream, &unrolled);
    let difference = diff(o, set, uid, &mut desired);
    conclude(o, set, uid, &unrolled, desired, difference)
}

/// Secrets are never selectable (S4).
fn secrets(set: &VariantSet) -> Option<String> {
    set.spec
        .targets
        .iter()
        .enumerate()
        .find_map(|(i, target)| match &target.selection {
            TargetSelection::ObjectSelector { selector, .. }
                if selector.api_version == "v1" && selector.kind == "Secret" =>
            {
                Some(format!(
                    "spec.targets[{i}].objectSelector: Secrets cannot be selected"
                ))
            }
            _ => None,
        })
}

fn upstream(o: &Observed, set: &VariantSet) -> Result<Arc<Revision>, (&'static str, String)> {
    let spec = &set.spec.upstream;
    let named = format!(
        "'{}' in repo '{}'",
        crate::variant::display_upstream(spec),
        spec.repo
    );
    match &o.upstream {
        Resolution::Found(revision) => Ok(Arc::clone(revision)),
        Resolution::NotFound => Err((
            "UpstreamNotFound",
            format!("could not find upstream package revision {named}"),
        )),
        Resolution::NotPublished(revision) => Err((
            "UpstreamNotPublished",
            format!(
                "upstream package revision {named} is {}, not published",
                revision.lifecycle
            ),
        )),
    }
}

fn render(
    o: &Observed,
    set: &VariantSet,
    compiled: &Compiled,
    upstream: &Revision,
    unrolled: &Unrolled,
) -> Desired {
    let existing: BTreeMap<&ObjectName, &Arc<Existing>> =
        o.variants.iter().map(|v| (&v.key.name, v)).collect();
    let renderer = Renderer::new(o, set, compiled, upstream);
    let mut desired = Desired::new();
    for entry in &unrolled.entries {
        match renderer.render(entry) {
            Ok(spec) => {
                let explicit = entry.origin == Origin::Listed && plain_place(set, entry.target);
                desired.add(set, spec, explicit, &existing);
            }
            Err(failed) => desired.fail(set, failed),
        }
    }
    desired
}

/// Whether a target's places follow from its list alone, so that only an edit can remove one.
fn plain_place(set: &VariantSet, target: usize) -> bool {
    let template = set
        .spec
        .targets
        .get(target)
        .and_then(|t| t.template.as_ref());
    template.is_none_or(|t| t.repo_expr.is_none() && t.package_expr.is_none())
}

fn conclude(
    o: &Observed,
    set: &VariantSet,
    uid: &Uid,
    unrolled: &Unrolled,
    desired: Desired,
    difference: Diff,
) -> Plan {
    let mut report = Report::of("up to date");
    let mut failures: Vec<Failure> = Vec::new();
    for (target, reason, message) in &unrolled.failed {
        report.note(format!("target {target} is unknown: {message}"));
        failures.push((*reason, message.clone()));
    }
    failures.extend(desired.failed.iter().map(|f| (f.reason, f.message.clone())));
    let stopped = set.spec.on_error == OnError::Stop && !failures.is_empty();
    let stuck = !unrolled.failed.is_empty() || desired.unknown;
    let Diff {
        mut writes,
        surplus,
        ours,
    } = difference;
    let candidates = surplus.len();
    let blind = !unrolled.empty.is_empty();
    let considered = if stuck || stopped {
        Vec::new()
    } else {
        surplus
    };
    let verdict = guard::judge(o, set, ours.len(), considered, blind);
    if (stuck || stopped) && candidates > 0 {
        report.note(format!(
            "{candidates} package variant(s) are wanted no more, but nothing is deleted while a target is unknown"
        ));
    }
    if stopped {
        writes.clear();
    }
    let mut steps = writes;
    steps.extend(verdict.delete.iter().filter_map(|v| {
        Some(Step::Delete {
            key: v.key.clone(),
            uid: v.meta.uid.clone()?,
        })
    }));
    if !steps.is_empty() {
        "out of step".clone_into(&mut report.state);
    }
    if set.spec.suspend {
        return status::suspended(o, report, unrolled, &steps, &failures);
    }
    let mut status = status::of(
        o, uid, unrolled, &ours, &steps, &failures, &verdict, stopped,
    );
    if stuck || stopped {
        status
            .confirmed_deletions
            .clone_from(&o.status.confirmed_deletions);
    }
    for (_, message) in &failures {
        report.note(message.clone());
    }
    if !verdict.held.is_empty() {
        report.hint(
            format!("{} deletion(s) wait for a confirmation", verdict.held.len()),
            format!("annotate the set with {}={}", super::CONFIRM, verdict.hash),
        );
    }
    Plan {
        steps,
        report,
        status,
        next: Next::Rest,
    }
}
