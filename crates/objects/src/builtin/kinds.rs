//! The table of built-in kinds: names, scope and verbs as the real server's discovery has them.

use super::{Definition, Subresource};
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

const BASE: Definition = Definition {
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

const ABSENT: Definition = Definition {
    verbs: READ,
    key: "Absent",
    ..BASE
};

const RBAC: Definition = Definition {
    group: "rbac.authorization.k8s.io",
    name_rule: NameRule::PathSegment,
    ..BASE
};

const REVIEW: Definition = Definition {
    group: "authorization.k8s.io",
    namespaced: false,
    verbs: CREATE,
    ..BASE
};

pub(super) const ALL: &[Definition] = &[
    Definition {
        kind: "ConfigMap",
        plural: "configmaps",
        singular: "configmap",
        short_names: &["cm"],
        key: "ConfigMap",
        ..BASE
    },
    Definition {
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        // The older form of events takes every name that fits into a path.
        name_rule: NameRule::PathSegment,
        key: "Event",
        ..BASE
    },
    Definition {
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
    Definition {
        kind: "Secret",
        plural: "secrets",
        singular: "secret",
        key: "Secret",
        ..BASE
    },
    Definition {
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
    Definition {
        kind: "LimitRange",
        plural: "limitranges",
        singular: "limitrange",
        short_names: &["limits"],
        ..ABSENT
    },
    Definition {
        kind: "ResourceQuota",
        plural: "resourcequotas",
        singular: "resourcequota",
        short_names: &["quota"],
        ..ABSENT
    },
    Definition {
        kind: "Service",
        plural: "services",
        singular: "service",
        short_names: &["svc"],
        ..ABSENT
    },
    Definition {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        key: "Event.events.k8s.io",
        ..BASE
    },
    Definition {
        group: "coordination.k8s.io",
        kind: "Lease",
        plural: "leases",
        singular: "lease",
        versioned_updates: true,
        key: "Lease",
        ..BASE
    },
    Definition {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        singular: "clusterrolebinding",
        namespaced: false,
        key: "ClusterRoleBinding",
        ..RBAC
    },
    Definition {
        kind: "ClusterRole",
        plural: "clusterroles",
        singular: "clusterrole",
        namespaced: false,
        key: "ClusterRole",
        ..RBAC
    },
    Definition {
        kind: "RoleBinding",
        plural: "rolebindings",
        singular: "rolebinding",
        key: "RoleBinding",
        ..RBAC
    },
    Definition {
        kind: "Role",
        plural: "roles",
        singular: "role",
        key: "Role",
        ..RBAC
    },
    Definition {
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
    Definition {
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
    Definition {
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        singular: "localsubjectaccessreview",
        namespaced: true,
        key: "LocalSubjectAccessReview",
        ..REVIEW
    },
    Definition {
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        key: "SelfSubjectAccessReview",
        ..REVIEW
    },
    Definition {
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        key: "SelfSubjectRulesReview",
        ..REVIEW
    },
    Definition {
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        key: "SubjectAccessReview",
        ..REVIEW
    },
    Definition {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        key: "SelfSubjectReview",
        ..REVIEW
    },
    Definition {
        group: "authentication.k8s.io",
        kind: "TokenReview",
        plural: "tokenreviews",
        singular: "tokenreview",
        key: "TokenReview",
        ..REVIEW
    },
];

/// Bodies of `serviceaccounts/token`; no resource of its own.
pub(super) static TOKEN_REQUEST: Definition = Definition {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    plural: "tokenrequests",
    singular: "tokenrequest",
    verbs: CREATE,
    key: "TokenRequest",
    ..BASE
};
