//! The members and what each of them knows.

/// How long a Lease lasts that is not renewed, and how long after a renewal effects may start, in milliseconds: as in the product.
pub(super) const LEASE: u64 = 15_000;
pub(super) const GRACE: u64 = 10_000;

/// How often a Lease is renewed.
pub(super) const RENEW: u64 = 3_000;

/// How many pushes of one holder are under way at most.
pub(super) const PUSHES: usize = 16;

/// Who is a member, as the cluster keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Members {
    pub(super) epoch: u64,
    pub(super) all: Vec<usize>,
}

/// How a holder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Well,
    /// It cannot reach the cluster, and reaches git.
    CutOff,
    /// It does nothing until it wakes; what it sent is on its way.
    Asleep,
    /// It is gone; what it sent is on its way.
    Dead,
}

/// One holder.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub(super) state: State,
    /// The members as it heard of them last.
    pub(super) heard: Members,
    /// The epoch that its Lease says it acts in.
    pub(super) says: u64,
    /// When it renewed its Lease last.
    pub(super) renewed: u64,
    /// Repositories that it has not begun yet or must begin again.
    pub(super) queue: Vec<usize>,
    /// Pushes that are under way.
    pub(super) flying: usize,
    /// When it has prepared what it began.
    pub(super) busy: u64,
}

impl Holder {
    pub(super) fn new(members: &Members) -> Self {
        Self {
            state: State::Well,
            heard: members.clone(),
            says: members.epoch,
            renewed: 0,
            queue: Vec::new(),
            flying: 0,
            busy: 0,
        }
    }

    /// Whether it does anything at all.
    pub(super) fn runs(&self) -> bool {
        matches!(self.state, State::Well | State::CutOff)
    }

    /// Whether an effect may start at this moment.
    pub(super) fn may(&self, now: u64) -> bool {
        self.runs() && now < self.renewed + GRACE
    }

    /// Whether everybody else takes it for gone: its Lease was not renewed for as long as it lasts.
    pub(super) fn is_over(&self, now: u64) -> bool {
        now >= self.renewed + LEASE
    }
}
