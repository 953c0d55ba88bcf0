//! Takes a rollout back (F8): each member to the commit that it had published before, all at once, and it stays there.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectName, RolloutState, Upstream, UpstreamVersion, VariantSet};

use super::super::observed::{Existing, Observed};
use super::members::Target;
use super::{Fate, Steered, UNDO, members};
use crate::digest::wanted;

/// The undo that a set is annotated with, if it is of the rollout that goes on and `spec.upstream` is the same since.
pub(super) fn of(
    o: &Observed,
    set: &VariantSet,
    ours: &BTreeMap<&ObjectName, &Arc<Existing>>,
    targets: &[Target<'_>],
) -> Option<Steered> {
    let before = o.status.rollout.as_ref()?;
    let asked = set.meta.annotations.get(UNDO)?;
    // Another one has begun since, and is only not remembered yet.
    let later = super::newest(targets) > wanted::number(&before.id);
    if later || *asked != before.id || before.asked != wanted::asked(&set.spec.upstreams) {
        return None;
    }
    let mut status = before.clone();
    status.state = RolloutState::Undone;
    status.complete = false;
    status.halted = None;
    status.created.clear();
    // Nothing goes forward: also what was never reached, or appears now, stays as it is.
    let mut fates: BTreeMap<ObjectName, Fate> = targets
        .iter()
        .map(|t| (t.name.clone(), Fate::Wait))
        .collect();
    let (mut back, mut of) = (0, 0);
    for (name, variant) in ours {
        let reached = members::mark(variant).filter(|mark| mark.rollout == before.id);
        let (Some(mark), Some(parsed)) = (reached, &variant.variant) else {
            continue;
        };
        let Some(then) = mark.before else {
            status.created.push(name.to_string());
            continue;
        };
        of += 1;
        let published = o.published.get(*name).map(|p| p.commit);
        back += usize::from(variant.published && published == Some(then.commit));
        let mut spec = parsed.spec.clone();
        spec.upstream = Upstream {
            repo: then.repo,
            package: then.package,
            version: UpstreamVersion::Latest,
            commit: Some(then.commit),
            ..spec.upstream
        };
        if spec != parsed.spec {
            fates.insert((*name).clone(), Fate::Instead(Box::new(spec)));
        }
    }
    let made = match status.created.len() {
        0 => String::new(),
        n => format!("; {n} that it made stay: {}", status.created.join(", ")),
    };
    status.created.truncate(20);
    status.message = format!("{back} of {of} members are published as they were before{made}");
    Some(Steered {
        status,
        waiting: targets.iter().filter(|t| !t.is_written).count(),
        fates,
        steps: BTreeMap::new(),
        after: None,
        notes: Vec::new(),
    })
}
