//! What a target that waits shall be meanwhile: what the set wrote to it last, whatever somebody made of its variant (F7).
//!
//! The set remembers the upstream of that spec whole, and of the rest a hash. So the upstream can always be put back; the rest
//! where it is told by what the set wants now or by the variant itself, and the hash says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Member, ObjectName, Upstream, VariantSpec};

use super::super::guard::uid_mark;
use super::super::observed::{Existing, Observed};
use super::super::step::SetStep;
use super::Steered;
use super::members::Target;
use crate::digest::wanted;

/// What becomes of a target that waits.
pub(super) enum Former {
    /// It is what the set wrote, or the set never wrote it and it is not there.
    Stands,
    /// Somebody changed or deleted it: this is what the set wrote.
    Back(Box<VariantSpec>),
    /// Somebody changed it so that what else the set wrote cannot be told: this is it with its own upstream.
    Partly(Box<VariantSpec>),
    /// What is there was never written by the set, or what was there cannot be told.
    Unknown,
}

/// What a target was when the set wrote it last.
pub(super) fn former(target: &Target<'_>, member: Option<&Member>) -> Former {
    let is = target.variant.and_then(|v| v.variant.as_ref());
    let is = is.map(|variant| &variant.spec);
    let Some(member) = member else {
        return match target.variant {
            None => Former::Stands,
            Some(_) => Former::Unknown,
        };
    };
    if is.is_some_and(|spec| wanted::spec(spec) == member.spec) {
        return Former::Stands;
    }
    let bases = [is, Some(target.wanted)].into_iter().flatten();
    let mut told = bases.map(|base| at(base, &member.upstream));
    if let Some(spec) = told.find(|spec| wanted::spec(spec) == member.spec) {
        return Former::Back(Box::new(spec));
    }
    match is {
        Some(spec) => Former::Partly(Box::new(at(spec, &member.upstream))),
        None => Former::Unknown,
    }
}

/// Whether somebody changed other fields of a variant than its upstream since the set wrote it.
pub(super) fn is_by_hand(target: &Target<'_>, member: Option<&Member>) -> bool {
    let is = target.variant.and_then(|v| v.variant.as_ref());
    let (Some(is), Some(member)) = (is, member) else {
        return false;
    };
    !target.is_written && wanted::spec(&at(&is.spec, &member.upstream)) != member.spec
}

/// A spec at another upstream.
pub(super) fn at(spec: &VariantSpec, upstream: &Upstream) -> VariantSpec {
    VariantSpec {
        upstream: upstream.clone(),
        ..spec.clone()
    }
}

/// What the set remembers of a variant that it finds, at the upstream that this follows: nothing else is known of it.
pub(super) fn standing(spec: &VariantSpec, upstream: Upstream) -> Member {
    Member {
        spec: wanted::spec(&at(spec, &upstream)),
        upstream,
        step: None,
        before: None,
    }
}

/// What the set remembers once it has written this.
pub(super) fn written(spec: &VariantSpec, before: Member) -> Member {
    Member {
        upstream: spec.upstream.clone(),
        spec: wanted::spec(spec),
        ..before
    }
}

impl Steered {
    /// What is to be written and is not remembered yet is remembered now, and written once that stands in the status; answers
    /// how many these are. Of what waits for others (`maxInFlight`) nothing is remembered; what needs no write is at once.
    ///
    /// `ours` are the set's variants by name, `all` those that are to be written, whatever waits for others.
    ///
    /// A plan that only tells what would be carries everything out at once.
    pub(in super::super) fn remember(
        &mut self,
        o: &Observed,
        (ours, all): (&[Arc<Existing>], &BTreeSet<ObjectName>),
        writes: &mut Vec<SetStep>,
    ) -> usize {
        let has = |name: &ObjectName| ours.binary_search_by(|v| v.key.name.cmp(name)).is_ok();
        let stood = o.status.rollout.as_ref().map(|before| &before.members);
        let mut remembered = 0;
        let now: BTreeSet<ObjectName> = writes.iter().filter_map(name).cloned().collect();
        let mut postponed = BTreeSet::new();
        for (name, member) in &self.memory {
            let mark = uid_mark(name.as_str());
            let known = stood.and_then(|members| members.get(&mark)) == Some(member);
            let (wanted, paced) = (all.contains(name), now.contains(name));
            if known || (wanted && !paced) || (!wanted && !has(name)) {
                continue;
            }
            self.status.members.insert(mark, member.clone());
            remembered += 1;
            if paced && !o.whole_rollout {
                postponed.insert(name.clone());
            }
        }
        writes.retain(|step| name(step).is_none_or(|name| !postponed.contains(name)));
        match o.whole_rollout {
            true => 0,
            false => remembered,
        }
    }
}

fn name(step: &SetStep) -> Option<&ObjectName> {
    match step {
        SetStep::Create(variant) | SetStep::Update { variant, .. } => Some(&variant.key.name),
        SetStep::Delete { .. } => None,
    }
}
