mod sides;

use model::{
    Conflict, ConflictId, ConflictPolicy, ConflictState, ConflictValue, Decision, PackagePath,
};

use super::*;
use crate::place::{FieldPath, identify};

fn conflict(path: &str, local: &str, upstream: &str) -> Conflict {
    let file = PackagePath::parse("a/deployment.yaml").unwrap();
    let mut conflict = Conflict {
        id: ConflictId(String::new()),
        file,
        resource: "apps/Deployment/shop/web".to_owned(),
        path: path.to_owned(),
        base: ConflictValue::Absent,
        local: ConflictValue::Json(local.to_owned()),
        upstream: ConflictValue::Json(upstream.to_owned()),
        decision: Decision::Upstream,
        state: ConflictState::Open,
        derived_from: None,
    };
    identify(&mut conflict);
    conflict
}

/// A draft that holds this, on a machine output that holds that.
fn draft<'a>(machine: &'a model::Files, tip: &'a model::Files) -> MergedDraft<'a> {
    MergedDraft {
        machine,
        upstream: machine,
        tip,
        policy: ConflictPolicy::Block,
        acknowledged: &[],
        is_stated: &|_| false,
        is_edited: &|_| false,
    }
}

fn of_draft(local: &str, upstream: &str) -> Conflict {
    Conflict {
        decision: Decision::Local,
        base: ConflictValue::Json("1".to_owned()),
        ..conflict("spec.replicas", local, upstream)
    }
}

fn told(conflicts: &[Conflict]) -> Vec<(String, ConflictState)> {
    let text = |value: &ConflictValue| match value {
        ConflictValue::Json(text) => text.clone(),
        ConflictValue::Hash(_) => "#".to_owned(),
        ConflictValue::Absent => "-".to_owned(),
    };
    let side = |c: &Conflict| [&c.base, &c.local, &c.upstream].map(text).join(" ");
    conflicts.iter().map(|c| (side(c), c.state)).collect()
}

#[test]
fn v4a_an_id_covers_the_place_and_both_values_but_not_the_base() {
    let first = conflict("spec.replicas", "1", "2");
    let mut based = conflict("spec.replicas", "1", "2");
    based.base = ConflictValue::Json("7".to_owned());
    identify(&mut based);
    assert_eq!(first.id, based.id);
    let mut absent = conflict("spec.replicas", "1", "2");
    absent.upstream = ConflictValue::Absent;
    identify(&mut absent);
    let mut hashed = conflict("spec.replicas", "1", "2");
    hashed.upstream = ConflictValue::Hash("2".to_owned());
    identify(&mut hashed);
    let others = [
        conflict("spec.replica", "1", "2"),
        conflict("spec.replicas", "3", "2"),
        conflict("spec.replicas", "1", "3"),
        absent,
        hashed,
    ];
    let ids: std::collections::BTreeSet<_> = others.iter().chain([&first]).map(|c| &c.id).collect();
    assert_eq!(ids.len(), others.len() + 1);
    // The format is durable: it must never change.
    assert_eq!(
        (first.id.0.as_str(), first.id.0.len()),
        ("c756dc59a7537fa8", 16)
    );
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
    let none = model::Files::new();
    let carried = carry(&old, now, Vec::new(), &draft(&none, &none));
    let states: Vec<_> = carried.iter().map(|c| (c.path.as_str(), c.state)).collect();
    assert_eq!(
        states,
        [
            ("a", ConflictState::Acknowledged),
            ("b", ConflictState::Open)
        ]
    );
    assert_eq!(carried[0].id, old[0].id);
    assert_ne!(carried[1].id, old[1].id);
}

#[test]
fn an_older_record_keeps_its_id_until_its_values_change() {
    let id = ConflictId("bf01643ccd2d5cec".to_owned());
    let mut old = conflict("a", "1", "2");
    old.id = id.clone();
    let mut follows = conflict("c", "1", "2");
    let mut now = conflict("a", "1", "2");
    follows.derived_from = Some(now.id.clone());
    let none = model::Files::new();
    let again = |now: Conflict, follows: Conflict| {
        let old = std::slice::from_ref(&old);
        carry(old, vec![now, follows], Vec::new(), &draft(&none, &none))
    };
    let same = again(now.clone(), follows.clone());
    assert_eq!(same[0].id, id);
    assert_eq!(same[1].derived_from.as_ref(), Some(&id));
    now = conflict("a", "1", "4");
    let other = again(now.clone(), follows);
    assert_eq!(other[0].id, now.id);
}

#[test]
fn the_drafts_own_merge_decides() {
    let mut own = conflict("a", "5", "2");
    own.decision = Decision::Local;
    let none = model::Files::new();
    let against_base = vec![conflict("a", "1", "2")];
    let carried = carry(&[], against_base, vec![own.clone()], &draft(&none, &none));
    assert_eq!(carried, [own]);
}

#[test]
fn v18_what_nobody_answered_stays_until_something_ends_it() {
    let old = [of_draft("5", "3")];
    let open = |text: &str| vec![(text.to_owned(), ConflictState::Open)];
    let after = |machine: u8, tip: u8| {
        let (machine, tip) = (package(machine, 0), package(tip, 0));
        told(&carry(&old, Vec::new(), Vec::new(), &draft(&machine, &tip)))
    };
    assert_eq!(after(3, 5), open("1 5 3"));
    assert_eq!(after(4, 5), open("1 5 4"));
    assert_eq!(after(5, 5), [], "both sides agree");
    assert_eq!(after(1, 5), [], "upstream is back at the base");
    let (machine, tip) = (package(3, 0), package(5, 0));
    let stated = MergedDraft {
        is_stated: &|_| true,
        ..draft(&machine, &tip)
    };
    assert_eq!(carry(&old, Vec::new(), Vec::new(), &stated), []);
    let mut answered = old.clone();
    answered[0].state = ConflictState::Acknowledged;
    let now = draft(&machine, &tip);
    assert_eq!(carry(&answered, Vec::new(), Vec::new(), &now), []);
}

#[test]
fn v18_the_first_base_counts_while_nobody_answers() {
    let old = [of_draft("5", "3")];
    let mut next = of_draft("5", "4");
    next.base = ConflictValue::Json("3".to_owned());
    let (machine, tip) = (package(4, 0), package(5, 0));
    let now = draft(&machine, &tip);
    let carried = carry(&old, Vec::new(), vec![next.clone()], &now);
    assert_eq!(told(&carried), [("1 5 4".to_owned(), ConflictState::Open)]);
    // Back at 3, which nobody answered either; back at 1, which nobody contradicted.
    let mut back = of_draft("5", "3");
    back.base = ConflictValue::Json("4".to_owned());
    let again = carry(&carried, Vec::new(), vec![back.clone()], &now);
    assert_eq!(told(&again), [("1 5 3".to_owned(), ConflictState::Open)]);
    back.upstream = ConflictValue::Json("1".to_owned());
    let first = package(1, 0);
    let now = draft(&first, &tip);
    assert_eq!(carry(&carried, Vec::new(), vec![back], &now), []);
    let mut answered = old;
    answered[0].state = ConflictState::Acknowledged;
    let carried = carry(&answered, Vec::new(), vec![next], &now);
    assert_eq!(told(&carried), [("3 5 4".to_owned(), ConflictState::Open)]);
}

#[test]
fn v18_an_answer_in_the_draft_answers_the_published_value_too() {
    let (machine, tip) = (package(4, 0), package(7, 0));
    let now = draft(&machine, &tip);
    let against_base = vec![conflict("spec.replicas", "5", "4")];
    for state in [ConflictState::Acknowledged, ConflictState::Resolved] {
        let mut old = [of_draft("7", "4")];
        old[0].state = state;
        let carried = carry(&old, against_base.clone(), Vec::new(), &now);
        assert_eq!(carried, old);
    }
    // Unanswered, the draft's own question stands in front of the other.
    let old = [of_draft("7", "4")];
    let carried = carry(&old, against_base, Vec::new(), &now);
    assert_eq!(carried, old);
}

#[test]
fn v18_the_policy_in_force_says_what_a_carried_conflict_is() {
    let (machine, tip) = (package(3, 0), package(5, 0));
    let mut old = vec![of_draft("5", "3")];
    for policy in [
        ConflictPolicy::Local,
        ConflictPolicy::Block,
        ConflictPolicy::Local,
        ConflictPolicy::Upstream,
        ConflictPolicy::Block,
    ] {
        let now = MergedDraft {
            policy,
            ..draft(&machine, &tip)
        };
        old = carry(&old, Vec::new(), Vec::new(), &now);
        let state = match policy {
            ConflictPolicy::Block => ConflictState::Open,
            _ => ConflictState::Recorded,
        };
        assert_eq!(told(&old), [("1 5 3".to_owned(), state)], "{policy:?}");
    }
}

#[test]
fn an_id_that_is_acknowledged_already_is_acknowledged_when_it_comes_back() {
    let back = conflict("a", "1", "2");
    let none = model::Files::new();
    let now = MergedDraft {
        acknowledged: std::slice::from_ref(&back.id),
        ..draft(&none, &none)
    };
    let carried = carry(&[], vec![back.clone()], Vec::new(), &now);
    assert_eq!(carried[0].state, ConflictState::Acknowledged);
}

#[test]
fn a_moved_resource_takes_its_conflict_along() {
    let old = [of_draft("5", "3")];
    let machine = package(3, 0);
    let mut tip = package(5, 0);
    let file = tip.remove("a/deployment.yaml").unwrap();
    let to = PackagePath::parse("b/web.yaml").unwrap();
    tip.insert(to.clone(), file);
    let mut list = old.clone();
    resolved_by_edit(&mut list, &package(5, 0), &tip);
    assert_eq!(list, old, "a move answers nothing");
    let carried = carry(&old, Vec::new(), Vec::new(), &draft(&machine, &tip));
    assert_eq!(told(&carried), told(&old));
    assert_eq!((&carried[0].file, &carried[0].id), (&to, &old[0].id));
    // A conflict that a merge finds at the new place is the same one, with what was said about it.
    let mut said = old.clone();
    said[0].state = ConflictState::Acknowledged;
    let mut found = of_draft("5", "3");
    found.file = to;
    identify(&mut found);
    let carried = carry(&said, Vec::new(), vec![found], &draft(&machine, &tip));
    assert_eq!(carried[0].state, ConflictState::Acknowledged);
    assert_eq!(carried[0].id, old[0].id);
}

#[test]
fn what_a_conflict_about_the_whole_resource_holds_waits_below_it() {
    let old = [of_draft("5", "3")];
    let tip = package(5, 0);
    let mut machine = package(3, 0);
    machine.remove("a/deployment.yaml");
    let mut whole = conflict("", "{}", "-");
    whole.upstream = ConflictValue::Absent;
    whole.base = value_at(&package(3, 0), &whole);
    identify(&mut whole);
    let now = draft(&machine, &tip);
    let carried = carry(&old, Vec::new(), vec![whole.clone()], &now);
    assert_eq!(open(&carried).count(), 1);
    assert_eq!(carried[1].derived_from.as_ref(), Some(&whole.id));
    // Answered, it is gone with what it held; unanswered and gone, the field asks again.
    let mut answered = carried.clone();
    answered[0].state = ConflictState::Acknowledged;
    assert_eq!(carry(&answered, Vec::new(), Vec::new(), &now), []);
    let machine = package(3, 0);
    let back = carry(&carried, Vec::new(), Vec::new(), &draft(&machine, &tip));
    assert_eq!(open(&back).count(), 1);
    assert_eq!(told(&back), [("1 5 3".to_owned(), ConflictState::Open)]);
}

#[test]
fn an_id_that_is_taken_off_opens_its_conflict_again() {
    let mut list = [conflict("a", "1", "2"), conflict("b", "1", "2")];
    let ids: Vec<ConflictId> = list.iter().map(|c| c.id.clone()).collect();
    assert_eq!(acknowledge(&mut list, &ids), []);
    list[1].state = ConflictState::Resolved;
    assert_eq!(acknowledge(&mut list, &ids[..0]), []);
    let states: Vec<_> = list.iter().map(|c| c.state).collect();
    assert_eq!(states, [ConflictState::Open, ConflictState::Resolved]);
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
    cause.file = file;
    identify(&mut cause);
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

#[test]
fn a_record_that_counts_functions_from_nothing_leads_nowhere() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n  - image: a:v1\n";
    let path = PackagePath::parse("Kptfile").unwrap();
    let files = model::Files::from([(path.clone(), model::File::text(text))]);
    let at = |nth: &str| {
        let mut conflict = conflict(
            &format!("pipeline.mutators[runs=a,nth={nth}].image"),
            "1",
            "2",
        );
        conflict.file = path.clone();
        conflict.resource = "kpt.dev/Kptfile//web".to_owned();
        value_at(&files, &conflict)
    };
    assert_eq!(at("0"), ConflictValue::Absent);
    assert_eq!(at("1"), ConflictValue::Json("\"a:v1\"".to_owned()));
}
