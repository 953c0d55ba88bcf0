//! What else a caller must be allowed to, beside the request itself: what an answer shows, and what it supposes.

use apiserver::gateway::{Attributes, Call, Refusal, RefusalClass};

use super::PackageGateway;

/// Whether the caller may do this to objects of a kind in the namespace of what is asked for.
pub(super) async fn may(
    gateway: &PackageGateway,
    call: &Call,
    verb: &str,
    asked: (&str, &str, &str),
) -> Result<(), Refusal> {
    may_at(gateway, call, &call.namespace, verb, asked).await
}

/// The same in a namespace; in none, for kinds that lie in none: rights in a namespace say nothing of these.
pub(super) async fn may_at(
    gateway: &PackageGateway,
    call: &Call,
    namespace: &str,
    verb: &str,
    (group, resource, name): (&str, &str, &str),
) -> Result<(), Refusal> {
    let asked = Attributes {
        user: &call.user,
        verb,
        group,
        resource,
        subresource: "",
        namespace,
        name,
        path: "",
    };
    let decision = gateway.handle.may(&asked).await;
    if decision.allowed {
        return Ok(());
    }
    let place = match namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let text = format!(
        "{}.{} is forbidden: User {:?} cannot {verb} resource {resource:?} in API group {group:?} {place}",
        call.resource, call.group, call.user.name
    );
    Err(Refusal::new(RefusalClass::Denied, text))
}
