//! Which replica answers a request: discovery, OpenAPI, health and who-wrote-it every one by itself, everything about package
//! revisions the one that holds the Lease.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use objects::{Failure, Reason};
use tokio::sync::watch;

use super::door::Identity;
use super::repeats::{LARGEST, Repeats};
use super::replicas::{Forward, Replicas, is_forwarded, known, refusal};
use super::term::Term;

/// What this replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Another one holds the Lease, or nobody does.
    Standby,
    /// It holds the Lease, and has not seen everything yet.
    Starting,
    /// It answers and writes.
    Holding,
}

/// What decides where a request goes.
pub(super) struct Routing {
    pub(super) stage: watch::Receiver<Stage>,
    pub(super) identity: Arc<Identity>,
    pub(super) term: Arc<Term>,
    pub(super) forward: Forward,
    pub(super) replicas: Arc<Replicas>,
    pub(super) repeats: Repeats,
}

/// The server's router, with what is another replica's handed to it.
pub(super) fn through(routing: Arc<Routing>, router: Router) -> Router {
    router.layer(from_fn_with_state(routing, route))
}

async fn route(State(routing): State<Arc<Routing>>, request: Request, next: Next) -> Response {
    let stage = *routing.stage.borrow();
    if !is_of_the_holder(request.uri().path()) {
        return next.run(request).await;
    }
    if stage == Stage::Holding {
        return match routing.term.check() {
            Ok(()) => answer(&routing, request, next).await,
            // Another replica may have written since: what is known here may be old.
            Err(failure) => refusal(&failure),
        };
    }
    if stage == Stage::Starting {
        let why = "this replica has just taken over and has not read everything yet";
        return refusal(&Failure::new(503, Reason::ServiceUnavailable, why));
    }
    if is_forwarded(request.headers()) {
        // Whoever sent it takes this replica for the holder that it was.
        let why = "this replica does not hold the Lease";
        return refusal(&Failure::new(503, Reason::ServiceUnavailable, why));
    }
    let (parts, body) = request.into_parts();
    match routing.identity.identify(&parts).await {
        Ok(user) => {
            let request = Request::from_parts(parts, body);
            routing.forward.hand_over(&user, request).await
        }
        Err(failure) => refusal(&failure),
    }
}

/// Answers; what another replica may hand over again is done once, and without the connection that brought it.
async fn answer(routing: &Routing, request: Request, next: Next) -> Response {
    let Some(known) = known(request.headers(), request.extensions().get()) else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    // Nobody else may fill what is remembered.
    if let Err(failure) = routing.replicas.forwarded(&parts).await {
        return refusal(&failure);
    }
    match axum::body::to_bytes(body, LARGEST).await {
        Ok(body) => {
            let request = Request::from_parts(parts, Body::from(body));
            routing.repeats.once(known, || next.run(request)).await
        }
        Err(_) => refusal(&Failure::too_large(LARGEST)),
    }
}

/// Whether a path is about objects that only the holder knows: anything below a group's version.
fn is_of_the_holder(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    if parts.next() != Some("apis") {
        return false;
    }
    let ours = [api::PACKAGE_GROUP, api::FLEET_GROUP];
    let group = parts.next().is_some_and(|group| ours.contains(&group));
    group && parts.next().is_some() && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replica_answers_what_a_cluster_needs_to_live() {
        for path in [
            "/apis",
            "/apis/porch.kpt.dev",
            "/apis/porch.kpt.dev/v1alpha1",
            "/openapi/v2",
            "/readyz",
            "/written-by",
            "/metrics",
        ] {
            assert!(!is_of_the_holder(path), "{path}");
        }
        for path in [
            "/apis/porch.kpt.dev/v1alpha1/packagerevisions",
            "/apis/porch.kpt.dev/v1alpha1/namespaces/shop/packagerevisions/a/approval",
            "/apis/fleet.offshoot.dev/v1alpha1/namespaces/shop/plans",
        ] {
            assert!(is_of_the_holder(path), "{path}");
        }
    }
}
