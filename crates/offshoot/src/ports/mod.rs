//! The engine's ports over an API server, embedded or of a cluster: wire objects on one side, `model` on the
//! other. A port carries one thing and decides nothing.

mod cluster;
mod embedded;
mod events;
mod feed;
mod object_api;
mod objects;
mod ours;
mod overlay;
mod records;
mod requester;
mod secrets;
mod stored;
mod time;
mod written;

use std::sync::Arc;

use apiserver::{ResourceName, ServerBuilder, ServerHandle, Whose};
use engine::ports::{NoFaults, PortError, Ports};
use model::Class;

pub(crate) use self::objects::cluster_key;
pub(crate) use object_api::{Change, ObjectApi, Part, Served, Signed};
pub(crate) use overlay::Overlay;
pub(crate) use records::Inherited;
pub(crate) use stored::{read_repository, read_set, read_variant};
pub(crate) use written::{setters, writers};

/// The user agent, and so the field manager, of the controllers.
const MANAGER: &str = "offshoot-controllers";

/// Who named the Secret of a repository, or its address, by the server's word (X8).
const SECRET_SET_BY: &str = "offshoot.dev/secret-set-by";

/// Every port over the embedded server.
pub(crate) fn over(handle: &ServerHandle, functions: Arc<dyn functions::Runner>) -> Ports {
    Ports {
        faults: Arc::new(NoFaults),
        ids: Arc::new(time::RandomIds),
        ..of(handle, embedded(handle), functions)
    }
}

/// Every port where a cluster keeps the objects, and their records through the server's host. `faults` ends what may not
/// go on, `largest` is how many bytes a record may have; names of removed records are not remembered there, so that no uid is given out twice.
pub(crate) fn within(
    handle: &ServerHandle,
    api: Arc<dyn ObjectApi>,
    functions: Arc<dyn functions::Runner>,
    (faults, largest): (Arc<dyn engine::ports::Faults>, usize),
    inherited: Arc<Inherited>,
) -> Ports {
    let records = records::ServerRecords::new(handle.clone(), largest, inherited);
    Ports {
        records: Arc::new(records),
        faults,
        ids: Arc::new(time::FreshIds),
        ..of(handle, api, functions)
    }
}

/// How many bytes a record may have in our own server, as any object there.
const OWN_LARGEST: usize = 2 << 20;

fn of(
    handle: &ServerHandle,
    api: Arc<dyn ObjectApi>,
    functions: Arc<dyn functions::Runner>,
) -> Ports {
    let objects = Arc::new(ours::ApiObjects(Arc::clone(&api)));
    Ports {
        records: Arc::new(records::ServerRecords::new(
            handle.clone(),
            OWN_LARGEST,
            Arc::default(),
        )),
        variants: Arc::clone(&objects) as _,
        sets: Arc::clone(&objects) as _,
        repositories: Arc::clone(&objects) as _,
        secrets: Arc::clone(&objects) as _,
        events: objects,
        cluster: Arc::new(cluster::ApiCluster::new(api)),
        clock: Arc::new(time::SystemClock),
        ids: Arc::new(time::RandomIds),
        functions,
        faults: Arc::new(NoFaults),
    }
}

/// A server whose variants and sets say who wrote them, and whose repositories who named their Secret.
pub(crate) fn recording(server: ServerBuilder) -> ServerBuilder {
    server
        .writers(writers(MANAGER.to_owned()))
        .setters(setters(MANAGER.to_owned()))
}

/// The embedded server as the one that keeps objects.
pub(crate) fn embedded(handle: &ServerHandle) -> Arc<dyn ObjectApi> {
    embedded::Embedded::new(handle.clone())
}

/// The cluster as it would be with what somebody supposes.
pub(crate) fn supposed(
    api: Arc<dyn ObjectApi>,
    overlay: Overlay,
) -> Arc<dyn engine::ports::Cluster> {
    Arc::new(cluster::ApiCluster::with(api, overlay))
}

/// The identity of the controllers.
fn controllers(handle: &ServerHandle) -> Whose {
    let mut whose = handle.own(MANAGER);
    MANAGER.clone_into(&mut whose.agent);
    whose
}

fn variants() -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "packagevariants")
}

fn sets() -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, "v1alpha2", "packagevariantsets")
}

fn repositories() -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "repositories")
}

fn revisions() -> ResourceName {
    ResourceName::new(api::PACKAGE_GROUP, "v1alpha1", "packagerevisions")
}

/// A failure of the server as the engine classifies it.
fn failed(attempt: impl Into<String>, failure: &::objects::Failure) -> PortError {
    let class = match failure.code {
        400 | 422 => Class::Invalid,
        401 | 403 => Class::Denied,
        404 | 410 => Class::NotFound,
        409 => Class::Conflict,
        413 => Class::Limit,
        429 | 503 | 504 | 507 => Class::Unavailable,
        _ => Class::Bug,
    };
    PortError::new(class, attempt, failure.message.clone())
}

#[cfg(test)]
pub(crate) mod tests;
