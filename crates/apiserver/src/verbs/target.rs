//! What a request addresses, and who asks.

use std::sync::Arc;

use objects::write::Rules;
use objects::{Failure, Resource};
use objectstore::{Key, key_of};

use crate::gateway::{AccessDecision, Attributes, Authorizer, Call, CallOptions, User, Verb};
use crate::registry::Catalog;

/// An addressed resource, object or subresource.
#[derive(Debug, Clone)]
pub struct RequestTarget {
    /// The resource.
    pub resource: Arc<Resource>,
    /// Which of its versions the request speaks.
    version: usize,
    /// The namespace; empty for all, or at cluster scope.
    pub namespace: String,
    /// The name; empty for collections.
    pub name: String,
    /// The subresource; empty for none.
    pub subresource: String,
}

/// Who asks, and under which name fields are recorded.
#[derive(Debug, Clone, Default)]
pub struct Whose {
    /// The user.
    pub user: User,
    /// The field manager when none was given: the user agent up to its first slash.
    pub agent: String,
}

impl RequestTarget {
    /// Finds a resource in a catalog.
    #[must_use]
    pub(crate) fn find(
        catalog: &Catalog,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<Self> {
        let resource = catalog.get(group, plural)?;
        let version = resource
            .versions
            .iter()
            .position(|v| v.name == version && v.served)?;
        Some(Self {
            resource: Arc::clone(resource),
            version,
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
        })
    }

    /// Addresses a resource in the version in which it is kept.
    #[must_use]
    pub fn stored(resource: &Arc<Resource>, namespace: &str, name: &str) -> Self {
        let version = resource
            .versions
            .iter()
            .position(|v| v.name == resource.storage_version)
            .unwrap_or(0);
        Self {
            resource: Arc::clone(resource),
            version,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: String::new(),
        }
    }

    /// Addresses an object, or with an empty name a collection.
    #[must_use]
    pub fn at(mut self, namespace: &str, name: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        name.clone_into(&mut self.name);
        self
    }

    /// Addresses a subresource.
    #[must_use]
    pub fn with_subresource(mut self, subresource: &str) -> Self {
        subresource.clone_into(&mut self.subresource);
        self
    }

    /// The rules of the addressed version.
    ///
    /// # Errors
    /// A resource without versions: a mistake of ours.
    pub fn rules(&self) -> Result<Rules<'_>, Failure> {
        let version = self.resource.versions.get(self.version);
        let version = version
            .ok_or_else(|| Failure::internal(format!("{} has no versions", self.resource.key())))?;
        Ok(Rules {
            resource: &self.resource,
            version,
            stack: crate::aside::large,
        })
    }

    /// The key of the addressed object.
    #[must_use]
    pub fn key(&self) -> Key {
        key_of(&self.namespace, &self.name)
    }

    /// The keys of the addressed collection start with this.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", self.namespace)
        }
    }

    /// 404 of the addressed object.
    #[must_use]
    pub fn not_found(&self) -> Failure {
        Failure::not_found(&self.resource.group, &self.resource.plural, &self.name)
    }

    /// A call to the gateway about the addressed object.
    #[must_use]
    pub fn call(&self, verb: Verb, whose: &Whose) -> Call {
        Call {
            verb,
            group: self.resource.group.clone(),
            version: self
                .resource
                .versions
                .get(self.version)
                .map_or_else(String::new, |v| v.name.clone()),
            resource: self.resource.plural.clone(),
            subresource: Some(self.subresource.clone()).filter(|s| !s.is_empty()),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            old: None,
            new: None,
            user: whose.user.clone(),
            dry_run: false,
            options: CallOptions::default(),
        }
    }

    /// The namespace that a request is authorised in: a namespace itself lies in itself.
    fn home(&self) -> &str {
        let resource = &self.resource;
        if resource.group.is_empty() && resource.plural == "namespaces" {
            &self.name
        } else {
            &self.namespace
        }
    }

    /// Asks whether the user may do this; `name` is the object's where the path or a field selector has one.
    ///
    /// # Errors
    /// 403 in the words of the real server.
    pub(crate) async fn authorize(
        &self,
        authorizer: &dyn Authorizer,
        whose: &Whose,
        verb: Verb,
        name: &str,
    ) -> Result<AccessDecision, Failure> {
        let (group, plural) = (self.resource.group.as_str(), self.resource.plural.as_str());
        // What follows a subresource is none of its own.
        let subresource = self.subresource.split('/').next().unwrap_or_default();
        let attributes = Attributes {
            user: &whose.user,
            verb: verb.word(),
            group,
            resource: plural,
            subresource,
            namespace: self.home(),
            name,
            path: "",
        };
        let decision = authorizer.decide(&attributes).await;
        if decision.allowed {
            return Ok(decision);
        }
        let why = denied(&attributes, &decision);
        Err(Failure::forbidden(group, plural, name, &why).unadmitted())
    }
}

/// Says what a user may not do with a resource, as the real server says it.
#[must_use]
pub(crate) fn denied(asked: &Attributes<'_>, decision: &AccessDecision) -> String {
    let slash = if asked.subresource.is_empty() {
        ""
    } else {
        "/"
    };
    let scope = if asked.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", asked.namespace)
    };
    let mut why = format!(
        "User \"{}\" cannot {} resource \"{}{slash}{}\" in API group \"{}\" {scope}",
        asked.user.name, asked.verb, asked.resource, asked.subresource, asked.group
    );
    if !decision.reason.is_empty() {
        why += ": ";
        why += &decision.reason;
    }
    why
}
