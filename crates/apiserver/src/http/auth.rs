//! Who asks: a bearer token, or the identity that an in-process caller carries.

use http::request::Parts;

use crate::gateway::User;
use crate::status::Failure;
use crate::verbs::Whose;

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

    /// Tells who asks; without credentials that is `system:anonymous`.
    pub(super) fn identify(&self, parts: &Parts) -> Result<Whose, Failure> {
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
