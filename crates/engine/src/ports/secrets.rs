//! Secrets with credentials for git.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use model::{Namespace, ObjectKey};

use super::{Found, PortError};

/// For whom a Secret with credentials is read (X8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// Whoever named the Secret, or the address that it is used at, in a repository: as recorded, and only while the
    /// repository still names both.
    Repository {
        /// The repository.
        key: ObjectKey,
        /// Its address.
        address: String,
    },
    /// Whoever asks for a clone.
    Caller {
        /// The user.
        user: String,
        /// The user's groups.
        groups: Vec<String>,
    },
}

/// The parts of a Secret with credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its type, such as `kubernetes.io/basic-auth`.
    pub kind: String,
    /// The hosts that it is bound to (`offshoot.dev/hosts`), as written; `None` for all.
    pub hosts: Option<String>,
    /// Its data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// Keys only: values of secrets are never printed.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("kind", &self.kind)
            .field("keys", &self.data.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Reads Secrets for those who may.
#[async_trait]
pub trait Secrets: Send + Sync + fmt::Debug {
    /// A Secret with credentials, as the reader may see it: whoever may not learns nothing about it.
    async fn secret(&self, key: &ObjectKey, reader: &Reader) -> Result<Found<Secret>, PortError>;

    /// The certificates (PEM) that a namespace trusts beside the system's, if it says so.
    async fn trusted(&self, namespace: &Namespace) -> Result<Option<Vec<u8>>, PortError>;
}
