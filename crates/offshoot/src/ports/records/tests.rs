//! What a write answers is what a read finds.

use apiserver::Server;
use engine::ports::{Change, Expect, RecordWrite, Records};
use model::{FunctionResult, FunctionResultItem, PackedRenderStatus, RenderStatus, Severity};
use objectstore::{Memory, Options};
use serde_json::json;

use super::*;
use crate::gateway::definitions;

fn revision() -> Revision {
    let mut revision = api::read_revision(&json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {
            "name": "deploy.app.v1", "namespace": "default", "labels": { "a": "b" },
            "annotations": { "c": "d" }, "finalizers": ["example.com/hold"],
            "ownerReferences": [{
                "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant", "name": "v",
                "uid": "7e8f4dbb-3b2a-4b44-8f35-2f4a6f1d2c11", "controller": true,
            }],
        },
        "spec": {
            "repository": "deploy", "packageName": "app", "workspaceName": "v1", "lifecycle": "Draft",
            "tasks": [{ "type": "edit", "edit": { "sourceRef": { "name": "deploy.app.v0" } } }],
        },
        "status": { "offshoot": {
            "format": 1,
            "commit": "0123456789012345678901234567890123456789",
            "tree": "9876543210987654321098765432109876543210",
        } },
    }))
    .unwrap();
    revision.render_status = Some(PackedRenderStatus::from(&RenderStatus {
        error: None,
        steps: vec![FunctionResult {
            name: "check".to_owned(),
            image: Some("example.com/check:v1".to_owned()),
            exec: None,
            validator: true,
            stderr: "a line".to_owned(),
            exit_code: 0,
            results: vec![FunctionResultItem {
                message: "seen".to_owned(),
                severity: Severity::Info,
                resource: None,
                field: Some("spec.replicas".to_owned()),
                current: Some("1".to_owned()),
                proposed: None,
                file: Some(("app.yaml".to_owned(), Some(0))),
                tags: Vec::new(),
            }],
        }],
    }));
    revision
}

#[tokio::test]
async fn a_write_answers_what_a_read_finds() {
    let mut builder = Server::builder()
        .memory(Memory::new())
        .store_options(Options::default());
    for resource in definitions(1 << 20).unwrap() {
        builder = builder.resource(resource);
    }
    let server = builder.build().await.unwrap();
    let records = ServerRecords::new(server.handle(), 2 << 20, Arc::default());
    let key = revision().key;
    let put = async |revision: Revision, expect: Expect| {
        let change = Change::Put(Box::new(revision));
        let answers = records.commit(vec![RecordWrite { expect, change }]).await;
        let answered = answers.into_iter().next().unwrap().unwrap().unwrap();
        let found = records.get(&key).await.unwrap().unwrap();
        assert_eq!(answered, found);
        answered
    };
    let first = put(revision(), Expect::Absent).await;
    assert!(!first.meta.resource_version.is_empty() && first.meta.uid.is_some());
    let mut again = first.clone();
    again
        .package_labels
        .insert("team".to_owned(), "one".to_owned());
    let version = Expect::Version(first.meta.resource_version.clone());
    let second = put(again, version).await;
    assert_ne!(second.meta.resource_version, first.meta.resource_version);
    assert_eq!(
        (
            &second.meta.uid,
            &second.meta.created,
            second.meta.generation
        ),
        (&first.meta.uid, &first.meta.created, 2)
    );
}
