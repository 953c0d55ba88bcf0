//! Which revisions are told together, and what is said of them.

use model::{File, Files, PackagePath};

use super::*;

fn revision(name: &str, number: i64, task: &Value) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "packageName": "web", "repository": "east",
        "revision": number, "tasks": [task] } })
}

#[test]
fn a_draft_is_compared_with_the_latest_and_a_published_one_with_the_one_before() {
    let none = json!({});
    let all = [
        revision("v1", 1, &none),
        revision("v3", 3, &none),
        revision("v2", 2, &none),
        revision(
            "draft",
            0,
            &json!({ "edit": { "sourceRef": { "name": "v2" } } }),
        ),
        json!({ "metadata": { "name": "x" }, "spec": { "packageName": "db", "repository": "east", "revision": 9 } }),
    ];
    let of = |n: usize| published(&all, &all[n]);
    assert_eq!(of(3).as_deref(), Some("v3"));
    assert_eq!(of(1).as_deref(), Some("v2"));
    assert_eq!(of(0), None);
    assert_eq!(made_from(&all[3]).as_deref(), Some("v2"));
    assert_eq!(made_from(&all[0]), None);
}

fn compared(name: &str, before: &str, after: &str) -> Compared {
    let files = |text: &str| -> Files {
        let path = PackagePath::parse("cm.yaml").unwrap();
        [(path, File::text(text))].into_iter().collect()
    };
    let differences = package::merge::diff(&files(before), &files(after));
    let inputs = Inputs::new([("package".to_owned(), format!("web-{name}"))]);
    Compared {
        name: name.to_owned(),
        base: Some(format!("{name}-before")),
        differences,
        unseen: false,
        form: Form::of(&files(before), &files(after), &inputs),
        inputs,
    }
}

/// A package's own name in what changes makes no other change of it; a literal in braces does.
#[test]
fn changes_that_differ_by_what_the_package_states_are_one() {
    let cm = |own: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {own}}}\ndata:\n  one: {own}/{value}\n"
        )
    };
    let of = |name: &str, value: &str| {
        let own = format!("web-{name}");
        compared(name, &cm(&own, "x"), &cm(&own, value))
    };
    let braces = compared("d", &cm("{package}", "x"), &cm("{package}", "y"));
    let groups = grouped(vec![of("a", "y"), of("b", "y"), of("c", "z"), braces]);
    let sizes: Vec<usize> = groups.iter().map(|g| g.members.len()).collect();
    assert_eq!(sizes, [2, 1, 1]);
    let text = as_text(&groups, Against::Published);
    assert!(text.starts_with("== 2 of them: a, b\n"), "{text}");
    assert!(text.contains("{package}/y"), "{text}");
    assert!(
        text.contains("web-c/z"),
        "one alone is told as it is: {text}"
    );
    let json = as_json(&groups, Against::Published);
    let group = &json["groups"][0];
    assert_eq!(group["inputs"], json!(["package"]));
    assert_eq!(
        group["differences"][0]["after"]["value"]
            .as_str()
            .map(|v| v.contains("web-a/y")),
        Some(true),
        "{group}"
    );
}

#[test]
fn equal_changes_are_told_once_and_the_frequent_first() {
    let cm = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n")
    };
    let groups = grouped(vec![
        compared("a", &cm("x"), &cm("x")),
        compared("b", &cm("x"), &cm("z")),
        compared("c", &cm("x"), &cm("y")),
        compared("d", &cm("x"), &cm("y")),
    ]);
    let text = as_text(&groups, Against::Published);
    let heads: Vec<&str> = text.lines().filter(|l| l.starts_with("==")).collect();
    let wanted = [
        "== 2 of them: c, d",
        "== 1 of them: b against b-before",
        "== equal to what is published: a",
    ];
    assert_eq!(heads, wanted, "{text}");
    assert!(text.contains("+ data.k: \"y\""), "{text}");
}

/// M6: readers take one of two equal keys or the other, so whoever judges sees every line.
#[test]
fn what_stands_behind_a_key_that_stands_twice_is_shown() {
    let pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec: {hostPID: false}\n";
    let hidden = format!("{pod}  template:\n    spec:\n      hostPID: true\n");
    let text = as_text(
        &grouped(vec![compared("a", pod, &hidden)]),
        Against::Published,
    );
    assert!(
        text.contains("! the key \"template\" stands in line 5 and again in line 7"),
        "{text}"
    );
    assert!(text.contains("  + |       hostPID: true\n"), "{text}");
    assert!(!text.contains("no value differs"), "{text}");
    let twice = as_json(
        &grouped(vec![compared("a", pod, &hidden)]),
        Against::Published,
    );
    assert!(
        twice["groups"][0]["differences"][0]["twice"].is_string(),
        "{twice}"
    );
    // It is no news where only something else changes, and goes like any line.
    let back = as_text(
        &grouped(vec![compared("a", &hidden, pod)]),
        Against::Published,
    );
    assert!(back.contains("  - |       hostPID: true\n"), "{back}");
    // A new document is shown to its end.
    let new = as_text(
        &grouped(vec![compared("a", "", &hidden)]),
        Against::Published,
    );
    assert!(new.contains("  + |       hostPID: true\n"), "{new}");
}

/// A cluster reads YAML 1.1: a text without its quotes may be another value there.
#[test]
fn what_a_cluster_reads_otherwise_is_no_form() {
    let of = |before: &str, after: &str| {
        let data = |entry: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{{entry}}}\n")
        };
        let all = vec![compared("a", &data(before), &data(after))];
        as_text(&grouped(all), Against::Published)
    };
    let text = of("k: \"yes\"", "k: yes");
    assert!(
        text.contains("- data.k: \"yes\"") && text.contains("+ data.k: true"),
        "{text}"
    );
    let text = of("\"on\": a", "on: a");
    assert!(!text.contains("no value differs"), "{text}");
    assert!(of("k: \"yes\"", "k: 'yes'").contains("no value differs"));
}

/// A comment may be a setter: what has another one beside an equal change is no equal change.
#[test]
fn what_differs_in_its_form_stands_apart_and_says_so() {
    let cm = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  k: {value}\n")
    };
    let groups = grouped(vec![
        compared("a", &cm("old"), &cm("next")),
        compared("b", &cm("old"), &cm("next")),
        compared("c", &cm("old"), &cm("next # kpt-set: ${other}")),
        compared("d", &cm("old"), &cm("\"next\"")),
    ]);
    let sizes: Vec<usize> = groups.iter().map(|g| g.members.len()).collect();
    assert_eq!(sizes, [2, 1, 1]);
    let text = as_text(&groups, Against::Published);
    let said = "and in cm.yaml comments, order or how values are written";
    assert_eq!(text.matches(said).count(), 2, "{text}");
    assert_eq!(
        as_json(&groups, Against::Published)["groups"][1]["form"],
        json!(["cm.yaml"])
    );
}

/// A reviewer is never told that something is equal of which not all is known.
#[test]
fn what_may_differ_unseen_is_not_said_to_be_equal() {
    let cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: x}\n";
    let same = |name: &str| compared(name, cm, cm);
    let changed = |name: &str| compared(name, cm, &cm.replace("k: x", "k: y"));
    let hiding = |one: Compared| Compared {
        unseen: true,
        ..one
    };
    let groups = grouped(vec![
        same("a"),
        hiding(same("b")),
        changed("c"),
        hiding(changed("d")),
    ]);
    assert_eq!(groups.len(), 4);
    let text = as_text(&groups, Against::Published);
    let about = |name: &str| {
        let line = text.lines().find(|l| l.contains(&format!(": {name}")));
        line.unwrap_or_default().to_owned()
    };
    assert!(about("a").contains("equal to"), "{text}");
    assert!(about("b").contains("may differ from"), "{text}");
    assert_eq!(text.matches(NOT_COMPARED).count(), 2, "{text}");
    let json = as_json(&groups, Against::Published);
    let unseen = json["groups"].as_array().unwrap().iter();
    assert_eq!(unseen.filter(|g| g["unseen"] == true).count(), 2, "{json}");
}

#[test]
fn what_the_kptfile_keeps_is_no_change_of_the_package() {
    let kptfile = |commit: &str, info: &str| -> Files {
        let text = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: a}}\nupstreamLock: {{git: {{commit: {commit}}}}}\ninfo: {{site: {info}}}\n"
        );
        [(PackagePath::parse("Kptfile").unwrap(), File::text(text))]
            .into_iter()
            .collect()
    };
    let mut all = package::merge::diff(&kptfile("a", "x"), &kptfile("b", "y"));
    all.retain(|d| !is_bookkeeping(d));
    let paths: Vec<&str> = all.iter().map(|d| d.path.as_str()).collect();
    assert_eq!(paths, ["info.site"]);
}

/// A gate that waits for conflicts comes and goes with them; one of somebody's is theirs to see.
#[test]
fn gates_of_ours_are_no_change_of_the_package() {
    let with = |info: &str| -> Files {
        let text = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {{name: a}}\n{info}");
        [(PackagePath::parse("Kptfile").unwrap(), File::text(text))]
            .into_iter()
            .collect()
    };
    let gates = |all: &str| with(&format!("info: {{readinessGates: [{all}]}}\n"));
    let told = |before: &Files, after: &Files| {
        let mut all = package::merge::diff(before, after);
        all.retain(|d| !is_bookkeeping(d));
        all.len()
    };
    let ours = gates("{conditionType: offshoot.dev/Conflicts}");
    let theirs = gates("{conditionType: team/Reviewed}");
    let both = gates("{conditionType: team/Reviewed}, {conditionType: offshoot.dev/Conflicts}");
    assert_eq!(told(&with(""), &ours), 0);
    assert_eq!(told(&ours, &with("")), 0);
    assert_eq!(told(&theirs, &both), 0);
    assert_eq!(told(&with(""), &theirs), 1);
    assert_eq!(told(&with(""), &both), 1);
}
