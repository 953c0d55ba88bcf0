//! `explanations`: why a variant or a set is as it is, and who wrote what in a revision, worked out when somebody asks.

use apiserver::gateway::{Call, CallAnswer, Refusal, RefusalClass, Verb};
use model::{Namespace, ObjectKey, ObjectName};
use serde_json::json;

use super::refusal::refusal;
use super::rights::may;
use super::{PackageGateway, unsupported};

/// An explanation's name is its kind in lower case, a dot, and its object's name.
pub(super) async fn handle(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    if call.verb != Verb::Get {
        return Err(unsupported(call.verb, &call.resource));
    }
    let missing = || {
        let text = format!("explanations.fleet.offshoot.dev {:?} not found", call.name);
        Refusal::new(RefusalClass::NotFound, text)
    };
    let (kind, name) = call.name.split_once('.').ok_or_else(missing)?;
    let key = ObjectKey {
        namespace: Namespace::parse(&call.namespace).map_err(|_| missing())?,
        name: ObjectName::parse(name).map_err(|_| missing())?,
    };
    // Whoever may not read an object is told nothing of it here either.
    let shows: &[(&str, &str)] = match kind {
        "blame" => &[
            (api::PACKAGE_GROUP, "packagerevisions"),
            (api::PACKAGE_GROUP, "packagerevisionresources"),
        ],
        "packagevariant" => &[(api::CONFIG_GROUP, "packagevariants")],
        "packagevariantset" => &[(api::CONFIG_GROUP, "packagevariantsets")],
        _ => return Err(missing()),
    };
    for (group, resource) in shows {
        may(gateway, call, "get", (group, resource, name)).await?;
    }
    if kind == "blame" {
        return blame(gateway, call, &key).await;
    }
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
    Ok(CallAnswer {
        object: json!({
            "apiVersion": "fleet.offshoot.dev/v1alpha1",
            "kind": "Explanation",
            "metadata": { "name": call.name, "namespace": call.namespace },
            "spec": { "kind": shown, "name": name },
            "status": { "report": report },
        }),
        ..CallAnswer::default()
    })
}

/// Who wrote each field of a revision. Values are not told: those who may read the files have them.
async fn blame(
    gateway: &PackageGateway,
    call: &Call,
    key: &ObjectKey,
) -> Result<CallAnswer, Refusal> {
    let fields = gateway.engine.blame(key).await;
    let fields = fields.map_err(|e| refusal(call, &e))?;
    let field = |blamed: &engine::Blamed| {
        let mut out = json!({
            "file": blamed.file.as_str(),
            "document": blamed.document,
            "resource": blamed.resource,
            "path": blamed.path,
            "layer": blamed.wrote.layer(),
            "what": blamed.wrote.to_string(),
        });
        if let Some(commit) = blamed.wrote.commit() {
            out["commit"] = commit.to_string().into();
        }
        out
    };
    Ok(CallAnswer {
        object: json!({
            "apiVersion": "fleet.offshoot.dev/v1alpha1",
            "kind": "Explanation",
            "metadata": { "name": call.name, "namespace": call.namespace },
            "spec": { "kind": "PackageRevision", "name": key.name.as_str() },
            "status": { "fields": fields.iter().map(field).collect::<Vec<_>>() },
        }),
        ..CallAnswer::default()
    })
}
