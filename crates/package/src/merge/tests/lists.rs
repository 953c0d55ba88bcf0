//! How lists meet: order, changed keys, lists without keys (M13, M13b, M22).

use super::*;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  initContainers:
  # waits
  - name: wait
    image: wait:1
  # moves the schema
  - name: migrate # slow
    image: migrate:1
  - name: seed
    image: seed:1
";

/// The init containers of a pod, in this order.
fn pod(order: &[&str]) -> String {
    let blocks = POD.split_once("  # waits").unwrap();
    let wait = "  # waits\n  - name: wait\n    image: wait:1\n";
    let migrate = "  # moves the schema\n  - name: migrate # slow\n    image: migrate:1\n";
    let seed = "  - name: seed\n    image: seed:1\n";
    let block = |name: &&str| match *name {
        "wait" => wait.to_owned(),
        "migrate" => migrate.to_owned(),
        "seed" => seed.to_owned(),
        other => format!("  - name: {other}\n    image: {other}:1\n"),
    };
    let all: String = order.iter().map(block).collect();
    format!("{}{all}", blocks.0)
}

fn places(conflicts: &[Conflict]) -> Vec<&str> {
    conflicts.iter().map(|c| c.path.as_str()).collect()
}

#[test]
fn m13_an_order_that_upstream_alone_changed_arrives() {
    assert_eq!(pod(&["wait", "migrate", "seed"]), POD);
    let upstream = pod(&["migrate", "seed", "wait"]);
    let local = replaced(POD, &[("wait:1", "wait:mine")]);
    let (text, conflicts) = one(POD, &local, &upstream, &block());
    assert_eq!(text, replaced(&upstream, &[("wait:1", "wait:mine")]));
    assert_eq!(conflicts, []);
    // What only local has stays behind what it follows there, and what is new upstream comes along.
    let local = pod(&["first", "wait", "own", "migrate", "seed"]);
    let upstream = pod(&["seed", "new", "migrate", "wait"]);
    let (text, conflicts) = one(POD, &local, &upstream, &block());
    assert_eq!(
        text,
        pod(&["first", "seed", "new", "migrate", "wait", "own"])
    );
    assert_eq!(conflicts, []);
}

#[test]
fn m13_two_new_orders_leave_local_s_and_a_record_without_a_gate() {
    let local = pod(&["migrate", "wait", "seed"]);
    let upstream = replaced(&pod(&["wait", "seed", "migrate"]), &[("seed:1", "seed:2")]);
    let (text, conflicts) = one(POD, &local, &upstream, &block());
    assert_eq!(text, replaced(&local, &[("seed:1", "seed:2")]));
    let [conflict] = conflicts.as_slice() else {
        panic!("{conflicts:?}")
    };
    assert_eq!(conflict.path, "spec.initContainers#order");
    assert_eq!(conflict.state, ConflictState::Recorded);
    let names = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("[name={name}]")).collect();
        ConflictValue::Json(serde_json::Value::from(names).to_string())
    };
    assert_eq!(conflict.base, names(&["wait", "migrate", "seed"]));
    assert_eq!(conflict.local, names(&["migrate", "wait", "seed"]));
    assert_eq!(conflict.upstream, names(&["wait", "seed", "migrate"]));
    let result = with_kptfile(&[("a.yaml", &text)]);
    assert_eq!(
        crate::conflicts::value_at(&result, conflict),
        conflict.local
    );
    // The same new order on both sides is nothing to tell.
    let (text, conflicts) = one(
        POD,
        &local,
        &replaced(&local, &[("seed:1", "seed:2")]),
        &block(),
    );
    assert_eq!(text, replaced(&local, &[("seed:1", "seed:2")]));
    assert_eq!(conflicts, []);
}

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: s
spec:
  ports:
  - port: 80
    name: http
    targetPort: 8080
  - port: 443
    name: https
";

#[test]
fn m13b_a_port_whose_number_changed_is_known_by_its_name() {
    let local = replaced(SERVICE, &[("port: 80\n", "port: 8000\n")]);
    let upstream = replaced(SERVICE, &[("8080", "9090"), ("name: https", "name: tls")]);
    let (text, conflicts) = one(SERVICE, &local, &upstream, &block());
    assert_eq!(text, replaced(&upstream, &[("port: 80\n", "port: 8000\n")]));
    assert_eq!(conflicts, []);
    // Both changed it: one conflict, at the port.
    let upstream = replaced(SERVICE, &[("port: 80\n", "port: 81\n")]);
    let (text, conflicts) = one(SERVICE, &local, &upstream, &block());
    assert_eq!(text, upstream);
    assert_eq!(places(&conflicts), ["spec.ports[name=http].port"]);
    assert!(conflicts[0].blocks());
    // A name that stands twice tells nothing apart.
    let twice = replaced(SERVICE, &[("https", "http")]);
    let local = replaced(&twice, &[("port: 80\n", "port: 8000\n")]);
    let (_, conflicts) = one(
        &twice,
        &local,
        &replaced(&twice, &[("8080", "9090")]),
        &block(),
    );
    assert_eq!(places(&conflicts), ["spec.ports[port=80,protocol=TCP]"]);
}

#[test]
fn m13b_a_result_that_no_rule_allows_is_not_written() {
    // Each side is right: together two ports have one number.
    let local = replaced(SERVICE, &[("port: 80\n", "port: 8000\n")]);
    let upstream = format!("{SERVICE}  - port: 8000\n    name: admin\n");
    let keep = |policy| MergeOptions { policy, ..block() };
    for (options, wanted) in [
        (block(), &upstream),
        (keep(ConflictPolicy::Upstream), &upstream),
        (keep(ConflictPolicy::Local), &local),
        (
            MergeOptions {
                draft: true,
                ..block()
            },
            &local,
        ),
    ] {
        let (text, conflicts) = one(SERVICE, &local, &upstream, &options);
        assert_eq!(text, *wanted);
        assert_eq!(places(&conflicts), ["spec.ports"]);
        let gates = options.policy == ConflictPolicy::Block;
        assert_eq!(conflicts[0].blocks(), gates);
    }
    // Two ports with one name, and two without any.
    let other = replaced(SERVICE, &[("port: 443", "port: 444")]);
    let local = format!("{SERVICE}  - port: 90\n    name: admin\n");
    let upstream = format!("{other}  - port: 91\n    name: admin\n");
    assert_eq!(
        places(&one(SERVICE, &local, &upstream, &block()).1),
        ["spec.ports"]
    );
    let bare = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  clusterIP: None\n";
    let (local, upstream) = (
        format!("{bare}  ports:\n  - port: 80\n"),
        format!("{bare}  ports:\n  - port: 81\n"),
    );
    assert_eq!(
        places(&one(bare, &local, &upstream, &block()).1),
        ["spec.ports"]
    );
    // What a side broke before is that side's business.
    let broken = replaced(SERVICE, &[("name: https", "name: http")]);
    let (text, conflicts) = one(
        &broken,
        &replaced(&broken, &[("8080", "9090")]),
        &replaced(&broken, &[("name: s\n", "name: s\n  labels: {a: b}\n")]),
        &block(),
    );
    assert!(text.contains("9090") && text.contains("a: b"), "{text}");
    assert_eq!(conflicts, []);
}

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
    // One of them went: one value, one conflict. The same for scalars, which may belong together.
    let upstream = role(&["pods=get", "jobs=get", "leases=get"]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!((text, places(&conflicts)), (upstream, vec!["rules"]));
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
fn m2_a_null_over_nothing_says_nothing() {
    let base = "kind: A\nmetadata: {name: a}\nx: 1\nempty: {}\n";
    let local = replaced(base, &[("empty: {}", "empty: {a: 1}\nlabels: {b: 1}")]);
    let upstream = replaced(
        base,
        &[("x: 1", "x: 2"), ("empty: {}", "empty: null\nlabels: null")],
    );
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, replaced(&local, &[("x: 1", "x: 2")]));
    assert_eq!(conflicts, []);
}

#[test]
fn m13_what_cannot_be_moved_stays_and_is_told() {
    // The second refers to the first: it cannot stand before it.
    let pod = |items: [&str; 3]| {
        let head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  initContainers:\n";
        format!("{head}{}", items.concat())
    };
    let [a, b, c] = [
        "  - name: a\n    image: &i one\n",
        "  - name: b\n    image: *i\n",
        "  - name: c\n    image: c:1\n",
    ];
    let plain = "  - name: b\n    image: one\n";
    let base = pod([a, b, c]);
    let local = replaced(&base, &[("c:1", "c:2")]);
    let (text, conflicts) = one(&base, &local, &pod([plain, a, c]), &block());
    assert_eq!(text, local);
    assert_eq!(places(&conflicts), ["spec.initContainers#order"]);
    assert!(!conflicts[0].blocks());
}

#[test]
fn m13_the_order_of_a_set_is_nothing_to_tell() {
    let set = |items: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  finalizers: [{items}]\n")
    };
    let (text, conflicts) = one(&set("a, b, c"), &set("b, a, c"), &set("a, c, b"), &block());
    assert_eq!((text, conflicts), (set("b, a, c"), vec![]));
}
