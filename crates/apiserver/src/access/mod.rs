//! Who asks for what, and what was decided about it.

pub(crate) mod accounts;

use std::collections::BTreeMap;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The uid, if the credential has one.
    pub uid: String,
    /// What else the credential says: scopes, the credential's id.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The name of who comes without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

impl User {
    /// A user with groups.
    #[must_use]
    pub fn new(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.iter().map(|g| (*g).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Who comes without credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, &["system:unauthenticated"])
    }

    /// Whether the user may do anything: the group that Kubernetes exempts from authorisation.
    #[must_use]
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|g| g == "system:masters")
    }
}

/// What an [`Authorizer`](crate::authz::Authorizer) is asked about.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// `get`, `list` …, for other paths the HTTP method in lower case.
    pub verb: &'a str,
    /// The API group.
    pub group: &'a str,
    /// The resource; empty for other paths.
    pub resource: &'a str,
    /// The subresource; may be empty.
    pub subresource: &'a str,
    /// The namespace; may be empty.
    pub namespace: &'a str,
    /// The name; may be empty.
    pub name: &'a str,
    /// The path, where no resource is addressed.
    pub path: &'a str,
}

/// What was decided about a request, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether it may go on.
    pub allowed: bool,
    /// In the words of the real server; may be empty.
    pub reason: String,
}

impl AccessDecision {
    /// Allowed, and nothing to say about it.
    #[must_use]
    pub fn allowed() -> Self {
        Self {
            allowed: true,
            reason: String::new(),
        }
    }
}
