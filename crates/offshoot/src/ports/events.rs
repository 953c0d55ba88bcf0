//! `Event` objects about objects of ours.
//!
//! An event of the same reason and message about the same object is counted, not made again. Each says when it was first told
//! (`eventTime`), by whom and at what: typed clients of `events.k8s.io` refuse a whole list for one event without that time.

use apiserver::verbs::handle::{ResourceName, ServerHandle};
use engine::ports::{ClusterEvent, EventType, OurKind};
use serde_json::{Value, json};

use super::{controllers, repositories, revisions, sets, variants};

/// Who tells events.
const COMPONENT: &str = "offshoot";

/// What was being done when there was something to tell.
const ACTION: &str = "Reconcile";

/// Tells people about something. A failure is logged: nobody waits for an event.
pub(super) async fn tell(handle: &ServerHandle, event: ClusterEvent) {
    if let Err(failure) = write(handle, &event).await {
        tracing::warn!(about = %event.about, reason = %event.reason, %failure, "an event was lost");
    }
}

async fn write(handle: &ServerHandle, event: &ClusterEvent) -> Result<(), apiserver::Failure> {
    let resource = match event.kind {
        OurKind::Variant => variants(),
        OurKind::Set => sets(),
        OurKind::Repository => repositories(),
        OurKind::Revision => revisions(),
    };
    let namespace = event.about.namespace.as_str();
    let about = handle.stored(&resource, namespace, event.about.name.as_str())?;
    let uid = about.as_ref().map_or("", |about| &about.fields.uid);
    let now = jiff::Timestamp::now();
    let precisely = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let events = ResourceName::new("", "v1", "events");
    let name = name(event, uid);
    let whose = controllers(handle);
    if let Some(old) = handle.stored(&events, namespace, &name)? {
        let old = old.value();
        let count = old.get("count").and_then(Value::as_i64).unwrap_or(1) + 1;
        let mut patch = json!({ "count": count, "lastTimestamp": now });
        if old.get("eventTime").is_none_or(Value::is_null) {
            // One that an older version told.
            patch["eventTime"] = precisely.into();
            patch["reportingInstance"] = COMPONENT.into();
            patch["action"] = ACTION.into();
        }
        return handle
            .patch(&events, namespace, &name, "", &patch, &whose)
            .await
            .map(drop);
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace },
        "involvedObject": {
            "apiVersion": format!("{}/{}", resource.group, resource.version),
            "kind": event.kind.as_str(),
            "namespace": namespace,
            "name": event.about.name.as_str(),
            "uid": uid,
        },
        "type": match event.event_type { EventType::Normal => "Normal", EventType::Warning => "Warning" },
        "reason": event.reason,
        "message": event.message,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "eventTime": precisely,
        "action": ACTION,
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "source": { "component": COMPONENT },
    });
    handle
        .create(&events, namespace, object, &whose)
        .await
        .map(drop)
}

/// The same event about the same object has the same name.
fn name(event: &ClusterEvent, uid: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let text = format!("{uid}\n{}\n{}", event.reason, event.message);
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let base: String = event.about.name.as_str().chars().take(230).collect();
    format!("{}.{hex}", base.trim_end_matches(['.', '-']))
}
