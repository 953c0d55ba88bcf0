//! Bearer tokens, judged by the cluster. A verdict is kept for ten seconds, by a digest of the token.

use std::collections::BTreeMap;
use std::time::Duration;

use apiserver::gateway::User;
use http::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use objects::{Failure, Reason};

use super::super::answers::{Answers, Bounds, Question, Unanswered, reviewed};

/// The group of everybody who came in with credentials.
const AUTHENTICATED: &str = "system:authenticated";

const BOUNDS: Bounds = Bounds {
    keep: Duration::from_secs(10),
    patience: Duration::from_secs(10),
    kept: 4096,
    asking: 32,
};

/// Whose tokens are.
pub(super) struct Tokens {
    client: Client,
    /// `None` is a token that is not accepted.
    answers: Answers<Option<User>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            answers: Answers::new(BOUNDS),
        }
    }

    /// The user of a token.
    ///
    /// # Errors
    /// 401 if the cluster does not accept it, 503 if the cluster cannot be asked.
    pub(super) async fn user(&self, token: &str) -> Result<User, Failure> {
        let ask = || review(self.client.clone(), token.to_owned());
        let answer = self.answers.get(Question::new([token]), ask).await;
        let user = answer.map_err(|why| {
            let message = format!("the cluster cannot be asked now whose token this is: {why}");
            Failure::new(503, Reason::ServiceUnavailable, message)
        })?;
        user.ok_or_else(Failure::unauthorized)
    }
}

/// The token of an `Authorization` header.
pub(super) fn bearer(given: &HeaderValue) -> Option<&str> {
    let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

async fn review(client: Client, token: String) -> Result<Option<User>, Unanswered> {
    let reviews: Api<TokenReview> = Api::all(client);
    let asked = TokenReview {
        spec: TokenReviewSpec {
            token,
            audiences: None,
        },
        ..TokenReview::default()
    };
    let params = PostParams::default();
    let said = reviewed(|| reviews.create(&params, &asked)).await?;
    let status = said.status.unwrap_or_default();
    if let Some(error) = status.error.filter(|error| !error.is_empty()) {
        tracing::debug!(error, "a token is not accepted");
    }
    if status.authenticated != Some(true) {
        return Ok(None);
    }
    Ok(status.user.and_then(user))
}

fn user(info: UserInfo) -> Option<User> {
    let mut user = User {
        name: info.username.filter(|name| !name.is_empty())?,
        groups: info.groups.unwrap_or_default(),
        uid: info.uid.unwrap_or_default(),
        extra: info
            .extra
            .unwrap_or_default()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
    };
    if !user.groups.iter().any(|g| g == AUTHENTICATED) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    Some(user)
}
