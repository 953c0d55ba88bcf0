//! Merges by lines (M21): block strings, files that are no resources; and what is one value (M6).

use super::*;

const README: &str = "# shop\n\nA shop.\n\n## Use\n\nRun it.\n\n## Limits\n\nNone.\n";

fn script(body: &str) -> String {
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: scripts\ndata:\n  run.sh: | # the entry\n{body}  other: a\n"
    )
}

const RUN: &str = "#!/bin/sh\nset -e\nmigrate\nexec serve\n";

#[test]
fn m21_a_script_in_a_config_map_merges_by_lines() {
    let local = RUN.replace("set -e", "set -eu");
    let upstream = RUN.replace("exec serve", "exec serve --metrics");
    let (text, conflicts) = one(&script(RUN), &script(&local), &script(&upstream), &block());
    assert_eq!(
        text,
        script(&local.replace("exec serve", "exec serve --metrics"))
    );
    assert_eq!(conflicts, []);
}

#[test]
fn m21_lines_that_both_changed_are_one_conflict_and_the_rest_merges() {
    let local = RUN
        .replace("migrate", "migrate --wait")
        .replace("#!/bin/sh", "#!/bin/bash");
    let upstream = RUN.replace("migrate", "migrate --all");
    for (policy, wanted) in [
        (ConflictPolicy::Block, "migrate --all"),
        (ConflictPolicy::Upstream, "migrate --all"),
        (ConflictPolicy::Local, "migrate --wait"),
    ] {
        let options = MergeOptions { policy, ..block() };
        let (text, conflicts) = one(&script(RUN), &script(&local), &script(&upstream), &options);
        assert_eq!(text, script(&local.replace("migrate --wait", wanted)));
        let [conflict] = conflicts.as_slice() else {
            panic!("{conflicts:?}");
        };
        assert_eq!(conflict.path, "data[\"run.sh\"]#lines");
        let ConflictValue::Json(json) = &conflict.local else {
            panic!("{conflict:?}");
        };
        let told: String = serde_json::from_str(json).unwrap();
        assert_eq!(told, "@@\n  set -e\n> migrate --wait\n  exec serve\n");
    }
}

#[test]
fn m21_a_secret_is_never_merged_by_lines() {
    let secret = |body: &str| {
        script(body)
            .replace("kind: ConfigMap", "kind: Secret")
            .replace("data:", "stringData:")
    };
    let (local, upstream) = (
        RUN.replace("set -e", "set -eu"),
        RUN.replace("serve", "other"),
    );
    let (_, conflicts) = one(&secret(RUN), &secret(&local), &secret(&upstream), &block());
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].path, "stringData[\"run.sh\"]");
    assert!(matches!(conflicts[0].local, ConflictValue::Hash(_)));
}

#[test]
fn m21_a_file_that_is_no_resource_merges_by_lines() {
    let local = README.replace("Run it.", "Run it here.");
    let upstream = README
        .replace("None.", "Many.")
        .replace("A shop.", "The shop.");
    let merged = merge_files(
        [
            &[("README.md", README)],
            &[("README.md", &local)],
            &[("README.md", &upstream)],
        ],
        &block(),
    );
    let wanted = upstream.replace("Run it.", "Run it here.");
    assert_eq!(merged.files["README.md"].as_text().unwrap(), wanted);
    assert_eq!(merged.conflicts, []);

    let theirs = upstream.replace("Run it.", "Run it there.");
    let merged = merge_files(
        [
            &[("README.md", README)],
            &[("README.md", &local)],
            &[("README.md", &theirs)],
        ],
        &block(),
    );
    assert_eq!(
        merged.files["README.md"].as_text().unwrap(),
        wanted,
        "local lines stay until somebody answers"
    );
    assert_eq!(merged.conflicts[0].path, "#lines");
    assert_eq!(merged.conflicts[0].resource, "");
}

#[test]
fn m21_what_all_sides_can_be_read_as_the_result_can_be_read_as() {
    let json = |fields: &str| format!("{{\n  \"x\": 0,\n{fields}  \"z\": 9\n}}\n");
    let base = json("  \"k\": 5,\n  \"l\": 6,\n");
    let local = json("  \"a\": 1,\n  \"k\": 5,\n  \"l\": 6,\n");
    let upstream = json("  \"k\": 5,\n  \"l\": 6,\n  \"a\": 2,\n");
    let merged = merge_files(
        [
            &[("d.json", &base)],
            &[("d.json", &local)],
            &[("d.json", &upstream)],
        ],
        &block(),
    );
    assert_eq!(merged.files["d.json"].as_text().unwrap(), local);
    assert_eq!(merged.conflicts[0].path, "");
}

#[test]
fn m21_a_file_that_is_no_yaml_merges_by_lines_and_one_that_may_be_a_secret_does_not() {
    let broken = |kind: &str| format!("kind: {kind}\na: [\nb: 1\nc: 2\nd: 3\n");
    for (kind, wanted) in [
        ("A", Some("kind: A\na: [\nb: 2\nc: 2\nd: 4\n")),
        ("Secret", None),
    ] {
        let base = broken(kind);
        let (local, upstream) = (base.replace("b: 1", "b: 2"), base.replace("d: 3", "d: 4"));
        let (text, conflicts) = one(&base, &local, &upstream, &block());
        assert_eq!(text, wanted.unwrap_or(&local));
        assert_eq!(conflicts.len(), usize::from(wanted.is_none()));
    }
}

#[test]
fn m6_a_file_that_holds_one_identity_twice_is_one_value() {
    let twice = "kind: A\nmetadata: {name: a}\nx: 1\n---\nkind: A\nmetadata: {name: a}\nx: 2\n";
    let (local, upstream) = (twice.replace("x: 1", "x: 3"), twice.replace("x: 2", "x: 4"));
    let sides = |side: &str, other: &str| {
        with_kptfile(&[
            ("a.yaml", side),
            (
                "b.yaml",
                &format!("kind: B\nmetadata: {{name: b}}\nx: {other}\n"),
            ),
        ])
    };
    let merged = merge(
        &sides(twice, "1"),
        &sides(&local, "1"),
        &sides(&upstream, "2"),
        &block(),
    )
    .unwrap();
    assert_eq!(
        merged.files,
        sides(&local, "2"),
        "the rest of the package is merged"
    );
    assert_eq!(merged.conflicts.len(), 1);
    assert_eq!(merged.conflicts[0].place(), (&path("a.yaml"), "", ""));
    let base = sides(twice, "1");
    assert_eq!(
        merge(&base, &sides(&local, "1"), &base, &block())
            .unwrap()
            .files,
        sides(&local, "1")
    );
}
