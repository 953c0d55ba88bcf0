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
pub use rule::Rule;
pub(crate) use rule::quoted;
pub use setter::Setters;
pub use writer::Writers;

use async_trait::async_trait;

use crate::access::{Attributes, Decision, User};

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules that hold for a user, and what could not be looked up.
#[derive(Debug, Clone, Default)]
pub struct Held {
    /// In the order of the bindings' names, cluster-wide ones first.
    pub rules: Vec<Rule>,
    /// Roles that bindings name and that are not there.
    pub errors: Vec<String>,
    /// There are more rules, which were not gathered.
    pub cut: bool,
}

/// Decides who may do what. Another server may have to be asked for it.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// Decides a request.
    async fn decide(&self, request: &Attributes<'_>) -> Decision;

    /// Whether the request is allowed.
    async fn allows(&self, request: &Attributes<'_>) -> bool {
        self.decide(request).await.allowed
    }

    /// The rules that hold for a user in a namespace (empty: in the whole cluster). Asked only where roles are served.
    fn held(&self, _user: &User, _namespace: &str) -> Held {
        Held {
            cut: true,
            ..Held::default()
        }
    }

    /// The rules of a role that a binding in `namespace` names; `None` if there is no such role. Asked only where roles are
    /// served.
    fn role(&self, _kind: &str, _name: &str, _namespace: &str) -> Option<Vec<Rule>> {
        None
    }
}

#[cfg(test)]
mod tests;
