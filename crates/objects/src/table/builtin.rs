//! Columns of the built-in kinds as the real server prints them.

use jiff::Timestamp;
use serde_json::Value;

use super::{AGE_TEXT, Column, NAME_TEXT, age, name, since_text, text};

fn size(object: &Value, name: &str) -> i64 {
    let size = match object.get(name) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn created() -> Column {
    Column::code("Created At", "date", 0, AGE_TEXT, |o, _| {
        Value::from(text(o, "/metadata/creationTimestamp"))
    })
}

/// The columns of a built-in kind.
#[must_use]
pub(crate) fn columns(kind: &str) -> Vec<Column> {
    match kind {
        "Namespace" => vec![
            name(),
            path("Status", "The status of the namespace", "/status/phase"),
            age(),
        ],
        "ConfigMap" => {
            let data = "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', \
                        '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys \
                        stored in Data must not overlap with the keys in the BinaryData field, this is enforced \
                        during validation process.";
            let count =
                |o: &Value, _: Timestamp| Value::from(size(o, "data") + size(o, "binaryData"));
            vec![
                name(),
                Column::code("Data", "string", 0, data, count),
                age(),
            ]
        }
        "Secret" => {
            let kind = "Used to facilitate programmatic handling of secret data. More info: \
                        https://kubernetes.io/docs/concepts/configuration/secret/#secret-types";
            let data = "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or \
                        '.'. The serialized form of the secret data is a base64 encoded string, representing the \
                        arbitrary (possibly non-string) data value here. Described in \
                        https://tools.ietf.org/html/rfc4648#section-4";
            let count = |o: &Value, _: Timestamp| Value::from(size(o, "data"));
            vec![
                name(),
                path("Type", kind, "/type"),
                Column::code("Data", "string", 0, data, count),
                age(),
            ]
        }
        "ServiceAccount" => {
            let text = "Secrets is a list of the secrets in the same namespace that pods running using this \
                        ServiceAccount are allowed to use.";
            let count = |o: &Value, _: Timestamp| Value::from(size(o, "secrets"));
            vec![
                name(),
                Column::code("Secrets", "string", 0, text, count),
                age(),
            ]
        }
        "Event" => event(),
        "Lease" => {
            let holder = "holderIdentity contains the identity of the holder of a current lease. If Coordinated \
                          Leader Election is used, the holder identity must be equal to the elected \
                          LeaseCandidate.metadata.name field.";
            vec![
                name(),
                path("Holder", holder, "/spec/holderIdentity"),
                age(),
            ]
        }
        "RoleBinding" | "ClusterRoleBinding" => binding(),
        "APIService" => api_service(),
        _ => vec![name(), created()],
    }
}

fn path(name: &str, description: &str, pointer: &'static str) -> Column {
    let cell: fn(&Value, Timestamp) -> Value = match pointer {
        "/status/phase" => |o, _| Value::from(text(o, "/status/phase")),
        "/type" => |o, _| Value::from(text(o, "/type")),
        _ => |o, _| Value::from(text(o, "/spec/holderIdentity")),
    };
    Column::code(name, "string", 0, description, cell)
}

fn event() -> Vec<Column> {
    let column = |name: &str, priority: i64, text: &str, cell: fn(&Value, Timestamp) -> Value| {
        let mut column = Column::code(name, "string", priority, text, cell);
        if name == "Name" {
            column.format = "name".to_owned();
        }
        column
    };
    vec![
        column("Last Seen", 0, "When the event was seen last.", |o, now| {
            Value::from(seen(o, true, now))
        }),
        column(
            "Type",
            0,
            "Type of this event (Normal, Warning), new types could be added in the future",
            |o, _| Value::from(text(o, "/type")),
        ),
        column("Reason", 0, "A word for why it happened.", |o, _| {
            Value::from(text(o, "/reason"))
        }),
        column(
            "Object",
            0,
            "The object that this event is about.",
            |o, _| Value::from(about(o)),
        ),
        column("Subobject", 1, "The part of the object.", |o, _| {
            Value::from(first(
                o,
                &["/involvedObject/fieldPath", "/regarding/fieldPath"],
            ))
        }),
        column(
            "Source",
            1,
            "The component reporting this event.",
            |o, _| Value::from(source(o)),
        ),
        column(
            "Message",
            0,
            "A human-readable description of the status of this operation.",
            |o, _| Value::from(first(o, &["/message", "/note"]).trim()),
        ),
        column(
            "First Seen",
            1,
            "When the event was seen first.",
            |o, now| Value::from(seen(o, false, now)),
        ),
        column(
            "Count",
            1,
            "The number of times this event has occurred.",
            |o, _| {
                let places = ["/series/count", "/count", "/deprecatedCount"];
                let found = places
                    .iter()
                    .find_map(|p| o.pointer(p).and_then(Value::as_i64));
                Value::from(found.filter(|c| *c > 0).unwrap_or(1))
            },
        ),
        column("Name", 1, NAME_TEXT, |o, _| {
            Value::from(text(o, "/metadata/name"))
        }),
    ]
}

fn first<'a>(object: &'a Value, pointers: &[&str]) -> &'a str {
    pointers
        .iter()
        .map(|p| text(object, p))
        .find(|t| !t.is_empty())
        .unwrap_or_default()
}

fn about(object: &Value) -> String {
    let kind = first(object, &["/involvedObject/kind", "/regarding/kind"]).to_lowercase();
    let name = first(object, &["/involvedObject/name", "/regarding/name"]);
    if name.is_empty() {
        kind
    } else {
        format!("{kind}/{name}")
    }
}

fn source(object: &Value) -> String {
    let component = first(
        object,
        &[
            "/source/component",
            "/deprecatedSource/component",
            "/reportingComponent",
            "/reportingController",
        ],
    );
    let host = first(
        object,
        &[
            "/source/host",
            "/deprecatedSource/host",
            "/reportingInstance",
        ],
    );
    if host.is_empty() {
        component.to_owned()
    } else {
        format!("{component}, {host}")
    }
}

fn seen(object: &Value, last: bool, now: Timestamp) -> String {
    let firsts = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"];
    let lasts = [
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/deprecatedLastTimestamp",
    ];
    let time = if last {
        first(object, &lasts)
    } else {
        first(object, &firsts)
    };
    let time = if time.is_empty() {
        first(object, &firsts)
    } else {
        time
    };
    since_text(time, now)
}

fn binding() -> Vec<Column> {
    let role = |o: &Value, _: Timestamp| {
        Value::from(format!(
            "{}/{}",
            text(o, "/roleRef/kind"),
            text(o, "/roleRef/name")
        ))
    };
    vec![
        name(),
        Column::code(
            "Role",
            "string",
            0,
            "RoleRef names the role that is given.",
            role,
        ),
        age(),
        Column::code("Users", "string", 1, "Users in the subjects.", |o, _| {
            subjects(o, "User")
        }),
        Column::code("Groups", "string", 1, "Groups in the subjects.", |o, _| {
            subjects(o, "Group")
        }),
        Column::code(
            "ServiceAccounts",
            "string",
            1,
            "Service accounts in the subjects.",
            |o, _| subjects(o, "ServiceAccount"),
        ),
    ]
}

fn subjects(object: &Value, kind: &str) -> Value {
    let list = object.get("subjects").and_then(Value::as_array);
    let names: Vec<String> = list
        .into_iter()
        .flatten()
        .filter(|s| text(s, "/kind") == kind)
        .map(|s| match (kind, text(s, "/name"), text(s, "/namespace")) {
            ("ServiceAccount", name, namespace) => format!("{namespace}/{name}"),
            (_, name, _) => name.to_owned(),
        })
        .collect();
    Value::from(names.join(", "))
}

fn api_service() -> Vec<Column> {
    let service = |o: &Value, _: Timestamp| {
        let (namespace, name) = (
            text(o, "/spec/service/namespace"),
            text(o, "/spec/service/name"),
        );
        Value::from(if name.is_empty() {
            "Local".to_owned()
        } else {
            format!("{namespace}/{name}")
        })
    };
    let available = |o: &Value, _: Timestamp| {
        let list = o.pointer("/status/conditions").and_then(Value::as_array);
        let found = list
            .into_iter()
            .flatten()
            .find(|c| text(c, "/type") == "Available");
        Value::from(found.map_or("Unknown", |c| text(c, "/status")))
    };
    vec![
        name(),
        Column::code(
            "Service",
            "string",
            0,
            "The reference to the service that hosts this API endpoint.",
            service,
        ),
        Column::code(
            "Available",
            "string",
            0,
            "Whether this service is available.",
            available,
        ),
        age(),
    ]
}
