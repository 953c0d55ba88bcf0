//! Named points at side effects, where a test may stop the world.
//!
//! Production passes [`NoFaults`]. A simulation answers with a [`FaultVerdict`]; a kill test never
//! returns.

use std::fmt;

/// A moment just before or after something that the world can see or that survives a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Point {
    /// Nothing of the batch is written.
    BeforePack,
    /// The pack is written, not yet durable.
    PackWritten,
    /// Pack, index and directory are durable.
    PackDurable,
    /// The intents are appended, not yet durable.
    JournalWritten,
    /// The intents are durable.
    JournalDurable,
    /// The new values stand below `refs/offshoot/pending/`.
    PendingWritten,
    /// The push is about to be sent.
    BeforePush,
    /// The new refs stand at the remote; those that they replace are about to go there.
    BeforeRemoval,
    /// The remote took the push; its answer was not heard yet.
    PushTaken,
    /// The remote's answer was heard.
    PushAnswered,
    /// One ref of a transaction of loose refs was moved, others not yet; or all that are packed, and the files that hide
    /// them not yet removed.
    RefMoved,
    /// All refs are moved, not yet durable.
    RefsWritten,
    /// All refs are durable; nobody was answered.
    BeforeAnswer,
    /// A settlement is about to be noted in the journal.
    BeforeSettle,
    /// A fetch is about to be sent.
    BeforeFetch,
}

/// What happens at a [`Point`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FaultVerdict {
    /// Go on.
    #[default]
    Go,
    /// Die: the call and all others return [`crate::Error::Stopped`], nothing more is written.
    Die,
    /// At [`Point::BeforePush`], [`Point::BeforeRemoval`] and [`Point::BeforeFetch`]: the remote cannot be
    /// reached.
    Unreachable,
    /// At [`Point::PushTaken`]: the answer is lost on the way.
    Lose,
}

/// Told at every named point; says what happens.
pub trait Faults: Send + Sync + fmt::Debug {
    /// What happens at this point of this repository.
    fn at(&self, url: &str, point: Point) -> FaultVerdict;
}

/// No fault, ever.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn at(&self, _url: &str, _point: Point) -> FaultVerdict {
        FaultVerdict::Go
    }
}
