//! The machine's clock, and identities that nobody had before.

use engine::ports::{Clock, Ids};
use model::{Namespace, ObjectName, Uid};

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn unix_seconds(&self) -> i64 {
        jiff::Timestamp::now().as_second()
    }
}

/// Random uids, and Porch's own for first incarnations of package revisions (A5).
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomIds;

impl Ids for RandomIds {
    fn fresh_uid(&self) -> Uid {
        uid(&uuid::Uuid::new_v4().to_string())
    }

    fn revision_uid(&self, namespace: &Namespace, name: &ObjectName) -> Uid {
        api::revision_uid(namespace, name.as_str())
    }
}

/// Random uids for everything: where nobody remembers which names were used before.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreshIds;

impl Ids for FreshIds {
    fn fresh_uid(&self) -> Uid {
        RandomIds.fresh_uid()
    }

    fn revision_uid(&self, _namespace: &Namespace, _name: &ObjectName) -> Uid {
        RandomIds.fresh_uid()
    }
}

fn uid(text: &str) -> Uid {
    Uid::parse(text).expect("because the text of a UUID is never empty")
}
