use serde_json::json;

use super::*;

#[test]
fn a_soak_is_a_duration() {
    for (text, wanted) in [
        ("0", Some(0)),
        ("0s", Some(0)),
        ("90s", Some(90)),
        ("2h", Some(7200)),
        ("1h30m", Some(5400)),
        ("1h30m5s", Some(5405)),
        ("8784h", Some(LONGEST)),
        ("8785h", None),
        ("30m1h", None),
        ("2", None),
        ("", None),
        ("h", None),
        ("-1h", None),
        ("2 h", None),
        ("1d", None),
        ("99999999999999999999h", None),
    ] {
        assert_eq!(seconds(text), wanted, "{text:?}");
    }
}

fn filled() -> StepStatus {
    StepStatus {
        name: "canary".to_owned(),
        takes: "0123456789abcdef".to_owned(),
        opened: Some(100),
        frozen: true,
        filled: Some(120),
        members: 8,
        published: 7,
        deleted: 1,
        unreachable: 2,
        diverged: 3,
        suspended: 7,
        conflicts: 4,
        failed: 5,
        rejected: 6,
    }
}

fn unmade() -> model::Unmade {
    let [name, step, why] = ["fan-north-web", "canary", "why"].map(str::to_owned);
    model::Unmade { name, step, why }
}

/// F8: a process that dies forgets nothing.
#[test]
fn what_is_written_is_what_is_read() {
    let rollout = RolloutStatus {
        id: "0123456789ab".to_owned(),
        wants: "aa".to_owned(),
        asked: "bb".to_owned(),
        places: "cc".to_owned(),
        moves: true,
        total: 9,
        began: 90,
        state: RolloutState::Halted,
        message: "why".to_owned(),
        complete: true,
        halted: Some("2 conflicts".to_owned()),
        retried: Some("17".to_owned()),
        steps: vec![
            filled(),
            StepStatus {
                name: "rest".to_owned(),
                ..StepStatus::default()
            },
        ],
        step: Some("canary".to_owned()),
        awaited: [
            UidMark::new([1, 2, 3, 4, 5, 6]),
            UidMark::new([9, 9, 9, 9, 9, 9]),
        ]
        .into(),
        created: vec!["fan-east-web".to_owned()],
        diverged: vec!["fan-west-web".to_owned()],
        suspended: vec!["fan-east-web".to_owned()],
        taken: vec!["fan-north-web".to_owned()],
        unmade: vec![unmade()],
        upstreams: vec![RolledUpstream {
            repo: RepositoryName::parse("blueprints").unwrap(),
            package: PackageName::parse("web").unwrap(),
            revision: "v2".to_owned(),
            commit: CommitId::parse(&"cd".repeat(20)).unwrap(),
        }],
        ..RolloutStatus::default()
    };
    let status = model::SetStatus {
        rollout: Some(rollout.clone()),
        ..model::SetStatus::default()
    };
    let wire = crate::write_set_status(None, &status, "2026-01-31T12:00:00Z");
    let read = crate::read_set_status(&json!({ "status": wire }));
    assert_eq!(read.rollout, Some(rollout));

    let mark = MemberMark::parse(&format!(
        "0123456789ab canary 00ff up web {}",
        "ab".repeat(20)
    ));
    let status = model::VariantStatus {
        rollout: mark.clone(),
        published_generation: Some(7),
        ..model::VariantStatus::default()
    };
    let wire = crate::write_variant_status(None, &status, "2026-01-31T12:00:00Z");
    let read = crate::read_variant_status(&json!({ "status": wire }));
    assert_eq!(
        (read.rollout, read.published_generation),
        (mark.clone(), Some(7))
    );
    assert!(mark.is_some());
}
