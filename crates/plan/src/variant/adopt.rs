//! What exists already in the downstream's place: taken over, ignored, or in the way (V9, V15).

use std::sync::Arc;

use model::{
    AdoptionPolicy, Condition, Lifecycle, Machine, ObjectName, OwnerReference, Revision, Status,
    Uid, Variant,
};

use super::holdings::Holdings;
use super::stop::Stop;
use super::{Lineage, Observed, RevisionRef, VariantStep, origin, words};

/// What is to be done about revisions that the variant does not own.
pub(super) struct Adoption {
    pub(super) steps: Vec<VariantStep>,
    pub(super) conditions: Vec<Condition>,
}

pub(super) fn adopt(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    holdings: &Holdings,
) -> Result<Adoption, Box<Stop>> {
    let published = holdings.base.as_ref().map(|b| &b.revision);
    let candidates: Vec<&Arc<Revision>> = holdings
        .foreign_open
        .iter()
        .chain(published.filter(|p| !p.meta.is_owned_by(uid)))
        .collect();
    let mut steps = Vec::new();
    let mut left: Vec<String> = Vec::new();
    let mut why_not = String::new();
    for revision in &candidates {
        // Beside a draft that the variant made, another one could never be brought in line.
        let second = !revision.lifecycle.is_published() && made_one(holdings, uid);
        let verdict = if second {
            Err("this variant has an open revision of its own".to_owned())
        } else if holdings.owns && came_later(variant, uid, revision) {
            Err("somebody made it since this variant has a downstream".to_owned())
        } else {
            verdict(o, variant, uid, revision)
        };
        match verdict {
            Ok(step) => steps.push(step),
            Err(why) => {
                left.push(format!("'{}' ({why})", revision.key.name));
                if revision.lifecycle.is_published() {
                    why_not = why;
                }
            }
        }
    }
    if steps.is_empty() && !holdings.owns {
        in_the_way(o, variant, uid, holdings, &why_not)?;
    }
    let drafts = holdings.foreign_open.iter();
    let mut conditions = Vec::new();
    if !left.is_empty() && (drafts.len() > 0 || variant.spec.adoption == AdoptionPolicy::Existing) {
        conditions.push(Condition::new(
            words::EXISTS_UNOWNED,
            Status::True,
            "NotAdopted",
            format!("left alone: {}", left.join(", ")),
        ));
    }
    Ok(Adoption { steps, conditions })
}

/// Whether an open revision is one that the variant made, not one that it took over.
fn made_one(holdings: &Holdings, uid: &Uid) -> bool {
    let mut open = holdings.open.iter();
    open.any(|r| r.machine.as_ref().is_some_and(|m| m.owner.uid == *uid))
}

/// Whether an open revision was made after the variant, by somebody else: what adoption takes over is what the
/// variant found (R100). Upgrades that people make beside it are theirs, and based anew only on request (V20).
fn came_later(variant: &Variant, uid: &Uid, revision: &Revision) -> bool {
    !revision.lifecycle.is_published()
        && revision.meta.created > variant.meta.created
        && revision
            .machine
            .as_ref()
            .is_none_or(|m| m.owner.uid != *uid)
}

/// How the revision is taken over, or why it is left alone.
fn verdict(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    revision: &Revision,
) -> Result<VariantStep, String> {
    let former = |r: &model::OwnerReference| {
        r.kind == words::KIND && r.name == variant.key.name.as_str() && r.uid != *uid
    };
    if let Some(other) = revision.meta.controller().filter(|c| !former(c)) {
        return Err(format!("controlled by {} '{}'", other.kind, other.name));
    }
    let taken_back = o
        .take_back
        .as_ref()
        .is_some_and(|set| words::left_by_set(&variant.key, set, revision));
    if variant.spec.adoption == AdoptionPolicy::None && !taken_back {
        return Err("spec.adoptionPolicy is adoptNone".to_owned());
    }
    if o.made_elsewhere.contains(&revision.key.name) {
        let why =
            "it belongs to another packagevariant, through another registration of the repository";
        return Err(why.to_owned());
    }
    let mark = words::mark(&variant.key);
    let proposed_by = revision.meta.annotations.get(words::PROPOSED_BY);
    if revision.lifecycle == Lifecycle::DeletionProposed && proposed_by != Some(&mark) {
        return Err(match proposed_by {
            Some(other) => format!("packagevariant '{other}' proposed its deletion"),
            None => "a person proposed its deletion".to_owned(),
        });
    }
    let mut annotations = variant.spec.annotations.clone();
    if !taken_back {
        // What is taken back was the set's all along: it goes with its variant as before (V9 is about what others made).
        annotations.insert(words::ADOPTED_BY.to_owned(), mark);
    }
    Ok(VariantStep::Adopt {
        revision: RevisionRef::of(revision),
        owner: words::owner(&variant.key, uid),
        replace: revision
            .meta
            .owners
            .iter()
            .filter(|r| former(r))
            .map(|r| r.uid.clone())
            .collect(),
        labels: origin::labels(variant),
        annotations,
    })
}

/// What the machine noted about a revision, or about what it stems from.
fn machine_of<'a>(o: &'a Observed, revision: &'a Revision) -> Option<&'a Machine> {
    let lineage = || {
        let base = o.base.as_ref()?;
        match &base.lineage {
            Lineage::Trailer(machine) if revision.lifecycle.is_published() => Some(machine),
            _ => None,
        }
    };
    revision.machine.as_ref().or_else(lineage)
}

/// Whether a variant of this one's name made it: this one, or one before it. It says whose leavings these are; it makes
/// nobody an owner, since owners are known by their uid alone (V15).
fn names_us(variant: &Variant, machine: Option<&Machine>) -> bool {
    machine.is_some_and(|m| {
        m.owner.namespace == variant.key.namespace && m.owner.name == variant.key.name
    })
}

/// What a variant of this one's name did about a revision before it was deleted and made again, and the way out.
fn predecessor(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    revision: &Revision,
) -> Option<(&'static str, String)> {
    let mark = words::mark(&variant.key);
    let marked = |name: &str| revision.meta.annotations.get(name) == Some(&mark);
    let adopt = format!(
        "{}, and this packagevariant takes it over",
        adopting(variant)
    );
    let or_go = "or choose another downstream, or delete the package";
    let plain = || format!("{adopt}; {or_go}");
    if marked(words::PROPOSED_BY) && revision.lifecycle == Lifecycle::DeletionProposed {
        let what = "proposed its deletion";
        let approve = approve_deletion(&revision.key.name);
        let way_out = match set_of(variant)
            .filter(|c| words::left_by_set(&variant.key, &c.uid, revision))
        {
            Some(set) => format!(
                "annotate packagevariantset '{}' with {}=true, and its variants take back what those before them left; or {approve}",
                set.name,
                words::TAKE_BACK
            ),
            None => format!("{adopt} and withdraws the proposal; or {approve}"),
        };
        return Some((what, way_out));
    }
    if marked(words::PROPOSED_BY) {
        return Some(("proposed its deletion, which was rejected", plain()));
    }
    if marked(words::ORPHANED_BY) {
        return Some(("left it in place", plain()));
    }
    let machine = machine_of(o, revision).filter(|m| m.owner.uid != *uid);
    names_us(variant, machine).then(|| ("made it", plain()))
}

/// The set that a variant belongs to.
fn set_of(variant: &Variant) -> Option<&OwnerReference> {
    let controller = variant.meta.controller();
    controller.filter(|c| c.kind == words::SET_KIND)
}

/// How a variant comes to take over what exists: a set would put back what is written into its variant.
fn adopting(variant: &Variant) -> String {
    match set_of(variant) {
        Some(set) => format!(
            "set template.adoptionPolicy of the target in packagevariantset '{}' to adoptExisting",
            set.name
        ),
        None => "set spec.adoptionPolicy to adoptExisting".to_owned(),
    }
}

fn approve_deletion(name: &ObjectName) -> String {
    format!("approve its deletion with `offshoot rpkg del {name}`")
}

/// A published package of that name that is not ours: nothing may be made beside it (V15).
fn in_the_way(
    o: &Observed,
    variant: &Variant,
    uid: &Uid,
    holdings: &Holdings,
    why: &str,
) -> Result<(), Box<Stop>> {
    let place = format!(
        "package '{}' in repo '{}'",
        variant.spec.downstream.package, variant.spec.downstream.repo
    );
    if let Some(base) = &holdings.base {
        let mut message = format!(
            "{place} exists already and does not belong to this variant: '{}' is {} ({why})",
            base.revision.key.name, base.revision.lifecycle
        );
        let adopts = variant.spec.adoption == AdoptionPolicy::Existing;
        let hint = match predecessor(o, variant, uid, &base.revision) {
            Some((what, way_out)) if !adopts => {
                let mine = machine_of(o, &base.revision).is_some_and(|m| m.owner.uid == *uid);
                message = match mine {
                    true => format!("{message}; this packagevariant {what}"),
                    false => {
                        let name = &variant.key.name;
                        format!("{message}; the packagevariant '{name}' before this one {what}")
                    }
                };
                way_out
            }
            _ if adopts => "choose another downstream, or delete the package".to_owned(),
            _ => format!(
                "{}, choose another downstream, or delete the package",
                adopting(variant)
            ),
        };
        return Err(Stop::stalled(words::EXISTS_UNOWNED, message).hint(hint));
    }
    match &holdings.head {
        // What a variant of this name left there and no revision has any more is overwritten: nothing of it is taken over.
        Some(head) if holdings.open.is_empty() && !names_us(variant, head.machine.as_ref()) => {
            Err(on_branch(
                o,
                variant,
                &format!("{place} exists already on branch '{}'", head.workspace),
            ))
        }
        _ => Ok(()),
    }
}

/// What others put on the branch, which no tag publishes.
fn on_branch(o: &Observed, variant: &Variant, what: &str) -> Box<Stop> {
    let package = &variant.spec.downstream.package;
    let adopt = |publish: &str, number: i64| {
        format!(
            "{publish} (a tag '{package}/v{number}' in git) and take it over with adoptionPolicy adoptExisting"
        )
    };
    let (message, or) = match (&o.lost_tag, o.deleted_up_to) {
        (Some(lost), _) => (
            format!("{what}, and no tag publishes it any more"),
            lost.back(),
        ),
        // A number that was given is not given again.
        (None, Some(highest)) => (
            format!("{what}, and what was published of it was deleted"),
            adopt("publish it again", highest.0.saturating_add(1)),
        ),
        (None, None) => (
            format!("{what} and was never published"),
            adopt("publish it", 1),
        ),
    };
    let hint = format!("choose another downstream, delete the package from the branch, or {or}");
    Stop::stalled(words::EXISTS_UNOWNED, message).hint(hint)
}
