//! Users besides the administrator: their kubeconfig, and what roles let them do with packages.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use offshoot::client::Client;
use serde_json::json;

use crate::edges::register;
use crate::process::Process;

const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
const RESOURCES: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";
const REPOSITORIES: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

#[tokio::test(flavor = "multi_thread")]
async fn a_user_does_with_packages_what_a_role_says() {
    let root = tempfile::tempdir().unwrap();
    let offshoot = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["user", "ann", "--group", "web", "--data"])
            .arg(root.path().join("data"))
            .args(arguments)
            .output()
            .unwrap()
    };
    assert!(!offshoot(&[]).status.success(), "there is no authority yet");
    let log = root.path().join("audit.log");
    let server = Process::start(root.path(), &["--audit-log", &log.display().to_string()]).await;
    let file = root.path().join("ann.kubeconfig");
    let output = offshoot(&["--output", &file.display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ann = Client::with(&file).await.unwrap();
    let told = ann.get(REVISIONS).await.unwrap_err().to_string();
    assert!(
        told.contains(
            "User \"ann\" cannot list resource \"packagerevisions\" in API group \"porch.kpt.dev\""
        ),
        "{told}"
    );
    let bind = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "web"}],
        })
    };
    let repository = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "r"},
        "spec": {"type": "git", "git": {"repo": "https://127.0.0.1:9/r.git"}},
    });
    let revision = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": {"packageName": "p", "repositoryName": "none", "workspaceName": "w"},
    });
    let refused = |answer: Result<serde_json::Value, offshoot::ExitFailure>| {
        answer.is_err_and(|e| e.to_string().contains("is forbidden: User \"ann\""))
    };
    let approval = format!("{REVISIONS}/r.p.w/approval");
    for (role, writes, administers) in [
        ("view", false, false),
        ("edit", true, false),
        ("admin", true, true),
    ] {
        server.create(BINDINGS, &bind(role)).await;
        assert!(ann.get(REVISIONS).await.is_ok(), "{role}");
        assert!(ann.get(RESOURCES).await.is_ok(), "{role}");
        // What is allowed fails for another reason: there is no such repository.
        let draft = ann.post(REVISIONS, &revision).await;
        assert_eq!(refused(draft), !writes, "{role}");
        let mut named = revision.clone();
        named["metadata"] = json!({"name": "r.p.w", "namespace": "default"});
        let approved = ann.put(&approval, &named).await;
        assert_eq!(refused(approved), !administers, "{role}");
        assert_eq!(
            refused(ann.post(REPOSITORIES, &repository).await),
            !administers,
            "{role}"
        );
    }
    // A role in one namespace says nothing about others.
    assert!(refused(
        ann.get("/apis/porch.kpt.dev/v1alpha1/packagerevisions")
            .await
    ));
    assert!(refused(
        ann.get(&REVISIONS.replace("default", "kube-system")).await
    ));
    // What was asked stands in the audit log.
    let text = std::fs::read_to_string(&log).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let approvals = events
        .filter(|e| e["objectRef"]["subresource"] == "approval" && e["user"]["username"] == "ann");
    let codes: Vec<i64> = approvals
        .filter_map(|e| e["responseStatus"]["code"].as_i64())
        .collect();
    assert_eq!(codes, [403, 403, 404]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_published_goes_by_an_approvers_word_alone() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = Process::start(root, &[]).await;
    register(&server, root, "deploy", false).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "edit"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
    });
    server.create(BINDINGS, &binding).await;
    let file = root.join("ann.kubeconfig");
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["user", "ann", "--data"])
        .arg(root.join("data"))
        .arg("--output")
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let ann = Client::with(&file).await.unwrap();
    let mut draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": {"packageName": "p", "repository": "deploy", "workspaceName": "w", "lifecycle": "Draft",
            "tasks": [{"type": "init", "init": {"description": "a package"}}]},
    });
    ann.post(REVISIONS, &draft).await.unwrap();
    let path = format!("{REVISIONS}/deploy.p.w");
    let approval = format!("{path}/approval");
    for (who, path, lifecycle) in [
        (&ann, &path, "Proposed"),
        (&server.client, &approval, "Published"),
        (&ann, &path, "DeletionProposed"),
    ] {
        draft = who.get(&path.replace("/approval", "")).await.unwrap();
        draft["spec"]["lifecycle"] = lifecycle.into();
        who.put(path, &draft).await.unwrap();
    }
    let told = ann.delete(&path).await.unwrap_err().to_string();
    assert!(
        told.contains(
            "its deletion is approved by whoever may approve: User \"ann\" cannot update resource \
             \"packagerevisions/approval\""
        ),
        "{told}"
    );
    assert!(server.client.get(&path).await.is_ok(), "it is still there");
    goes_with_no_owner(&ann, &path).await;
    server.client.delete(&path).await.unwrap();
    // A draft is its maker's.
    draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {},
        "spec": {"packageName": "p", "repository": "deploy", "workspaceName": "x", "lifecycle": "Draft",
            "tasks": [{"type": "init", "init": {"description": "a package"}}]},
    });
    ann.post(REVISIONS, &draft).await.unwrap();
    ann.delete(&format!("{REVISIONS}/deploy.p.x"))
        .await
        .unwrap();
}

/// Whoever may write a revision names an owner of it, and takes that away: the collector of garbage is no approver. A draft beside it
/// goes, so that it was there.
async fn goes_with_no_owner(ann: &Client, path: &str) {
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}});
    let map = ann.post(maps, &map).await.unwrap();
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "uid": map["metadata"]["uid"]}]);
    let mut published = ann.get(path).await.unwrap();
    published["metadata"]["ownerReferences"] = owner.clone();
    ann.put(path, &published).await.unwrap();
    let draft = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "metadata": {"ownerReferences": owner},
        "spec": {"packageName": "q", "repository": "deploy", "workspaceName": "w", "lifecycle": "Draft",
            "tasks": [{"type": "init", "init": {"description": "a package"}}]},
    });
    ann.post(REVISIONS, &draft).await.unwrap();
    ann.delete(&format!("{maps}/own")).await.unwrap();
    let beside = format!("{REVISIONS}/deploy.q.w");
    for _ in 0..200 {
        if ann.get(&beside).await.is_err() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(ann.get(&beside).await.is_err(), "the draft has gone");
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let there = ann.get(path).await.unwrap();
    assert_eq!(there["spec"]["lifecycle"], "DeletionProposed");
}

/// An explanation tells what its object holds: whoever may not read the object is told nothing of it, or whether it is there.
#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_takes_the_right_to_its_object() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let server = Process::start(root, &[]).await;
    let file = root.join("ann.kubeconfig");
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["user", "ann", "--data"])
        .arg(root.join("data"))
        .args(["--output", &file.display().to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let ann = Client::with(&file).await.unwrap();
    let explanations = "/apis/fleet.offshoot.dev/v1alpha1/namespaces/default/explanations";
    let roles = BINDINGS.replace("rolebindings", "roles");
    let may = async |name: &str, group: &str, resources: &[&str]| {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"verbs": ["get"], "apiGroups": [group], "resources": resources}],
        });
        server.create(&roles, &role).await;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
        });
        server.create(BINDINGS, &binding).await;
    };
    let told = async |name: &str| {
        let answer = ann.get(&format!("{explanations}/{name}")).await;
        answer.unwrap_err().to_string()
    };
    let asked = [
        ("packagevariant.web", "packagevariants"),
        ("packagevariantset.web", "packagevariantsets"),
        ("blame.deploy.web.v1", "packagerevisions"),
    ];
    may("explanations", "fleet.offshoot.dev", &["explanations"]).await;
    for (name, resource) in asked {
        let told = told(name).await;
        let missing = format!("cannot get resource {resource:?}");
        assert!(
            told.contains("forbidden") && told.contains(&missing),
            "{told}"
        );
    }
    may("revisions", "porch.kpt.dev", &["packagerevisions"]).await;
    let contents = told("blame.deploy.web.v1").await;
    assert!(
        contents.contains("\"packagerevisionresources\""),
        "{contents}"
    );
    may("contents", "porch.kpt.dev", &["packagerevisionresources"]).await;
    may(
        "fleet",
        "config.porch.kpt.dev",
        &["packagevariants", "packagevariantsets"],
    )
    .await;
    for (name, _) in asked {
        let told = told(name).await;
        assert!(told.contains("not found"), "{told}");
    }
}
