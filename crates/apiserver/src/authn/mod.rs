//! Who asks: client certificates, tokens of service accounts, static tokens, and on whose behalf.
//!
//! [`Authenticator`] turns credentials into a [`User`](crate::access::User) or a 401; what the user may do is
//! [`authz`](crate::authz)'s. Texts and groups are those of the real server. Cryptography is rustls, ring and
//! `jsonwebtoken`; nothing here computes a signature itself.

mod certificates;
mod impersonate;
mod tokens;

use std::sync::Arc;

use http::request::Parts;
use objects::Failure;

use crate::access::User;
use crate::authz::Authorizer;
use crate::verbs::{Core, Whose};

pub(crate) use certificates::any_certificate;
pub use certificates::{Certificates, Chain, Peer};
pub(crate) use tokens::Wish;
pub(crate) use tokens::{Bound, ISSUER, TokenKeys};

/// The group of everybody who came in with credentials.
const AUTHENTICATED: &str = "system:authenticated";

/// The extra that names the credential itself.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Everything that a server accepts as credentials.
pub(crate) struct Authenticator {
    core: Arc<Core>,
    tokens: Vec<(String, User)>,
    keys: Arc<TokenKeys>,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator")
            .field("tokens", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

/// Who came in, and as whom they ask.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// As whom the request is decided.
    pub whose: Whose,
    /// Who really came in, where that is somebody else.
    pub behind: Option<User>,
}

/// Whether a bearer token is given after two spaces: a token is what stands after one, so that nobody gave any.
#[must_use]
pub(crate) fn spaced(headers: &http::HeaderMap) -> bool {
    let given = headers.get(http::header::AUTHORIZATION);
    let given = given
        .and_then(|v| v.to_str().ok())
        .and_then(|text| text.get(..8));
    given.is_some_and(|lead| lead.eq_ignore_ascii_case("bearer  "))
}

impl Authenticator {
    /// Accepts static bearer tokens, tokens that `keys` signed, and certificates of the server's authority.
    #[must_use]
    pub(crate) fn new(core: Arc<Core>, tokens: Vec<(String, User)>, keys: Arc<TokenKeys>) -> Self {
        Self { core, tokens, keys }
    }

    /// Tells who asks, or on whose behalf, where `authorizer` lets them.
    ///
    /// # Errors
    /// 401 for credentials that are not accepted, 403 for an impersonation that is not allowed.
    pub(crate) async fn identify(
        &self,
        parts: &Parts,
        authorizer: &dyn Authorizer,
    ) -> Result<Caller, Failure> {
        let whose = self.caller(parts).await?;
        match impersonate::wanted(&parts.headers)? {
            None => Ok(Caller {
                whose,
                behind: None,
            }),
            Some(wanted) => {
                let user = wanted.allowed(&whose.user, authorizer).await?;
                Ok(Caller {
                    behind: Some(whose.user),
                    whose: Whose {
                        user,
                        agent: whose.agent,
                    },
                })
            }
        }
    }

    /// The keys that sign tokens of service accounts.
    #[must_use]
    pub(crate) fn keys(&self) -> &TokenKeys {
        &self.keys
    }

    /// Tells whose credentials these are; without credentials that is `system:anonymous`.
    async fn caller(&self, parts: &Parts) -> Result<Whose, Failure> {
        if let Some(whose) = parts.extensions.get::<Whose>() {
            return Ok(whose.clone());
        }
        let header = |name| {
            let value: Option<&http::HeaderValue> = parts.headers.get(name);
            value.and_then(|v| v.to_str().ok())
        };
        let agent = header(http::header::USER_AGENT).unwrap_or_default();
        let agent = agent.split('/').next().unwrap_or_default().to_owned();
        if let Some(host) = &self.core.host {
            let user = host.identify(parts).await?;
            return Ok(Whose { user, agent });
        }
        let peer = parts.extensions.get::<Peer>();
        if let Some(user) = peer.and_then(|p| p.user(self.core.now())) {
            return Ok(Whose { user, agent });
        }
        let given = header(http::header::AUTHORIZATION).filter(|_| !spaced(&parts.headers));
        if let Some(authorization) = given {
            let given = authorization
                .split_once(' ')
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let given = given.map(|(_, token)| token.trim()).unwrap_or_default();
            let user = self
                .bearer(given, &[])
                .map_err(|_| Failure::unauthorized())?;
            return Ok(Whose { user, agent });
        }
        if peer.is_some() {
            return Err(Failure::unauthorized());
        }
        let user = User::anonymous();
        Ok(Whose { user, agent })
    }

    /// The user of a bearer token that is meant for one of `audiences` (none: for this server).
    ///
    /// # Errors
    /// Why it is not accepted, for those who may know.
    pub(crate) fn bearer(&self, given: &str, audiences: &[String]) -> Result<User, String> {
        let fixed = self
            .tokens
            .iter()
            .find(|(token, _)| same(token.as_bytes(), given.as_bytes()));
        let mut user = match fixed {
            Some((_, user)) => user.clone(),
            None => self.keys.user(given, audiences, &self.core)?,
        };
        authenticated(&mut user);
        Ok(user)
    }
}

/// Puts a user into the group of all who came in with credentials.
fn authenticated(user: &mut User) {
    if !user.groups.iter().any(|g| g == AUTHENTICATED) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
}

/// Compares in time that does not depend on where the texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0_u8, |acc, (x, y)| acc | (x ^ y)) == 0
}
