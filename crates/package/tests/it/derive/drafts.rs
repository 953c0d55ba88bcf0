//! Drafts that people work in, and drafts whose past was lost.

use super::*;

#[test]
fn v18_an_untouched_draft_follows_the_machine() {
    let old = first();
    let mut second = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    second.draft = Some(OpenDraft {
        occupied: Occupied::default(),
        machine: known(old.m.clone()),
        tip: old.tip,
        conflicts: Vec::new(),
        acknowledged: Vec::new(),
    });
    let derived = derive(second);
    assert!(derived.tip_equals_m && derived.v_equals_m);
}

#[test]
fn v18_an_acknowledgement_holds_while_the_values_stay() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "web:v1 #", "mirror/web:v1 #");
    let mut second = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    second.base = base(published.clone(), old.v.clone());
    let draft = derive(second);
    let mut conflicts = draft.conflicts.clone();
    conflicts[0].state = ConflictState::Acknowledged;
    let again = |upstream: Files, version: u8| {
        let mut next = input(upstream, version, recipe());
        next.base = base(published.clone(), old.v.clone());
        next.draft = Some(OpenDraft {
            occupied: Occupied::default(),
            machine: known(draft.m.clone()),
            tip: draft.tip.clone(),
            conflicts: conflicts.clone(),
            acknowledged: Vec::new(),
        });
        derive(next).conflicts[0].state
    };
    let other = upstream(&[("web:v1", "web:v2"), ("args: [a]", "args: [c]")]);
    assert_eq!(again(other, 3), ConflictState::Acknowledged);
    assert_eq!(
        again(upstream(&[("web:v1", "web:v4")]), 4),
        ConflictState::Open
    );
}

#[test]
fn v19a_a_lost_trailer_is_made_up_for_by_deriving_the_old_upstream_again() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 3");
    let first_input = input(upstream(&[]), 1, recipe());
    let mut wanted = recipe();
    wanted.context.insert("region".to_owned(), "us".to_owned());
    wanted.injections = vec![injection("us-1")];
    wanted.pipeline.mutators[0].config_map[0].1 = "store".to_owned();
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, wanted);
    input.base = Some(Base {
        occupied: Occupied::default(),
        published,
        machine: MachineFiles::Anew {
            upstream: first_input.upstream,
            git_upstream: first_input.git_upstream,
            lock: first_input.lock,
        },
    });
    let derived = derive(input);
    assert_eq!(places(&derived.conflicts), []);
    let deployment = text(&derived.tip, "deployment.yaml");
    for wanted in ["replicas: 3", "web:v2", "namespace: store"] {
        assert!(deployment.contains(wanted), "{wanted}:\n{deployment}");
    }
    assert!(text(&derived.tip, "point.yaml").contains("region: us-1"));
}

#[test]
fn v19a_the_raw_old_upstream_is_the_last_resort() {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 3");
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    input.base = Some(Base {
        occupied: Occupied::default(),
        published,
        machine: MachineFiles::Raw(upstream(&[])),
    });
    let derived = derive(input);
    let deployment = text(&derived.tip, "deployment.yaml");
    assert!(
        deployment.contains("replicas: 3") && deployment.contains("web:v2"),
        "{deployment}"
    );
    assert!(
        !derived.conflicts.iter().any(Conflict::blocks),
        "{:?}",
        places(&derived.conflicts)
    );
}

/// Another tool has laid the files out anew, and dropped comments and a file of comments.
#[test]
fn m10_a_fast_forward_from_a_base_that_was_made_up_for_looks_at_values() {
    let remarks = ("remarks.yaml", "# for whoever reads this\n");
    let with_remarks = |mut files: Files| {
        files.extend(kept(&[remarks]));
        files
    };
    let first_input = input(with_remarks(upstream(&[])), 1, recipe());
    let published = {
        let mut files = first().tip;
        for (from, to) in [
            ("# licence\n\n", ""),
            (" # one is enough", ""),
            (
                "      containers:\n      - name",
                "      containers:\n        - name",
            ),
            ("        image: web:v1 #", "          image: \"web:v1\" #"),
            ("        args: [a]", "          args:\n            - a"),
        ] {
            files = edited(&files, "deployment.yaml", from, to);
        }
        edited(&files, "Kptfile", "# an application\n", "")
    };
    let forward = |published: Files| {
        let mut wanted = recipe();
        wanted.strategy = Strategy::FastForward;
        let mut input = input(with_remarks(upstream(&[("web:v1", "web:v2")])), 2, wanted);
        input.base = Some(Base {
            occupied: Occupied::default(),
            published,
            machine: MachineFiles::Anew {
                upstream: first_input.upstream.clone(),
                git_upstream: first_input.git_upstream.clone(),
                lock: first_input.lock.clone(),
            },
        });
        try_derive(input)
    };
    let derived = forward(published.clone()).unwrap();
    assert!(text(&derived.tip, "deployment.yaml").contains("image: web:v2 # released"));
    let touched = edited(&published, "deployment.yaml", "replicas: 1", "replicas: 3");
    let why = forward(touched).unwrap_err().message();
    assert!(why.contains("[deployment.yaml]"), "{why}");
}
