//! Who may do what: role-based access control over the four kinds of `rbac.authorization.k8s.io`.
//!
//! [`Rbac`] answers from an index of roles and bindings that follows the store, never from a list made for a
//! request. The rules are pure ([`Rule`]); what a write of a role may grant is checked where writes are
//! committed. Texts are those of `k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac`. It never looks at credentials.

mod aggregate;
mod bootstrap;
mod cover;
mod defaults;
mod grants;
mod index;
mod rbac;
mod rule;
mod setter;
mod writer;

pub(crate) use aggregate::RESOURCE as GATHERING;
pub use rbac::Rbac;
pub use rule::Rule;
pub use setter::Setters;
pub use writer::Writers;

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

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

#[cfg(test)]
mod tests;
