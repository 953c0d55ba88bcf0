//! The decision about a set, as a numbered walk.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectName, Revision, TargetSelection, Upstream, VariantSet};

use super::conclude::conclude;
use super::diff::{Desired, diff};
use super::observed::{Existing, Followed, Observed, Subject};
use super::render::Renderer;
use super::status::{self, Failure};
use super::unroll::{Origin, Unrolled, unroll};
use super::{Compiled, Plan};
use crate::variant::Resolution;
use crate::variant::words::{WRITER_UNKNOWN, writer_unknown};
use crate::{Next, Report};

/// An upstream package and its revision to follow.
pub(super) struct Source {
    pub(super) wanted: Upstream,
    pub(super) revision: Arc<Revision>,
    /// Whether the set itself names it.
    listed: bool,
}

/// The most targets of one set.
pub const MAX_TARGETS: usize = 50_000;

/// Decides what to do about one set. It runs expressions: call it on a thread with a large stack.
///
/// 1. A set that is being deleted makes nothing; its variants follow by garbage collection.
/// 2. What is wrong with it, or with its templates, stops everything (S4).
/// 3. Its upstream must be there; of several, those that are there are followed, and nothing is deleted.
/// 4. Targets are unrolled and rendered, all before anything is written (S2).
/// 5. What shall be is compared with what is (S1, S8).
/// 6. The deletion guard judges the deletions: they wait until the selection is quiet, and too many of them until
///    somebody confirms them (S3).
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
        held: Vec::new(),
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
    let (upstreams, lost) = upstreams(o);
    if let (true, Some((reason, message))) = (upstreams.is_empty(), hopeless(&lost)) {
        return status::stop(o, reason, &message);
    }
    let mut unrolled = unroll(o, set, &upstreams);
    if unrolled.count > MAX_TARGETS {
        let message = format!(
            "the targets come to {} package variants, more than {MAX_TARGETS}",
            unrolled.count
        );
        return status::stop(o, "TooManyTargets", &message);
    }
    unrolled.lost = lost;
    let mut desired = render(o, set, compiled, &upstreams, &unrolled);
    let difference = diff(o, set, uid, &mut desired);
    conclude(o, set, &unrolled, &desired, difference)
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

/// The upstream packages with the revisions to follow, and what of them is not there.
fn upstreams(o: &Observed) -> (Vec<Source>, Vec<Failure>) {
    let mut lost: Vec<Failure> = Vec::new();
    for unread in &o.unread {
        let mut why = unread.why.clone();
        let reason = match unread.passes {
            true => "SelectionUnknown",
            false if unread.writer_unknown => {
                let unknown = writer_unknown("pvset", o.set.key());
                why = format!("{why} is read for nobody: {unknown}");
                WRITER_UNKNOWN
            }
            false => "UpstreamNotFound",
        };
        lost.push((reason, why));
    }
    if o.unread.is_empty() && o.upstreams.is_empty() {
        let what = "no package revision is selected as upstream";
        lost.push(("UpstreamNotFound", what.to_owned()));
    }
    let mut found = Vec::new();
    for followed in &o.upstreams {
        match upstream(followed) {
            Ok(source) => found.push(source),
            Err(failure) => lost.push(failure),
        }
    }
    (found, lost)
}

/// What to say where no upstream is left, unless that passes by itself.
fn hopeless(lost: &[Failure]) -> Option<(&'static str, String)> {
    let (reason, _) = lost.iter().find(|(r, _)| !status::passes(r))?;
    Some((reason, status::summary(lost)))
}

fn upstream(followed: &Followed) -> Result<Source, Failure> {
    let spec = &followed.wanted;
    let named = format!(
        "'{}' in repo '{}'",
        crate::variant::display_upstream(spec),
        spec.repo
    );
    match &followed.found {
        Resolution::Found(revision) => Ok(Source {
            wanted: spec.clone(),
            revision: Arc::clone(revision),
            listed: followed.listed,
        }),
        Resolution::NotFound { others } => Err((
            "UpstreamNotFound",
            crate::variant::upstream_not_found(spec, others),
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
    upstreams: &[Source],
    unrolled: &Unrolled,
) -> Desired {
    let existing: BTreeMap<&ObjectName, &Arc<Existing>> =
        o.variants.iter().map(|v| (&v.key.name, v)).collect();
    let renderer = Renderer::new(o, set, compiled, upstreams);
    let mut desired = Desired::new();
    for entry in &unrolled.entries {
        match renderer.render(entry) {
            Ok(spec) => {
                let named = upstreams.get(entry.upstream).is_some_and(|s| s.listed);
                let listed = named && entry.origin == Origin::Listed;
                let explicit = listed && plain_place(set, entry.target);
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
