//! Counts of what was done, for `/metrics` and the benchmark.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What was done since the start.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Stats { $($(#[$doc])* pub $name: u64,)* }

        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64,)* }

        impl Counters {
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl Stats {
            /// All of them by name.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

stats! {
    /// Turns of variants.
    variant_reconciles,
    /// Turns of sets.
    set_reconciles,
    /// Turns of repositories.
    repository_reconciles,
    /// Turns that found nothing to do and wrote nothing.
    idle_reconciles,
    /// Turns that found something else than they expected.
    conflicts,
    /// Turns that failed.
    failures,
    /// Machine outputs and drafts that were cooked.
    cooks,
    /// Machine outputs that were found in the cache.
    cook_hits,
    /// Functions that were run.
    functions,
    /// Submissions that were published.
    published,
    /// Submissions that were refused.
    refused,
    /// Records that were written or removed.
    records,
    /// Statuses that were written.
    statuses,
    /// Variants that sets wrote or deleted.
    variants_written,
    /// Looks at a repository's refs.
    discoveries,
    /// Refs and directories that were looked into because they had changed.
    discovered,
    /// Events that could not be told.
    events,
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
