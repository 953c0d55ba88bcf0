//! The authority in the objects by which the cluster finds us: APIServices and webhooks that ask for it by a label.
//!
//! They are followed, so that an upgrade that puts them back is repaired at once and nothing is asked while nothing changes. A
//! patch names the version that it was made for.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What asks for the authority.
const LABEL: &str = "offshoot.dev/serving=own-ca";

/// The manager of the fields that are written.
const MANAGER: &str = "offshoot-serving";

/// Writes the authority wherever it is asked for, and keeps it there.
pub(super) async fn follow(client: &Client, authority: watch::Receiver<Option<String>>) {
    let services = ("apiregistration.k8s.io", "APIService", "apiservices");
    let webhooks = (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    );
    let one = |(group, kind, plural): (&str, &str, &str)| {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        follow_kind(Api::all_with(client.clone(), &resource), authority.clone())
    };
    tokio::join!(one(services), one(webhooks));
}

async fn follow_kind(api: Api<DynamicObject>, mut authority: watch::Receiver<Option<String>>) {
    let seen = watcher(api.clone(), watcher::Config::default().labels(LABEL));
    let mut seen = std::pin::pin!(seen.default_backoff());
    let mut held = BTreeMap::new();
    let mut failed = false;
    loop {
        tokio::select! {
            event = seen.next() => match event {
                Some(Ok(event)) => take(&mut held, event),
                Some(Err(error)) => tracing::warn!(
                    %error,
                    "follow what is to hold our authority ({})", api.resource_url()
                ),
                None => return,
            },
            changed = authority.changed() => if changed.is_err() {
                return;
            },
            () = tokio::time::sleep(super::AGAIN), if failed => {}
        }
        let wanted = authority.borrow_and_update().clone();
        if let Some(wanted) = wanted {
            failed = !write(&api, &mut held, &wanted).await;
        }
    }
}

fn take(held: &mut BTreeMap<String, DynamicObject>, event: watcher::Event<DynamicObject>) {
    match event {
        watcher::Event::Init => held.clear(),
        watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
            held.insert(object.name_any(), object);
        }
        watcher::Event::Delete(object) => {
            held.remove(&object.name_any());
        }
        watcher::Event::InitDone => {}
    }
}

/// Writes the authority where it is missing; whether that succeeded everywhere.
async fn write(
    api: &Api<DynamicObject>,
    held: &mut BTreeMap<String, DynamicObject>,
    authority: &str,
) -> bool {
    let bundle = STANDARD.encode(authority);
    let mut all = true;
    for (name, object) in held.iter_mut() {
        let Some(patch) = missing(object, &bundle) else {
            continue;
        };
        let how = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let written = api.patch(name, &how, &patch);
        let written = tokio::time::timeout(Duration::from_secs(10), written).await;
        match written {
            Ok(Ok(now)) => {
                tracing::info!(name, "our authority was written into it");
                *object = now;
            }
            // The change that came between is on its way to us.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => all = false,
            Ok(Err(error)) => {
                tracing::warn!(%error, name, "write our authority into it");
                all = false;
            }
            Err(_) => all = false,
        }
    }
    all
}

/// The patch that puts the bundle into an object; none where it is there.
fn missing(object: &DynamicObject, bundle: &str) -> Option<Value> {
    let mut patch = match object.data.get("webhooks").and_then(Value::as_array) {
        Some(webhooks) => {
            let mut wanted = webhooks.clone();
            for webhook in &mut wanted {
                webhook["clientConfig"]["caBundle"] = bundle.into();
            }
            (wanted != *webhooks).then(|| json!({ "webhooks": wanted }))?
        }
        None => {
            let held = object.data.pointer("/spec/caBundle");
            (held != Some(&bundle.into())).then(|| json!({"spec": {"caBundle": bundle}}))?
        }
    };
    patch["metadata"] = json!({"resourceVersion": object.metadata.resource_version});
    Some(patch)
}
