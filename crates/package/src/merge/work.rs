//! How much a merge does, for tests: what somebody writes must not decide how long we work.

/// So much was done: bytes written, values read, or elements compared. Counted in tests.
#[inline]
pub(super) fn done(amount: usize) {
    #[cfg(test)]
    counted::DONE.with(|done| done.set(done.get() + amount));
    #[cfg(not(test))]
    let _: usize = amount;
}

#[cfg(test)]
pub(super) mod counted {
    use std::cell::Cell;

    thread_local! {
        pub(super) static DONE: Cell<usize> = const { Cell::new(0) };
    }

    /// How much is done while something runs.
    pub(in super::super) fn during(what: impl FnOnce()) -> usize {
        let before = DONE.with(Cell::get);
        what();
        DONE.with(Cell::get) - before
    }
}
