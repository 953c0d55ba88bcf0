//! What a definition says about conversion between its versions.

use serde_json::Value;

use super::{text, texts};
use crate::names;
use crate::schema::FieldError;

const CLIENT: &str = "spec.conversion.webhookClientConfig";
const REVIEWS: &str = "spec.conversion.conversionReviewVersions";

/// Checks who converts, and how.
pub(super) fn conversion(spec: &Value, errors: &mut Vec<FieldError>) {
    let Some(conversion) = spec.get("conversion").filter(|c| c.is_object()) else {
        return;
    };
    let at = "spec.conversion.strategy";
    let strategy = text(conversion, "strategy");
    match strategy.as_str() {
        "" => errors.push(FieldError::required(at, "")),
        "None" | "Webhook" => {}
        other => errors.push(FieldError::not_supported(at, other, &["None", "Webhook"])),
    }
    let webhook = conversion.get("webhook").filter(|w| w.is_object());
    let client = webhook.and_then(|w| w.get("clientConfig"));
    let client = client.filter(|client| client.is_object());
    let versions = webhook.map(|w| texts(w, "conversionReviewVersions"));
    let versions = versions.unwrap_or_default();
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        for (at, given) in [(CLIENT, client.is_some()), (REVIEWS, !versions.is_empty())] {
            if given {
                errors.push(FieldError::forbidden(at, why));
            }
        }
        return;
    }
    match client {
        None => {
            let why = "required when strategy is set to Webhook";
            errors.push(FieldError::required(CLIENT, why));
        }
        Some(client) => {
            let given = |field: &str| client.get(field).is_some_and(|value| !value.is_null());
            if given("url") == given("service") {
                let why = "exactly one of url or service is required";
                errors.push(FieldError::required(CLIENT, why));
            }
        }
    }
    reviews(&versions, errors);
}

/// The versions of the reviews that the webhook understands.
fn reviews(versions: &[String], errors: &mut Vec<FieldError>) {
    if versions.is_empty() {
        errors.push(FieldError::required(REVIEWS, ""));
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        let at = format!("{REVIEWS}[{i}]");
        let before = versions.get(..i).unwrap_or_default();
        if before.contains(version) {
            let shown = version.as_str();
            errors.push(FieldError::invalid(&at, shown, "duplicate version"));
            continue;
        }
        let problems = names::dns1035_label(version).into_iter();
        errors.extend(problems.map(|why| FieldError::invalid(&at, version.as_str(), why)));
    }
    if !versions.iter().any(|v| v == "v1" || v == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(REVIEWS, versions.to_vec(), why));
    }
}
