//! Tests of rules, of the index and of what is told.

use serde_json::json;

use super::index::Index;
use super::rule::missing;
use super::*;
use crate::gateway::{Attributes, User};

fn rule(value: serde_json::Value) -> Rule {
    Rule::read(&value)
}

fn asked<'a>(user: &'a User, verb: &'a str, resource: &'a str, sub: &'a str) -> Attributes<'a> {
    Attributes {
        user,
        verb,
        group: "test.dev",
        resource,
        subresource: sub,
        namespace: "a",
        name: "one",
        path: "",
    }
}

#[test]
fn a_rule_matches_verb_group_resource_and_name() {
    let user = User::new("u", &[]);
    let of = |resources: &[&str], names: &[&str]| {
        rule(
            json!({"verbs": ["get"], "apiGroups": ["test.dev"], "resources": resources, "resourceNames": names}),
        )
    };
    let cases = [
        (of(&["shoes"], &[]), "get", "shoes", "", true),
        (of(&["shoes"], &[]), "list", "shoes", "", false),
        (of(&["shoes"], &[]), "get", "shoes", "status", false),
        (of(&["shoes"], &[]), "get", "hats", "", false),
        (of(&["shoes/status"], &[]), "get", "shoes", "status", true),
        (of(&["shoes/status"], &[]), "get", "shoes", "", false),
        (of(&["*/status"], &[]), "get", "shoes", "status", true),
        (of(&["*/status"], &[]), "get", "shoes", "scale", false),
        (of(&["*"], &[]), "get", "shoes", "status", true),
        (of(&["shoes"], &["one"]), "get", "shoes", "", true),
        (of(&["shoes"], &["two"]), "get", "shoes", "", false),
    ];
    for (rule, verb, resource, sub, wanted) in cases {
        let allowed = rule.allows(&asked(&user, verb, resource, sub));
        assert_eq!(allowed, wanted, "{rule:?} {verb} {resource}/{sub}");
    }
    let other = Attributes {
        group: "other.dev",
        ..asked(&user, "get", "shoes", "")
    };
    assert!(!of(&["*"], &[]).allows(&other));
    let nameless = Attributes {
        name: "",
        ..asked(&user, "get", "shoes", "")
    };
    assert!(!of(&["shoes"], &["one"]).allows(&nameless));
}

#[test]
fn a_path_matches_exactly_or_below_a_star() {
    let user = User::new("u", &[]);
    let paths = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/apis", "/logs/*"]}));
    let at = |path| Attributes {
        path,
        resource: "",
        group: "",
        ..asked(&user, "get", "", "")
    };
    for (path, wanted) in [
        ("/apis", true),
        ("/apis/", false),
        ("/apis/test.dev", false),
        ("/logs/", true),
        ("/logs/a/b", true),
        ("/logs", false),
        ("/", false),
    ] {
        assert_eq!(paths.allows(&at(path)), wanted, "{path}");
    }
    // A rule about resources says nothing about paths, nor the other way round.
    let all = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
    assert!(!all.allows(&at("/apis")));
    assert!(!paths.allows(&asked(&user, "get", "apis", "")));
}

#[test]
fn what_is_not_held_is_told_once_by_resource() {
    let held = [rule(
        json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}),
    )];
    let wanted = [
        rule(
            json!({"verbs": ["get", "create", "delete"], "apiGroups": [""], "resources": ["configmaps", "secrets"]}),
        ),
        rule(json!({"verbs": ["get"], "nonResourceURLs": ["/x"]})),
    ];
    assert_eq!(
        missing(&held, &wanted),
        [
            "{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"create\" \"delete\"]}",
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"create\" \"delete\"]}",
            "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}",
        ]
    );
    // A right on one name is no right on all, a right on all is one on each.
    let named = [rule(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
    )];
    let all = [rule(
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
    )];
    assert!(missing(&all, &named).is_empty());
    let on_all = [rule(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}),
    )];
    assert_eq!(missing(&named, &on_all).len(), 1);
    let scales = [rule(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["*/scale"]}),
    )];
    let one = [rule(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["a/scale"]}),
    )];
    assert!(missing(&scales, &one).is_empty());
}

#[test]
fn the_index_follows_what_is_written() {
    let at = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    let binding = |kind: &str, role: &str, subject: serde_json::Value| json!({"roleRef": {"kind": kind, "name": role}, "subjects": [subject]});
    let mut index = Index::default();
    let reader =
        json!({"rules": [{"verbs": ["get"], "apiGroups": ["test.dev"], "resources": ["shoes"]}]});
    let robot = json!({"kind": "ServiceAccount", "name": "robot", "namespace": "b"});
    index.binding(at("a", "readers"), Some(&binding("Role", "reader", robot)));
    let user = User::new("system:serviceaccount:b:robot", &[]);
    let request = asked(&user, "get", "shoes", "");
    let decision = index.decide(&request);
    assert_eq!(
        (decision.allowed, decision.reason.as_str()),
        (
            false,
            "RBAC: role.rbac.authorization.k8s.io \"reader\" not found"
        )
    );
    index.role(at("a", "reader"), Some(&reader));
    assert_eq!(
        index.decide(&request).reason,
        "RBAC: allowed by RoleBinding \"readers/a\" of Role \"reader\" to ServiceAccount \"robot/b\""
    );
    let elsewhere = Attributes {
        namespace: "b",
        ..request.clone()
    };
    assert!(!index.decide(&elsewhere).allowed);
    // The same name bound to somebody else is nobody's any more.
    let other = json!({"kind": "Group", "name": "robots"});
    index.binding(at("a", "readers"), Some(&binding("Role", "reader", other)));
    assert!(!index.decide(&request).allowed);
    let grouped = User::new("x", &["robots"]);
    assert!(index.decide(&asked(&grouped, "get", "shoes", "")).allowed);
    index.forget(false, false);
    assert!(!index.decide(&asked(&grouped, "get", "shoes", "")).allowed);
}
