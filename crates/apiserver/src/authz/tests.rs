//! Tests of rules, of the index and of what is told.

use serde_json::json;

use super::cover::Cover;
use super::index::Index;
use super::*;

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

fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let missing = Cover::of(held).missing(wanted);
    assert!(!missing.more && !missing.unknown, "{missing:?}");
    missing.lines
}

fn many(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

/// A rule that stands for all combinations of as many verbs, groups and resources.
fn cube(count: usize) -> Rule {
    Rule {
        verbs: many("v", count),
        groups: many("g", count),
        resources: many("r", count),
        ..Rule::default()
    }
}

#[test]
fn a_rule_is_never_multiplied_out() {
    let view = rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}));
    let all = rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
    let half = Rule {
        verbs: many("v", 249),
        ..cube(250)
    };
    let rest = Rule {
        verbs: vec!["v249".to_owned()],
        ..cube(250)
    };
    for (held, covered) in [
        (vec![view.clone()], false),
        (vec![view, all], true),
        (vec![cube(250)], true),
        (vec![half.clone()], false),
        (vec![half, rest], true),
        (vec![cube(249)], false),
    ] {
        let mut cover = Cover::of(&held);
        let missing = cover.missing(&[cube(250)]);
        assert_eq!(missing.is_empty(), covered, "{:?}", held.len());
        assert!(!missing.unknown && missing.lines.len() <= 1_000);
        assert_eq!(missing.more, !covered);
        assert!(cover.cost() < 100_000, "{}", cover.cost());
    }
}

#[test]
fn many_rules_are_compared_with_many() {
    let named = |count: usize, verb: &str, prefix: &str| -> Vec<Rule> {
        let rule = |name: String| Rule {
            verbs: vec![verb.to_owned()],
            groups: vec![String::new()],
            resources: vec!["secrets".to_owned()],
            names: vec![name],
            ..Rule::default()
        };
        many(prefix, count).into_iter().map(rule).collect()
    };
    let held = named(20_000, "get", "n");
    for (wanted, covered) in [
        (named(20_000, "get", "n"), true),
        (named(2_000, "nuke", "n"), false),
        (named(2_000, "get", "m"), false),
    ] {
        let mut cover = Cover::of(&held);
        let missing = cover.missing(&wanted);
        assert_eq!((missing.is_empty(), missing.unknown), (covered, false));
        assert!(cover.cost() < 500_000, "{}", cover.cost());
    }
}

/// Held rules that each speak of half of every list, so that nearly every combination is covered by other ones.
#[test]
fn what_would_cost_too_much_is_not_judged() {
    let some = |seed: usize, list: Vec<String>| -> Vec<String> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut toss = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state & 3 > 0
        };
        list.into_iter().filter(|_| toss()).collect()
    };
    let held: Vec<Rule> = (1..200)
        .map(|n| Rule {
            verbs: some(n, many("v", 250)),
            groups: some(n * 7, many("g", 250)),
            resources: some(n * 31, many("r", 250)),
            ..Rule::default()
        })
        .collect();
    let mut cover = Cover::of(&held);
    let missing = cover.missing(&[cube(250)]);
    assert_eq!((missing.unknown, missing.is_empty()), (true, false));
    assert!(missing.lines.is_empty(), "{missing:?}");
}

#[test]
fn what_is_told_of_a_refusal_is_bounded() {
    let long = "x".repeat(100_000);
    let wanted = Rule {
        verbs: vec![long.clone()],
        groups: many(&long, 3),
        resources: vec!["r".to_owned(); 100_000],
        ..Rule::default()
    };
    let path = Rule {
        verbs: vec!["get".to_owned(); 3_000],
        urls: vec!["/x".to_owned(); 100_000],
        ..Rule::default()
    };
    let mut cover = Cover::of(&[]);
    let missing = cover.missing(&[path, wanted]);
    assert!(
        missing.more && missing.lines.len() == 1,
        "{}",
        missing.lines.len()
    );
    assert!(cover.cost() < 1_000_000, "{}", cover.cost());
}

#[test]
fn paths_are_covered_by_patterns_of_paths() {
    let held = [
        rule(json!({"verbs": ["get"], "nonResourceURLs": ["/a/*", "/b"]})),
        rule(json!({"verbs": ["post"], "nonResourceURLs": ["/a/b*"]})),
    ];
    let wanted = [rule(
        json!({"verbs": ["get", "post"], "nonResourceURLs": ["/a/b/c", "/a/*", "/b", "/b/c"]}),
    )];
    assert_eq!(
        missing(&held, &wanted),
        [
            "{NonResourceURLs:[\"/a/*\"], Verbs:[\"post\"]}",
            "{NonResourceURLs:[\"/b\"], Verbs:[\"post\"]}",
            "{NonResourceURLs:[\"/b/c\"], Verbs:[\"get\"]}",
            "{NonResourceURLs:[\"/b/c\"], Verbs:[\"post\"]}",
        ]
    );
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
