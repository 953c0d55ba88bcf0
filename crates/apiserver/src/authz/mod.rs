//! Who may do what: role-based access control over the four kinds of `rbac.authorization.k8s.io`.
//!
//! [`Rbac`] answers from an index of roles and bindings that follows the store, never from a list made for a
//! request. The rules are pure ([`Rule`]); what a write of a role may grant is checked where writes are
//! committed. Texts are those of `k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac`. It never looks at credentials.

mod cover;
mod index;
mod rbac;
mod rule;
mod setter;
mod writer;

pub(crate) use cover::{Cover, STEPS};
pub(crate) use rbac::Rbac;
pub(crate) use rule::{Rule, quoted};
pub use setter::Setters;
pub use writer::Writers;

use std::sync::Arc;

use async_trait::async_trait;

use crate::access::{AccessDecision, Attributes, User};

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules that hold for a user, and what could not be looked up.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldRules {
    /// In the order of the bindings' names, cluster-wide ones first.
    pub(crate) rules: Vec<Rule>,
    /// Roles that bindings name and that are not there.
    pub(crate) errors: Vec<String>,
    /// There are more rules, which were not gathered.
    pub(crate) cut: bool,
}

/// Decides who may do what. Another server may have to be asked for it.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// Decides a request.
    async fn decide(&self, request: &Attributes<'_>) -> AccessDecision;

    /// Whether the request is allowed.
    async fn allows(&self, request: &Attributes<'_>) -> bool {
        self.decide(request).await.allowed
    }
}

/// The roles that decide here; none where the embedding program has another authorizer.
#[derive(Clone, Default)]
pub(crate) struct Roles(Option<Arc<Rbac>>);

impl Roles {
    /// These.
    pub(crate) const fn of(rbac: Arc<Rbac>) -> Self {
        Self(Some(rbac))
    }

    /// The rules that hold for a user in a namespace (empty: in the whole cluster).
    pub(crate) fn held(&self, user: &User, namespace: &str) -> HeldRules {
        let unknown = || HeldRules {
            cut: true,
            ..HeldRules::default()
        };
        let rbac = self.0.as_ref();
        rbac.map_or_else(unknown, |rbac| rbac.held(user, namespace))
    }

    /// The rules of a role that a binding in `namespace` names; `None` if there is no such role.
    pub(crate) fn role(&self, kind: &str, name: &str, namespace: &str) -> Option<Vec<Rule>> {
        self.0.as_ref()?.role(kind, name, namespace)
    }
}

#[cfg(test)]
mod tests;
