//! How lists with keys meet: order, changed keys (M13, M13b).

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

pub(super) fn places(conflicts: &[Conflict]) -> Vec<&str> {
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
    let changed = [("port: 80\n", "port: 8000\n"), ("8080", "8081")];
    let local = replaced(&twice, &changed);
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

#[test]
fn m13b_a_container_of_which_one_side_changed_the_name_alone_stays_the_same() {
    let base = pod(&["wait", "migrate"]);
    let local = replaced(&base, &[("name: wait", "name: hold")]);
    let upstream = replaced(&base, &[("wait:1", "wait:2")]);
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        let wanted = replaced(&base, &[("name: wait", "name: hold"), ("wait:1", "wait:2")]);
        assert_eq!((text, conflicts), (wanted, vec![]));
    }
}

#[test]
fn m13b_a_container_that_both_sides_call_otherwise_stands_once() {
    let base = pod(&["wait", "migrate"]);
    let local = replaced(
        &base,
        &[("name: wait", "name: hold"), ("migrate:1", "migrate:2")],
    );
    // The same name is no question, and what one side changed beside it arrives.
    let upstream = replaced(&base, &[("name: wait", "name: hold"), ("wait:1", "wait:2")]);
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        let changes = [
            ("name: wait", "name: hold"),
            ("wait:1", "wait:2"),
            ("migrate:1", "migrate:2"),
        ];
        assert_eq!(text, replaced(&base, &changes));
        assert_eq!(conflicts, []);
    }
    // Two names are one conflict that tells both, and only one of them stands there.
    let upstream = replaced(&base, &[("name: wait", "name: pause")]);
    for (policy, wins) in [
        (ConflictPolicy::Block, &upstream),
        (ConflictPolicy::Local, &local),
    ] {
        let options = MergeOptions::against_base(Strategy::ResourceMerge, policy);
        let (text, conflicts) = one(&base, &local, &upstream, &options);
        assert_eq!(&text, wins);
        assert_eq!(places(&conflicts), ["spec.initContainers"]);
        let told = |value: &ConflictValue, name: &str| matches!(value, ConflictValue::Json(json) if json.contains(name));
        assert!(told(&conflicts[0].local, "hold") && told(&conflicts[0].upstream, "pause"));
    }
    // What has nothing but its key in common with nobody is deleted and new.
    let (text, conflicts) = one(
        &base,
        &pod(&["hold", "migrate"]),
        &pod(&["pause", "migrate"]),
        &block(),
    );
    assert!(
        text.contains("name: hold") && text.contains("name: pause"),
        "{text}"
    );
    assert_eq!(conflicts, []);
}

#[test]
fn m13b_several_containers_that_both_sides_call_otherwise_stand_once_each() {
    let base = pod(&["wait", "migrate", "seed"]);
    let both = [
        ("name: wait", "name: hold"),
        ("name: migrate", "name: move"),
    ];
    let local = replaced(&base, &[both[0], both[1], ("seed:1", "seed:2")]);
    let upstream = replaced(&base, &[both[0], both[1], ("wait:1", "wait:2")]);
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        let changes = [both[0], both[1], ("seed:1", "seed:2"), ("wait:1", "wait:2")];
        assert_eq!((text, conflicts), (replaced(&base, &changes), vec![]));
    }
    // One of them got two names: one conflict, and each stands there once.
    let upstream = replaced(
        &base,
        &[("name: wait", "name: pause"), ("name: migrate", "name: go")],
    );
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!(text, upstream);
    assert_eq!(places(&conflicts), ["spec.initContainers"]);
}

#[test]
fn m13b_one_name_for_two_containers_loses_neither() {
    let base = pod(&["wait", "migrate"]);
    let local = replaced(&base, &[("name: wait", "name: main")]);
    let upstream = replaced(&base, &[("name: migrate", "name: main")]);
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        assert_eq!(&text, upstream);
        assert_eq!(places(&conflicts), ["spec.initContainers"]);
        assert!(conflicts[0].blocks());
    }
}

#[test]
fn m13b_a_container_that_one_side_calls_otherwise_and_the_other_took_away_is_asked_for() {
    let base = pod(&["wait", "migrate"]);
    let renamed = replaced(&base, &[("name: wait", "name: hold")]);
    let deleted = pod(&["migrate"]);
    for (local, upstream) in [(&renamed, &deleted), (&deleted, &renamed)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        assert_eq!(&text, upstream);
        assert_eq!(places(&conflicts), ["spec.initContainers[name=hold]"]);
        assert!(conflicts[0].blocks());
    }
}

#[test]
fn m13b_a_container_with_two_new_names_of_which_one_lost_more_stands_once() {
    let more = "wait:1\n    command: [a]\n    args: [b, c]";
    let base = pod(&["wait", "migrate"]).replace("wait:1", more);
    let upstream = replaced(&base, &[("name: wait", "name: hold")]);
    let local = replaced(
        &base,
        &[("name: wait", "name: pause"), ("    args: [b, c]\n", "")],
    );
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        assert_eq!(&text, upstream);
        assert_eq!(places(&conflicts), ["spec.initContainers"]);
    }
}

#[test]
fn m13b_a_conflict_in_a_renamed_container_names_it_as_the_result_does() {
    let base = pod(&["wait", "migrate"]).replace(
        "wait:1",
        "wait:1\n    command: [a]\n    workingDir: /x\n    tty: true",
    );
    let local = replaced(
        &base,
        &[("name: wait", "name: hold"), ("wait:1", "wait:mine")],
    );
    let upstream = replaced(&base, &[("wait:1", "wait:2")]);
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(&base, local, upstream, &block());
        assert!(
            text.contains("name: hold") && !text.contains("name: wait"),
            "{text}"
        );
        assert_eq!(places(&conflicts), ["spec.initContainers[name=hold].image"]);
    }
}

#[test]
fn m13b_a_renamed_container_is_known_by_most_of_what_it_holds() {
    let web = "\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: web
    image: web:1
    command: [web]
    imagePullPolicy: Always
    workingDir: /srv
  - name: log
    image: log:1
";
    let local = replaced(
        web,
        &[
            ("name: web", "name: shop"),
            ("image: web:1", "image: mirror/web:1"),
        ],
    );
    let upstream = replaced(web, &[("/srv", "/data")]);
    let (text, conflicts) = one(web, &local, &upstream, &block());
    assert_eq!(
        (text, conflicts),
        (replaced(&local, &[("/srv", "/data")]), vec![])
    );
    // Another one in its place is no renamed one.
    let local = replaced(
        web,
        &[(
            "name: web\n    image: web:1\n    command: [web]\n    imagePullPolicy: Always",
            "name: db\n    image: db:1",
        )],
    );
    let (_, conflicts) = one(web, &local, &upstream, &block());
    assert_eq!(places(&conflicts), ["spec.containers[name=web]"]);
}
