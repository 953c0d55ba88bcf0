//! For whom something is read: the user who last wrote the variant, or the set that makes it, as the
//! server recorded it (X6). Where nobody is recorded, as on objects of a time before that was,
//! nothing is read.

use apiserver::gateway::{Attributes, User};
use apiserver::storage::{Object, Owner};
use apiserver::verbs::handle::ServerHandle;
use engine::ports::{Found, Gvk, OurKind, PortError, Requester};

use super::{failed, objects, sets, variants};

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
    handle: &ServerHandle,
    requester: &Requester,
    supposed: Option<&User>,
    wanted: &Wanted<'_>,
) -> Result<Found<()>, PortError> {
    let user = match supposed {
        Some(user) => Some(user.clone()),
        None => writer(handle, requester)?,
    };
    let Some(user) = user else {
        return Ok(Found::WriterUnknown);
    };
    let Some((resource, _)) = objects::served(handle, wanted.kind) else {
        return Ok(Found::KindMissing);
    };
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
    let decision = handle.core().may(&asked).await;
    if decision.allowed {
        return Ok(Found::Here(()));
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
fn writer(handle: &ServerHandle, requester: &Requester) -> Result<Option<User>, PortError> {
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
    let read = handle.stored(&resource, namespace, name);
    let Some(object) = read.map_err(|f| failed(attempt(), &f))? else {
        return Ok(None);
    };
    if let Some(user) = handle.core().writer_of(&object) {
        return Ok(Some(user));
    }
    let Some(owner) = set_of(&object) else {
        return Ok(None);
    };
    let read = handle.stored(&sets(), namespace, &owner.name);
    let set = read.map_err(|f| failed(attempt(), &f))?;
    let set = set.filter(|set| set.fields.uid == owner.uid);
    Ok(set.and_then(|set| handle.core().writer_of(&set)))
}

/// The set that makes a variant.
fn set_of(variant: &Object) -> Option<&Owner> {
    let mut owners = variant.fields.owners.iter();
    owners.find(|owner| owner.kind == "PackageVariantSet" && owner.controller)
}

#[cfg(test)]
mod tests;
