//! What there is to say of a rollout beside its counts, for people.

use super::{MAX_NAMED, RolloutState, RolloutStatus};

impl RolloutStatus {
    /// The way out where the step that is worked on has no member left, so that nobody could say that it went well.
    pub fn without_members(&self) -> Option<&'static str> {
        let (_, step) = self.current()?;
        let is_empty = step.members <= step.deleted + step.unreachable;
        let halted = self.state == RolloutState::Halted && self.halted.is_none();
        (halted && is_empty).then_some(match step.unreachable {
            0 => "take the step out of spec.rollout.steps, give it members, or want another upstream",
            // A repository that is away for some seconds is nothing that anybody has to mend.
            _ => "it goes on by itself once a member can be reached; where none ever will be, take the step out of spec.rollout.steps, or give it other members",
        })
    }

    /// The members that have published what the rollout did not bring, another commit or one ahead of their step: how many,
    /// and the first of them by name; `None` where there are none.
    pub fn diverged(&self) -> Option<String> {
        let count = self.steps.iter().map(|s| s.diverged).sum();
        let what = "published what the rollout did not bring";
        counted(count, what, &self.diverged)
    }

    /// The members that somebody suspended and that are not published as they are wanted, in the same form.
    pub fn suspended(&self) -> Option<String> {
        let count = self.steps.iter().map(|s| s.suspended).sum();
        let what = "suspended by hand (spec.suspend) and not published";
        counted(count, what, &self.suspended)
    }

    /// What there is to say of its members and targets beside the counts, for people.
    pub fn told(&self) -> Vec<String> {
        let moved = self.moved().map(str::to_owned);
        let named = [self.diverged(), self.suspended(), self.taken()];
        moved
            .into_iter()
            .chain(named.into_iter().flatten())
            .collect()
    }

    /// What becomes of the packages that its targets leave, for people; `None` where none leaves any.
    pub fn moved(&self) -> Option<&'static str> {
        let stays = self.moves && !self.is_over();
        stays.then_some(
            "its targets move to other packages: what they leave stays until every step is done",
        )
    }

    /// The targets whose variant is not made yet and whose name another variant has, in the same form.
    pub fn taken(&self) -> Option<String> {
        let what = match self.taken.len() {
            MAX_NAMED.. => {
                "or more targets are not made yet, and variants that are not the set's have the names"
            }
            _ => "not made yet, and a variant that is not the set's has the name",
        };
        counted(self.taken.len(), what, &self.taken)
    }
}

/// How many there are of what, and the first of them; `None` where there are none.
fn counted(count: usize, what: &str, named: &[String]) -> Option<String> {
    let (more, named) = (count.saturating_sub(named.len()), named.join(", "));
    match more {
        _ if count == 0 => None,
        0 => Some(format!("{count} {what}: {named}")),
        more => Some(format!("{count} {what}: {named} and {more} more")),
    }
}
