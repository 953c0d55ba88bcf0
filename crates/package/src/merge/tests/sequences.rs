//! How lists without keys meet (M22).

use super::lists::places;
use super::*;

const RULES: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: i
spec:
  rules:
  - host: a.example.com
    http: {paths: [{path: /, backend: a}]}
  - host: b.example.com
    http: {paths: [{path: /, backend: b}]}
  tls:
  - hosts: [a.example.com, b.example.com]
";

#[test]
fn m22_elements_without_stated_keys_pair_by_what_is_unique() {
    let local = replaced(RULES, &[("backend: a", "backend: mine")]);
    let upstream = replaced(
        RULES,
        &[
            ("backend: b", "backend: theirs"),
            ("  tls:", "  - host: c.example.com\n    http: {}\n  tls:"),
        ],
    );
    let (text, conflicts) = one(RULES, &local, &upstream, &block());
    assert_eq!(
        text,
        replaced(&upstream, &[("backend: a", "backend: mine")])
    );
    assert_eq!(conflicts, []);
    // Both changed one: the record names it.
    let upstream = replaced(RULES, &[("backend: a", "backend: theirs")]);
    let (_, conflicts) = one(RULES, &local, &upstream, &block());
    assert_eq!(
        places(&conflicts),
        ["spec.rules[host=a.example.com].http.paths"]
    );
}

#[test]
fn m22_an_element_of_which_one_side_changed_the_key_alone_stays_the_same() {
    let local = replaced(
        RULES,
        &[("- host: a.example.com", "- host: my.example.com")],
    );
    let upstream = replaced(RULES, &[("backend: a", "backend: new")]);
    let (text, conflicts) = one(RULES, &local, &upstream, &block());
    assert_eq!(text, replaced(&local, &[("backend: a", "backend: new")]));
    assert_eq!(conflicts, []);
    let (text, conflicts) = one(RULES, &upstream, &local, &block());
    assert_eq!(text, replaced(&local, &[("backend: a", "backend: new")]));
    assert_eq!(conflicts, []);
    // Not where the other side has another element with the new key.
    let upstream = format!(
        "{}  - host: my.example.com\n    http: {{paths: [x]}}\n  tls: []\n",
        replaced(
            &upstream,
            &[("  tls:\n  - hosts: [a.example.com, b.example.com]\n", "")]
        )
    );
    let (_, conflicts) = one(RULES, &local, &upstream, &block());
    assert_eq!(
        places(&conflicts),
        [
            "spec.rules[host=a.example.com]",
            "spec.rules[host=my.example.com].http.paths"
        ]
    );
}

/// A role with these verbs per rule.
fn role(rules: &[&str]) -> String {
    let head =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: r\nrules:\n";
    let rules = rules.iter().map(|rule| {
        let (resource, verbs) = rule.split_once('=').unwrap();
        format!("- resources: [{resource}]\n  verbs: [{verbs}]\n")
    });
    format!("{head}{}", rules.collect::<String>())
}

#[test]
fn m22_sequences_merge_where_changes_do_not_touch() {
    let base = role(&["pods=get", "nodes=get", "jobs=get", "leases=get"]);
    let local = role(&["pods=list", "nodes=get", "jobs=get", "leases=get"]);
    let upstream = role(&[
        "pods=get",
        "nodes=get",
        "events=get",
        "jobs=watch",
        "leases=get",
    ]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = role(&[
        "pods=list",
        "nodes=get",
        "events=get",
        "jobs=watch",
        "leases=get",
    ]);
    assert_eq!((text, conflicts), (wanted, vec![]));
    // Each changed one of two neighbours in its place.
    let upstream = role(&["pods=get", "nodes=list", "jobs=get", "leases=get"]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = role(&["pods=list", "nodes=list", "jobs=get", "leases=get"]);
    assert_eq!((text, conflicts), (wanted, vec![]));
    // One of them went, or one came between them.
    let upstream = role(&["pods=get", "events=get", "jobs=get", "leases=get"]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = role(&["pods=list", "events=get", "jobs=get", "leases=get"]);
    assert_eq!((text, conflicts), (wanted, vec![]));
    // What one side changed and the other took away is one value, one conflict; so are two things put in at one place.
    let gone = role(&["nodes=get", "jobs=get", "leases=get"]);
    let (text, conflicts) = one(&base, &local, &gone, &block());
    assert_eq!((text, places(&conflicts)), (gone, vec!["rules"]));
    let mine = role(&[
        "mine=get",
        "pods=get",
        "nodes=get",
        "jobs=get",
        "leases=get",
    ]);
    let theirs = replaced(&mine, &[("[mine]", "[theirs]")]);
    let (text, conflicts) = one(&base, &mine, &theirs, &block());
    assert_eq!((text, places(&conflicts)), (theirs, vec!["rules"]));
    // The same for neighbouring scalars, which may belong together.
    let args = |args: &str| format!("kind: A\nmetadata: {{name: a}}\nargs: [{args}]\n");
    let texts = ["--port, 80", "--addr, 80", "--port, 81"].map(args);
    let (_, conflicts) = one(&texts[0], &texts[1], &texts[2], &block());
    assert_eq!(places(&conflicts), ["args"]);
    // What both put in or took away alike is no conflict.
    let local = role(&["nodes=get", "jobs=get", "leases=get", "own=get"]);
    let upstream = role(&["nodes=get", "jobs=list", "leases=get", "own=get"]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, conflicts), (upstream, vec![]));
    // The same rule put in at two places is one element or two: a person says which.
    let local = role(&["own=get", "pods=get", "nodes=get", "jobs=get", "leases=get"]);
    let upstream = role(&["pods=get", "nodes=get", "jobs=get", "leases=get", "own=get"]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, places(&conflicts)), (upstream, vec!["rules"]));
}

#[test]
fn m22_a_kustomization_s_lists_are_sets() {
    let base = "resources:\n- a.yaml\n- b.yaml\n";
    let local = "resources:\n- a.yaml\n- b.yaml\n- mine.yaml\n";
    let upstream = "resources:\n- a.yaml\n- b.yaml\n- theirs.yaml\n";
    let name = "kustomization.yaml";
    let sides = [base, local, upstream].map(|text| vec![(name, text)]);
    let merged = merge_files([&sides[0], &sides[1], &sides[2]], &block());
    let text = merged.files[name].as_text().unwrap();
    assert_eq!(text, format!("{local}- theirs.yaml\n"));
    assert_eq!(merged.conflicts, []);
}

#[test]
fn m22_a_crd_of_the_package_has_the_say() {
    let crd = |kind: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: sites.example.com}}\n\
             spec:\n  group: example.com\n  names: {{kind: Site}}\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        \
             properties:\n          spec:\n            properties:\n              pools: {{type: array, {kind}items: {{properties: {{size: {{type: integer}}}}}}}}\n"
        )
    };
    let site = "apiVersion: example.com/v1\nkind: Site\nmetadata:\n  name: s\nspec:\n  pools:\n  - name: a\n    size: 1\n  - name: b\n    size: 1\n";
    let local = replaced(site, &[("size: 1", "size: 2")]);
    let upstream = replaced(site, &[("name: b\n    size: 1", "name: b\n    size: 3")]);
    let both = replaced(&upstream, &[("size: 1", "size: 2")]);
    for (kind, wanted, conflict) in [
        ("", &both, vec![]),
        (
            "x-kubernetes-list-type: atomic, ",
            &upstream,
            vec!["spec.pools"],
        ),
        (
            "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], ",
            &both,
            vec![],
        ),
    ] {
        let crd = crd(kind);
        let side = |text| [("crd.yaml", crd.as_str()), ("site.yaml", text)];
        let sides = [side(site), side(&local), side(&upstream)];
        let merged = merge_files([&sides[0], &sides[1], &sides[2]], &block());
        assert_eq!(
            merged.files["site.yaml"].as_text().unwrap(),
            wanted,
            "{kind}"
        );
        assert_eq!(places(&merged.conflicts), conflict, "{kind}");
    }
}

#[test]
fn m22_an_element_that_both_sides_changed_in_its_place_merges_by_field() {
    let replacement = |kind: &str, targets: &str| {
        format!(
            "kind: R\nmetadata: {{name: r}}\nreplacements:\n- source:\n    kind: {kind}\n    fieldPath: data.x\n  targets: [{targets}]\n  options: {{create: true}}\n"
        )
    };
    let (base, local) = (replacement("A", "one"), replacement("B", "one"));
    let upstream = replacement("A", "one, two");
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, conflicts), (replacement("B", "one, two"), vec![]));
    // A clash inside is one about the list: a place in a sequence is no name.
    let upstream = replacement("C", "one, two");
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, places(&conflicts)), (upstream, vec!["replacements"]));
    // What has little in common with what stood there is another one.
    let other = "- source: {kind: Z}\n  targets: [z]\n  options: {create: false}\n";
    let other = format!("{}{other}", base.split_once("- source").unwrap().0);
    let (_, conflicts) = one(&base, &local, &other, &block());
    assert_eq!(places(&conflicts), ["replacements"]);
}

#[test]
fn m22_what_a_rule_grants_is_not_put_together_from_two_sides() {
    let base = role(&["pods=get"]);
    let local = replaced(&base, &[("[get]", "[get, delete]")]);
    let upstream = replaced(&base, &[("[pods]", "[pods, secrets]")]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, places(&conflicts)), (upstream, vec!["rules"]));
    // The same field of it merges like every list.
    let base = role(&["pods=get, list, watch"]);
    let local = replaced(&base, &[("[get,", "[create, get,")]);
    let upstream = replaced(&base, &[("watch]", "watch, patch]")]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = role(&["pods=create, get, list, watch, patch"]);
    assert_eq!((text, conflicts), (wanted, vec![]));
}

#[test]
fn m22_resources_inside_others_pair_by_kind_and_name() {
    let base = "kind: N\nmetadata: {name: n}\nrefs:\n- kind: A\n  metadata: {name: x}\n  spec: {a: 1, b: 1}\n- kind: B\n  metadata: {name: x}\n  spec: {a: 1}\n";
    let local = replaced(base, &[("a: 1", "a: 2")]);
    let upstream = replaced(base, &[("b: 1", "b: 3")]);
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(
        (text, conflicts),
        (replaced(&upstream, &[("a: 1", "a: 2")]), vec![])
    );
    let (text, conflicts) = one(base, &local, &replaced(base, &[("a: 1", "a: 3")]), &block());
    assert_eq!(places(&conflicts), ["refs[kind=A,metadata.name=x].spec.a"]);
    let result = with_kptfile(&[("a.yaml", &text)]);
    assert_eq!(
        crate::conflicts::value_at(&result, &conflicts[0]),
        conflicts[0].upstream
    );
}

/// Attacked: what a person took out of a Role came back where upstream had moved it.
#[test]
fn m22_what_one_side_moved_does_not_come_back_or_double() {
    let list = |items: &str| {
        format!(
            "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: t\nspec:\n  list: [{items}]\n"
        )
    };
    let base = list("pods, secrets, services, nodes");
    for (local, upstream) in [
        ("pods, services, nodes", "secrets, pods, services, nodes"),
        ("pods, services, nodes", "pods, services, nodes, secrets"),
        (
            "secrets, pods, services, nodes",
            "pods, services, nodes, secrets",
        ),
        (
            "secrets, pods, services, nodes",
            "pods, services, secrets, nodes",
        ),
    ] {
        for (local, upstream) in [(local, upstream), (upstream, local)] {
            let (text, conflicts) = one(&base, &list(local), &list(upstream), &block());
            assert_eq!(text, list(upstream), "{local}");
            assert_eq!(places(&conflicts), ["spec.list"], "{local}");
        }
    }
    // One move, made by both or by one alone, asks nobody.
    let moved = list("secrets, pods, services, nodes");
    for local in [&moved, &base] {
        let (text, conflicts) = one(&base, local, &moved, &block());
        assert_eq!((text, conflicts), (moved.clone(), Vec::new()));
    }
}
