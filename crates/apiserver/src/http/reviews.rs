//! Reviews: questions about who may do what, answered by the authorizer and never stored.

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::negotiate::Shape;
use super::{Asked, Door, body, respond};
use crate::gateway::{Attributes, User};
use crate::logic::{WriteOptions, check_identity, convert, managed, metadata, report_unknown};
use crate::status::Failure;

impl Door {
    /// Answers a review.
    pub(super) async fn review(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose(|s| s == Shape::Object)?;
        let rules = asked.target.rules()?;
        let kind = rules.resource.kind.as_str();
        let bytes = body::read(asked.body, rules.resource.body_limit).await?;
        let decoded = body::object(&bytes, &asked.content_type, kind, false)?;
        let mut review = decoded.object;
        metadata::check_types(rules, &review)?;
        check_identity(rules, &mut review, &asked.target.namespace)?;
        let options = WriteOptions {
            field_manager: asked.whose.agent.clone(),
            duplicates: decoded.duplicates,
            ..WriteOptions::default()
        };
        let mut warnings = asked.warnings;
        let unknown = convert::admit(rules, &mut review);
        report_unknown(rules, &unknown, &options, &mut warnings)?;
        let errors = convert::check(rules, &review, None, &[]);
        if !errors.is_empty() {
            return Err(Failure::invalid(&rules.resource.group, "", "", &errors));
        }
        let moment = self.core.moment();
        let user = &asked.whose.user;
        let status = match kind {
            "SelfSubjectAccessReview" => json!({"allowed": self.allowed(user, &review)}),
            "SubjectAccessReview" | "LocalSubjectAccessReview" => {
                json!({"allowed": self.allowed(&subject(&review), &review)})
            }
            "SelfSubjectReview" => json!({"userInfo": info(user)}),
            "SelfSubjectRulesReview" => self.rules_of(user),
            _ => json!({}),
        };
        match kind {
            "SelfSubjectReview" => {
                if let Some(metadata) = crate::logic::metadata_mut(&mut review) {
                    metadata.insert("creationTimestamp".to_owned(), moment.now.into());
                }
            }
            "SelfSubjectRulesReview" => review["spec"] = json!({}),
            _ => managed::created(rules, &mut review, None, &options, &moment),
        }
        if let Some(root) = review.as_object_mut() {
            root.entry("metadata").or_insert_with(|| json!({}));
            root.insert("status".to_owned(), status);
        }
        Ok(respond::value(201, form.format, &review, &warnings))
    }

    fn allowed(&self, user: &User, review: &Value) -> bool {
        let text = |pointer: &str| {
            review
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let resource = |field: &str| text(&format!("/spec/resourceAttributes/{field}"));
        let path = text("/spec/nonResourceAttributes/path");
        let first = path.trim_matches('/').split('/').next().unwrap_or_default();
        if !path.is_empty()
            && super::meta::OPEN.contains(&first)
            && text("/spec/nonResourceAttributes/verb") == "get"
        {
            return true;
        }
        self.authorizer.allows(&Attributes {
            user,
            verb: if path.is_empty() {
                resource("verb")
            } else {
                text("/spec/nonResourceAttributes/verb")
            },
            group: resource("group"),
            resource: resource("resource"),
            subresource: resource("subresource"),
            namespace: resource("namespace"),
            name: resource("name"),
            path,
        })
    }

    /// What is known without asking about each resource: everything, or what every user may do.
    fn rules_of(&self, user: &User) -> Value {
        let all = self.authorizer.allows(&Attributes {
            user,
            verb: "*",
            group: "*",
            resource: "*",
            subresource: "*",
            namespace: "",
            name: "",
            path: "",
        });
        let mut resources = Vec::new();
        let mut paths = Vec::new();
        if all {
            resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
            paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        }
        resources.push(json!({
            "verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        }));
        resources.push(json!({
            "verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"],
        }));
        paths.push(json!({"verbs": ["get"], "nonResourceURLs": [
            "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
            "/version", "/version/",
        ]}));
        json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
    }
}

/// The user that a review asks about.
fn subject(review: &Value) -> User {
    let text = |pointer: &str| {
        review
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let groups = review.pointer("/spec/groups").and_then(Value::as_array);
    User {
        name: text("/spec/user").to_owned(),
        groups: groups
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        uid: text("/spec/uid").to_owned(),
    }
}

fn info(user: &User) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.clone().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.clone().into());
    }
    info.insert("groups".to_owned(), user.groups.clone().into());
    info.into()
}
