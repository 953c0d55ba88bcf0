use super::*;

fn variant(name: &str, set: Option<&str>, repository: &str, ready: &str, target: &Value) -> Value {
    let owners: Vec<Value> = set
        .into_iter()
        .map(|set| json!({ "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": set, "uid": "u", "controller": true }))
        .collect();
    json!({
        "metadata": { "namespace": "default", "name": name, "generation": 1, "ownerReferences": owners },
        "spec": { "downstream": { "repo": repository, "package": "web" } },
        "status": {
            "observedGeneration": 1,
            "conditions": [{ "type": "Ready", "status": "True", "reason": ready, "message": "" }],
            "downstreamTargets": [target],
        },
    })
}

fn target(lifecycle: &str, conflicts: usize) -> Value {
    json!({ "name": "east.web.v1", "workspaceName": "v1", "lifecycle": lifecycle, "conflicts": conflicts })
}

fn fleet() -> Fleet {
    let mut fleet = Fleet::default();
    for (n, (set, repository, target)) in [
        (Some("web"), "east-1", target("Published", 0)),
        (Some("web"), "east-2", target("Draft", 0)),
        (Some("web"), "west-1", target("Draft", 2)),
        (None, "west-1", target("Proposed", 0)),
    ]
    .into_iter()
    .enumerate()
    {
        fleet.put_variant(&variant(
            &format!("v{n}"),
            set,
            repository,
            "NoErrors",
            &target,
        ));
    }
    for (name, region) in [("east-1", "east"), ("east-2", "east"), ("west-1", "west")] {
        let labels = json!({ "region": region });
        fleet.put_repository(
            &json!({ "metadata": { "namespace": "default", "name": name, "labels": labels } }),
        );
    }
    fleet
}

fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|l| l.split_whitespace().collect())
        .collect()
}

#[test]
fn each_variant_is_counted_once_in_its_group() {
    let text = fleet().text(&By::Set, false, None);
    assert_eq!(
        words(&text),
        [
            vec![
                "SET",
                "VARIANTS",
                "UPTODATE",
                "DRAFT",
                "PROPOSED",
                "CONFLICTS",
                "GATES",
                "FAILED"
            ],
            vec!["(none)", "1", "0", "0", "1", "0", "0", "0"],
            vec!["web", "3", "1", "1", "0", "1", "0", "0"],
            vec!["total", "4", "1", "1", "1", "1", "0", "0"],
        ],
        "{text}"
    );
    let text = fleet().text(&By::parse("region"), false, None);
    assert_eq!(words(&text)[0][0], "REGION");
    assert_eq!(words(&text)[1][..3], ["east", "2", "1"], "{text}");
    assert_eq!(words(&text)[2][..3], ["west", "2", "0"], "{text}");
    let json = fleet().json(&By::Repository, true);
    assert_eq!(json["groups"][2]["name"], "default/west-1");
    assert_eq!(json["groups"][2]["conflicts"], 1);
}

#[test]
fn what_changes_moves_and_what_goes_is_gone() {
    let mut fleet = fleet();
    let now = variant(
        "v1",
        Some("web"),
        "east-2",
        "NoErrors",
        &target("Published", 0),
    );
    fleet.put_variant(&now);
    assert!(
        fleet
            .text(&By::Set, false, None)
            .contains("web      3          2"),
        "{}",
        fleet.text(&By::Set, false, None)
    );
    fleet.drop_variant(&now);
    assert!(
        fleet
            .text(&By::Set, false, None)
            .contains("web      2          1")
    );
}

#[test]
fn a_set_that_selects_nothing_has_a_row_and_says_so() {
    let mut fleet = Fleet::default();
    assert_eq!(
        fleet.text(&By::Set, false, None),
        "No package variants found.\n"
    );
    let condition = json!({ "type": "EmptySelection", "status": "True", "reason": "NothingSelected",
        "message": "nothing is selected by spec.targets[0]" });
    fleet.put_set(
        &json!({ "metadata": { "namespace": "default", "name": "web" },
        "status": { "conditions": [condition] } }),
    );
    let text = fleet.text(&By::Set, false, None);
    assert_eq!(words(&text)[1][..2], ["web", "0"]);
    assert!(
        text.ends_with("! web: NothingSelected: nothing is selected by spec.targets[0]\n"),
        "{text}"
    );
}

#[test]
fn what_stands_in_no_column_is_counted_beside_them() {
    let mut fleet = fleet();
    let mut deleting = variant(
        "v9",
        None,
        "west-1",
        "NoErrors",
        &target("DeletionProposed", 0),
    );
    fleet.put_variant(&deleting);
    assert_eq!(
        words(&fleet.text(&By::Set, false, None))[0].last(),
        Some(&"OTHER")
    );
    let text = fleet.text(&By::Set, false, None);
    assert!(text.contains("\nother: 1 deletion to approve\n"), "{text}");
    // One that was changed, and that nobody looked at since.
    deleting["metadata"]["generation"] = 2.into();
    fleet.put_variant(&deleting);
    assert_eq!(
        words(&fleet.text(&By::Set, false, None))[1].last(),
        Some(&"1")
    );
}

/// A variant whose package was changed past us says that it is up to date: what it is to have is published.
#[test]
fn a_package_that_was_changed_on_the_branch_is_named_below_the_table() {
    let mut fleet = fleet();
    let changed = |name: &str, kind: &str, reason: &str| {
        let mut one = variant(
            name,
            Some("web"),
            "east-1",
            "NoErrors",
            &target("Published", 0),
        );
        let conditions = one["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({ "type": kind, "status": "True", "reason": reason, "message": "" }));
        one
    };
    assert!(!fleet.text(&By::Set, false, None).contains("drift"));
    fleet.put_variant(&changed("v0", "BranchChanged", "NotTagged"));
    assert!(!fleet.text(&By::Set, false, None).contains("drift"));
    fleet.put_variant(&changed("v0", "BranchChanged", "DirectoryGone"));
    fleet.put_variant(&changed("v1", "BranchChanged", "ChangedSincePublished"));
    fleet.put_variant(&changed("v7", "DownstreamDiverged", "Diverged"));
    let text = fleet.text(&By::Set, false, None);
    let wanted = "\n\ndrift: 1 changed on the branch: v1; 1 gone from the branch: v0; 1 starts anew on the branch: v7; offshoot why pvar/NAME tells more\n";
    assert!(text.ends_with(wanted), "{text}");
    assert_eq!(
        fleet.json(&By::Set, false)["drift"],
        json!(["v0", "v1", "v7"])
    );
}

#[test]
fn only_the_sets_that_are_named_are_shown() {
    let mut some = Fleet::of(&["web".to_owned()]);
    for (name, set) in [("a", Some("web")), ("b", Some("other")), ("c", None)] {
        some.put_variant(&variant(
            name,
            set,
            "east-1",
            "NoErrors",
            &target("Draft", 0),
        ));
    }
    for set in ["web", "other"] {
        some.put_set(&json!({ "metadata": { "namespace": "default", "name": set } }));
    }
    let text = some.text(&By::Set, false, None);
    assert_eq!(
        words(&text)[1..],
        [vec!["web", "1", "0", "1", "0", "0", "0", "0"]],
        "{text}"
    );
}

#[test]
fn a_label_that_no_repository_has_is_refused_with_the_nearest() {
    let mut fleet = fleet();
    let repository = json!({ "metadata": { "namespace": "default", "name": "west-1", "labels": { "region": "west" } } });
    fleet.put_repository(&repository);
    for well in ["set", "repository", "region"] {
        assert!(fleet.check(&By::parse(well)).is_ok(), "{well}");
    }
    for (typed, meant) in [("regoin", "region"), ("repositry", "repository")] {
        let refused = fleet.check(&By::parse(typed)).expect_err(typed);
        let wanted = format!("did you mean --by {meant}?");
        assert!(refused.text().contains(&wanted), "{}", refused.text());
    }
    assert!(
        Fleet::default().check(&By::parse("region")).is_ok(),
        "where nothing is registered, nothing is misspelt"
    );
}

#[test]
fn what_is_piped_has_no_bar_and_no_rollout() {
    let mut fleet = fleet();
    fleet.put_set(&rolling(RolloutState::Progressing, &["v0"]));
    let text = fleet.text(&By::Set, false, None);
    assert_eq!(
        text,
        "SET      VARIANTS   UPTODATE   DRAFT   PROPOSED   CONFLICTS   GATES   FAILED\n\
         (none)   1          0          0       1          0           0       0\n\
         web      3          1          1       0          1           0       0\n\
         total    4          1          1       1          1           0       0\n"
    );
}

#[test]
fn a_terminal_has_bars_and_the_steps_of_sets() {
    let mut fleet = fleet();
    let look = |width| {
        Some(Look {
            width,
            coloured: false,
        })
    };
    assert!(!fleet.text(&By::Set, false, look(120)).contains("ROLLOUT"));
    fleet.put_set(&rolling(RolloutState::Progressing, &["v0"]));
    let text = fleet.text(&By::Set, false, look(106));
    assert_eq!(
        text,
        "SET      VARIANTS   UPTODATE   DRAFT   PROPOSED   CONFLICTS   GATES   FAILED   ROLLOUT\n\
         (none)   1          0          0       1          0           0       0        -            ▲▲▲▲▲▲▲▲▲▲▲▲▲▲\n\
         web      3          1          1       0          1           0       0        canary 1/2   ✓✓✓✓✓✎✎✎✎✎≠≠≠≠\n\
         total    4          1          1       1          1           0       0        -            ✓✓✓✓✎✎✎✎▲▲▲≠≠≠\n\
         \n\
         ✓ up to date  ✎ draft to propose  ▲ waits for approval  ≠ conflicts to decide\n"
    );
    // Where there is little room, what nobody is counted in goes first, and then the bars.
    let less = fleet.text(&By::Set, false, look(90));
    assert!(!less.contains("GATES") && less.contains("✓✓"), "{less}");
    let narrow = fleet.text(&By::Set, false, look(80));
    assert!(
        narrow.contains("GATES") && narrow.contains("canary 1/2") && !narrow.contains('✓'),
        "{narrow}"
    );
    let regions = fleet.text(&By::parse("region"), false, look(120));
    assert!(
        regions.contains("✓✓") && !regions.contains("ROLLOUT"),
        "{regions}"
    );
    fleet.put_set(&rolling(RolloutState::Halted, &["v0"]));
    assert!(
        fleet
            .text(&By::Set, false, look(106))
            .contains("canary 1/2, halted")
    );
}

/// A set whose rollout has reached these variants.
fn rolling(state: RolloutState, reached: &[&str]) -> Value {
    let upstream = model::Upstream {
        repo: model::RepositoryName::parse("blueprints").unwrap(),
        package: model::PackageName::parse("web").unwrap(),
        version: model::UpstreamVersion::Latest,
        allow_unpublished: false,
        commit: None,
    };
    let member = model::Member {
        upstream,
        spec: "00ff00ff00ff00ff".to_owned(),
        step: Some("canary".to_owned()),
        before: None,
    };
    let members = reached
        .iter()
        .map(|n| (plan::set::uid_mark(n), member.clone()));
    let step = |name: &str, opened: Option<i64>| model::StepStatus {
        name: name.to_owned(),
        takes: name.to_owned(),
        opened,
        members: 3,
        published: 1,
        ..model::StepStatus::default()
    };
    let status = SetStatus {
        rollout: Some(RolloutStatus {
            id: "2-4f1d0c2a97".to_owned(),
            state,
            step: Some("canary".to_owned()),
            steps: vec![step("canary", Some(1)), step("rest", None)],
            members: members.collect(),
            ..RolloutStatus::default()
        }),
        ..SetStatus::default()
    };
    json!({
        "metadata": { "namespace": "default", "name": "web" },
        "status": api::write_set_status(None, &status, "2026-01-01T00:00:00Z"),
    })
}

/// What the rollout of its set has not reached says that it is up to date, and is not.
#[test]
fn what_waits_for_its_step_is_not_counted_as_up_to_date() {
    let mut fleet = fleet();
    let mut rollout = |state: RolloutState, reached: &[&str]| {
        fleet.put_set(&rolling(state, reached));
        let json = fleet.json(&By::Set, false);
        let mut groups = json["groups"].as_array().unwrap().iter();
        let web = groups.find(|g| g["name"] == "web").unwrap();
        let counts = ["upToDate", "waitsForStep"].map(|key| web[key].as_u64().unwrap());
        (counts, fleet.text(&By::Set, false, None).contains(" STEP "))
    };
    use RolloutState::{Complete, Progressing, Undone};
    assert_eq!(rollout(Progressing, &[]), ([0, 1], true));
    assert_eq!(rollout(Progressing, &["v0"]), ([1, 0], false));
    assert_eq!(rollout(Undone, &[]), ([0, 1], true));
    assert_eq!(rollout(Complete, &[]), ([1, 0], false));
}
