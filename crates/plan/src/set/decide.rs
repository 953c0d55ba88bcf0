//! The decision about a set, as a numbered walk.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Function, Injector, ObjectName, Pairs, Revision, Selector, TargetSelection, Upstream,
    VariantSet, VariantSpec,
};

use super::conclude::conclude;
use super::diff::{Desired, diff};
use super::observed::{Existing, Followed, Observed, Subject};
use super::render::Renderer;
use super::rollout::steer;
use super::select::is_secret;
use super::status;
use super::unroll::{MAX_TARGETS, Origin, Source, UnrollFailure, Unrolled, unroll};
use super::{Compiled, Plan};
use crate::variant::words::{WRITER_UNKNOWN, writer_unknown};
use crate::variant::{UpstreamResolution, commit_of};
use crate::{Next, Report};

/// The most bytes of all package variants of one set: a template of a few kilobytes is written once for each target.
pub const MAX_BYTES: usize = 64 << 20;

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
        targets: BTreeMap::new(),
        early: BTreeMap::new(),
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
    let (mut upstreams, lost) = upstreams(o);
    if set.spec.rollout.is_some() {
        // Who waits for its step follows no ref meanwhile.
        for source in &mut upstreams {
            source.wanted.commit = Some(commit_of(&source.revision));
        }
    }
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
    let mut desired = match render(o, set, compiled, &upstreams, &unrolled) {
        Ok(desired) => desired,
        Err(bytes) => return status::stop(o, "TooMuch", &bytes),
    };
    let certain = unrolled.unknown() == 0 && !desired.unknown;
    let mut steered = set.spec.rollout.as_ref().map(|rollout| {
        let follow: Vec<(&Upstream, &Revision)> = upstreams
            .iter()
            .map(|source| (&source.wanted, &*source.revision))
            .collect();
        let mut steered = steer(
            o,
            (set, uid),
            rollout,
            &follow,
            desired.all(uid, o),
            certain,
        );
        desired.obey(uid, o, &mut steered);
        steered
    });
    let difference = diff(o, set, uid, &mut desired);
    let mut plan = conclude(o, set, &unrolled, &desired, difference, steered.as_mut());
    if let Some(steered) = steered {
        (plan.targets, plan.early) = (steered.steps, steered.early);
    }
    plan
}

/// What is said of a set that names Secrets: it asks for what no right gives.
fn secrets(set: &VariantSet) -> Option<String> {
    set.spec
        .targets
        .iter()
        .enumerate()
        .find_map(|(i, target)| match &target.selection {
            TargetSelection::ObjectSelector { selector, .. } if is_secret(selector) => Some(
                format!("spec.targets[{i}].objectSelector: Secrets cannot be selected"),
            ),
            _ => None,
        })
}

/// The upstream packages with the revisions to follow, and what of them is not there.
fn upstreams(o: &Observed) -> (Vec<Source>, Vec<UnrollFailure>) {
    let mut lost: Vec<UnrollFailure> = Vec::new();
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
fn hopeless(lost: &[UnrollFailure]) -> Option<(&'static str, String)> {
    let (reason, _) = lost.iter().find(|(r, _)| !status::passes(r))?;
    Some((reason, status::summary(lost)))
}

/// What is said where there is nothing that could be followed instead.
const NOTHING_THERE: &str =
    "; it is not registered in this namespace, or has no published revision of that package";

fn upstream(followed: &Followed) -> Result<Source, UnrollFailure> {
    let spec = &followed.wanted;
    let named = format!(
        "'{}' in repo '{}'",
        crate::variant::display_upstream(spec),
        spec.repo
    );
    match &followed.found {
        UpstreamResolution::Found(revision) => Ok(Source {
            wanted: spec.clone(),
            revision: Arc::clone(revision),
            listed: followed.listed,
        }),
        UpstreamResolution::NotFound { others } => {
            let mut message = crate::variant::upstream_not_found(spec, others);
            if others.is_empty() {
                message.push_str(NOTHING_THERE);
            }
            Err(("UpstreamNotFound", message))
        }
        UpstreamResolution::NotPublished(revision) => Err((
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
) -> Result<Desired, String> {
    let existing: BTreeMap<&ObjectName, &Arc<Existing>> =
        o.variants.iter().map(|v| (&v.key.name, v)).collect();
    let renderer = Renderer::new(o, set, compiled, upstreams);
    let mut desired = Desired::new();
    let mut bytes = 0;
    for (at, entry) in unrolled.entries.iter().enumerate() {
        match renderer.render(entry) {
            Ok(spec) => {
                bytes += size(&spec);
                if bytes > MAX_BYTES {
                    return Err(format!(
                        "the first {} of {} package variants come to {bytes} bytes, more than {MAX_BYTES}: \
                         shorten the template, or put what they share into the upstream package",
                        at + 1,
                        unrolled.count
                    ));
                }
                let named = upstreams.get(entry.upstream).is_some_and(|s| s.listed);
                let listed = named && entry.origin == Origin::Listed;
                let explicit = listed && plain_place(set, entry.target);
                desired.add(set, spec, explicit, &existing);
            }
            Err(failed) => desired.fail(set, failed),
        }
    }
    Ok(desired)
}

/// About how many bytes a variant's spec has where it is written: its texts, and what stands around them.
fn size(spec: &VariantSpec) -> usize {
    const AROUND: usize = 16;
    let text = |text: &String| text.len() + AROUND;
    let pairs = |pairs: &Pairs| -> usize { pairs.iter().map(|(k, v)| text(k) + text(v)).sum() };
    let some = |value: &Option<String>| value.as_ref().map_or(0, text);
    let selector = |s: &Selector| {
        let named = [&s.api_version, &s.kind, &s.name, &s.namespace];
        let pairs = s.labels.iter().chain(&s.annotations);
        named.into_iter().map(some).sum::<usize>()
            + pairs.map(|(k, v)| text(k) + text(v)).sum::<usize>()
    };
    let function = |f: &Function| {
        let config = f.config_map.iter().map(|(k, v)| text(k) + text(v));
        let selectors = f.selectors.iter().chain(&f.exclude).map(selector);
        let named = [&f.image, &f.tag, &f.exec, &f.config_path];
        text(&f.name)
            + named.into_iter().map(some).sum::<usize>()
            + config.sum::<usize>()
            + selectors.sum::<usize>()
    };
    let functions = spec
        .pipeline
        .mutators
        .iter()
        .chain(&spec.pipeline.validators);
    let injectors = spec.injectors.iter();
    let injector = |i: &Injector| {
        [&i.group, &i.version, &i.kind]
            .into_iter()
            .map(some)
            .sum::<usize>()
            + text(&i.name)
    };
    pairs(&spec.labels)
        + pairs(&spec.annotations)
        + pairs(&spec.context.data)
        + spec.context.remove_keys.iter().map(text).sum::<usize>()
        + functions.map(function).sum::<usize>()
        + injectors.map(injector).sum::<usize>()
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
