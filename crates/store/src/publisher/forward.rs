//! Changes of which a part stands at the remote: completed, never taken back.

use std::collections::BTreeMap;

use gix::ObjectId;

use super::Publisher;
use crate::disk::{Disk, Pushed, RawEdit, Upstream, Who};
use crate::error::{Error, Result};
use crate::journal::Edit;
use crate::{RefName, Scope, SubmissionRefusal};

/// What of some changes the remote has not taken yet.
#[derive(Default)]
pub(crate) struct Left {
    made: Vec<RawEdit>,
    gone: Vec<RawEdit>,
    /// Where the refs have to be that replace what goes.
    stand: Vec<(RefName, Option<ObjectId>)>,
}

impl Left {
    pub(crate) fn any(&self) -> bool {
        !self.made.is_empty() || !self.gone.is_empty()
    }
}

/// How often what stands in part is completed before it is left to a later look.
const STEPS: usize = 4;

/// What came of completing pushes that stand in part.
#[derive(Debug, Default)]
pub(crate) struct Rolled {
    /// Refs that the remote does not want.
    pub(crate) declined: BTreeMap<RefName, String>,
    /// Whether nothing is left that it might still take.
    pub(crate) done: bool,
}

impl Rolled {
    /// Why not all of a change was taken, if a ref that it makes was not.
    pub(crate) fn refusal(&self, edits: &[Edit]) -> Option<SubmissionRefusal> {
        let made = edits.iter().filter(|e| e.new.is_some());
        let names = made.map(|e| &e.name);
        let (name, text) = names
            .filter_map(|name| self.declined.get_key_value(name))
            .next()?;
        Some(SubmissionRefusal::Declined {
            name: name.clone(),
            text: format!("{text}; what else was pushed with it stands"),
        })
    }
}

impl<D: Disk> Publisher<D> {
    /// Completes changes of which something stands at the remote, as the mirror shows it now. What
    /// one of them replaces goes only where everything that it makes stands.
    pub(crate) fn roll_forward(
        &self,
        upstream: &dyn Upstream,
        changes: &[&[Edit]],
        who: &Who,
    ) -> Result<Rolled> {
        let mut rolled = Rolled::default();
        for _ in 0..STEPS {
            let left = self.left_of(changes, &rolled.declined)?;
            // As in the push itself: nothing goes before all that replaces it is there.
            let (edits, beside) = if left.made.is_empty() {
                (left.gone, left.stand)
            } else {
                (left.made, Vec::new())
            };
            if edits.is_empty() {
                rolled.done = true;
                break;
            }
            let names: Vec<&str> = edits.iter().map(|e| e.name.as_str()).collect();
            tracing::info!(url = self.reader.url, ?names, "completing a push");
            match self.push_step(upstream, &edits, &beside, &BTreeMap::new(), who) {
                Ok(Pushed::Taken | Pushed::Stale(_)) => {}
                Ok(Pushed::Declined(names)) => {
                    let names = names.into_iter();
                    rolled
                        .declined
                        .extend(names.filter(|(name, _)| edits.iter().any(|e| e.name == *name)));
                }
                Err(Error::Stopped { url }) => return Err(Error::Stopped { url }),
                Ok(Pushed::Unheard) | Err(_) => break,
            }
            // Whatever it said, the next round asks the mirror, and for no more than what is left.
            match self.bring(who) {
                Ok(()) => {}
                Err(Error::Stopped { url }) => return Err(Error::Stopped { url }),
                Err(_) => break,
            }
        }
        Ok(rolled)
    }

    pub(crate) fn left_of(
        &self,
        changes: &[&[Edit]],
        declined: &BTreeMap<RefName, String>,
    ) -> Result<Left> {
        let view = self.reader.disk.view()?;
        let mut left = Left::default();
        for edits in changes {
            let remote = edits.iter().filter(|e| e.scope == Scope::Remote);
            let (made, gone): (Vec<_>, Vec<_>) = remote.partition(|e| e.new.is_some());
            let mut whole = true;
            let mut stand = Vec::new();
            for edit in made {
                let still = self.still_old(&*view, edit)?;
                if still && !declined.contains_key(&edit.name) {
                    left.made.push(edit.raw());
                }
                // A ref that is neither old nor new was taken elsewhere: what it was to replace must stay then.
                whole &= !still && self.stands_one(&*view, edit)?;
                stand.push((edit.name.clone(), view.get(&edit.name)?));
            }
            for edit in gone {
                let wanted = whole && !declined.contains_key(&edit.name);
                if wanted && self.still_old(&*view, edit)? {
                    left.gone.push(edit.raw());
                    left.stand.append(&mut stand);
                }
            }
        }
        Ok(left)
    }
}
