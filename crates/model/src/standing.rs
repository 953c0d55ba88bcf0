//! Where a variant or a set stands, in the few words that a list has room for (F6). It is drawn from a status and never
//! stored beside it, so that it cannot say anything else than the status does.

use crate::{Lifecycle, SetStatus, Status, VariantStatus};

/// Where a variant stands: each stands in exactly one place, the one that a person has to look at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Nobody looked at it as it is now.
    Unknown,
    /// What is published is what is wanted.
    UpToDate,
    /// The rollout of its set has not reached it: what is published is of before. A variant's own status does not tell that.
    Step,
    /// A draft waits to be proposed.
    Draft,
    /// A proposal waits for an approval.
    Proposed,
    /// A proposed deletion waits for an approval.
    DeletionProposed,
    /// Conflicts wait for a decision.
    Conflicts,
    /// Readiness gates, other than that of conflicts, are not true.
    Gates,
    /// The branch holds what was approved, and no tag publishes it any more: a person has to put the tag back.
    Untagged,
    /// It goes on by itself once something that is watched comes back.
    Waiting,
    /// `spec.suspend` holds back what there is to do.
    Suspended,
    /// It cannot go on until somebody mends what its condition names.
    Failed,
}

/// The reason of `BranchChanged` where the branch holds what was approved last, and no tag publishes it any more.
pub const NOT_TAGGED: &str = "NotTagged";

/// Reasons that pass by themselves.
const PASSING: [&str; 6] = [
    "RepositoryNotReady",
    "NotStored",
    "Observing",
    "Deleting",
    "UpstreamUnreadable",
    "DownstreamUnreadable",
];

impl Standing {
    /// All of them, in the order in which people look.
    pub const ALL: [Self; 12] = [
        Self::UpToDate,
        Self::Step,
        Self::Draft,
        Self::Proposed,
        Self::DeletionProposed,
        Self::Conflicts,
        Self::Gates,
        Self::Untagged,
        Self::Failed,
        Self::Waiting,
        Self::Suspended,
        Self::Unknown,
    ];

    /// Where a variant of this generation stands.
    pub fn of(status: &VariantStatus, generation: i64) -> Self {
        let Some(ready) = status.condition("Ready") else {
            return Self::Unknown;
        };
        if status.observed_generation != generation {
            return Self::Unknown;
        }
        let stalled = status.condition("Stalled");
        if stalled.is_some_and(|c| c.status == Status::True) {
            return Self::Failed;
        }
        if status.conflicts() > 0 {
            return Self::Conflicts;
        }
        if ready.status != Status::True {
            return match ready.reason.as_str() {
                "WaitingForApproval" => Self::Proposed,
                "ProposedNotApprovable" => Self::Gates,
                "DownstreamDeletionProposed" => Self::DeletionProposed,
                "Suspended" => Self::Suspended,
                NOT_TAGGED => Self::Untagged,
                reason if PASSING.contains(&reason) => Self::Waiting,
                _ => Self::Failed,
            };
        }
        if status.gates() > 0 {
            return Self::Gates;
        }
        match status.downstream_targets.first().map(|t| t.lifecycle) {
            Some(Lifecycle::Draft) => Self::Draft,
            Some(Lifecycle::Proposed) => Self::Proposed,
            Some(Lifecycle::DeletionProposed) => Self::DeletionProposed,
            Some(Lifecycle::Published) | None if status.lost_its_tag() => Self::Untagged,
            Some(Lifecycle::Published) | None => Self::UpToDate,
        }
    }

    /// Where one stands whose set has a rollout under way that may not have reached it.
    #[must_use]
    pub fn under_rollout(self, waits: bool) -> Self {
        match self {
            Self::UpToDate if waits => Self::Step,
            other => other,
        }
    }

    /// A few words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unknown => "not looked at yet",
            Self::UpToDate => "up to date",
            Self::Step => "waits for its step",
            Self::Draft => "draft to propose",
            Self::Proposed => "waits for approval",
            Self::DeletionProposed => "deletion to approve",
            Self::Conflicts => "conflicts to decide",
            Self::Gates => "gates not true",
            Self::Untagged => "tag to put back",
            Self::Waiting => "waiting",
            Self::Suspended => "suspended",
            Self::Failed => "failed",
        }
    }

    /// A mark for it, for those to whom colours say nothing.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Unknown => "?",
            Self::UpToDate => "✓",
            Self::Step => "›",
            Self::Draft => "✎",
            Self::Proposed => "▲",
            Self::DeletionProposed => "−",
            Self::Conflicts => "≠",
            Self::Gates => "◇",
            Self::Untagged => "⚑",
            Self::Waiting => "…",
            Self::Suspended => "‖",
            Self::Failed => "✕",
        }
    }
}

impl VariantStatus {
    /// How many conflicts of its open revisions wait for a person.
    pub fn conflicts(&self) -> usize {
        self.downstream_targets.iter().map(|t| t.conflicts).sum()
    }

    /// How many gates of its open revisions are not true, that of conflicts aside.
    pub fn gates(&self) -> usize {
        self.downstream_targets.iter().map(|t| t.gates).sum()
    }

    /// Whether the branch holds what a variant of this generation is to have, and no tag publishes that: it has nothing to do,
    /// and what it is to have is not published.
    pub fn is_untagged(&self, generation: i64) -> bool {
        let standing = Standing::of(self, generation);
        let at_rest = matches!(standing, Standing::UpToDate | Standing::Untagged);
        at_rest && self.published_generation != Some(generation) && self.drift() == Some("branch")
    }

    /// A few words for where a variant of this generation stands.
    pub fn words(&self, generation: i64) -> &'static str {
        Standing::of(self, generation).words()
    }

    /// Whether what was approved last is on the branch, and no tag publishes it any more.
    fn lost_its_tag(&self) -> bool {
        let changed = self.condition("BranchChanged");
        changed.is_some_and(|c| c.status == Status::True && c.reason == NOT_TAGGED)
    }

    /// How the downstream has left what was published of it: `branch` where the branch's directory was changed past us,
    /// `lineage` where it starts anew after our last commit; nothing where it has not.
    pub fn drift(&self) -> Option<&'static str> {
        let holds = |kind: &str| {
            self.condition(kind)
                .is_some_and(|c| c.status == Status::True)
        };
        match (holds("DownstreamDiverged"), holds("BranchChanged")) {
            (true, _) => Some("lineage"),
            (false, true) => Some("branch"),
            (false, false) => None,
        }
    }
}

impl SetStatus {
    /// A few words for where the set stands: what a person has to look at first.
    pub fn words(&self) -> &'static str {
        let found = |kind: &str| self.condition(kind);
        let holds = |kind: &str| found(kind).is_some_and(|c| c.status == Status::True);
        let reason = |kind: &str| found(kind).map_or("", |c| c.reason.as_str());
        if self.conditions.is_empty() {
            "not looked at yet"
        } else if holds("Stalled") {
            "failed"
        } else if holds("DeletionGuarded") {
            match reason("DeletionGuarded") {
                "ConfirmationNeeded" => "deletions to confirm",
                _ => "deletions wait",
            }
        } else if let Some(words) = self.rollout.as_ref().and_then(|r| r.words()) {
            words
        } else if holds("EmptySelection") {
            "nothing selected"
        } else if reason("Ready") == "Suspended" {
            "suspended"
        } else if self.failed > 0 {
            "targets failed"
        } else if self.stalled + self.failing > 0 {
            "variants failed"
        } else if self.conflicted > 0 {
            Standing::Conflicts.words()
        } else if self.gated > 0 {
            Standing::Gates.words()
        } else if self.untagged > 0 {
            "tags to put back"
        } else if self.proposed > 0 {
            "approvals wait"
        } else if self.drafts > 0 {
            "drafts to propose"
        } else if self.rollout.as_ref().is_some_and(|r| !r.is_over()) {
            "rolling out"
        } else if !holds("Ready") || !holds("VariantsReady") || self.up_to_date < self.targets {
            "at work"
        } else {
            Standing::UpToDate.words()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Condition, DownstreamTarget, ObjectName, RevisionNumber, WorkspaceName};

    fn status(ready: (Status, &str), lifecycle: Lifecycle, waits: (usize, usize)) -> VariantStatus {
        VariantStatus {
            observed_generation: 2,
            conditions: vec![
                Condition::new("Stalled", Status::False, "Valid", ""),
                Condition::new("Ready", ready.0, ready.1, ""),
            ],
            downstream_targets: vec![DownstreamTarget {
                name: ObjectName::parse("edge.web.v1").unwrap(),
                lifecycle,
                revision: RevisionNumber::NONE,
                workspace: WorkspaceName::parse("v1").unwrap(),
                upstream_lock: None,
                render_status: None,
                conflicts: waits.0,
                gates: waits.1,
                rejected: false,
            }],
            ..VariantStatus::default()
        }
    }

    #[test]
    fn a_variant_stands_where_a_person_has_to_look_first() {
        use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
        let (yes, no) = ((Status::True, "NoErrors"), Status::False);
        let cases = [
            (yes, Published, (0, 0), Standing::UpToDate),
            (yes, Draft, (0, 0), Standing::Draft),
            (yes, Proposed, (0, 0), Standing::Proposed),
            (yes, DeletionProposed, (0, 0), Standing::DeletionProposed),
            (yes, Draft, (0, 1), Standing::Gates),
            ((no, "Conflicted"), Draft, (2, 1), Standing::Conflicts),
            (
                (no, "WaitingForApproval"),
                Proposed,
                (0, 0),
                Standing::Proposed,
            ),
            (
                (no, "ProposedNotApprovable"),
                Proposed,
                (0, 1),
                Standing::Gates,
            ),
            (
                (no, "RepositoryNotReady"),
                Published,
                (0, 0),
                Standing::Waiting,
            ),
            ((no, "RenderFailed"), Draft, (0, 1), Standing::Failed),
            ((no, "SomethingNew"), Published, (0, 0), Standing::Failed),
            ((no, "Suspended"), Published, (0, 0), Standing::Suspended),
        ];
        for (ready, lifecycle, waits, wanted) in cases {
            let status = status(ready, lifecycle, waits);
            assert_eq!(Standing::of(&status, 2), wanted, "{ready:?} {lifecycle}");
            assert_eq!(Standing::of(&status, 3), Standing::Unknown);
        }
        assert_eq!(
            Standing::of(&VariantStatus::default(), 0),
            Standing::Unknown
        );
    }

    #[test]
    fn a_stalled_variant_failed_whatever_else_waits() {
        let mut status = status((Status::False, "Conflicted"), Lifecycle::Draft, (1, 0));
        status.conditions[0].status = Status::True;
        assert_eq!(Standing::of(&status, 2), Standing::Failed);
    }

    #[test]
    fn what_no_tag_publishes_is_told_from_what_is_published() {
        let yes = (Status::True, "NoErrors");
        let mut status = status(yes, Lifecycle::Published, (0, 0));
        assert!(!status.is_untagged(2), "the branch is as it was published");
        let changed = Condition::new("BranchChanged", Status::True, "Why", "");
        status.conditions.push(changed);
        assert!(status.is_untagged(2));
        status.published_generation = Some(2);
        assert!(!status.is_untagged(2) && !status.is_untagged(3));
    }

    #[test]
    fn what_lost_its_tag_does_not_pass_for_up_to_date() {
        let yes = (Status::True, "NoErrors");
        let mut lost = status(yes, Lifecycle::Published, (0, 0));
        assert_eq!(lost.words(2), "up to date");
        assert_eq!(lost.words(3), "not looked at yet");
        let changed = |reason| Condition::new("BranchChanged", Status::True, reason, "");
        lost.conditions.push(changed("ChangedSincePublished"));
        assert_eq!(lost.words(2), "up to date");
        lost.conditions.pop();
        lost.conditions.push(changed(NOT_TAGGED));
        assert_eq!(lost.words(2), "tag to put back");
        assert_eq!(Standing::of(&lost, 2), Standing::Untagged);
        let mut draft = status(yes, Lifecycle::Draft, (0, 0));
        draft.conditions.push(changed(NOT_TAGGED));
        assert_eq!(draft.words(2), "draft to propose");
        let waits = status((Status::False, NOT_TAGGED), Lifecycle::Draft, (0, 0));
        assert_eq!(waits.words(2), "tag to put back");
    }

    #[test]
    fn drift_is_what_the_conditions_say() {
        let mut status = VariantStatus::default();
        assert_eq!(status.drift(), None);
        let push = |status: &mut VariantStatus, kind| {
            status
                .conditions
                .push(Condition::new(kind, Status::True, "Why", ""));
        };
        push(&mut status, "BranchChanged");
        assert_eq!(status.drift(), Some("branch"));
        push(&mut status, "DownstreamDiverged");
        assert_eq!(status.drift(), Some("lineage"));
    }

    #[test]
    fn a_set_that_selects_nothing_does_not_pass_for_up_to_date() {
        let ready = Condition::new("Ready", Status::True, "Reconciled", "");
        let all = Condition::new("VariantsReady", Status::True, "AllReady", "");
        let mut set = SetStatus {
            conditions: vec![ready, all],
            targets: 2,
            variants: 2,
            up_to_date: 2,
            ..SetStatus::default()
        };
        assert_eq!(set.words(), "up to date");
        set.up_to_date = 1;
        assert_eq!(set.words(), "at work");
        set.drafts = 1;
        assert_eq!(set.words(), "drafts to propose");
        set.untagged = 1;
        assert_eq!(set.words(), "tags to put back");
        set.conflicted = 1;
        assert_eq!(set.words(), "conflicts to decide");
        let nothing = Condition::new("EmptySelection", Status::True, "NothingSelected", "");
        set.conditions.push(nothing);
        assert_eq!(set.words(), "nothing selected");
        assert_eq!(SetStatus::default().words(), "not looked at yet");
    }
}
