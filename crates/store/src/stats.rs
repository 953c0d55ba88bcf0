//! Counters: what the benchmark and the tests count.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a repository did since it was opened.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Stats { $($(#[$doc])* pub $name: u64),* }

        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64),* }

        impl Counters {
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }

        impl Stats {
            /// All of them by name.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }

        impl std::ops::AddAssign for Stats {
            fn add_assign(&mut self, other: Self) { $(self.$name += other.$name;)* }
        }
    };
}

counters! {
    /// Batches that the writer made.
    batches,
    /// Submissions that they held.
    submissions,
    /// Packs written.
    packs,
    /// Bytes of those packs and their indexes.
    pack_bytes,
    /// Objects written.
    objects,
    /// Ref transactions.
    ref_transactions,
    /// Refs moved by them.
    refs,
    /// Pushes sent.
    pushes,
    /// Fetches sent.
    fetches,
    /// Calls of fsync or fdatasync.
    fsyncs,
    /// Bytes appended to the journal.
    journal_bytes,
    /// Objects read from the object database.
    reads,
}

pub(crate) fn add(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}
