//! Where people and upstream disagree: what the draft holds, what is recorded, what is gated.

use super::*;

#[test]
fn v4_both_sides_changed_a_field_upstreams_value_and_a_gate() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "web:v1 #", "mirror/web:v1 #");
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    input.base = base(published, old.v);
    let derived = derive(input.clone());
    let place = "deployment.yaml spec.template.spec.containers[name=web].image".to_owned();
    assert_eq!(places(&derived.conflicts), [(place, ConflictState::Open)]);
    assert!(text(&derived.tip, "deployment.yaml").contains("image: web:v2"));
    assert!(text(&derived.tip, "Kptfile").contains("offshoot.dev/Conflicts"));
    assert!(
        derived
            .gates_added
            .contains(&"offshoot.dev/Conflicts".to_owned())
    );
    input.recipe.conflict_policy = ConflictPolicy::Local;
    let derived = derive(input);
    assert!(text(&derived.tip, "deployment.yaml").contains("image: mirror/web:v1"));
    assert!(!text(&derived.tip, "Kptfile").contains("offshoot.dev/Conflicts"));
}

#[test]
fn v17_stated_fields_are_written_again_and_a_replaced_value_is_recorded_without_a_gate() {
    let old = first();
    let published = edited(
        &old.tip,
        "package-context.yaml",
        "region: eu",
        "region: mine",
    );
    let published = edited(&published, "point.yaml", "region: eu-1", "region: mine");
    let mut wanted = recipe();
    wanted.context.insert("region".to_owned(), "us".to_owned());
    wanted.injections = vec![injection("us-1")];
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, wanted);
    input.base = base(published, old.v);
    let derived = derive(input);
    assert!(text(&derived.tip, "package-context.yaml").contains("region: us"));
    assert!(text(&derived.tip, "point.yaml").contains("region: us-1"));
    let recorded = |place: &str| (place.to_owned(), ConflictState::Recorded);
    assert_eq!(
        places(&derived.conflicts),
        [
            recorded("package-context.yaml data.region"),
            recorded("point.yaml data")
        ]
    );
    assert!(!text(&derived.tip, "Kptfile").contains("offshoot.dev/Conflicts"));
}

#[test]
fn v4_a_conflict_that_the_render_decides_gates_nothing() {
    let old = first();
    let published = edited(
        &old.tip,
        "deployment.yaml",
        "namespace: shop",
        "namespace: mine",
    );
    let published = edited(&published, "deployment.yaml", "replicas: 1", "replicas: 3");
    let mut wanted = recipe();
    wanted.pipeline.mutators[0].config_map[0].1 = "store".to_owned();
    let mut input = input(upstream(&[("replicas: 1", "replicas: 2")]), 2, wanted);
    input.base = base(published, old.v);
    let derived = derive(input);
    assert_eq!(
        places(&derived.conflicts),
        [
            (
                "deployment.yaml metadata.namespace".to_owned(),
                ConflictState::Recorded
            ),
            (
                "deployment.yaml spec.replicas".to_owned(),
                ConflictState::Open
            ),
        ]
    );
    assert!(text(&derived.tip, "deployment.yaml").contains("namespace: store"));
}

#[test]
fn v4_what_stays_local_is_gated_like_everything_else() {
    // A whole file that both sides changed.
    let old = first();
    let theirs = edited(&upstream(&[]), "README.md", "read me", "theirs");
    let mut next = input(theirs, 2, recipe());
    next.base = base(edited(&old.tip, "README.md", "read me", "mine"), old.v);
    let derived = derive(next);
    assert_eq!(
        places(&derived.conflicts),
        [("README.md ".to_owned(), ConflictState::Open)]
    );
    assert!(text(&derived.tip, "README.md").contains("mine"));
    assert!(text(&derived.tip, "Kptfile").contains("offshoot.dev/Conflicts"));

    // A field that a person set in the open draft.
    let draft = first();
    let mut next = input(upstream(&[("replicas: 1", "replicas: 2")]), 2, recipe());
    next.draft = Some(OpenDraft {
        occupied: Occupied::default(),
        machine: known(draft.m.clone()),
        tip: edited(&draft.tip, "deployment.yaml", "replicas: 1", "replicas: 5"),
        conflicts: Vec::new(),
        acknowledged: Vec::new(),
    });
    let derived = derive(next);
    let place = "deployment.yaml spec.replicas".to_owned();
    assert_eq!(places(&derived.conflicts), [(place, ConflictState::Open)]);
    assert!(text(&derived.tip, "deployment.yaml").contains("replicas: 5"));
}

#[test]
fn v17_every_edit_of_a_person_is_in_the_draft_or_in_a_record() {
    let old = first();
    let persons = [
        (
            "deployment.yaml",
            "replicas: 1 # one is enough",
            "replicas: 3 # busy",
        ),
        ("deployment.yaml", "image: web:v1", "image: mine/web:v1"),
        ("deployment.yaml", "args: [a]", "args: [a, mine]"),
        ("package-context.yaml", "data:\n", "data:\n  mine: mine\n"),
        ("README.md", "read me", "mine"),
        ("point.yaml", "region: eu-1", "region: mine"),
        (
            "Kptfile",
            "description: one application",
            "description: mine",
        ),
    ];
    let upstreams = [
        vec![("web:v1", "web:v2")],
        vec![("replicas: 1 # one is enough", "replicas: 2")],
        vec![("args: [a]\n", "")],
    ];
    for (at, (path, from, to)) in persons.into_iter().enumerate() {
        let published = edited(&old.tip, path, from, to);
        let mut wanted = recipe();
        if at % 2 == 0 {
            wanted.context.insert("region".to_owned(), "us".to_owned());
        }
        for (version, change) in (2..).zip(&upstreams) {
            let mut next = input(upstream(change), version, wanted.clone());
            next.base = base(published.clone(), old.v.clone());
            let derived = derive(next);
            let kept = derived
                .tip
                .get(path)
                .and_then(|file| file.as_text())
                .is_some_and(|text| text.contains(to));
            let recorded = derived
                .conflicts
                .iter()
                .any(|conflict| conflict.file.as_str() == path);
            assert!(
                kept || recorded,
                "{path}: {to:?} is lost against {change:?}"
            );
        }
    }
}

/// What was published after a person gave the label that upstream's function sets another value.
fn relabelled(files: &Files) -> Files {
    let green = files.iter().map(|(path, file)| {
        let text = file.as_text().unwrap().replace("team: blue", "team: green");
        (path.clone(), file.with_bytes(text.into_bytes()))
    });
    green.collect()
}

#[test]
fn m4_what_a_render_alone_changed_goes_when_upstream_deletes_it() {
    let old = first();
    let published = relabelled(&old.tip);
    assert_ne!(published["deployment.yaml"], old.tip["deployment.yaml"]);
    let mut files = upstream(&[]);
    files.remove("deployment.yaml");
    let mut next = input(files, 2, recipe());
    next.base = base(published.clone(), old.v.clone());
    let derived = derive(next.clone());
    assert_eq!(places(&derived.conflicts), []);
    assert!(!derived.tip.contains_key("deployment.yaml"));
    assert!(text(&derived.tip, "Kptfile").contains("team: green"));
    // What a person changed there is asked about, as ever.
    let published = edited(&published, "deployment.yaml", "replicas: 1", "replicas: 3");
    next.base = base(published, old.v);
    let derived = derive(next);
    assert_eq!(
        places(&derived.conflicts),
        [("deployment.yaml ".to_owned(), ConflictState::Open)]
    );
    assert!(text(&derived.tip, "deployment.yaml").contains("replicas: 3"));
}

/// What upstream changed of a file has no place there, whatever is decided: that is no decision of the render's.
#[test]
fn v4_a_file_in_whose_place_a_person_put_a_directory_waits_for_an_answer() {
    let old = first();
    let mut published = old.tip.clone();
    for name in ["README.md", "deployment.yaml"] {
        published.remove(&PackagePath::parse(name).unwrap());
        let below = PackagePath::parse(&format!("{name}/part")).unwrap();
        published.insert(below, model::File::text("mine"));
    }
    let mut new = upstream(&[("web:v1", "web:v2")]);
    let readme = PackagePath::parse("README.md").unwrap();
    new.insert(readme.clone(), model::File::text("read this"));
    let mut input = input(new, 2, recipe());
    input.base = base(published, old.v);
    let derived = derive(input);
    let open = |place: &str| (place.to_owned(), ConflictState::Open);
    assert_eq!(
        places(&derived.conflicts),
        [open("README.md "), open("deployment.yaml ")]
    );
    assert!(text(&derived.tip, "Kptfile").contains("offshoot.dev/Conflicts"));
    assert!(!derived.tip.contains_key(&readme));
    // Nor can it be answered by putting the file there: the directory would go without a word.
    let mut files = derived.tip.clone();
    let told = &derived.conflicts[0];
    let side = model::ConflictSide::Upstream;
    let theirs = Files::from_iter([(readme, model::File::text("read this"))]);
    assert!(package::conflicts::holds_side(&theirs, told, side));
    assert!(!package::conflicts::put_side(
        &mut files, &theirs, told, side
    ));
    assert_eq!(files, derived.tip);
}
