//! Who asks: a bearer token, or the identity that an in-process caller carries.

use http::request::Parts;

use crate::gateway::{Attributes, Authorizer, User};
use crate::status::Failure;
use crate::verbs::Whose;
use crate::verbs::target::denied;

/// The credentials that a server accepts.
#[derive(Clone, Default)]
pub struct Credentials {
    tokens: Vec<(String, User)>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("tokens", &self.tokens.len())
            .finish()
    }
}

impl Credentials {
    /// Accepts a bearer token as a user.
    #[must_use]
    pub fn with_token(mut self, token: &str, user: User) -> Self {
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Tells who asks, or on whose behalf: masters may impersonate, nobody else.
    pub(super) fn identify(
        &self,
        parts: &Parts,
        authorizer: &dyn Authorizer,
    ) -> Result<Whose, Failure> {
        let whose = self.caller(parts)?;
        let header = |name: &str| {
            parts
                .headers
                .get_all(name)
                .iter()
                .filter_map(|v| v.to_str().ok())
        };
        let Some(name) = header("impersonate-user").next() else {
            let partly = header("impersonate-group")
                .next()
                .or_else(|| header("impersonate-uid").next());
            return match partly {
                Some(_) => Err(Failure::new(
                    500,
                    "InternalError",
                    "requested impersonation without impersonating a user",
                )),
                None => Ok(whose),
            };
        };
        let may = |resource: &str, name: &str| {
            let attributes = Attributes {
                user: &whose.user,
                verb: "impersonate",
                group: "",
                resource,
                subresource: "",
                namespace: "",
                name,
                path: "",
            };
            let decision = authorizer.decide(&attributes);
            if decision.allowed {
                return Ok(());
            }
            let why = denied(&attributes, &decision);
            Err(Failure::forbidden("", resource, name, &why))
        };
        may("users", name)?;
        let mut user = User::new(name, &[]);
        for group in header("impersonate-group") {
            may("groups", group)?;
            user.groups.push(group.to_owned());
        }
        if let Some(uid) = header("impersonate-uid").next() {
            may("uids", uid)?;
            uid.clone_into(&mut user.uid);
        }
        if name != "system:anonymous" && !user.groups.iter().any(|g| g == "system:authenticated") {
            user.groups.push("system:authenticated".to_owned());
        }
        Ok(Whose {
            user,
            agent: whose.agent,
        })
    }

    /// Tells whose credentials these are; without credentials that is `system:anonymous`.
    fn caller(&self, parts: &Parts) -> Result<Whose, Failure> {
        if let Some(whose) = parts.extensions.get::<Whose>() {
            return Ok(whose.clone());
        }
        let header = |name| {
            parts
                .headers
                .get(name)
                .and_then(|v: &http::HeaderValue| v.to_str().ok())
        };
        let agent = header(http::header::USER_AGENT).unwrap_or_default();
        let agent = agent.split('/').next().unwrap_or_default().to_owned();
        let Some(authorization) = header(http::header::AUTHORIZATION) else {
            let user = User::new("system:anonymous", &["system:unauthenticated"]);
            return Ok(Whose { user, agent });
        };
        let given = authorization
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let given = given.map(|(_, token)| token.trim()).unwrap_or_default();
        let found = self
            .tokens
            .iter()
            .find(|(token, _)| same(token.as_bytes(), given.as_bytes()));
        let (_, user) = found.ok_or_else(Failure::unauthorized)?;
        let mut user = user.clone();
        if !user.groups.iter().any(|g| g == "system:authenticated") {
            user.groups.push("system:authenticated".to_owned());
        }
        Ok(Whose { user, agent })
    }
}

/// Compares in time that does not depend on where the texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0_u8, |acc, (x, y)| acc | (x ^ y)) == 0
}
