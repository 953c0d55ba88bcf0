//! `explanations`: why a variant or a set is as it is, worked out when somebody asks.

use apiserver::gateway::{Call, Outcome, Refusal, RefusalClass, Verb};
use model::{Namespace, ObjectKey, ObjectName};
use serde_json::json;

use super::refusal::refusal;
use super::{PackageGateway, unsupported};

/// An explanation's name is its kind in lower case, a dot, and its object's name.
pub(super) async fn handle(gateway: &PackageGateway, call: &Call) -> Result<Outcome, Refusal> {
    if call.verb != Verb::Get {
        return Err(unsupported(call.verb, &call.resource));
    }
    let missing = || {
        let text = format!("explanations.offshoot.dev {:?} not found", call.name);
        Refusal::new(RefusalClass::NotFound, text)
    };
    let (kind, name) = call.name.split_once('.').ok_or_else(missing)?;
    let key = ObjectKey {
        namespace: Namespace::parse(&call.namespace).map_err(|_| missing())?,
        name: ObjectName::parse(name).map_err(|_| missing())?,
    };
    let (shown, report) = match kind {
        "packagevariant" => ("PackageVariant", gateway.engine.why_variant(&key).await),
        "packagevariantset" => ("PackageVariantSet", gateway.engine.why_set(&key).await),
        _ => return Err(missing()),
    };
    let gone = || {
        let text = format!("{kind}s.config.porch.kpt.dev {name:?} not found");
        Refusal::new(RefusalClass::NotFound, text)
    };
    let report = report.map_err(|e| refusal(call, &e))?.ok_or_else(gone)?;
    Ok(Outcome {
        object: json!({
            "apiVersion": "offshoot.dev/v1alpha1",
            "kind": "Explanation",
            "metadata": { "name": call.name, "namespace": call.namespace },
            "spec": { "kind": shown, "name": name },
            "status": { "report": report },
        }),
        ..Outcome::default()
    })
}
