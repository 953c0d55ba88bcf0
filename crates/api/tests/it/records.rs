//! Records come back as they were written, and newer ones are refused untouched.

use model::{
    CommitId, Condition, Conflict, ConflictId, ConflictState, ConflictValue, Decision, Digest,
    DraftOwner, GitLock, Lifecycle, Machine, Namespace, ObjectKey, ObjectMeta, ObjectName,
    PackageName, PackagePath, PackedRenderStatus, Pairs, ReadinessGate, RenderStatus,
    RepositoryName, Revision, RevisionNumber, Status, Strategy, Task, TreeId, Uid, WorkspaceName,
};

#[expect(
    clippy::too_many_lines,
    reason = "one literal with every field of a record"
)]
fn revision() -> Revision {
    let commit = CommitId::parse("682736f739516e0d56048e3c98cf1f7b737267da").unwrap();
    let tree = TreeId::parse("1234567890123456789012345678901234567890").unwrap();
    let namespace = Namespace::parse("bm").unwrap();
    let name = |text: &str| ObjectName::parse(text).unwrap();
    let workspace = WorkspaceName::parse("packagevariant-2").unwrap();
    let lock = GitLock {
        repo: "http://git.example.test/blueprints.git".to_owned(),
        directory: "app".to_owned(),
        git_ref: "app/v2".to_owned(),
        commit: Some(commit),
    };
    Revision {
        key: ObjectKey::new(namespace.clone(), name("deploy.ready.packagevariant-2")),
        meta: ObjectMeta {
            uid: Uid::parse("u-1").ok(),
            resource_version: "7".to_owned(),
            labels: Pairs::from_iter([("a".to_owned(), "b".to_owned())]),
            ..ObjectMeta::default()
        },
        repository: RepositoryName::parse("deploy").unwrap(),
        package: PackageName::parse("ready").unwrap(),
        workspace: workspace.clone(),
        revision: RevisionNumber::NONE,
        lifecycle: Lifecycle::Draft,
        tasks: vec![Task::Upgrade {
            old_upstream: name("blueprints.app.v1"),
            new_upstream: name("blueprints.app.v2"),
            local: name("deploy.ready.packagevariant-1"),
            strategy: Strategy::ResourceMerge,
        }],
        readiness_gates: vec![ReadinessGate {
            condition_type: "offshoot.dev/Conflicts".to_owned(),
        }],
        package_labels: Pairs::new(),
        package_annotations: Pairs::from_iter([("x".to_owned(), "y".to_owned())]),
        resolved_conflicts: vec![ConflictId("00ff".to_owned())],
        upstream_lock: Some(lock.clone()),
        self_lock: Some(lock),
        conditions: vec![Condition::new(
            "Rendered",
            Status::True,
            "RenderSuccess",
            "",
        )],
        deployment: true,
        published_by: String::new(),
        published_at: String::new(),
        conflicts: vec![Conflict {
            id: ConflictId("00ff".to_owned()),
            file: PackagePath::parse("a/b.yaml").unwrap(),
            resource: "apps/Deployment/x/y".to_owned(),
            path: "spec.replicas".to_owned(),
            base: ConflictValue::Json("1".to_owned()),
            local: ConflictValue::Json("\"\"".to_owned()),
            upstream: ConflictValue::Absent,
            decision: Decision::Upstream,
            state: ConflictState::Acknowledged,
            derived_from: None,
        }],
        render_status: Some(PackedRenderStatus::from(&RenderStatus::default())),
        commit,
        tree,
        machine: Some(Machine {
            owner: DraftOwner {
                namespace,
                name: name("ready"),
                uid: Uid::parse("u-2").unwrap(),
            },
            adopted: true,
            workspace,
            digest: Digest::new(1, &[1, 2]),
            full_digest: Digest::new(1, &[3, 4]),
            m_tree: tree,
            v_tree: tree,
            base: Some(commit),
            base_tree: Some(tree),
            context_keys: ["region".to_owned()].into(),
            gates: vec!["config.injection.ConfigMap.x".to_owned()],
        }),
        noted_digest: Some("1:abcd".to_owned()),
        placeholder: false,
        content_version: "6".to_owned(),
    }
}

#[test]
fn records_come_back() {
    let revision = revision();
    assert_eq!(
        api::read_revision(&api::write_revision(&revision)),
        Ok(revision)
    );
}

#[test]
fn newer_records_are_refused() {
    let mut object = api::write_revision(&revision());
    object["status"]["offshoot"]["format"] = 2.into();
    assert!(
        api::read_revision(&object)
            .unwrap_err()
            .contains("newer version")
    );
}

#[test]
fn times_move_only_with_the_status() {
    let ready = |status| Condition::new("Ready", status, "NoErrors", "fine");
    let first = api::merge_conditions(None, &[ready(Status::True)], 1, "t1");
    let same = api::merge_conditions(Some(&first), &[ready(Status::True)], 2, "t2");
    assert_eq!(same[0]["lastTransitionTime"], "t1");
    let other = api::merge_conditions(Some(&first), &[ready(Status::False)], 2, "t2");
    assert_eq!(other[0]["lastTransitionTime"], "t2");
}

#[test]
fn statuses_come_back() {
    let revision = revision();
    let status = model::VariantStatus {
        observed_generation: 3,
        conditions: vec![Condition::new("Ready", Status::True, "NoErrors", "fine")],
        downstream_targets: vec![model::DownstreamTarget {
            name: revision.key.name.clone(),
            lifecycle: Lifecycle::Draft,
            revision: RevisionNumber::NONE,
            workspace: revision.workspace.clone(),
            upstream_lock: revision.upstream_lock.clone(),
            render_status: revision.render_status.clone(),
            conflicts: 2,
            gates: 1,
            rejected: true,
        }],
        upstream: Some(revision.key.name),
        versions: "web/v1 → v2".to_owned(),
        deleted_downstream: None,
        handled: Some("now".to_owned()),
        injection: vec![model::InjectionNote {
            point: "config.injection.ConfigMap.endpoint".to_owned(),
            reason: "InjectionStale".to_owned(),
            message: "'eu' is gone".to_owned(),
        }],
        published_generation: Some(3),
        rollout: model::MemberMark::parse("0123456789ab canary 00ff00ff"),
    };
    let written = api::write_variant_status(None, &status, "2026-01-01T00:00:00Z");
    assert_eq!(
        api::read_variant_status(&serde_json::json!({ "status": written })),
        status
    );
    // Written again later, an equal status is the same to the byte.
    let again = api::write_variant_status(Some(&written), &status, "2027-01-01T00:00:00Z");
    assert_eq!(again, written);
}

/// A4a: a number that is not there is left out, never zero.
#[test]
fn a_draft_has_no_number() {
    let mut revision = revision();
    let files = model::Files::new();
    let written = |revision: &Revision| {
        let objects = [
            api::write_revision(revision),
            api::write_resources(revision, &files),
        ];
        objects.map(|object| {
            object["spec"]
                .get("revision")
                .and_then(serde_json::Value::as_i64)
        })
    };
    assert_eq!(written(&revision), [None, None]);
    for number in [1, -1] {
        revision.revision = RevisionNumber(number);
        assert_eq!(written(&revision), [Some(number), Some(number)]);
    }
}
