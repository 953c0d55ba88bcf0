//! The table of built-in kinds: names, scope and verbs as the real server's discovery has them.

use super::{BuiltInKind, Subresource};
use crate::names::NameRule;

const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const NO_COLLECTION: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];
const CREATE: &[&str] = &["create"];
/// Kinds of clusters that kubectl asks for on the way (`cluster-info`, `describe namespace`): there never is one here.
const READ: &[&str] = &["get", "list", "watch"];
const STATUS: Subresource = Subresource {
    name: "status",
    kind: None,
    verbs: &["get", "patch", "update"],
};

const BASE: BuiltInKind = BuiltInKind {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    verbs: ALL_VERBS,
    subresources: &[],
    name_rule: NameRule::Subdomain,
    generation: false,
    versioned_updates: false,
    key: "",
};

const ABSENT: BuiltInKind = BuiltInKind {
    verbs: READ,
    key: "Absent",
    ..BASE
};

const RBAC: BuiltInKind = BuiltInKind {
    group: "rbac.authorization.k8s.io",
    name_rule: NameRule::PathSegment,
    ..BASE
};

const REVIEW: BuiltInKind = BuiltInKind {
    group: "authorization.k8s.io",
    namespaced: false,
    verbs: CREATE,
    ..BASE
};

pub(super) const ALL: &[BuiltInKind] = &[
    BuiltInKind {
        kind: "ConfigMap",
        plural: "configmaps",
        singular: "configmap",
        short_names: &["cm"],
        key: "ConfigMap",
        ..BASE
    },
    BuiltInKind {
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        // The older form of events takes every name that fits into a path.
        name_rule: NameRule::PathSegment,
        key: "Event",
        ..BASE
    },
    BuiltInKind {
        kind: "Namespace",
        plural: "namespaces",
        singular: "namespace",
        short_names: &["ns"],
        namespaced: false,
        verbs: NO_COLLECTION,
        subresources: &[
            Subresource {
                name: "finalize",
                kind: None,
                verbs: &["update"],
            },
            STATUS,
        ],
        name_rule: NameRule::Label,
        key: "Namespace",
        ..BASE
    },
    BuiltInKind {
        kind: "Secret",
        plural: "secrets",
        singular: "secret",
        key: "Secret",
        ..BASE
    },
    BuiltInKind {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        singular: "serviceaccount",
        short_names: &["sa"],
        subresources: &[Subresource {
            name: "token",
            kind: Some(("authentication.k8s.io", "v1", "TokenRequest")),
            verbs: CREATE,
        }],
        key: "ServiceAccount",
        ..BASE
    },
    BuiltInKind {
        kind: "LimitRange",
        plural: "limitranges",
        singular: "limitrange",
        short_names: &["limits"],
        ..ABSENT
    },
    BuiltInKind {
        kind: "ResourceQuota",
        plural: "resourcequotas",
        singular: "resourcequota",
        short_names: &["quota"],
        ..ABSENT
    },
    BuiltInKind {
        kind: "Service",
        plural: "services",
        singular: "service",
        short_names: &["svc"],
        ..ABSENT
    },
    BuiltInKind {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        key: "Event.events.k8s.io",
        ..BASE
    },
    BuiltInKind {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        singular: "lease",
        versioned_updates: true,
        key: "Lease",
        ..BASE
    },
    BuiltInKind {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        singular: "clusterrolebinding",
        namespaced: false,
        key: "ClusterRoleBinding",
        ..RBAC
    },
    BuiltInKind {
        kind: "ClusterRole",
        plural: "clusterroles",
        singular: "clusterrole",
        namespaced: false,
        key: "ClusterRole",
        ..RBAC
    },
    BuiltInKind {
        kind: "RoleBinding",
        plural: "rolebindings",
        singular: "rolebinding",
        key: "RoleBinding",
        ..RBAC
    },
    BuiltInKind {
        kind: "Role",
        plural: "roles",
        singular: "role",
        key: "Role",
        ..RBAC
    },
    BuiltInKind {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        subresources: &[STATUS],
        generation: true,
        key: "CustomResourceDefinition",
        ..BASE
    },
    BuiltInKind {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        plural: "apiservices",
        singular: "apiservice",
        categories: &["api-extensions"],
        namespaced: false,
        subresources: &[STATUS],
        name_rule: NameRule::PathSegment,
        key: "APIService",
        ..BASE
    },
    BuiltInKind {
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        singular: "localsubjectaccessreview",
        namespaced: true,
        key: "LocalSubjectAccessReview",
        ..REVIEW
    },
    BuiltInKind {
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        key: "SelfSubjectAccessReview",
        ..REVIEW
    },
    BuiltInKind {
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        key: "SelfSubjectRulesReview",
        ..REVIEW
    },
    BuiltInKind {
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        key: "SubjectAccessReview",
        ..REVIEW
    },
    BuiltInKind {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        key: "SelfSubjectReview",
        ..REVIEW
    },
    BuiltInKind {
        group: "authentication.k8s.io",
        kind: "TokenReview",
        plural: "tokenreviews",
        singular: "tokenreview",
        key: "TokenReview",
        ..REVIEW
    },
];

/// Bodies of `serviceaccounts/token`; no resource of its own.
pub(super) static TOKEN_REQUEST: BuiltInKind = BuiltInKind {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    plural: "tokenrequests",
    singular: "tokenrequest",
    verbs: CREATE,
    key: "TokenRequest",
    ..BASE
};
