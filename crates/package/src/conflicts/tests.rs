use model::{Conflict, ConflictId, ConflictState, ConflictValue, Decision, PackagePath};

use super::*;

fn conflict(path: &str, local: &str, upstream: &str) -> Conflict {
    let file = PackagePath::parse("a/deployment.yaml").unwrap();
    let resource = "apps/Deployment/shop/web".to_owned();
    Conflict {
        id: conflict_id(&file, &resource, path),
        file,
        resource,
        path: path.to_owned(),
        base: ConflictValue::Absent,
        local: ConflictValue::Json(local.to_owned()),
        upstream: ConflictValue::Hash(upstream.to_owned()),
        decision: Decision::Upstream,
        state: ConflictState::Open,
        derived_from: None,
    }
}

#[test]
fn an_id_depends_on_the_place_alone() {
    let (a, b) = (
        conflict("spec.replicas", "1", "2"),
        conflict("spec.replicas", "3", "4"),
    );
    assert_eq!(a.id, b.id);
    assert_eq!(a.id.0.len(), 16);
    assert_ne!(a.id, conflict("spec.replica", "1", "2").id);
    // The format is durable: it must never change.
    assert_eq!(a.id.0, "bf01643ccd2d5cec");
}

#[test]
fn the_trailer_reads_back() {
    let mut list = vec![conflict("a", "\"x\\ny\"", "h"), conflict("b", "1", "2")];
    list[1].derived_from = Some(list[0].id.clone());
    list[1].state = ConflictState::Recorded;
    list[1].decision = Decision::Local;
    let line = encode(&list);
    assert!(!line.contains('\n'), "{line}");
    assert_eq!(decode(&line).unwrap(), list);
    assert_eq!(
        decode("{\"format\":2,\"conflicts\":[]}"),
        Err(CodecError::Newer(2))
    );
    assert!(matches!(decode("[]"), Err(CodecError::Malformed(_))));
    assert!(matches!(
        decode("{\"format\":1,\"conflicts\":[{}]}"),
        Err(CodecError::Malformed(_))
    ));
}

#[test]
fn paths_read_back() {
    for text in [
        "",
        "spec",
        "spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP].name",
        "metadata.annotations[\"a.b/c\"]",
        "metadata.finalizers[=a.example.com/x]",
        "data[\"\"]",
        "items[3].a",
        "spec.x[name=\"a,b]\"]",
        "data.key#comment",
    ] {
        let path = FieldPath::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(path.to_string(), text);
    }
    for text in ["a..b", "a[", "a[name]", "a[=x", "a b", "a[\"x\"", ".a"] {
        assert_eq!(FieldPath::parse(text), None, "{text}");
    }
}

#[test]
fn what_people_said_holds_while_the_values_are_the_same() {
    let settled = |state, conflict: Conflict| Conflict { state, ..conflict };
    let old = [
        settled(ConflictState::Acknowledged, conflict("a", "1", "2")),
        settled(ConflictState::Resolved, conflict("b", "1", "2")),
        settled(ConflictState::Acknowledged, conflict("gone", "1", "2")),
    ];
    let now = vec![conflict("a", "1", "2"), conflict("b", "1", "3")];
    let carried = carry(&old, now, Vec::new());
    let states: Vec<_> = carried.iter().map(|c| (c.path.as_str(), c.state)).collect();
    assert_eq!(
        states,
        [
            ("a", ConflictState::Acknowledged),
            ("b", ConflictState::Open)
        ]
    );
}

#[test]
fn the_drafts_own_merge_decides() {
    let mut own = conflict("a", "5", "2");
    own.decision = Decision::Local;
    let carried = carry(&[], vec![conflict("a", "1", "2")], vec![own.clone()]);
    assert_eq!(carried, [own]);
}

#[test]
fn acknowledging_an_unknown_id_says_so() {
    let mut list = [conflict("a", "1", "2")];
    let (known, unknown) = (list[0].id.clone(), ConflictId("0".repeat(16)));
    assert_eq!(acknowledge(&mut list, &[known, unknown.clone()]), [unknown]);
    assert_eq!(list[0].state, ConflictState::Acknowledged);
    assert_eq!(open(&list).count(), 0);
}

#[test]
fn the_condition_counts_and_names() {
    let mut list: Vec<Conflict> = (0..12)
        .map(|n| conflict(&format!("f{n:02}"), "1", "2"))
        .collect();
    let open = condition(&list).unwrap();
    assert_eq!(open.status, model::Status::False);
    assert!(
        open.message.starts_with("12 of 12 conflicts are open"),
        "{}",
        open.message
    );
    assert!(open.message.ends_with("and 2 more"), "{}", open.message);
    list.iter_mut()
        .for_each(|c| c.state = ConflictState::Acknowledged);
    assert_eq!(condition(&list).unwrap().status, model::Status::True);
    list.iter_mut()
        .for_each(|c| c.state = ConflictState::Recorded);
    assert_eq!(condition(&list), None);
}

fn package(replicas: u8, setters: u8) -> model::Files {
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  replicas: {replicas}\n"
    );
    let config = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: s}}\ndata:\n  n: \"{setters}\"\n"
    );
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n".to_owned();
    let files = [
        ("Kptfile", kptfile),
        ("a/deployment.yaml", deployment),
        ("setters.yaml", config),
    ];
    let path = |path: &str| PackagePath::parse(path).unwrap();
    files
        .into_iter()
        .map(|(name, text)| (path(name), model::File::text(text)))
        .collect()
}

#[test]
fn editing_the_field_in_the_draft_settles_its_conflict() {
    let mut list = [
        conflict("spec.replicas", "1", "2"),
        conflict("spec.paused", "1", "2"),
    ];
    resolved_by_edit(&mut list, &package(2, 0), &package(2, 5));
    assert_eq!(open(&list).count(), 2);
    resolved_by_edit(&mut list, &package(2, 0), &package(3, 0));
    let states: Vec<_> = list.iter().map(|c| c.state).collect();
    assert_eq!(states, [ConflictState::Resolved, ConflictState::Open]);
}

#[test]
fn what_follows_from_another_conflict_keeps_no_gate() {
    let file = PackagePath::parse("setters.yaml").unwrap();
    let mut cause = conflict("data.n", "1", "2");
    cause.resource = "/ConfigMap//s".to_owned();
    cause.id = conflict_id(&file, &cause.resource, &cause.path);
    cause.file = file;
    let causes = [cause.id.clone()];
    let mut list = [
        cause,
        conflict("spec.replicas", "1", "2"),
        conflict("spec.paused", "1", "2"),
    ];
    // Renders of the same merge: the setter decided one way and the other.
    derived_by_render(&mut list, &causes, &package(2, 2), &package(1, 1));
    let derived: Vec<_> = list.iter().map(|c| c.derived_from.is_some()).collect();
    assert_eq!(derived, [false, true, false]);
    assert_eq!(open(&list).count(), 2);
}

#[test]
fn the_gate_comes_and_goes_with_the_conflicts() {
    let bare = crate::kptfile::Kptfile::of_files(&package(1, 1)).unwrap();
    let mut list = [conflict("spec.replicas", "1", "2")];
    let gated = put_gate(&bare, &list).unwrap();
    assert_eq!(
        gated.fields().condition(GATE).unwrap().status,
        model::Status::False
    );
    assert_eq!(gated.fields().info.readiness_gates[0].condition_type, GATE);
    list[0].state = ConflictState::Acknowledged;
    let settled = put_gate(&gated, &list).unwrap();
    assert_eq!(
        settled.fields().condition(GATE).unwrap().status,
        model::Status::True
    );
    assert_eq!(put_gate(&settled, &[]).unwrap().text(), bare.text());
}
