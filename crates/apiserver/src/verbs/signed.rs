//! Who wrote an object and who set a field of it: put into what is about to be stored, and read out of it again.

use objectstore::Object;
use serde_json::Value;

use super::{Core, Target, Whose};
use crate::access::{Attributes, Decision, User};
use crate::authz::{Setters, Writers};

impl Core {
    /// Records from now on who writes these objects. Only the first call counts.
    pub fn record_writers(&self, writers: Writers) {
        drop(self.writers.set(writers));
    }

    /// Puts the record into an object that is about to be stored.
    pub(crate) fn sign(
        &self,
        target: &Target,
        whose: &Whose,
        old: Option<&Value>,
        new: &mut Value,
    ) {
        let Some(writers) = self.writers.get() else {
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
    pub fn writer_of(&self, object: &Object) -> Option<User> {
        self.writers.get()?.writer_of(object)
    }

    /// Decides a request that the program makes for somebody, as if they had made it.
    pub async fn may(&self, request: &Attributes<'_>) -> Decision {
        match self.authorizer.get() {
            Some(authorizer) => authorizer.decide(request).await,
            None => Decision::allowed(),
        }
    }

    /// Records from now on who sets this field. Only the first call counts.
    pub fn record_setters(&self, setters: Setters) {
        drop(self.setters.set(setters));
    }

    /// Puts the record into an object that is about to be stored.
    pub(crate) fn sign_field(
        &self,
        target: &Target,
        whose: &Whose,
        old: Option<&Value>,
        new: &mut Value,
    ) {
        let Some(setters) = self.setters.get() else {
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
    pub fn setter_of(&self, object: &Value) -> Option<User> {
        self.setters.get()?.setter(object)
    }
}
