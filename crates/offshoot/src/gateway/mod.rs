//! The HTTP door of package revisions: wire objects in, use-cases of the engine, wire objects out.
//!
//! It translates and decides nothing: what may be done is `plan`'s, how it is done the engine's.

mod bulk;
mod definitions;
mod late;
mod packages;
mod plans;
mod refusal;
mod resources;
mod revisions;
mod rights;
mod roles;
mod versions;
mod why;

use std::sync::Arc;
use std::time::Duration;

use apiserver::ServerHandle;
use apiserver::gateway::{Call, CallAnswer, Gateway, Refusal, RefusalClass, Verb};
use async_trait::async_trait;
use engine::Engine;
use engine::usecase::{Caller, Preconditions};
use functions::runtime::Shares;
use model::{Namespace, ObjectKey, ObjectName, Uid};

use crate::ports::ObjectApi;
pub(crate) use definitions::definitions;
pub(crate) use plans::Drafts;
pub(crate) use roles::roles;
pub(crate) use versions::versions;

/// The gateway. Clones are the same gateway.
#[derive(Clone)]
pub(crate) struct PackageGateway {
    engine: Engine,
    handle: ServerHandle,
    /// Where the objects around packages are kept.
    api: Arc<dyn ObjectApi>,
    /// Where manifests are read for plans, if the server itself does not know their kinds.
    drafts: Option<Drafts>,
    /// How long anybody is made to wait for a remote.
    answer_within: Duration,
    late: Arc<late::Late>,
    /// Room for plans that are made at once: each may take as long as a whole fan-out.
    plans: Arc<Shares>,
}

impl PackageGateway {
    /// A gateway to this engine.
    pub(crate) fn new(
        engine: Engine,
        handle: ServerHandle,
        (api, drafts): (Arc<dyn ObjectApi>, Option<Drafts>),
        answer_within: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine,
            handle,
            api,
            drafts,
            answer_within,
            late: Arc::default(),
            plans: Arc::new(Shares::of(plans::AT_ONCE, plans::OF_EACH)),
        })
    }
}

impl PackageGateway {
    /// The server by whose rules manifests are read.
    fn drafting(&self) -> &ServerHandle {
        self.drafts.as_ref().map_or(&self.handle, Drafts::handle)
    }
}

#[async_trait]
impl Gateway for PackageGateway {
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal> {
        if call.resource == "bulkchanges" {
            return bulk::handle(self, call).await;
        }
        if call.resource == "plans" {
            return plans::handle(self, call).await;
        }
        late::handle(self, call).await
    }

    fn composed_name(&self, call: &Call) -> Option<String> {
        let revision = call.resource == "packagerevisions";
        revision.then(|| revisions::composed_name(call)).flatten()
    }
}

/// Hands a call to whom it is for.
async fn dispatch(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    match call.resource.as_str() {
        "packagerevisions" => revisions::handle(gateway, call).await,
        "packagerevisionresources" => resources::handle(gateway, call).await,
        "packages" => packages::handle(gateway, &call).await,
        "explanations" => why::handle(gateway, &call).await,
        other => Err(Refusal::new(
            RefusalClass::NotFound,
            format!("{other} is not served here"),
        )),
    }
}

/// Who asks, as the engine wants to know it.
fn caller(call: &Call) -> Caller {
    Caller::user(call.user.name.clone())
        .of_groups(&call.user.groups)
        .dry_run(call.dry_run)
}

/// The object that a call names.
fn key(call: &Call) -> Result<ObjectKey, Refusal> {
    let wrong = |e: model::NameError| Refusal::new(RefusalClass::BadRequest, e.to_string());
    Ok(ObjectKey {
        namespace: Namespace::parse(&call.namespace).map_err(wrong)?,
        name: ObjectName::parse(&call.name).map_err(wrong)?,
    })
}

/// What must hold, from the old object's identity and the version that the client expects.
fn preconditions(call: &Call) -> Preconditions {
    let uid = call.old.as_ref().map(api::read_meta).and_then(|m| m.uid);
    Preconditions {
        uid: uid.and_then(|u| Uid::parse(u.as_str()).ok()),
        version: call.options.expect_rv.map(|rv| rv.to_string()),
    }
}

fn unsupported(verb: Verb, resource: &str) -> Refusal {
    let text = format!(
        "{} is not supported on resources of kind {resource:?}",
        verb.word()
    );
    Refusal::new(RefusalClass::Unsupported, text)
}
