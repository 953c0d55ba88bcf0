//! Maps of which no part means anything without the others, and free ones (M3, M4, M13b, M16).

use super::*;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: c:1
    env:
    - name: TOKEN
      valueFrom:
        configMapKeyRef:
          name: tokens
          key: web
    livenessProbe:
      httpGet:
        path: /live
        port: 80
  volumes:
  - name: conf
    configMap:
      name: web
";

#[test]
fn m4_what_was_added_to_a_part_that_upstream_replaced_leaves_no_skeleton() {
    let cases = [
        (
            "        port: 80\n",
            "        port: 80\n        scheme: HTTPS\n",
            "httpGet:\n        path: /live\n        port: 80\n",
            "tcpSocket:\n        port: 80\n",
            "containers[name=c].livenessProbe.httpGet",
        ),
        (
            "          key: web\n",
            "          key: web\n          optional: true\n",
            "configMapKeyRef",
            "secretKeyRef",
            "containers[name=c].env[name=TOKEN].valueFrom.configMapKeyRef",
        ),
        (
            "    configMap:\n      name: web\n",
            "    configMap:\n      name: web\n      defaultMode: 256\n",
            "    configMap:\n      name: web\n",
            "    secret:\n      secretName: web\n",
            "volumes[name=conf].configMap",
        ),
    ];
    for (old, new, was, becomes, place) in cases {
        let local = replaced(POD, &[(old, new)]);
        let upstream = replaced(POD, &[(was, becomes)]);
        let (text, conflicts) = one(POD, &local, &upstream, &block());
        assert_eq!(text, upstream);
        let places: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
        assert_eq!(places, [format!("spec.{place}")]);
        // Nor the other way round: what comes back comes whole.
        let (text, conflicts) = one(POD, &upstream, &local, &block());
        assert!(text.contains(&new[old.len()..]), "{text}");
        assert!(text.contains(old), "{text}");
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    }
}

#[test]
fn m4_an_edit_of_a_part_that_upstream_deleted_keeps_it_whole_or_not_at_all() {
    let local = replaced(POD, &[("path: /live", "path: /alive")]);
    let upstream = replaced(
        POD,
        &[(
            "    livenessProbe:\n      httpGet:\n        path: /live\n        port: 80\n",
            "",
        )],
    );
    let (text, conflicts) = one(POD, &local, &upstream, &block());
    assert_eq!((text, conflicts.len()), (upstream.clone(), 1));
    let keep = MergeOptions {
        policy: ConflictPolicy::Local,
        ..block()
    };
    let (text, conflicts) = one(POD, &local, &upstream, &keep);
    assert_eq!((text, conflicts.len()), (local, 1));
}

#[test]
fn m4_what_was_added_to_a_free_map_stays_when_upstream_takes_it_away() {
    for (free, at) in [
        ("nodeSelector", "spec"),
        ("annotations", "metadata"),
        ("limits", "resources"),
        ("data", "x"),
    ] {
        let base = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec: {{}}\nnext:\n  {at}:\n    {free}:\n      a: x\n    z: 1\n"
        );
        let local = base.replace("      a: x\n", "      a: x\n      b: y\n");
        let upstream = base.replace(&format!("    {free}:\n      a: x\n"), "");
        let (text, conflicts) = one(&base, &local, &upstream, &block());
        assert_eq!(
            (text, conflicts),
            (base.replace("a: x", "b: y"), Vec::new())
        );
    }
}

#[test]
fn m4_a_crd_says_which_maps_are_free() {
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              zones: {type: object, additionalProperties: {type: string}}
              selector: {type: object, properties: {kind: {type: string}, name: {type: string}}}
";
    let base = "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: s}\nspec:\n  zones:\n    a: x\n  selector:\n    kind: x\n  size: 1\n";
    let local = base
        .replace("    a: x\n", "    a: x\n    b: y\n")
        .replace("    kind: x\n", "    kind: x\n    name: y\n");
    let upstream =
        "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: s}\nspec:\n  size: 1\n";
    let sides = [base, &local, upstream].map(|text| vec![("a.yaml", text), ("crd.yaml", crd)]);
    let merged = merge_files([&sides[0], &sides[1], &sides[2]], &block());
    let paths: Vec<&str> = merged.conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["spec.selector"]);
    let text = merged.files["a.yaml"].as_text();
    assert_eq!(
        text,
        Some(
            "apiVersion: example.com/v1\nkind: Site\nmetadata: {name: s}\nspec:\n  zones:\n    b: y\n  size: 1\n"
        )
    );
}

#[test]
fn m3_a_scalar_that_both_sides_turn_into_a_map_or_a_list_is_a_conflict() {
    let base = "kind: A\nmetadata: {name: a}\ntarget: 80\n";
    for (mine, theirs) in [
        ("target: {port: 80}", "target: {name: http}"),
        ("target: [{name: a}]", "target: [{name: b}]"),
        ("target: {port: 80}", "target: {port: 80, name: http}"),
    ] {
        let local = replaced(base, &[("target: 80", mine)]);
        let upstream = replaced(base, &[("target: 80", theirs)]);
        let (text, conflicts) = one(base, &local, &upstream, &block());
        assert_eq!(text, upstream);
        let places: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
        assert_eq!(places, ["target"]);
    }
    // What a null stood for was nothing.
    let base = replaced(base, &[("80", "null")]);
    let local = replaced(&base, &[("target: null", "labels: {a: x}")]);
    let upstream = replaced(&base, &[("target: null", "labels: {b: w}")]);
    let base = replaced(&base, &[("target: null", "labels: null")]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!(
        (text.contains("a: x"), text.contains("b: w"), conflicts),
        (true, true, Vec::new())
    );
}

#[test]
fn m16_a_map_of_parts_that_both_sides_added_otherwise_is_a_conflict_and_a_free_one_is_not() {
    let base = "kind: A\nmetadata: {name: a}\nx: 1\n";
    let local = format!("{base}source:\n  git: {{url: here}}\nplace:\n  labels: {{a: x}}\n");
    let upstream = format!(
        "{base}source:\n  oci: {{image: there}}\nplace:\n  labels: {{b: w}}\n  annotations: {{c: z}}\n"
    );
    let (text, conflicts) = one(base, &local, &upstream, &block());
    let places: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(places, ["source"]);
    assert!(!text.contains("git:") && text.contains("oci:"), "{text}");
    for entry in ["a: x", "b: w", "c: z"] {
        assert!(text.contains(entry), "{text}");
    }
    // One that is the other and more is no question.
    let upstream =
        format!("{base}source:\n  git: {{url: here}}\n  depth: 1\nplace:\n  labels: {{a: x}}\n");
    assert_eq!(
        one(base, &local, &upstream, &block()),
        (upstream, Vec::new())
    );
}

#[test]
fn m13b_fields_that_exclude_each_other_do_not_come_together() {
    let container = "  containers:\n  - name: c\n    image: c:1\n";
    let base = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{container}");
    let added = [
        (
            "    livenessProbe:\n      httpGet: {port: 80}\n",
            "    livenessProbe:\n      tcpSocket: {port: 80}\n",
            "containers[name=c].livenessProbe",
        ),
        (
            "    env:\n    - name: A\n      value: x\n",
            "    env:\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}\n",
            "containers[name=c].env[name=A]",
        ),
        (
            "  volumes:\n  - name: v\n    emptyDir: {}\n",
            "  volumes:\n  - name: v\n    configMap: {name: x}\n",
            "volumes[name=v]",
        ),
    ];
    for (mine, theirs, place) in added {
        let [local, upstream] = [mine, theirs].map(|added| format!("{base}{added}"));
        let (text, conflicts) = one(&base, &local, &upstream, &block());
        assert_eq!(text, upstream);
        let places: Vec<&str> = conflicts.iter().map(|c| c.path.as_str()).collect();
        assert_eq!(places, [format!("spec.{place}")]);
        let keep = MergeOptions {
            policy: ConflictPolicy::Local,
            ..block()
        };
        assert_eq!(one(&base, &local, &upstream, &keep).0, local);
    }
    // Fields that go together do.
    let local = format!("{base}    securityContext: {{runAsNonRoot: true}}\n");
    let upstream = format!("{base}    securityContext: {{privileged: false}}\n");
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert!(
        text.contains("runAsNonRoot: true") && text.contains("privileged: false"),
        "{text}"
    );
    assert_eq!(conflicts, []);
    // A handler that was edited here and replaced there: whoever wins has one.
    let base = format!("{base}    livenessProbe:\n      httpGet: {{path: /, port: 80}}\n");
    let local = replaced(&base, &[("path: /", "path: /live")]);
    let upstream = replaced(
        &base,
        &[("httpGet: {path: /, port: 80}", "tcpSocket: {port: 80}")],
    );
    let keep = MergeOptions {
        policy: ConflictPolicy::Local,
        ..block()
    };
    assert_eq!(one(&base, &local, &upstream, &keep).0, local);
    assert_eq!(one(&base, &local, &upstream, &block()).0, upstream);
}

#[test]
fn m16_of_a_resource_that_both_sides_added_without_a_clash_the_winner_gives_all() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n";
    let local = format!("# mine\n{head}  a: one\n");
    let upstream = format!("{head}  b: two # theirs\n");
    for (policy, wanted, decision) in [
        (ConflictPolicy::Block, &upstream, Decision::Upstream),
        (ConflictPolicy::Upstream, &upstream, Decision::Upstream),
        (ConflictPolicy::Local, &local, Decision::Local),
    ] {
        let options = MergeOptions { policy, ..block() };
        let sides: [&[(&str, &str)]; 3] = [&[], &[("a.yaml", &local)], &[("a.yaml", &upstream)]];
        let merged = merge_files(sides, &options);
        let text = merged.files["a.yaml"].as_text().unwrap();
        let [conflict, ..] = merged.conflicts.as_slice() else {
            panic!("{policy:?}")
        };
        assert_eq!((conflict.path.as_str(), conflict.decision), ("", decision));
        let data = |text: &str| {
            text.split("data:")
                .nth(1)
                .map(|data| data.replace(" # theirs", ""))
        };
        assert_eq!(data(text), data(wanted), "{text}");
        // What the record says stands there.
        let told = match decision {
            Decision::Local => &conflict.local,
            Decision::Upstream => &conflict.upstream,
        };
        assert_eq!(crate::conflicts::value_at(&merged.files, conflict), *told);
    }
}
