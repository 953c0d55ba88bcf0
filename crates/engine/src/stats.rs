//! Counts of what was done, for `/metrics` and the benchmark.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::queue::{Done, Key};

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
    /// Machine outputs and drafts that were derived.
    derivations,
    /// Machine outputs that were found in the cache.
    derivation_hits,
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

/// How turns end, as `/metrics` names it.
const OUTCOMES: [&str; 4] = ["done", "again", "later", "failed"];
/// Who takes turns.
const KINDS: [&str; 3] = ["Repository", "PackageVariantSet", "PackageVariant"];

/// Turns of controllers, by kind and outcome.
#[derive(Debug, Default)]
pub(crate) struct Turns([[AtomicU64; 4]; 3]);

impl Turns {
    /// Notes how a turn ended.
    pub(crate) fn note(&self, key: &Key, done: Done) {
        let kind = match key {
            Key::Repository(_) => 0,
            Key::Set(_) => 1,
            Key::Variant(_) => 2,
        };
        let outcome = match done {
            Done::Rest => 0,
            Done::Again => 1,
            Done::After(_) | Done::Retry(_) => 2,
            Done::Failed => 3,
        };
        if let Some(counter) = self.0.get(kind).and_then(|of| of.get(outcome)) {
            count(counter);
        }
    }

    /// Kind, outcome, and how often.
    pub(crate) fn read(&self) -> Vec<(&'static str, &'static str, u64)> {
        let kinds = KINDS.into_iter().zip(&self.0);
        kinds
            .flat_map(|(kind, of)| {
                let outcomes = OUTCOMES.into_iter().zip(of);
                outcomes.map(move |(outcome, n)| (kind, outcome, n.load(Ordering::Relaxed)))
            })
            .collect()
    }
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
