//! What is accepted although it was hardly meant is told, and a refusal says why to clients that show causes alone.

use serde_json::{Value, json};

use super::{REPOSITORIES, RESOURCES, REVISIONS, condition, register, until};
use crate::bulk::BULK;
use crate::compatible::replace;
use crate::process::{Process, repository};

const NAME: &str = "deploy.mine.v1";

async fn draft(server: &Process) {
    let made = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "spec": {
            "packageName": "mine", "repository": "deploy", "workspaceName": "v1",
            "tasks": [{ "type": "init", "init": {} }],
        },
    });
    server.create(REVISIONS, &made).await;
    drop(server.client.take_warnings());
}

/// The draft's files, changed.
async fn with(server: &Process, change: impl Fn(&mut Value)) -> Value {
    let mut files = server.get(&format!("{RESOURCES}/{NAME}")).await;
    change(&mut files["spec"]["resources"]);
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_although_it_was_hardly_meant_is_told() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", true).await;
    draft(&server).await;
    let place = format!("{RESOURCES}/{NAME}");
    let broken = with(&server, |files| {
        files["x.yaml"] = "kind: [x\n".into();
        let kptfile = files["Kptfile"].as_str().unwrap();
        files["Kptfile"] = format!("{kptfile}pipeline:\n  mutatorz: []\n").into();
    })
    .await;
    server.client.put(&place, &broken).await.unwrap();
    let told = server.client.take_warnings();
    let file = told.iter().find(|w| w.starts_with("x.yaml: line "));
    let file = file.unwrap_or_else(|| panic!("{told:?}"));
    let field = told.iter().find(|w| w.contains("`pipeline.mutatorz`"));
    let field = field.unwrap_or_else(|| panic!("{told:?}"));
    assert!(field.ends_with("(did you mean `mutators`?)"), "{field}");
    let saved = server.get(&format!("{REVISIONS}/{NAME}")).await;
    let (status, reason, message) = condition(&saved, "Rendered");
    assert_eq!((&*status, &*reason), ("True", "FilesNotRead"));
    assert_eq!(message, format!("{field}; {file}"));
    // Whoever proposes it hears of it, too: no gate waits for a file that only a cluster would read.
    let mut proposal = saved;
    proposal["spec"]["lifecycle"] = "Proposed".into();
    let path = format!("{REVISIONS}/{NAME}");
    server.client.put(&path, &proposal).await.unwrap();
    let told = server.client.take_warnings();
    let wanted = format!("some of its files cannot be read: {message}");
    assert!(told.contains(&wanted), "{told:?}");

    let mut object = repository(root.path(), "odd", false);
    object["spec"]["sync"] = json!({ "schedule": "bad cron" });
    server.create(REPOSITORIES, &object).await;
    let told = server.client.take_warnings();
    assert!(
        told.iter()
            .any(|w| w.starts_with("spec.sync.schedule: \"bad cron\"")),
        "{told:?}"
    );
    let path = format!("{REPOSITORIES}/odd");
    let ready = until(&server, &path, "Ready", |c| c.0 == "True").await;
    assert!(ready.2.contains("spec.sync.schedule"), "{ready:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_has_causes() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", true).await;
    draft(&server).await;
    let place = format!("{RESOURCES}/{NAME}");
    let failing = with(&server, |files| {
        files["bad.yaml"] = "a: [b\n".into();
        let kptfile = files["Kptfile"].as_str().unwrap();
        files["Kptfile"] =
            format!("{kptfile}pipeline:\n  mutators:\n  - image: set-labels\n").into();
    })
    .await;
    let without = with(&server, |files| {
        files.as_object_mut().unwrap().remove("Kptfile");
    })
    .await;
    let mut published = server.get(&format!("{REVISIONS}/{NAME}")).await;
    published["spec"]["lifecycle"] = "Published".into();
    let plain = "FieldValueInvalid";
    let revision = format!("{REVISIONS}/{NAME}");
    for (path, object, reason, words) in [
        (&place, failing, plain, "bad.yaml: line 1"),
        (&place, without, plain, "Kptfile"),
        (&revision, published, "UnfitLifecycle", "rpkg approve"),
    ] {
        let (code, answer) = replace(&server, path, &object).await;
        assert_eq!(code, 422, "{answer}");
        let causes = answer["details"]["causes"].as_array().unwrap();
        let told = causes.iter().any(|cause| {
            !cause["field"].as_str().unwrap_or_default().is_empty()
                && cause["reason"] == reason
                && cause["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(words))
        });
        assert!(told, "{words}: {answer}");
    }
}

/// What programs do about an entry of many does not hang on its words.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_many_has_a_cause() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    register(&server, root.path(), "deploy", true).await;
    draft(&server).await;
    let other = "0123456789abcdef0123456789abcdef01234567";
    for (change, result, reason, cause) in [
        (
            json!({"verb": "approve"}),
            "Skipped",
            Value::Null,
            "UnfitLifecycle",
        ),
        (
            json!({"verb": "propose", "tree": other}),
            "Refused",
            json!("Conflict"),
            "ChangedSinceSeen",
        ),
    ] {
        let mut change = change;
        change["name"] = NAME.into();
        let body = json!({
            "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange", "spec": {"changes": [change]},
        });
        let answer = server.client.post(BULK, &body).await.unwrap();
        let told = &answer["status"]["results"][0];
        assert_eq!(
            (&told["result"], &told["reason"]),
            (&json!(result), &reason),
            "{told}"
        );
        assert_eq!(told["cause"], cause, "{told}");
    }
}
