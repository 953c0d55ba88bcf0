//! For whom something is read: the user who last wrote the variant, or the set that makes it, as the
//! server recorded it (X6). Where nobody is recorded, as on objects of a time before that was,
//! nothing is read.

use apiserver::gateway::{Attributes, User};
use engine::ports::{Found, Gvk, OurKind, PortError, Requester};

use super::object_api::ObjectApi;
use super::{failed, sets, variants};

/// What is to be read.
pub(super) struct Wanted<'a> {
    /// `get` or `list`.
    pub(super) verb: &'static str,
    /// The kind.
    pub(super) kind: &'a Gvk,
    /// The namespace; empty at cluster scope.
    pub(super) namespace: &'a str,
    /// The name; empty for a list.
    pub(super) name: &'a str,
}

/// Whether the requester may read it, as [`Found::Here`]; anything else says why not. In a plan somebody may be supposed
/// to have written what it is read for.
///
/// # Errors
/// The requester cannot be read now.
pub(super) async fn may(
    api: &dyn ObjectApi,
    requester: &Requester,
    supposed: Option<&User>,
    wanted: &Wanted<'_>,
) -> Result<Found<()>, PortError> {
    let user = match supposed {
        Some(user) => Some(user.clone()),
        None => writer(api, requester).await?,
    };
    let Some(user) = user else {
        return Ok(Found::WriterUnknown);
    };
    let served = api.served(wanted.kind).await;
    let attempt = || format!("look for kind {}", wanted.kind);
    let Some(served) = served.map_err(|f| failed(attempt(), &f))? else {
        return Ok(Found::KindMissing);
    };
    let resource = &served.resource;
    let asked = Attributes {
        user: &user,
        verb: wanted.verb,
        group: &resource.group,
        resource: &resource.plural,
        subresource: "",
        namespace: wanted.namespace,
        name: wanted.name,
        path: "",
    };
    if api.may(&asked).await.allowed {
        let place = (wanted.namespace, wanted.name);
        let own = api.unreadable(resource, wanted.verb, place);
        return Ok(own.await.map_or(Found::Here(()), Found::Forbidden));
    }
    let Wanted {
        verb, namespace, ..
    } = wanted;
    let scope = match *namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    Ok(Found::Forbidden(format!(
        "user {:?}, who last wrote {}, cannot {verb} resource {:?} in API group {:?} {scope}",
        user.name, requester.key, resource.plural, resource.group
    )))
}

/// Who last wrote a variant or a set. A variant that only its set wrote is the set's writer's, also one of a time before
/// sets noted that on their variants: whoever else makes the set its controller is its writer.
async fn writer(api: &dyn ObjectApi, requester: &Requester) -> Result<Option<User>, PortError> {
    let resource = match requester.kind {
        OurKind::Variant => variants(),
        OurKind::Set => sets(),
        OurKind::Repository | OurKind::Revision => return Ok(None),
    };
    let (namespace, name) = (
        requester.key.namespace.as_str(),
        requester.key.name.as_str(),
    );
    let attempt = || format!("read who wrote {}", requester.key);
    let read = api.signed(&resource, namespace, name).await;
    let Some(object) = read.map_err(|f| failed(attempt(), &f))? else {
        return Ok(None);
    };
    if object.writer.is_some() {
        return Ok(object.writer);
    }
    let Some((name, uid)) = object.set else {
        return Ok(None);
    };
    let read = api.signed(&sets(), namespace, &name).await;
    let set = read.map_err(|f| failed(attempt(), &f))?;
    Ok(set.filter(|set| set.uid == uid).and_then(|set| set.writer))
}

#[cfg(test)]
mod tests;
