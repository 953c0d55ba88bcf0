//! What a repository is to us: where it is, how it is reached, and whose credentials are used.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use model::Class;

use crate::error::{Error, Result};
use crate::hosts::{authority, redact};

/// How a URL is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlKind {
    /// `file://`: a bare repository is written in place, next to other processes' git; one with a
    /// working tree is only read.
    Local(PathBuf),
    /// `http://` or `https://`: a mirror of ours, with fetch and push.
    Remote,
}

/// A repository to open.
#[derive(Clone)]
pub struct RemoteSpec {
    /// The URL, without user information.
    pub url: String,
    /// Whether an absent local directory is made (bare). Never for a remote.
    pub create_repository: bool,
    /// A branch that must exist, such as `main`.
    pub branch: Option<String>,
    /// Whether that branch is made where it is missing, as Porch does it.
    pub create_branch: Option<crate::Signature>,
    /// Which branches and tags tell that the branch was there once: beside one of them it is missed, and none is made.
    pub branch_was_there: fn(&crate::RefName) -> bool,
    /// Credentials, asked anew for each attempt.
    pub credentials: Arc<dyn Credentials>,
}

impl fmt::Debug for RemoteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RemoteSpec");
        f.field("url", &self.url)
            .field("create_repository", &self.create_repository);
        f.field("branch", &self.branch)
            .field("create_branch", &self.create_branch);
        f.finish_non_exhaustive()
    }
}

impl RemoteSpec {
    /// A repository that exists, without credentials.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            create_repository: false,
            branch: None,
            create_branch: None,
            branch_was_there: |_| false,
            credentials: Arc::new(NoCredentials),
        }
    }

    /// How the URL is served, and the URL in its one form (no slash at its end).
    ///
    /// # Errors
    /// Other schemes, user information in the URL, relative paths.
    pub fn kind(&self) -> Result<(String, UrlKind)> {
        let refuse = |why: &str| Error::Url {
            url: redact(&self.url),
            why: why.to_owned(),
        };
        if self.url.contains(|c: char| c.is_control() || c == ' ') {
            return Err(refuse("it holds spaces or control characters"));
        }
        let url = self.url.trim_end_matches('/').to_owned();
        if let Some(path) = url.strip_prefix("file://") {
            if !path.starts_with('/') {
                return Err(refuse("a file URL is file:// with an absolute path"));
            }
            return Ok((url.clone(), UrlKind::Local(PathBuf::from(path))));
        }
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let Some(rest) = rest else {
            return Err(refuse(
                "use https://, http:// or file:// with an absolute path",
            ));
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') {
            return Err(refuse("put credentials into a Secret, not into the URL"));
        }
        if host.is_empty() || rest.contains(['?', '#']) {
            return Err(refuse("it needs a host and a path without query"));
        }
        if authority(host).is_none() {
            return Err(refuse(
                "its host must be a name of letters, digits, dots and hyphens (xn--… for others) or an address (IPv4 as four decimal numbers), its port a number without zeros before it",
            ));
        }
        Ok((url, UrlKind::Remote))
    }
}

/// What a remote is told about who we are.
#[derive(Clone, Default)]
pub enum Credential {
    /// Nothing.
    #[default]
    None,
    /// HTTP basic authentication.
    Basic {
        /// The user.
        username: String,
        /// The password or token.
        password: String,
    },
    /// A bearer token.
    Bearer {
        /// The token.
        token: String,
    },
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Basic { .. } => "Basic(***)",
            Self::Bearer { .. } => "Bearer(***)",
        })
    }
}

/// Why no credentials could be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct CredentialError {
    /// Whether it was refused, or could not be looked up now.
    pub class: Class,
    /// Whether there is nothing of the name from which they should come.
    pub absent: bool,
    /// What happened; no secret stands in it.
    pub text: String,
}

/// Where credentials come from: asked anew for each attempt, so that a rotation is seen at once.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Whose they are: what is bounded for all tenants together is shared among them.
    fn tenant(&self) -> Arc<str> {
        Arc::from("")
    }

    /// The credential for this URL.
    async fn credential(&self, url: &str) -> Result<Credential, CredentialError>;

    /// Certificates (PEM) to trust beside or instead of the system's, if any.
    async fn ca_bundle(&self, _url: &str) -> Result<Option<Vec<u8>>, CredentialError> {
        Ok(None)
    }
}

/// For public and local repositories.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCredentials;

#[async_trait]
impl Credentials for NoCredentials {
    async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
        Ok(Credential::None)
    }
}
