//! Who wrote an object and who set a field of it: put into what is about to be stored, and read out of it again.

use objectstore::Object;
use serde_json::Value;

use super::{Core, RequestTarget, Whose};
use crate::access::{AccessDecision, Attributes, User};

impl Core {
    /// Puts the record into an object that is about to be stored.
    pub(crate) fn sign(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        old: Option<&Value>,
        new: &mut Value,
    ) {
        let Some(writers) = &self.writers else {
            return;
        };
        let resource = (&target.resource.group, &target.resource.plural);
        let listed = writers.resources.iter().any(|(g, p)| (g, p) == resource);
        if !listed || !target.subresource.is_empty() {
            return;
        }
        let own = whose.user.name == writers.own && whose.user.is_master();
        writers.sign(&whose.user, own, old, new);
    }

    /// Who last wrote an object, as far as it was recorded.
    #[must_use]
    pub(crate) fn writer_of(&self, object: &Object) -> Option<User> {
        self.writers.as_ref()?.writer_of(object)
    }

    /// Decides a request that the program makes for somebody, as if they had made it.
    pub(crate) async fn may(&self, request: &Attributes<'_>) -> AccessDecision {
        self.authorizer.decide(request).await
    }

    /// Puts the record into an object that is about to be stored.
    pub(crate) fn sign_field(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        old: Option<&Value>,
        new: &mut Value,
    ) {
        let Some(setters) = &self.setters else {
            return;
        };
        let (group, plural) = &setters.resource;
        let listed = (group, plural) == (&target.resource.group, &target.resource.plural);
        if !listed || !target.subresource.is_empty() {
            return;
        }
        let own = whose.user.name == setters.own && whose.user.is_master();
        setters.sign(&whose.user, own, old, new);
    }

    /// Who set the field of an object, as far as it was recorded.
    #[must_use]
    pub(crate) fn setter_of(&self, object: &Value) -> Option<User> {
        self.setters.as_ref()?.setter(object)
    }
}
