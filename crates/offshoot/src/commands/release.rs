//! `offshoot release`: takes our finalizers off the objects of a cluster that nobody serves any more.

use std::process::ExitCode;
use std::time::Duration;

use apiserver::ResourceName;
use objects::Failure;
use serde_json::{Value, json};

use super::serve::lease;
use crate::cli::serve::ReleaseArgs;
use crate::cluster::Remote;
use crate::exit::ExitFailure;

/// How long a Lease is looked at: whoever holds it renews it meanwhile.
const LOOK: Duration = Duration::from_secs(5);

/// Takes the finalizers off.
///
/// # Errors
/// A replica still works, the cluster cannot be asked, or it refuses a change.
pub(super) async fn run(args: &ReleaseArgs) -> Result<ExitCode, ExitFailure> {
    let (namespace, name) = lease(&args.lease)?;
    let remote = Remote::connect(Some(&args.kubeconfig)).await?;
    let only = args.namespace.as_deref();
    if serves(&remote, only).await? && is_renewed(&remote, &namespace, &name).await? {
        return Err(ExitFailure::new(format!(
            "a replica holds the Lease {namespace}/{name}, and would put its finalizers back"
        ))
        .hint(format!(
            "stop the replicas first: kubectl scale deployment {name} -n {namespace} --replicas 0; of a namespace that they do not serve \
             they may run: --namespace"
        )));
    }
    let kinds = [
        ("v1alpha1", "packagevariants", api::VARIANT_FINALIZER),
        ("v1alpha1", "repositories", api::REPOSITORY_FINALIZER),
    ];
    let mut count = 0;
    for (version, plural, finalizer) in kinds {
        let resource = ResourceName::new(api::CONFIG_GROUP, version, plural);
        let listed = remote.list(&resource, only.unwrap_or_default()).await;
        let listed = listed.map_err(|e| ExitFailure::of(&format!("list the {plural}"), &e))?;
        for object in listed.items {
            if take_off(&remote, &resource, &object, finalizer).await? {
                count += 1;
            }
        }
    }
    super::say(&format!("{count} finalizers taken off"));
    Ok(ExitCode::SUCCESS)
}

/// Whether replicas serve a namespace, as far as the cluster tells: those that their webhook is asked about.
async fn serves(remote: &Remote, namespace: Option<&str>) -> Result<bool, ExitFailure> {
    let Some(namespace) = namespace else {
        return Ok(true);
    };
    let webhook = webhook(remote).await;
    let webhook = webhook.map_err(|e| ExitFailure::of("read which namespaces are served", &e))?;
    Ok(webhook.is_none_or(|webhook| is_asked_about(&webhook, namespace)))
}

/// Whether a webhook is asked about a namespace; where it selects otherwise than our chart does, it may be.
fn is_asked_about(webhook: &Value, namespace: &str) -> bool {
    let asked = |one: &Value| {
        let names = one.pointer("/namespaceSelector/matchExpressions");
        let Some([rule]) = names.and_then(Value::as_array).map(Vec::as_slice) else {
            return true;
        };
        let ours = rule["key"] == "kubernetes.io/metadata.name" && rule["operator"] == "In";
        let values = rule["values"].as_array().into_iter().flatten();
        !ours || values.into_iter().any(|value| value == namespace)
    };
    let all = webhook["webhooks"].as_array().into_iter().flatten();
    all.into_iter().any(asked)
}

/// Whether somebody holds a Lease and renews it.
async fn is_renewed(remote: &Remote, namespace: &str, name: &str) -> Result<bool, ExitFailure> {
    let leases = ResourceName::new("coordination.k8s.io", "v1", "leases");
    let read = async || {
        let lease = remote.get(&leases, namespace, name).await;
        lease.map_err(|e| ExitFailure::of(&format!("read the Lease {namespace}/{name}"), &e))
    };
    let Some(before) = read().await? else {
        return Ok(false);
    };
    let holder = api::str_at(&before, &["spec", "holderIdentity"]);
    if holder.unwrap_or_default().is_empty() {
        return Ok(false);
    }
    tokio::time::sleep(LOOK).await;
    Ok(read().await?.is_some_and(|after| after != before))
}

/// Takes a finalizer off an object that has it; whether it had.
async fn take_off(
    remote: &Remote,
    resource: &ResourceName,
    object: &Value,
    finalizer: &str,
) -> Result<bool, ExitFailure> {
    let meta = api::read_meta(object);
    if !meta.finalizers.iter().any(|one| one == finalizer) {
        return Ok(false);
    }
    let kept: Vec<&String> = meta
        .finalizers
        .iter()
        .filter(|one| *one != finalizer)
        .collect();
    let text = |field| api::str_at(object, &["metadata", field]).unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let patch = json!({"metadata": {"resourceVersion": meta.resource_version, "finalizers": kept}});
    let media = "application/merge-patch+json";
    let done = remote
        .patch(resource, (namespace, name, ""), media, &patch)
        .await;
    match done {
        Ok(_) => Ok(true),
        Err(failure) if failure.code == 404 => Ok(false),
        Err(failure) => {
            let attempt = format!(
                "take the finalizer off {} {namespace}/{name}",
                resource.plural
            );
            // A webhook that does not answer is told as a failure of the server.
            let webhook = failure.code >= 500 && has_webhook(remote).await;
            let failure = ExitFailure::of(&attempt, &failure);
            Err(match webhook {
                true => failure.hint(
                    "the webhook that no replica answers must go first, as by helm uninstall: kubectl delete \
                     mutatingwebhookconfiguration offshoot-written-by",
                ),
                false => failure,
            })
        }
    }
}

/// Whether the cluster still asks our replicas about each write.
async fn has_webhook(remote: &Remote) -> bool {
    matches!(webhook(remote).await, Ok(Some(_)))
}

async fn webhook(remote: &Remote) -> Result<Option<Value>, Failure> {
    let group = "admissionregistration.k8s.io";
    let webhooks = ResourceName::new(group, "v1", "mutatingwebhookconfigurations");
    remote.get(&webhooks, "", "offshoot-written-by").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_the_webhook_leaves_out_is_not_served() {
        let webhook = |selector: Value| json!({"webhooks": [{"namespaceSelector": selector}]});
        let of = |values: Value| {
            let rule =
                json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": values});
            webhook(json!({"matchExpressions": [rule]}))
        };
        assert!(is_asked_about(&of(json!(["shop", "web"])), "shop"));
        assert!(!is_asked_about(&of(json!(["web"])), "shop"));
        for other in [
            json!({"webhooks": [{}]}),
            webhook(json!({"matchLabels": {"a": "b"}})),
            webhook(json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]})),
        ] {
            assert!(is_asked_about(&other, "shop"), "{other}");
        }
    }
}
