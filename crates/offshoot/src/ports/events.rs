//! `Event` objects about objects of ours.
//!
//! An event of the same reason and message about the same object is counted, not made again. Each says when it was first told
//! (`eventTime`), by whom and at what: typed clients of `events.k8s.io` refuse a whole list for one event without that time.

use std::borrow::Cow;

use apiserver::ResourceName;
use engine::ports::{ClusterEvent, EventType, OurKind};
use objects::{Failure, Reason};
use serde_json::{Value, json};

use super::object_api::{ObjectApi, Part};
use super::{repositories, revisions, sets, variants};

/// Who tells events.
const COMPONENT: &str = "offshoot";

/// What was being done when there was something to tell.
const ACTION: &str = "Reconcile";

/// How long a message may be, in bytes: kube-apiserver refuses an event with a longer one.
const LONGEST: usize = 1024;

/// Ends a message that was cut.
const REST: &str = "… (cut; `offshoot why` and the object's status have the whole)";

/// Tells people about something. A failure is logged: nobody waits for an event.
pub(super) async fn tell(api: &dyn ObjectApi, event: ClusterEvent) {
    if let Err(failure) = write(api, &event).await {
        let namespace = event.about.namespace.as_str();
        let resource = ResourceName::new("", "v1", "namespaces");
        if let Ok(Some(namespace)) = api.seen(&resource, "", namespace).await
            && api::read_meta(&namespace).is_deleting()
        {
            // Nothing is made in a namespace that goes, and nobody will look there.
            return;
        }
        tracing::warn!(about = %event.about, reason = %event.reason, %failure, "an event was lost");
    }
}

async fn write(api: &dyn ObjectApi, event: &ClusterEvent) -> Result<(), Failure> {
    let resource = match event.kind {
        OurKind::Variant => variants(),
        OurKind::Set => sets(),
        OurKind::Repository => repositories(),
        OurKind::Revision => revisions(),
    };
    let namespace = event.about.namespace.as_str();
    let about = api
        .uid(&resource, namespace, event.about.name.as_str())
        .await?;
    let uid = about.unwrap_or_default();
    let now = jiff::Timestamp::now();
    let precisely = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let name = name(event, &uid);
    let object = object(event, &resource, (&name, &uid), (&now, &precisely));
    match api.create(&events(), namespace, object).await {
        Err(failure) if failure.reason == Reason::AlreadyExists => {
            again(api, (namespace, &name), &now, &precisely).await
        }
        created => created.map(drop),
    }
}

/// The same happened once more.
async fn again(
    api: &dyn ObjectApi,
    (namespace, name): (&str, &str),
    now: &str,
    precisely: &str,
) -> Result<(), Failure> {
    let Some(old) = api.get(&events(), namespace, name).await? else {
        // It expired since: it will be told again when it happens again.
        return Ok(());
    };
    let count = old.get("count").and_then(Value::as_i64).unwrap_or(1) + 1;
    let change = |new: &mut Value| {
        new["count"] = count.into();
        new["lastTimestamp"] = now.into();
        if new.get("eventTime").is_none_or(Value::is_null) {
            // One that an older version told.
            new["eventTime"] = precisely.into();
            new["reportingInstance"] = COMPONENT.into();
            new["action"] = ACTION.into();
        }
    };
    let Some(key) = api::read_key(&old) else {
        return Ok(());
    };
    let version = api::str_at(&old, &["metadata", "resourceVersion"]).unwrap_or_default();
    api.write(&events(), &key, version, Part::Some, &change)
        .await
        .map(drop)
}

fn events() -> ResourceName {
    ResourceName::new("", "v1", "events")
}

fn object(
    event: &ClusterEvent,
    resource: &ResourceName,
    (name, uid): (&str, &str),
    (now, precisely): (&str, &str),
) -> Value {
    let namespace = event.about.namespace.as_str();
    json!({
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
        "message": short(&event.message),
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "eventTime": precisely,
        "action": ACTION,
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "source": { "component": COMPONENT },
    })
}

/// A message that every API server takes: one that is too long says that it was cut, and where the whole is.
fn short(message: &str) -> Cow<'_, str> {
    if message.len() <= LONGEST {
        return Cow::Borrowed(message);
    }
    let cut = message.floor_char_boundary(LONGEST - REST.len());
    let kept = message.get(..cut).unwrap_or_default();
    Cow::Owned(format!("{kept}{REST}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_too_long_is_cut_between_characters_and_says_so() {
        let just = "x".repeat(LONGEST);
        assert_eq!(short(&just), just);
        for letter in ["x", "é", "漢", "🦀"] {
            for before in 0..4 {
                let long = "a".repeat(before) + &letter.repeat(LONGEST + 1);
                let cut = short(&long);
                let kept = cut.strip_suffix(REST).expect("it says that it was cut");
                assert!(long.starts_with(kept), "{cut}");
                assert!(
                    (LONGEST - 3..=LONGEST).contains(&cut.len()),
                    "{}",
                    cut.len()
                );
            }
        }
    }
}
