//! `serviceaccounts/token` and token reviews: tokens are given out and looked at, never kept.

use axum::response::Response;
use objects::builtin::token_request_error;
use objects::schema::FieldError;
use objects::{Failure, Misread};
use objectstore::{Object, key_of};
use serde_json::{Value, json};

use super::negotiate::Shape;
use super::{Asked, Door, body, respond, reviews};
use crate::authn::{Bound, ISSUER, Wish};
use crate::registry::discovery::TOKEN_REQUEST;

/// The shortest and longest life of a token, in seconds, and what it is if nothing is said.
const LIVES: (i64, i64, i64) = (600, 1 << 32, 3600);

impl Door {
    /// Gives out a token of a service account.
    pub(super) async fn token_request(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose(|s| s == Shape::Object)?;
        let target = &asked.target;
        let bytes = body::read(asked.body, target.resource.body_limit).await?;
        let (group, kind) = TOKEN_REQUEST;
        let decoded = body::object(&bytes, &asked.content_type, body::Wanted::typed(kind))?;
        let mut request = decoded.object;
        if let Some(why) = token_request_error(&request) {
            let why = Misread::Type(why);
            return Err(Failure::misread((kind, "v1"), kind, why));
        }
        let key = target.key();
        let account = self.core.store.get("serviceaccounts", &key);
        let account = account.ok_or_else(|| target.not_found())?;
        let spec = request.get("spec").cloned().unwrap_or_default();
        let seconds = life(&spec)?;
        let secret = self.bound(&target.namespace, spec.get("boundObjectRef"))?;
        let asked_for = texts(spec.get("audiences"));
        let audiences = if asked_for.is_empty() {
            vec![ISSUER.to_owned()]
        } else {
            asked_for
        };
        let wish = Wish {
            namespace: &target.namespace,
            account: reference(&account),
            secret,
            audiences: audiences.clone(),
            seconds,
        };
        let token = self.authenticator.keys().sign(wish, &self.core);
        let token = token.map_err(|e| Failure::internal(format!("sign the token: {e}")))?;
        let now = self.core.now();
        let ends = now
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .unwrap_or(now);
        request["kind"] = kind.into();
        request["apiVersion"] = format!("{group}/v1").into();
        request["metadata"] = json!({
            "name": target.name, "namespace": target.namespace,
            "creationTimestamp": crate::clock::seconds(now),
        });
        request["spec"] = json!({
            "audiences": audiences, "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        });
        let ends = crate::clock::seconds(ends);
        request["status"] = json!({"token": token, "expirationTimestamp": ends});
        Ok(respond::value(201, form.format, &request, &asked.warnings))
    }

    /// The object that a token is to be bound to.
    fn bound(&self, namespace: &str, to: Option<&Value>) -> Result<Option<Bound>, Failure> {
        let Some(to) = to.filter(|to| !to.is_null()) else {
            return Ok(None);
        };
        let text = |field: &str| to.get(field).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) != ("v1", "Secret") {
            let (version, kind) = (text("apiVersion"), text("kind"));
            let why = format!("cannot bind token to object of type {version}, Kind={kind}");
            return Err(Failure::bad_request(why));
        }
        let name = text("name");
        let found = self.core.store.get("secrets", &key_of(namespace, name));
        let found = found.ok_or_else(|| Failure::not_found("", "secrets", name))?;
        let bound = reference(&found);
        if !text("uid").is_empty() && text("uid") != bound.uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                text("uid")
            );
            return Err(Failure::conflict("", "secrets", name, &why));
        }
        Ok(Some(bound))
    }

    /// The status of a token review.
    pub(super) fn token_review(&self, review: &Value) -> Value {
        let spec = |field: &str| review.pointer(&format!("/spec/{field}"));
        let token = spec("token").and_then(Value::as_str).unwrap_or_default();
        let audiences = texts(spec("audiences"));
        match self.authenticator.bearer(token, &audiences) {
            Ok(user) => {
                let meant = if audiences.is_empty() {
                    vec![ISSUER.to_owned()]
                } else {
                    audiences
                };
                json!({"authenticated": true, "user": reviews::info(&user), "audiences": meant})
            }
            Err(why) => json!({"user": {}, "error": why}),
        }
    }
}

fn reference(object: &Object) -> Bound {
    Bound {
        name: object.fields.name.clone(),
        uid: object.fields.uid.clone(),
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let items = items.filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

/// How long the token is to live.
fn life(spec: &Value) -> Result<i64, Failure> {
    let (least, most, usual) = LIVES;
    let at = "spec.expirationSeconds";
    let wished = spec.get("expirationSeconds").and_then(Value::as_i64);
    let wished = wished.unwrap_or(usual);
    let why = match wished {
        n if n < least => "may not specify a duration less than 10 minutes",
        n if n > most => "may not specify a duration larger than 2^32 seconds",
        n => return Ok(n),
    };
    let error = FieldError::invalid(at, wished, why);
    Err(Failure::invalid(
        "authentication.k8s.io",
        "TokenRequest",
        "",
        &[error],
    ))
}
