use model::{
    CommitId, Condition, FunctionResult, FunctionResultItem, GitLock, GitSource, Lifecycle,
    Namespace, ObjectKey, ObjectMeta, ObjectName, OwnerReference, PackageName, PackedRenderStatus,
    Pairs, ReadinessGate, RenderStatus, RepositoryName, ResourceRef, Revision, RevisionNumber,
    Severity, Status, Task, TreeId, Uid, WorkspaceName,
};

use super::{CodecError, Record, decode_intent, decode_machine, encode_intent, encode_machine};

fn record() -> Revision {
    let lock = GitLock {
        repo: "https://x/y.git".to_owned(),
        directory: "app".to_owned(),
        git_ref: "app/v1".to_owned(),
        commit: CommitId::from_bytes(&[7; 20]),
    };
    Revision {
        key: ObjectKey::new(
            Namespace::parse("default").expect("a namespace"),
            ObjectName::parse("deploy.app.ws").expect("a name"),
        ),
        meta: ObjectMeta {
            uid: Uid::parse("u").ok(),
            resource_version: "17".to_owned(),
            generation: 3,
            created: "2026-01-01T00:00:00Z".to_owned(),
            deleted: Some("2026-01-02T00:00:00Z".to_owned()),
            labels: Pairs::from_iter([("a".to_owned(), "b".to_owned())]),
            annotations: Pairs::from_iter([("c".to_owned(), "d".to_owned())]),
            finalizers: vec!["f".to_owned()],
            owners: vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "K".to_owned(),
                name: "n".to_owned(),
                uid: Uid::parse("o").expect("a uid"),
                controller: true,
                block_owner_deletion: false,
            }],
        },
        repository: RepositoryName::parse("deploy").expect("a name"),
        package: PackageName::parse("app").expect("a name"),
        workspace: WorkspaceName::parse("ws").expect("a name"),
        revision: RevisionNumber(2),
        lifecycle: Lifecycle::Published,
        tasks: vec![Task::CloneGit(GitSource {
            repo: "https://x/y.git".to_owned(),
            git_ref: "main".to_owned(),
            directory: "app".to_owned(),
            secret: Some("s".to_owned()),
        })],
        readiness_gates: vec![ReadinessGate {
            condition_type: "g".to_owned(),
        }],
        package_labels: Pairs::from_iter([("l".to_owned(), "1".to_owned())]),
        package_annotations: Pairs::from_iter([("m".to_owned(), "2".to_owned())]),
        resolved_conflicts: Vec::new(),
        upstream_lock: Some(lock.clone()),
        self_lock: Some(lock),
        conditions: vec![Condition::new(
            "Rendered",
            Status::True,
            "RenderSuccess",
            "fine",
        )],
        deployment: true,
        published_by: "alice".to_owned(),
        published_at: "2026-01-01T00:00:00Z".to_owned(),
        conflicts: Vec::new(),
        render_status: Some(PackedRenderStatus::from(&render_status())),
        commit: CommitId::from_bytes(&[8; 20]).expect("an id"),
        tree: TreeId::from_bytes(&[9; 20]).expect("an id"),
        machine: Some(crate::tests::machine()),
        noted_digest: Some("1:ab".to_owned()),
        placeholder: false,
        content_version: "16".to_owned(),
    }
}

fn render_status() -> RenderStatus {
    RenderStatus {
        error: Some("e".to_owned()),
        steps: vec![FunctionResult {
            name: "set".to_owned(),
            image: Some("set:v1".to_owned()),
            exec: None,
            validator: true,
            stderr: "oops".to_owned(),
            exit_code: -1,
            results: vec![FunctionResultItem {
                message: "m".to_owned(),
                severity: Severity::Warning,
                resource: Some(ResourceRef {
                    api_version: "v1".to_owned(),
                    kind: "K".to_owned(),
                    namespace: String::new(),
                    name: "n".to_owned(),
                }),
                field: Some("spec.a".to_owned()),
                current: Some("1".to_owned()),
                proposed: None,
                file: Some(("a.yaml".to_owned(), Some(2))),
                tags: vec![("k".to_owned(), "v".to_owned())],
            }],
        }],
    }
}

#[test]
fn a_record_comes_back_whole_from_its_intent() {
    let records = vec![
        Record::Put {
            record: Box::new(record()),
            at_branch_commit: true,
        },
        Record::Delete(record().key),
    ];
    let bytes = encode_intent(&records);
    assert_eq!(decode_intent(&bytes), Ok(records));
}

#[test]
fn a_newer_format_is_refused_and_a_missing_field_is_named() {
    let text = encode_machine(&crate::tests::machine(), &[]);
    assert_eq!(
        decode_machine(&text),
        Ok((crate::tests::machine(), Vec::new()))
    );
    let newer = text.replace("\"format\":1", "\"format\":2");
    assert_eq!(decode_machine(&newer), Err(CodecError::Newer(2)));
    let broken = text.replace("\"workspace\":\"packagevariant-1\",", "");
    assert_eq!(
        decode_machine(&broken),
        Err(CodecError::Field("workspace".to_owned()))
    );
    assert!(decode_intent(b"{\"format\": 2, \"records\": []}").is_err());
}

#[test]
fn the_trailer_of_today_is_read_for_ever() {
    // Frozen: what format 1 looks like (X7).
    let text = "{\"format\":1,\"owner\":{\"namespace\":\"default\",\"name\":\"shop\",\"uid\":\"u-1\"},\
        \"workspace\":\"packagevariant-1\",\
        \"digest\":\"1:0101010101010101010101010101010101010101010101010101010101010101\",\
        \"fullDigest\":\"1:0202020202020202020202020202020202020202020202020202020202020202\",\
        \"m\":\"0303030303030303030303030303030303030303\",\"v\":\"0404040404040404040404040404040404040404\",\
        \"base\":\"0505050505050505050505050505050505050505\",\"baseTree\":null,\
        \"gates\":[\"config.injection.ConfigMap.eu\"],\"contextKeys\":[\"region\"]}";
    assert_eq!(
        decode_machine(text),
        Ok((crate::tests::machine(), Vec::new()))
    );
    assert_eq!(encode_machine(&crate::tests::machine(), &[]), text);
}
