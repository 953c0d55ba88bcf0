//! The door to the embedding program: resources whose writes (and sometimes reads) are its own business.
//!
//! The common rules compute the old and the new state first; the gateway decides what the write means, commits
//! records through [`ServerHandle::commit`](crate::ServerHandle::commit) and answers with the object. It is the
//! only writer of those records.

use async_trait::async_trait;
use objects::Reason;
use serde_json::Value;

pub use crate::access::{AccessDecision, Attributes, User};
pub use crate::authz::Authorizer;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Read one.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make one.
    Create,
    /// Replace one.
    Update,
    /// Change one.
    Patch,
    /// Delete one.
    Delete,
    /// Delete many.
    DeleteCollection,
}

impl Verb {
    /// The word in authorisation and messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// One call to the gateway.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is to be done; a patch arrives computed, with `old` and `new`.
    pub verb: Verb,
    /// The API group.
    pub group: String,
    /// The version that the client speaks.
    pub version: String,
    /// The plural of the resource.
    pub resource: String,
    /// The subresource, if one was addressed.
    pub subresource: Option<String>,
    /// The namespace; empty for all namespaces or cluster scope.
    pub namespace: String,
    /// The name; empty for collections, and on create the generated or given name.
    pub name: String,
    /// The state before; `None` for create and for reads.
    pub old: Option<Value>,
    /// The wanted state; `None` for delete and for reads.
    pub new: Option<Value>,
    /// Who asks.
    pub user: User,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// The rest.
    pub options: CallOptions,
}

/// What else a client said.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// The manager of the fields that are written.
    pub field_manager: String,
    /// Label selector of a list, as written.
    pub label_selector: String,
    /// Field selector of a list, as written.
    pub field_selector: String,
    /// `Background`, `Foreground` or `Orphan` of a delete.
    pub propagation: Option<String>,
    /// The version that the client expects, from the object or from preconditions.
    pub expect_rv: Option<u64>,
}

/// A successful answer.
#[derive(Debug, Clone, Default)]
pub struct CallAnswer {
    /// The object; for a virtual list an object with `items`.
    pub object: Value,
    /// The HTTP status, if not the usual one.
    pub status: Option<u16>,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// How a refusal is classified; doors map it once to HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// The request makes no sense (400).
    BadRequest,
    /// The object breaks a rule (422).
    Invalid,
    /// Something that was named is missing (404).
    NotFound,
    /// It exists already (409).
    AlreadyExists,
    /// Somebody else was first (409).
    Conflict,
    /// It may not be done (403).
    Denied,
    /// It is not offered (405).
    Unsupported,
    /// It is not possible now (503).
    Unavailable,
    /// It takes longer than anybody is made to wait (504).
    TimedOut,
    /// A limit was reached (413).
    Limit,
    /// A mistake of ours (500).
    Bug,
}

impl RefusalClass {
    /// The code and the reason of the `Status` that a client is told.
    #[must_use]
    pub fn status(self) -> (u16, Reason) {
        match self {
            Self::BadRequest => (400, Reason::BadRequest),
            Self::Invalid => (422, Reason::Invalid),
            Self::NotFound => (404, Reason::NotFound),
            Self::AlreadyExists => (409, Reason::AlreadyExists),
            Self::Conflict => (409, Reason::Conflict),
            Self::Denied => (403, Reason::Forbidden),
            Self::Unsupported => (405, Reason::MethodNotAllowed),
            Self::Unavailable => (503, Reason::ServiceUnavailable),
            Self::TimedOut => (504, Reason::Timeout),
            Self::Limit => (413, Reason::RequestEntityTooLarge),
            Self::Bug => (500, Reason::InternalError),
        }
    }
}

/// One cause of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Where.
    pub field: String,
    /// `FieldValueInvalid` …
    pub reason: String,
    /// The text.
    pub message: String,
}

/// A refusal: what the client is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The class.
    pub class: RefusalClass,
    /// The whole message, as it is shown.
    pub message: String,
    /// The causes.
    pub causes: Vec<Cause>,
}

impl Refusal {
    /// A refusal without causes.
    #[must_use]
    pub fn new(class: RefusalClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            causes: Vec::new(),
        }
    }
}

/// Implemented by the embedding program for the resources that it gave with
/// [`write_through`](objects::Resource::write_through) or [`virtual_with`](objects::Resource::virtual_with).
#[async_trait]
pub trait Gateway: Send + Sync {
    /// Handles one call.
    ///
    /// # Errors
    /// The refusal that the client is told.
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal>;

    /// The name under which what a create asks for is kept, where it is composed of the object and not the one that
    /// was sent. It must be the record's: the owners of the request's fields wait under it.
    fn composed_name(&self, _call: &Call) -> Option<String> {
        None
    }
}
