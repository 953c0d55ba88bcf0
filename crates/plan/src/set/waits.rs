//! What of a set waits for a person, as text: by what it waits for, each variant named (F6).

use std::fmt::Write as _;
use std::sync::Arc;

use model::{ObjectName, Standing};

use super::observed::{Existing, Observed};
use super::step::Plan;
use crate::early::Early;
use crate::variant::origin;

/// How many variants a line names.
const NAMED: usize = 20;

/// What waits for a person, one kind of it a line, with the way out; nothing where nothing waits. What a rollout says is
/// not to be approved now is offered to nobody (F7, F8).
pub fn waits(o: &Observed, plan: &Plan) -> String {
    let set = &o.set.key().name;
    let uid = o.set.meta().uid.as_ref();
    let owned = |v: &&Arc<Existing>| uid.is_some_and(|uid| v.meta.is_owned_by(uid));
    let mut ours: Vec<&Existing> = o.variants.iter().filter(owned).map(|v| &**v).collect();
    ours.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    let mut text = String::new();
    for (standing, what) in ASKED {
        let stands = |v: &&&Existing| v.standing == standing;
        let early = |v: &&Existing| match standing {
            Standing::DeletionProposed => is_kept(v, plan),
            _ => is_open(standing) && plan.early.contains_key(&v.key.name),
        };
        let all = || ours.iter().filter(stands).copied();
        let here: Vec<&Existing> = all().filter(|v| !early(v)).collect();
        let not: Vec<&Existing> = all().filter(early).collect();
        if here.is_empty() {
            continue;
        }
        if text.is_empty() {
            text.push_str("waits for a person:\n");
        }
        // Writing to a String cannot fail.
        _ = writeln!(text, "- {} {what}: {}", here.len(), named(standing, &here));
        let rolls = plan.status.rollout.is_some();
        let selected = match standing {
            // What the set is about to make anew owns no revision yet, and is never taken along.
            Standing::DeletionProposed if rolls => by_name(&here),
            _ => select(set, &here, &not),
        };
        _ = writeln!(text, "  hint: {}", way_out(standing, &selected, &here));
    }
    text + &waiting(&ours, plan)
}

/// What a rollout says of the open revision of a variant, where that is not to be approved now (F7, F8).
pub fn early(plan: &Plan, variant: &ObjectName) -> Option<String> {
    let why = match plan.early.get(variant)? {
        Early::Closed => {
            let step = plan.targets.get(variant).map(String::as_str);
            format!(
                "its step '{}' of the rollout is closed",
                step.unwrap_or_default()
            )
        }
        early @ (Early::Other | Early::Left) => early.why().to_owned(),
    };
    Some(format!("is not to be approved now: {why}\n"))
}

/// Whether a rollout still has a variant the deletion of whose package is proposed: that is decided by itself, and never with
/// others.
fn is_kept(variant: &Existing, plan: &Plan) -> bool {
    let proposed = variant.standing == Standing::DeletionProposed;
    proposed && plan.status.rollout.is_some() && !variant.meta.is_deleting()
}

/// Open revisions that nobody is to approve now, and why.
fn waiting(ours: &[&Existing], plan: &Plan) -> String {
    let mut text = String::new();
    let early = |early: Early| -> Vec<&Existing> {
        let here = ours.iter().copied();
        let here = here.filter(|v| plan.early.get(&v.key.name) == Some(&early));
        here.collect()
    };
    let kept: Vec<&Existing> = ours.iter().copied().filter(|v| is_kept(v, plan)).collect();
    let all = EARLY.map(|(of, what)| (early(of), what));
    for (here, what) in all.into_iter().chain([(kept, KEPT)]) {
        if here.is_empty() {
            continue;
        }
        if text.is_empty() {
            text.push_str("is not to be approved now:\n");
        }
        let named = named(Standing::Draft, &here);
        // Writing to a String cannot fail.
        _ = writeln!(text, "- {} {what}: {named}", here.len());
    }
    text
}

const KEPT: &str = "with a deletion to approve of what the rollout still has; `offshoot why pvar/NAME` has the way out of each";

const EARLY: [(Early, &str); 3] = [
    (
        Early::Closed,
        "with an open revision whose step of the rollout is closed",
    ),
    (
        Early::Other,
        "with an open revision of another version than is wanted; reject the proposals among them, and they are brought to it",
    ),
    (
        Early::Left,
        "with an open revision of a package that its target left",
    ),
];

/// What a person is asked for, and how that is said of many.
const ASKED: [(Standing, &str); 8] = [
    (Standing::Failed, "failed"),
    (Standing::Conflicts, "with conflicts to decide"),
    (Standing::Gates, "with gates that are not true"),
    (Standing::Untagged, "with a tag to put back"),
    (Standing::Draft, "with a draft to propose"),
    (Standing::Proposed, "with a proposal to approve"),
    (Standing::DeletionProposed, "with a deletion to approve"),
    (Standing::Suspended, "suspended"),
];

fn named(standing: Standing, all: &[&Existing]) -> String {
    let one = |v: &&Existing| match standing {
        Standing::Failed => format!("{} ({})", v.key.name, v.ready.1),
        _ => v.key.name.to_string(),
    };
    let mut names: Vec<String> = all.iter().take(NAMED).map(one).collect();
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Whether what is asked for is said to an open revision.
fn is_open(standing: Standing) -> bool {
    matches!(standing, Standing::Draft | Standing::Proposed)
}

/// Selects the revisions of all of these, and of none of those.
fn select(set: &ObjectName, here: &[&Existing], not: &[&Existing]) -> String {
    let all = format!("{}={}", origin::SET, origin::value(set.as_str()));
    if not.is_empty() {
        return format!("-l {all}");
    }
    match (here.len(), not.len()) {
        (NAMED.., ..NAMED) => format!("-l '{all},{} notin ({})'", origin::VARIANT, values(not)),
        _ => by_name(here),
    }
}

/// Selects the revisions of these, as many as a line names.
fn by_name(here: &[&Existing]) -> String {
    format!("-l '{} in ({})'", origin::VARIANT, values(here))
}

fn values(variants: &[&Existing]) -> String {
    let names = variants.iter().take(NAMED);
    let values: Vec<String> = names.map(|v| origin::value(v.key.name.as_str())).collect();
    values.join(", ")
}

fn way_out(standing: Standing, all: &str, here: &[&Existing]) -> String {
    let first = here.first().map_or("", |v| v.key.name.as_str());
    match standing {
        Standing::Draft => format!("offshoot rpkg propose {all}"),
        Standing::Proposed => format!("offshoot rpkg approve {all}"),
        Standing::DeletionProposed => {
            // Without the lifecycle, drafts would be deleted as well.
            let all = format!("{all} --field-selector spec.lifecycle=DeletionProposed");
            format!(
                "offshoot rpkg del {all} carries them out, with reject instead of del the packages stay"
            )
        }
        Standing::Conflicts => {
            format!(
                "offshoot why pvar/{first} lists them, offshoot rpkg diff {all} shows what would change"
            )
        }
        Standing::Suspended => {
            format!("they go on once spec.suspend is false: kubectl edit packagevariant {first}")
        }
        _ => format!("offshoot why pvar/{first}"),
    }
}
