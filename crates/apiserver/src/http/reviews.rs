//! Reviews: questions about who may do what, answered by the authorizer and never stored.

use axum::response::Response;
use objects::Failure;
use objects::write::WriteOptions;
use objects::write::part::Part;
use objects::write::update::Means;
use serde_json::{Map, Value, json};

use super::negotiate::Shape;
use super::{Asked, Door, body, respond};
use crate::authz::Rule;
use crate::gateway::{AccessDecision, Attributes, User};

impl Door {
    /// Answers a review.
    pub(super) async fn review(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose(|s| s == Shape::Object)?;
        let rules = asked.target.rules()?;
        let kind = rules.resource.kind.as_str();
        let bytes = body::read(asked.body, rules.resource.body_limit).await?;
        let decoded = body::object(&bytes, &asked.content_type, body::Wanted::typed(kind))?;
        let mut review = decoded.object;
        rules.check_types(&review)?;
        rules.check_identity(&mut review, &asked.target.namespace, Means::Put)?;
        let options = WriteOptions {
            field_manager: asked.whose.agent.clone(),
            duplicates: decoded.duplicates,
            ..WriteOptions::default()
        };
        let mut warnings = asked.warnings;
        let unknown = rules.admit(&mut review);
        rules.report_unknown(&unknown, &options, &mut warnings)?;
        said(&mut review);
        let errors = rules.check(Part::Main, &review, None, &[]);
        if !errors.is_empty() {
            return Err(Failure::invalid(&rules.resource.group, "", "", &errors));
        }
        let moment = self.core.moment();
        let user = &asked.whose.user;
        let status = match kind {
            "SelfSubjectAccessReview" => self.access(user, &review).await,
            "SubjectAccessReview" | "LocalSubjectAccessReview" => {
                self.access(&subject(&review), &review).await
            }
            "SelfSubjectReview" => json!({"userInfo": info(user)}),
            "SelfSubjectRulesReview" => self.rules_of(user, text(&review, "/spec/namespace"))?,
            "TokenReview" => self.token_review(&review),
            _ => json!({}),
        };
        match kind {
            "SelfSubjectReview" => {
                if let Some(metadata) = objects::write::metadata_mut(&mut review) {
                    metadata.insert("creationTimestamp".to_owned(), moment.now.into());
                }
            }
            "SelfSubjectRulesReview" => review["spec"] = json!({}),
            _ => rules.created(&mut review, None, &options, &moment),
        }
        if let Some(root) = review.as_object_mut() {
            root.entry("metadata").or_insert_with(|| json!({}));
            root.insert("status".to_owned(), status);
        }
        Ok(respond::value(201, form.format, &review, &warnings))
    }

    /// The status of an access review.
    async fn access(&self, user: &User, review: &Value) -> Value {
        let resource = |field: &str| text(review, &format!("/spec/resourceAttributes/{field}"));
        let path = text(review, "/spec/nonResourceAttributes/path");
        let verb = if path.is_empty() {
            resource("verb")
        } else {
            text(review, "/spec/nonResourceAttributes/verb")
        };
        let open = super::meta::OPEN.contains(&path.trim_start_matches('/')) && verb == "get";
        let decision = if open {
            AccessDecision::allowed()
        } else {
            let asked = Attributes {
                user,
                verb,
                group: resource("group"),
                resource: resource("resource"),
                subresource: resource("subresource"),
                namespace: resource("namespace"),
                name: resource("name"),
                path,
            };
            self.authorizer.decide(&asked).await
        };
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        status
    }

    /// The rules that hold for a user in a namespace.
    fn rules_of(&self, user: &User, namespace: &str) -> Result<Value, Failure> {
        if namespace.is_empty() {
            return Err(Failure::bad_request("no namespace on request"));
        }
        let held = self.core.roles.held(user, namespace);
        let (paths, resources): (Vec<_>, Vec<_>) =
            held.rules.iter().partition(|rule| !rule.urls.is_empty());
        let written = |rules: Vec<&Rule>| rules.into_iter().map(Rule::write).collect::<Value>();
        let mut status = json!({
            "resourceRules": written(resources), "nonResourceRules": written(paths), "incomplete": held.cut,
        });
        if !held.errors.is_empty() {
            status["evaluationError"] = held.errors.join(", ").into();
        }
        Ok(status)
    }
}

/// Leaves out of what is asked what Go's types leave out: empty texts, lists and maps.
fn said(review: &mut Value) {
    let empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        other => other.is_null(),
    };
    let Some(spec) = review.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for part in ["resourceAttributes", "nonResourceAttributes"] {
        if let Some(Value::Object(part)) = spec.get_mut(part) {
            part.retain(|_, value| !empty(value));
        }
    }
    spec.retain(|name, value| name.ends_with("Attributes") && !value.is_null() || !empty(value));
}

fn text<'a>(review: &'a Value, pointer: &str) -> &'a str {
    let found = review.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// The user that a review asks about.
fn subject(review: &Value) -> User {
    let list = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array);
        let items = items.into_iter().flatten().filter_map(Value::as_str);
        items.map(str::to_owned).collect()
    };
    let extra = review.pointer("/spec/extra").and_then(Value::as_object);
    let extra = extra.into_iter().flatten();
    User {
        name: text(review, "/spec/user").to_owned(),
        groups: list(review.pointer("/spec/groups")),
        uid: text(review, "/spec/uid").to_owned(),
        extra: extra
            .map(|(key, values)| (key.to_lowercase(), list(Some(values))))
            .collect(),
    }
}

/// A user as reviews and audit events show one.
pub(super) fn info(user: &User) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), user.name.clone().into());
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), user.uid.clone().into());
    }
    if !user.groups.is_empty() {
        info.insert("groups".to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    info.into()
}
