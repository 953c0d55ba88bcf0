//! Conversion webhooks of custom resources: asked over TLS, within limits of time and size, and never believed blindly.
//!
//! A definition names them by `url` and trusts them by `caBundle`. `service` references need a cluster's network, which
//! is not here: they are answered with a clear error. What a webhook may change is the object but not who it is.

mod call;

use serde_json::{Map, Value, json};

use call::Endpoint;
use objects::resource::Converter;

/// A webhook of one definition.
#[derive(Debug)]
pub(crate) struct Webhook {
    /// `group`, for messages.
    group: String,
    kind: String,
    endpoint: Result<Endpoint, String>,
    /// The version of the review that it understands.
    review: &'static str,
}

impl Webhook {
    /// Reads `spec.conversion` of a definition; `None` where it converts by changing `apiVersion` alone.
    #[must_use]
    pub(crate) fn of(crd: &Value) -> Option<Self> {
        let spec = crd.get("spec")?;
        let conversion = spec.get("conversion")?;
        if conversion.get("strategy").and_then(Value::as_str) != Some("Webhook") {
            return None;
        }
        let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
        let versions = webhook.get("conversionReviewVersions");
        let knows = |version: &str| {
            let list = versions.and_then(Value::as_array);
            list.is_some_and(|l| l.iter().any(|v| v == version))
        };
        let text = |pointer: &str| {
            let found = spec.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        Some(Self {
            group: text("/group"),
            kind: text("/names/kind"),
            endpoint: Endpoint::read(webhook.get("clientConfig").unwrap_or(&Value::Null)),
            review: if knows("v1") || !knows("v1beta1") {
                "apiextensions.k8s.io/v1"
            } else {
                "apiextensions.k8s.io/v1beta1"
            },
        })
    }

    fn ask(&self, objects: &[Value], wanted: &str) -> Result<Vec<Value>, String> {
        let endpoint = self
            .endpoint
            .as_ref()
            .map_err(|why| format!("failed: {why}"))?;
        let uid = uuid::Uuid::new_v4().to_string();
        let review = json!({
            "kind": "ConversionReview", "apiVersion": self.review,
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        });
        let answer = call::post(endpoint, review.to_string().into());
        let answer = answer.map_err(|why| format!("failed: {why}"))?;
        let mut answer: Value = serde_json::from_slice(&answer)
            .map_err(|e| format!("failed: the answer is no JSON: {e}"))?;
        let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
        if text("/kind") != Some("ConversionReview") || text("/apiVersion") != Some(self.review) {
            return Err(format!(
                "failed: expected a ConversionReview of {}",
                self.review
            ));
        }
        if text("/response/uid") != Some(uid.as_str()) {
            return Err(format!(
                "failed: expected response.uid={uid:?}, got {:?}",
                text("/response/uid").unwrap_or_default()
            ));
        }
        if text("/response/result/status") != Some("Success") {
            let why = text("/response/result/message").unwrap_or("it does not say why");
            return Err(format!("failed: {why}"));
        }
        match answer
            .pointer_mut("/response/convertedObjects")
            .map(Value::take)
        {
            Some(Value::Array(converted)) if converted.len() == objects.len() => Ok(converted),
            Some(Value::Array(converted)) => Err(format!(
                "returned {} objects, expected {}",
                converted.len(),
                objects.len()
            )),
            _ => Err(format!("returned 0 objects, expected {}", objects.len())),
        }
    }

    /// Checks one converted object and gives it its own metadata back, but for labels and annotations.
    fn restore(original: &Value, mut converted: Value, wanted: &str) -> Result<Value, String> {
        let text = |value: &Value, pointer: &str| {
            let found = value.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        if text(&converted, "/apiVersion") != wanted {
            return Err(format!(
                "invalid groupVersion (required: {wanted}, got: {})",
                text(&converted, "/apiVersion")
            ));
        }
        let same = [
            ("/kind", "kind"),
            ("/metadata/name", "name"),
            ("/metadata/namespace", "namespace"),
            ("/metadata/uid", "UID"),
        ];
        for (pointer, name) in same {
            let (given, got) = (text(original, pointer), text(&converted, pointer));
            if given != got {
                return Err(format!("must have the same {name}: {got} != {given}"));
            }
        }
        let mut metadata = original
            .get("metadata")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for field in ["labels", "annotations"] {
            metadata.shift_remove(field);
            let found = converted.pointer(&format!("/metadata/{field}"));
            if let Some(found) = found.and_then(Value::as_object).filter(|m| !m.is_empty()) {
                if found.values().any(|v| !v.is_string()) {
                    return Err(format!("metadata.{field} must hold texts"));
                }
                metadata.insert(field.to_owned(), Value::Object(found.clone()));
            }
        }
        if let Some(root) = converted.as_object_mut() {
            root.insert("metadata".to_owned(), metadata.into());
        }
        Ok(converted)
    }
}

impl Converter for Webhook {
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, String> {
        let all = self.convert_all(vec![object], api_version)?;
        Ok(all.into_iter().next().unwrap_or_else(|| Map::new().into()))
    }

    fn convert_all(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, String> {
        let Some(first) = objects.first() else {
            return Ok(objects);
        };
        let from = first.get("apiVersion").and_then(Value::as_str);
        let version = from.and_then(|f| f.rsplit('/').next()).unwrap_or_default();
        let named = format!(
            "conversion webhook for {}/{version}, Kind={}",
            self.group, self.kind
        );
        let converted = self
            .ask(&objects, api_version)
            .map_err(|why| format!("{named} {why}"))?;
        let pairs = objects.iter().zip(converted).enumerate();
        pairs
            .map(|(at, (original, converted))| {
                Self::restore(original, converted, api_version).map_err(|why| {
                    format!("{named} returned invalid converted object at index {at}: {why}")
                })
            })
            .collect()
    }
}
