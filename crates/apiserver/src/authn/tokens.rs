//! Tokens of service accounts: signed, for an audience, for a time, and for one incarnation of the account.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use super::CREDENTIAL_ID;
use crate::access::{User, accounts};
use crate::verbs::Core;

/// Who issues the tokens, and the audience of those that are for this server.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// An object that a token is bound to: with it the token ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kubernetes {
    namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Bound>,
    serviceaccount: Bound,
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    iss: String,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Kubernetes,
    nbf: i64,
    sub: String,
}

/// What a token is asked for.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) account: Bound,
    pub(crate) secret: Option<Bound>,
    pub(crate) audiences: Vec<String>,
    pub(crate) seconds: i64,
}

/// The key pair of a server's tokens.
pub(crate) struct TokenKeys {
    sign: EncodingKey,
    check: DecodingKey,
}

impl std::fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKeys").finish_non_exhaustive()
    }
}

impl TokenKeys {
    /// Signs and checks with one pair.
    #[must_use]
    pub(crate) fn of(pair: &rcgen::KeyPair) -> Self {
        Self {
            sign: EncodingKey::from_ec_der(&pair.serialize_der()),
            check: DecodingKey::from_ec_der(pair.public_key_raw()),
        }
    }

    /// Signs a token.
    pub(crate) fn sign(&self, wish: Wish<'_>, core: &Core) -> Result<String, String> {
        let now = core.now().as_second();
        let claims = Claims {
            aud: wish.audiences,
            exp: now.saturating_add(wish.seconds),
            iat: now,
            iss: ISSUER.to_owned(),
            jti: core.uids.uid(),
            sub: accounts::name(wish.namespace, &wish.account.name),
            kubernetes: Kubernetes {
                namespace: wish.namespace.to_owned(),
                secret: wish.secret,
                serviceaccount: wish.account,
            },
            nbf: now,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.sign)
            .map_err(|e| e.to_string())
    }

    /// The service account of a token that is meant for one of `audiences` (none: for this server).
    ///
    /// # Errors
    /// Why it is not accepted.
    pub(super) fn user(
        &self,
        token: &str,
        audiences: &[String],
        core: &Core,
    ) -> Result<User, String> {
        let invalid = || "invalid bearer token".to_owned();
        let mut how = Validation::new(Algorithm::ES256);
        // Times and audiences are checked below, by the server's clock and rules.
        (how.validate_exp, how.validate_aud) = (false, false);
        how.required_spec_claims.clear();
        let read = jsonwebtoken::decode::<Claims>(token, &self.check, &how);
        let claims = read.map_err(|_| invalid())?.claims;
        let now = core.now().as_second();
        if claims.iss != ISSUER {
            return Err(invalid());
        }
        if now >= claims.exp || now < claims.nbf {
            return Err(format!("{}, service account token has expired", invalid()));
        }
        let ours = [ISSUER.to_owned()];
        let meant = if audiences.is_empty() {
            &ours[..]
        } else {
            audiences
        };
        if !claims.aud.iter().any(|a| meant.contains(a)) {
            return Err(format!(
                "{}, token audiences {:?} is invalid for the target audiences {meant:?}",
                invalid(),
                claims.aud
            ));
        }
        let of = &claims.kubernetes;
        let lives = |resource: &str, bound: &Bound| {
            let key = objectstore::key_of(&of.namespace, &bound.name);
            core.store
                .get(resource, &key)
                .is_some_and(|o| o.fields.uid == bound.uid && o.fields.deletion_timestamp.is_none())
        };
        let bound = of.secret.as_ref().is_none_or(|s| lives("secrets", s));
        if !bound || !lives("serviceaccounts", &of.serviceaccount) {
            return Err(format!(
                "{}, service account token has been invalidated",
                invalid()
            ));
        }
        let mut user = User::new(&accounts::name(&of.namespace, &of.serviceaccount.name), &[]);
        user.groups = accounts::groups(&of.namespace);
        user.uid.clone_from(&of.serviceaccount.uid);
        let id = format!("JTI={}", claims.jti);
        user.extra.insert(CREDENTIAL_ID.to_owned(), vec![id]);
        Ok(user)
    }
}
