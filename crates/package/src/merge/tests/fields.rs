//! How single fields, lists and comments meet (M1–M4, M13, M14).

use super::*;

#[test]
fn m1_an_alias_stays_what_it_was() {
    let base = "kind: A\nmetadata: {name: a}\nx: &v one\ny: *v\nz: 1\n";
    let local = base.replace("z: 1", "z: 2");
    let upstream = base.replace("&v one", "&v two");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(
        text,
        base.replace("z: 1", "z: 2").replace("&v one", "&v two")
    );
    assert_eq!(conflicts, []);
    // An alias that upstream brings comes without its anchor, so its value comes.
    let upstream = base.replace("z: 1", "z: 1\nw: *v");
    let (text, _) = one(
        base,
        &local.replace("&v one", "own").replace("*v", "own"),
        &upstream,
        &block(),
    );
    assert!(text.contains("\nw: one\n"), "{text}");
}

#[test]
fn m1_an_alias_that_was_replaced_here_and_stands_for_another_value_there_is_a_conflict() {
    let base = "kind: A\nmetadata: {name: a}\ndata:\n  a: &v one\n  b: *v\n  c: three\n";
    let local = base.replace("b: *v", "b: own");
    let upstream = base.replace("one", "two");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, upstream.replace("b: *v", "b: two"));
    let [conflict] = conflicts.as_slice() else {
        panic!("{conflicts:?}")
    };
    assert_eq!(conflict.path, "data.b");
    let json = |text: &str| ConflictValue::Json(format!("\"{text}\""));
    let values = [&conflict.base, &conflict.local, &conflict.upstream];
    assert_eq!(values, [&json("one"), &json("own"), &json("two")]);
    // The value that it stands for there may have been written here.
    let local = base.replace("b: *v", "b: two");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(
        (text, conflicts),
        (upstream.replace("b: *v", "b: two"), Vec::new())
    );
    // One that nobody replaced follows its anchor.
    let local = base.replace("three", "four");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(
        (text, conflicts),
        (upstream.replace("three", "four"), Vec::new())
    );
}

#[test]
fn m2_nulls_that_nobody_touched_stay_and_new_ones_delete() {
    let base = "kind: A\nmetadata: {name: a}\nnone: null\nx: 1\ny: 1\n";
    let local = base.replace("y: 1", "y: 2");
    let (text, conflicts) = one(base, &local, &base.replace("x: 1", "x: null"), &block());
    assert_eq!(text, "kind: A\nmetadata: {name: a}\nnone: null\ny: 2\n");
    assert_eq!(conflicts, []);
    let (text, conflicts) = one(
        base,
        &base.replace("x: 1", "x: 3"),
        &base.replace("x: 1", "x: ~"),
        &block(),
    );
    assert_eq!((text, conflicts.len()), (base.replace("x: 1\n", ""), 1));
}

#[test]
fn m4_a_null_that_a_person_wrote_is_a_deletion_and_policy_decides() {
    let base = "kind: A\nmetadata: {name: a}\nx: 1\ny: 1\n";
    let local = base.replace("x: 1", "x: null");
    // Left alone upstream it stays as it was written.
    let (text, conflicts) = one(base, &local, &base.replace("y: 1", "y: 2"), &block());
    assert_eq!(text, local.replace("y: 1", "y: 2"));
    assert_eq!(conflicts, []);
    let changed = base.replace("x: 1", "x: 2");
    let (text, conflicts) = one(base, &local, &changed, &block());
    assert_eq!((text, conflicts.len()), (changed.clone(), 1));
    let keep = MergeOptions {
        policy: ConflictPolicy::Local,
        ..block()
    };
    let (text, conflicts) = one(base, &local, &changed, &keep);
    assert_eq!((text, conflicts.len()), (local, 1));
}

#[test]
fn m3_a_change_of_kind_is_a_change() {
    let base = "kind: A\nmetadata: {name: a}\nx: 1\ny: 1\n";
    let local = base.replace("y: 1", "y: 2");
    let upstream = base.replace("x: 1", "x:\n- a: 1 # one");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, upstream.replace("y: 1", "y: 2"));
    assert_eq!(conflicts, []);
    let (text, conflicts) = one(
        base,
        &base.replace("x: 1", "x: {b: 1}"),
        &upstream,
        &block(),
    );
    assert_eq!((text, conflicts.len()), (upstream, 1));
}

const WORKLOAD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  template:
    spec:
      containers:
      # the first
      - name: a
        image: a:1
        ports:
        - containerPort: 80
      # the second
      - name: b
        image: b:1 # pinned
";

#[test]
fn m4_what_is_deleted_locally_leaves_no_skeleton() {
    let bare = replaced(
        WORKLOAD,
        &[(
            "      # the second\n      - name: b\n        image: b:1 # pinned\n",
            "",
        )],
    );
    let elsewhere = replaced(WORKLOAD, &[("a:1", "a:2")]);
    let (text, conflicts) = one(WORKLOAD, &bare, &elsewhere, &block());
    assert_eq!(text, replaced(&bare, &[("a:1", "a:2")]));
    assert_eq!(conflicts, []);
    // Changed upstream meanwhile: a conflict, and upstream's element comes back whole.
    let there = replaced(WORKLOAD, &[("b:1", "b:2")]);
    let (text, conflicts) = one(WORKLOAD, &bare, &there, &block());
    assert!(
        text.contains("- name: b\n        image: b:2 # pinned\n"),
        "{text}"
    );
    let places: Vec<_> = conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(places, ["spec.template.spec.containers[name=b]"]);
}

#[test]
fn m4_an_element_that_upstream_deleted_leaves_no_skeleton() {
    let without = replaced(
        WORKLOAD,
        &[(
            "      # the second\n      - name: b\n        image: b:1 # pinned\n",
            "",
        )],
    );
    let local = replaced(
        WORKLOAD,
        &[("b:1 # pinned\n", "b:1 # pinned\n        tty: true\n")],
    );
    let (text, conflicts) = one(WORKLOAD, &local, &without, &block());
    assert_eq!(text, without);
    let places: Vec<_> = conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(places, ["spec.template.spec.containers[name=b]"]);
    let keep = MergeOptions {
        policy: ConflictPolicy::Local,
        ..block()
    };
    assert_eq!(one(WORKLOAD, &local, &without, &keep).0, local);
}

#[test]
fn m13_ports_pair_with_their_default_protocol() {
    let base = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports:\n  - port: 80\n    name: http\n  - port: 90\n    name: other\n";
    let local = base.replace("name: http", "name: web");
    let upstream = base
        .replace("port: 80\n", "port: 80\n    protocol: TCP\n")
        .replace("  - port: 90", "  - port: 85\n  - port: 90");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, upstream.replace("name: http", "name: web"));
    assert_eq!(conflicts, []);
}

#[test]
fn m14_comments_belong_to_their_node() {
    let commented = replaced(
        CONFIG,
        &[
            ("c: three", "c: three # kpt-set: ${c}"),
            ("# about a", "# on a"),
        ],
    );
    let local = replaced(CONFIG, &[("b: \"two\"", "b: mine")]);
    let (text, conflicts) = one(CONFIG, &local, &commented, &block());
    assert_eq!(text, replaced(&commented, &[("b: \"two\"", "b: mine")]));
    assert_eq!(conflicts, []);
    // Both changed: local stays, recorded, and nothing is gated.
    let (text, conflicts) = one(
        CONFIG,
        &replaced(CONFIG, &[("# about a", "# mine")]),
        &commented,
        &block(),
    );
    assert_eq!(text, replaced(&commented, &[("# on a", "# mine")]));
    let [conflict] = conflicts.as_slice() else {
        panic!("{conflicts:?}")
    };
    assert_eq!(
        (conflict.path.as_str(), conflict.state),
        ("data.a#comment", ConflictState::Recorded)
    );
    // An element that goes in takes no comment of its neighbours.
    let upstream = replaced(
        WORKLOAD,
        &[(
            "      # the second",
            "      - name: new # n\n        image: n:1\n      # the second",
        )],
    );
    let local = replaced(WORKLOAD, &[("a:1", "a:mine")]);
    let (text, _) = one(WORKLOAD, &local, &upstream, &block());
    assert_eq!(text, replaced(&upstream, &[("a:1", "a:mine")]));
}

#[test]
fn v4_what_was_added_to_a_whole_that_upstream_deleted_is_a_conflict_and_a_label_is_not() {
    let base = "kind: A\nmetadata: {name: a}\nlabels:\n  a: x\nprobe:\n  httpGet: {port: 80}\n";
    let local = base.replace("  a: x\n", "  a: x\n  b: y\n") + "  timeoutSeconds: 5\n";
    let upstream = "kind: A\nmetadata: {name: a}\n";
    let (text, conflicts) = one(base, &local, upstream, &block());
    assert_eq!(text, "kind: A\nmetadata: {name: a}\nlabels:\n  b: y\n");
    let paths: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["probe"]);
    let keep = MergeOptions {
        policy: ConflictPolicy::Local,
        ..block()
    };
    let (text, _) = one(base, &local, upstream, &keep);
    assert_eq!(text, local.replace("  a: x\n", ""));
}

#[test]
fn m4_what_upstream_only_took_from_comes_back_whole_and_no_skeleton() {
    let base = "kind: A\nmetadata: {name: a}\nx: 1\ndata:\n  a: x\n  b: y\n";
    let upstream = base.replace("  b: y\n", "");
    let local = "kind: A\nmetadata: {name: a}\nx: 1\n";
    let (text, conflicts) = one(base, local, &upstream, &block());
    assert_eq!((text, conflicts.len()), (upstream, 1));
}

#[test]
fn m4_what_was_deleted_of_a_set_stays_deleted_where_upstream_added_to_it() {
    let base = "kind: A\nmetadata:\n  name: a\n  finalizers:\n  - x.example.com/a\nx: 1\n";
    let local = "kind: A\nmetadata:\n  name: a\nx: 1\n";
    let upstream = base.replace("/a\n", "/a\n  - x.example.com/b\n");
    let (text, conflicts) = one(base, local, &upstream, &block());
    assert_eq!(text, base.replace("/a\n", "/b\n"));
    let paths: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["metadata.finalizers"]);
}

#[test]
fn m4_a_map_that_comes_back_under_block_is_upstreams_and_whole() {
    let base = "\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  affinity:
    # near the cache
    podAffinity: {a: b}
    nodeAffinity:
      zone: x
      rack: \"1\" # as wired
  tier: web
";
    let local = base.split("  affinity").next().unwrap().to_owned() + "  tier: web\n";
    let upstream = replaced(base, &[("zone: x", "zone: y")]);
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, upstream);
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].path, "spec.affinity");
    let file = files(&[("a.yaml", &text)]);
    assert_eq!(
        crate::conflicts::value_at(&file, &conflicts[0]),
        conflicts[0].upstream
    );
}
