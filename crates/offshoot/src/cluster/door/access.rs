//! What somebody may do, by the word of the cluster (SubjectAccessReview). Verdicts are kept for ten seconds; where the cluster
//! cannot be asked, nothing is allowed, and that is kept for no time.

use std::time::Duration;

use apiserver::gateway::{AccessDecision, Attributes, Authorizer, User};
use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::answers::{Answers, Bounds, Question, Unanswered, reviewed};

const BOUNDS: Bounds = Bounds {
    keep: Duration::from_secs(10),
    patience: Duration::from_secs(10),
    kept: 16_384,
    asking: 64,
};

/// What everybody may see, so that a probe needs no answer of anybody.
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Asks the cluster who may do what.
pub struct Access {
    client: Client,
    answers: Answers<AccessDecision>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Asks the cluster of this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            answers: Answers::new(BOUNDS),
        }
    }
}

#[async_trait]
impl Authorizer for Access {
    async fn decide(&self, request: &Attributes<'_>) -> AccessDecision {
        let health = request.resource.is_empty() && HEALTH.contains(&request.path);
        if health || request.user.is_master() {
            return AccessDecision::allowed();
        }
        let ask = || review(self.client.clone(), spec(request));
        let answer = self.answers.get(question(request), ask).await;
        answer.unwrap_or_else(|why| AccessDecision {
            allowed: false,
            reason: format!("the cluster cannot be asked now whether that is allowed: {why}"),
        })
    }
}

async fn review(
    client: Client,
    spec: SubjectAccessReviewSpec,
) -> Result<AccessDecision, Unanswered> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let asked = SubjectAccessReview {
        spec,
        ..SubjectAccessReview::default()
    };
    let params = PostParams::default();
    let said = reviewed(|| reviews.create(&params, &asked)).await?;
    let status = said.status.ok_or_else(|| "it gave no verdict".to_owned())?;
    if let Some(error) = status.evaluation_error {
        tracing::debug!(error, "rights were judged in part");
    }
    Ok(AccessDecision {
        allowed: status.allowed && status.denied != Some(true),
        reason: status.reason.unwrap_or_default(),
    })
}

/// What the question is known by: all that the verdict may depend on.
fn question(request: &Attributes<'_>) -> Question {
    let Attributes {
        user,
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
        path,
    } = request;
    let User {
        name: who,
        groups,
        uid,
        extra,
    } = user;
    let counts = [groups.len(), extra.len()].map(|count| count.to_string());
    let mut parts = vec![
        *verb,
        *group,
        *resource,
        *subresource,
        *namespace,
        *name,
        *path,
        who,
        uid,
        &counts[0],
        &counts[1],
    ];
    parts.extend(groups.iter().map(String::as_str));
    let values: Vec<String> = extra.values().map(|all| all.len().to_string()).collect();
    for ((key, all), count) in extra.iter().zip(&values) {
        parts.extend([key.as_str(), count.as_str()]);
        parts.extend(all.iter().map(String::as_str));
    }
    Question::new(parts)
}

fn spec(request: &Attributes<'_>) -> SubjectAccessReviewSpec {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let user = request.user;
    let mut spec = SubjectAccessReviewSpec {
        user: text(&user.name),
        groups: Some(user.groups.clone()),
        uid: text(&user.uid),
        extra: Some(user.extra.clone()),
        ..SubjectAccessReviewSpec::default()
    };
    if request.resource.is_empty() {
        spec.non_resource_attributes = Some(NonResourceAttributes {
            path: text(request.path),
            verb: text(request.verb),
        });
    } else {
        spec.resource_attributes = Some(ResourceAttributes {
            group: text(request.group),
            resource: text(request.resource),
            subresource: text(request.subresource),
            namespace: text(request.namespace),
            name: text(request.name),
            verb: text(request.verb),
            ..ResourceAttributes::default()
        });
    }
    spec
}

#[cfg(test)]
mod tests;
