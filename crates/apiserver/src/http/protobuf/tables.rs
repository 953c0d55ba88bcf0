//! Field numbers of the messages of built-in kinds, as published in `k8s.io/api` and `k8s.io/apimachinery`.

/// The fields of a message.
pub(super) type Message = &'static [Field];

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    /// Its number.
    pub(super) number: u64,
    /// Its name in JSON.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    Texts,
    /// Base64 in JSON.
    Bytes,
    Int,
    Bool,
    TextMap,
    BytesMap,
    Time {
        micro: bool,
    },
    /// JSON text in a message of its own (`FieldsV1`).
    Json,
    Message(Message),
    Messages(Message),
}

use Kind::{Bool, Bytes, BytesMap, Int, Json, Messages, Text, TextMap, Texts};

const TIME: Kind = Kind::Time { micro: false };
const MICRO: Kind = Kind::Time { micro: true };

const fn field(number: u64, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind }
}

const fn inner(table: Message) -> Kind {
    Kind::Message(table)
}

/// `runtime.Unknown`.
pub(super) const UNKNOWN: Message = &[
    field(1, "typeMeta", inner(TYPE_META)),
    field(2, "raw", Bytes),
];

const TYPE_META: Message = &[field(1, "apiVersion", Text), field(2, "kind", Text)];

/// `FieldsV1`.
pub(super) const RAW: Message = &[field(1, "raw", Bytes)];

/// `Timestamp`.
pub(super) const TIMESTAMP: Message = &[field(1, "seconds", Int), field(2, "nanos", Int)];

const OWNER: Message = &[
    field(1, "kind", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(5, "apiVersion", Text),
    field(6, "controller", Bool),
    field(7, "blockOwnerDeletion", Bool),
];

const MANAGED: Message = &[
    field(1, "manager", Text),
    field(2, "operation", Text),
    field(3, "apiVersion", Text),
    field(4, "time", TIME),
    field(6, "fieldsType", Text),
    field(7, "fieldsV1", Json),
    field(8, "subresource", Text),
];

const META: Field = field(
    1,
    "metadata",
    inner(&[
        field(1, "name", Text),
        field(2, "generateName", Text),
        field(3, "namespace", Text),
        field(4, "selfLink", Text),
        field(5, "uid", Text),
        field(6, "resourceVersion", Text),
        field(7, "generation", Int),
        field(8, "creationTimestamp", TIME),
        field(9, "deletionTimestamp", TIME),
        field(10, "deletionGracePeriodSeconds", Int),
        field(11, "labels", TextMap),
        field(12, "annotations", TextMap),
        field(13, "ownerReferences", Messages(OWNER)),
        field(14, "finalizers", Texts),
        field(17, "managedFields", Messages(MANAGED)),
    ]),
);

const CONFIG_MAP: Message = &[
    META,
    field(2, "data", TextMap),
    field(3, "binaryData", BytesMap),
    field(4, "immutable", Bool),
];

const SECRET: Message = &[
    META,
    field(2, "data", BytesMap),
    field(3, "type", Text),
    field(4, "stringData", TextMap),
    field(5, "immutable", Bool),
];

const NAMESPACE: Message = &[
    META,
    field(2, "spec", inner(&[field(1, "finalizers", Texts)])),
    field(3, "status", inner(&[field(1, "phase", Text)])),
];

const REFERENCE: Message = &[
    field(1, "kind", Text),
    field(2, "namespace", Text),
    field(3, "name", Text),
    field(4, "uid", Text),
    field(5, "apiVersion", Text),
    field(6, "resourceVersion", Text),
    field(7, "fieldPath", Text),
];

const SERVICE_ACCOUNT: Message = &[
    META,
    field(2, "secrets", Messages(REFERENCE)),
    field(3, "imagePullSecrets", Messages(&[field(1, "name", Text)])),
    field(4, "automountServiceAccountToken", Bool),
];

const SOURCE: Message = &[field(1, "component", Text), field(2, "host", Text)];

const SERIES: Message = &[field(1, "count", Int), field(2, "lastObservedTime", MICRO)];

const EVENT: Message = &[
    META,
    field(2, "involvedObject", inner(REFERENCE)),
    field(3, "reason", Text),
    field(4, "message", Text),
    field(5, "source", inner(SOURCE)),
    field(6, "firstTimestamp", TIME),
    field(7, "lastTimestamp", TIME),
    field(8, "count", Int),
    field(9, "type", Text),
    field(10, "eventTime", MICRO),
    field(11, "series", inner(SERIES)),
    field(12, "action", Text),
    field(13, "related", inner(REFERENCE)),
    field(14, "reportingComponent", Text),
    field(15, "reportingInstance", Text),
];

const NEW_EVENT: Message = &[
    META,
    field(2, "eventTime", MICRO),
    field(3, "series", inner(SERIES)),
    field(4, "reportingController", Text),
    field(5, "reportingInstance", Text),
    field(6, "action", Text),
    field(7, "reason", Text),
    field(8, "regarding", inner(REFERENCE)),
    field(9, "related", inner(REFERENCE)),
    field(10, "note", Text),
    field(11, "type", Text),
    field(12, "deprecatedSource", inner(SOURCE)),
    field(13, "deprecatedFirstTimestamp", TIME),
    field(14, "deprecatedLastTimestamp", TIME),
    field(15, "deprecatedCount", Int),
];

const LEASE: Message = &[
    META,
    field(
        2,
        "spec",
        inner(&[
            field(1, "holderIdentity", Text),
            field(2, "leaseDurationSeconds", Int),
            field(3, "acquireTime", MICRO),
            field(4, "renewTime", MICRO),
            field(5, "leaseTransitions", Int),
            field(6, "strategy", Text),
            field(7, "preferredHolder", Text),
        ]),
    ),
];

const RULES: Field = field(
    2,
    "rules",
    Messages(&[
        field(1, "verbs", Texts),
        field(2, "apiGroups", Texts),
        field(3, "resources", Texts),
        field(4, "resourceNames", Texts),
        field(5, "nonResourceURLs", Texts),
    ]),
);

const ROLE: Message = &[META, RULES];

const BINDING: Message = &[
    META,
    field(
        2,
        "subjects",
        Messages(&[
            field(1, "kind", Text),
            field(2, "apiGroup", Text),
            field(3, "name", Text),
            field(4, "namespace", Text),
        ]),
    ),
    field(
        3,
        "roleRef",
        inner(&[
            field(1, "apiGroup", Text),
            field(2, "kind", Text),
            field(3, "name", Text),
        ]),
    ),
];

const DELETE_OPTIONS: Message = &[
    field(1, "gracePeriodSeconds", Int),
    field(
        2,
        "preconditions",
        inner(&[field(1, "uid", Text), field(2, "resourceVersion", Text)]),
    ),
    field(3, "orphanDependents", Bool),
    field(4, "propagationPolicy", Text),
    field(5, "dryRun", Texts),
];

const RESOURCE_QUESTION: Message = &[
    field(1, "namespace", Text),
    field(2, "verb", Text),
    field(3, "group", Text),
    field(4, "version", Text),
    field(5, "resource", Text),
    field(6, "subresource", Text),
    field(7, "name", Text),
];

const PATH_QUESTION: Message = &[field(1, "path", Text), field(2, "verb", Text)];

const SELF_ACCESS: Message = &[
    META,
    field(
        2,
        "spec",
        inner(&[
            field(1, "resourceAttributes", inner(RESOURCE_QUESTION)),
            field(2, "nonResourceAttributes", inner(PATH_QUESTION)),
        ]),
    ),
];

const ACCESS: Message = &[
    META,
    field(
        2,
        "spec",
        inner(&[
            field(1, "resourceAttributes", inner(RESOURCE_QUESTION)),
            field(2, "nonResourceAttributes", inner(PATH_QUESTION)),
            field(3, "user", Text),
            field(4, "groups", Texts),
            field(6, "uid", Text),
        ]),
    ),
];

const SELF_RULES: Message = &[
    META,
    field(2, "spec", inner(&[field(1, "namespace", Text)])),
];

const SELF: Message = &[META];

/// The message of a kind.
pub(super) fn of(group: &str, kind: &str) -> Option<Message> {
    Some(match (group, kind) {
        ("", "ConfigMap") => CONFIG_MAP,
        ("", "Secret") => SECRET,
        ("", "Namespace") => NAMESPACE,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => ROLE,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => BINDING,
        ("authorization.k8s.io", "SelfSubjectAccessReview") => SELF_ACCESS,
        ("authorization.k8s.io", "SubjectAccessReview" | "LocalSubjectAccessReview") => ACCESS,
        ("authorization.k8s.io", "SelfSubjectRulesReview") => SELF_RULES,
        ("authentication.k8s.io", "SelfSubjectReview") => SELF,
        (_, "DeleteOptions") => DELETE_OPTIONS,
        _ => return None,
    })
}
