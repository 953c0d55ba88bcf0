//! What can happen to a variant and its packages.

use proptest::prelude::*;

/// What can happen to a variant and its packages.
#[derive(Debug, Clone)]
pub(super) enum Action {
    SetContext(u8),
    NewUpstream,
    FollowLatest(bool),
    ChangeInjected(u8),
    SetConflictPolicy(bool),
    Propose,
    Reject,
    Approve,
    PersonEditsDraft,
    PersonPublishes,
    PersonProposesDeletion,
    ApproveDeletion,
    RejectDeletion,
    Retarget(bool),
    RevertProposals(bool),
    Suspend(bool),
    ForeignDraft,
    SetOrphan(bool),
    DeleteVariant,
    Recreate(bool),
}

pub(super) fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0_u8..3).prop_map(Action::SetContext),
        3 => Just(Action::NewUpstream),
        1 => any::<bool>().prop_map(Action::FollowLatest),
        2 => (0_u8..3).prop_map(Action::ChangeInjected),
        1 => any::<bool>().prop_map(Action::SetConflictPolicy),
        4 => Just(Action::Propose),
        1 => Just(Action::Reject),
        4 => Just(Action::Approve),
        2 => Just(Action::PersonEditsDraft),
        2 => Just(Action::PersonPublishes),
        1 => Just(Action::PersonProposesDeletion),
        1 => Just(Action::ApproveDeletion),
        1 => Just(Action::RejectDeletion),
        1 => any::<bool>().prop_map(Action::Retarget),
        1 => any::<bool>().prop_map(Action::RevertProposals),
        1 => any::<bool>().prop_map(Action::Suspend),
        1 => Just(Action::ForeignDraft),
        1 => any::<bool>().prop_map(Action::SetOrphan),
        1 => Just(Action::DeleteVariant),
        2 => any::<bool>().prop_map(Action::Recreate),
    ]
}
