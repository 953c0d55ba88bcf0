//! One suite for every implementation of the engine's ports for records and objects: the twin that simulations run over, the
//! embedded server, and a cluster.
//!
//! A [`World`] is fresh for each case of [`cases`]. Cases return what went wrong as text and never panic.

mod around;
mod kinds;
mod objects;
mod records;
mod samples;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use engine::ports::{Delta, Feed, PortError, Ports};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use model::{Class, ObjectKey, Revision, Variant};
use serde_json::Value;

/// What a case answers with: nothing, or what went wrong.
pub type CaseResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Makes an object of ours, given as people write it.
type Make = dyn Fn(Value) -> BoxFuture<'static, ()> + Send + Sync;

/// One implementation.
pub struct World {
    ports: Ports,
    make: Box<Make>,
    /// A draft, as it could be written: it has neither uid nor version.
    revision: Revision,
    /// A variant in the same namespace.
    variant: Variant,
    /// A set and a repository of the variant's name, as people write them.
    set: Value,
    repository: Value,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    /// An implementation that holds nothing yet but this namespace, and how people make objects there.
    pub fn new(
        ports: Ports,
        namespace: &str,
        make: impl Fn(Value) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let variant = samples::variant(namespace);
        Self {
            ports,
            make: Box::new(make),
            revision: samples::revision(namespace),
            set: samples::set(&variant.key),
            repository: samples::repository(&variant.key),
            variant,
        }
    }

    /// Somebody makes an object.
    async fn make(&self, object: &Value) {
        (self.make)(object.clone()).await;
    }
}

/// A case: its name and what it does.
pub type Case = (
    &'static str,
    for<'a> fn(&'a World) -> Pin<Box<dyn Future<Output = CaseResult> + Send + 'a>>,
);

macro_rules! cases {
    ($($module:ident :: $name:ident),* $(,)?) => {
        vec![$((concat!(stringify!($module), "::", stringify!($name)),
               |world: &World| Box::pin($module::$name(world)) as Pin<Box<dyn Future<Output = CaseResult> + Send + '_>>)),*]
    };
}

/// All cases.
pub fn cases() -> Vec<Case> {
    cases![
        records::what_a_write_answers_is_what_a_read_finds,
        records::what_is_expected_is_compared,
        records::a_repair_writes_over_anything,
        records::what_fails_in_a_batch_leaves_the_rest,
        records::a_removal_names_what_was_decided_on,
        records::a_watch_tells_everything_then_every_change,
        objects::a_name_is_taken_once,
        objects::a_status_is_written_at_a_version,
        objects::an_equal_status_is_no_write,
        objects::a_spec_is_written_at_a_version,
        objects::an_object_goes_with_its_last_finalizer,
        objects::a_deletion_is_of_the_object_with_that_uid,
        objects::a_watch_tells_everything_then_every_change,
        kinds::a_set_keeps_what_is_reported_of_it,
        kinds::a_repository_keeps_what_is_reported_of_it,
        kinds::those_of_a_namespace_are_listed,
        around::what_is_not_there_is_none,
        around::a_kind_that_is_not_served_is_an_answer,
        around::nothing_is_read_for_an_object_that_nobody_wrote,
        around::a_secret_is_given_to_whoever_named_it,
        around::an_event_is_no_write_of_what_it_is_about,
    ]
}

/// How long a watch may take to tell something.
const SOON: Duration = Duration::from_secs(10);

/// What a case found that should not be.
fn wrong<T>(what: impl Into<String>) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
    Err(what.into().into())
}

/// Fails with these words unless it is so.
fn holds(is_so: bool, otherwise: &str) -> CaseResult {
    match is_so {
        true => Ok(()),
        false => wrong(otherwise),
    }
}

/// Holds that something was refused, as a failure of this class.
fn refused<T>(answer: &Result<T, PortError>, class: Class, what: &str) -> CaseResult {
    match answer {
        Err(failure) if failure.class == class => Ok(()),
        Err(failure) => wrong(format!("{what}: {class:?} was expected: {failure:?}")),
        Ok(_) => wrong(format!("{what}: it was not refused")),
    }
}

/// The next message of a feed.
async fn next<T>(feed: &mut Feed<T>) -> Result<Delta<T>, Box<dyn std::error::Error + Send + Sync>> {
    match tokio::time::timeout(SOON, feed.next()).await {
        Ok(Some(delta)) => Ok(delta),
        Ok(None) => wrong("the watch ended"),
        Err(_) => wrong("the watch tells nothing"),
    }
}

/// The message of a feed that these words are about; what is told twice or late is passed over.
async fn told<T>(feed: &mut Feed<T>, what: &str, is: impl Fn(&Delta<T>) -> bool) -> CaseResult {
    // A feed may repeat, and is not endless.
    for _ in 0..16 {
        let delta = next(feed).await;
        if is(&delta.map_err(|why| format!("{what}: {why}"))?) {
            return Ok(());
        }
    }
    wrong(format!("{what} is not told"))
}

/// Whether a message says that an object is gone.
fn is_gone<T>(delta: &Delta<T>, key: &ObjectKey) -> bool {
    matches!(delta, Delta::Deleted { key: gone, .. } if gone == key)
}
