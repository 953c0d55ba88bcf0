//! The term in which this process is the one that writes (C2).
//!
//! No effect starts after the last renewal of the Lease and [`GRACE`]; by a clock that goes on while the machine is
//! suspended. Both seams where engine and store ask whether they may go on ask the term.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use objects::{Failure, Reason};
use rustix::time::{ClockId, clock_gettime};

/// How long after a renewal effects may start. Shorter than the Lease by far: a clock may go wrong, an effect takes time.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Time since the machine was started, with the time that it was suspended.
pub(super) fn boot_time() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// The term of this process, if it has one.
#[derive(Debug, Default)]
pub(super) struct Term {
    /// 0 before the first.
    number: AtomicI64,
    /// In milliseconds of [`boot_time`]; 0 where there is none.
    until: AtomicU64,
}

impl Term {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The Lease was taken or renewed by a request that started at this moment.
    pub(super) fn renewed(&self, number: i64, started: Duration) {
        self.number.store(number, Ordering::Release);
        let until = (started + GRACE).as_millis();
        self.until
            .store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// The term is over, whatever the clock says.
    pub(super) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Its number; 0 if this process never had one.
    pub(super) fn number(&self) -> i64 {
        self.number.load(Ordering::Acquire)
    }

    /// Whether an effect may start now.
    pub(super) fn is_on(&self) -> bool {
        !self.left().is_zero()
    }

    /// For how long effects may start, if the Lease is not renewed.
    pub(super) fn left(&self) -> Duration {
        let until = Duration::from_millis(self.until.load(Ordering::Acquire));
        until.saturating_sub(boot_time())
    }

    /// Refuses an effect outside of the term.
    ///
    /// # Errors
    /// 503: another replica may write by now.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.is_on() {
            return Ok(());
        }
        let why = "this replica does not hold the Lease";
        Err(Failure::new(503, Reason::ServiceUnavailable, why))
    }
}

/// Outside of the term the engine begins nothing, and ends where it has begun: the Lease may be this replica's again in a moment,
/// and what was half done may be another one's by then.
impl engine::ports::Faults for Term {
    fn dies_at(&self, point: engine::ports::Point) -> bool {
        !point.begins() && !self.is_on()
    }

    fn holds_off(&self) -> bool {
        !self.is_on()
    }
}

/// The store pushes nothing outside of the term. What it does before a push stays on this disk, which is thrown away with the
/// process; once a push was sent, it ends.
impl store::Faults for Term {
    fn at(&self, _url: &str, point: store::Point) -> store::FaultVerdict {
        use store::{FaultVerdict, Point};
        match point {
            _ if self.is_on() => FaultVerdict::Go,
            Point::BeforePack
            | Point::PackWritten
            | Point::PackDurable
            | Point::JournalWritten
            | Point::JournalDurable
            | Point::PendingWritten
            | Point::BeforeFetch => FaultVerdict::Go,
            Point::BeforePush => FaultVerdict::Unreachable,
            _ => FaultVerdict::Die,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_starts_without_a_term_nor_after_it() {
        let term = Term::default();
        assert!(!term.is_on(), "a process begins without a term");
        term.renewed(3, boot_time());
        assert!(term.is_on());
        assert_eq!(term.number(), 3);
        let long_ago = boot_time().saturating_sub(GRACE);
        term.renewed(3, long_ago);
        assert!(
            !term.is_on(),
            "a renewal that started so long ago counts for nothing"
        );
        assert_eq!(term.check().unwrap_err().code, 503);
        term.renewed(3, boot_time());
        term.end();
        assert!(!term.is_on());
    }

    #[test]
    fn engine_and_store_ask_the_term() {
        let term = Term::default();
        let dies = |term: &Term| {
            let engine = engine::ports::Faults::dies_at(term, engine::ports::Point::Published);
            let store = store::Faults::at(term, "u", store::Point::PushTaken);
            (engine, store == store::FaultVerdict::Die)
        };
        assert_eq!(dies(&term), (true, true));
        term.renewed(1, boot_time());
        assert_eq!(dies(&term), (false, false));
    }

    /// A write that was about to begin ends nobody: it is refused, and the term may go on.
    #[test]
    fn what_was_about_to_begin_outside_of_the_term_only_does_not() {
        use engine::ports::{Faults as _, Point};
        let term = Term::default();
        for point in [
            Point::Derived,
            Point::BeforeStatus,
            Point::BeforeVariant,
            Point::BeforeFinalizer,
        ] {
            assert!(point.begins() && !term.dies_at(point), "{point:?}");
        }
        assert!(term.holds_off());
        let push = |term: &Term| store::Faults::at(term, "u", store::Point::BeforePush);
        assert_eq!(push(&term), store::FaultVerdict::Unreachable);
        term.renewed(1, boot_time());
        assert!(!term.holds_off());
        assert_eq!(push(&term), store::FaultVerdict::Go);
    }
}
