//! 8.16: refs, commits, trailers and Kptfiles after each step of a package's life.

use serde_json::{Value, json};

use super::case::{Case, parse};
use super::client::{REVISIONS, VARIANTS};
use crate::process::wait_for;

/// What stands before the name of an image that has no prefix.
const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog/";

/// The names of the refs that the record shows after a step.
fn recorded(record: &str, step: &str) -> Vec<String> {
    let section = record
        .split("##### ")
        .find(|s| s.starts_with(step))
        .unwrap();
    let section: Vec<String> = (section.lines())
        .filter(|l| l.starts_with("refs/"))
        .map(|l| l.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_ne!(section, Vec::<String>::new(), "{step}");
    section
}

fn names(refs: &str) -> Vec<String> {
    refs.lines()
        .map(|l| l.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

/// Who, what and with which `kpt:` trailer.
fn commit(case: &Case, at: &str) -> (String, String, Value) {
    let text = case.git("deploy", &["log", "-1", "--format=%cn <%ce>%n%s%n%b", at]);
    let mut lines = text.lines();
    let committer = lines.next().unwrap_or_default().to_owned();
    let subject = lines.next().unwrap_or_default().to_owned();
    let trailer = lines.find_map(|l| l.strip_prefix("kpt:")).unwrap_or("null");
    (committer, subject, serde_json::from_str(trailer).unwrap())
}

/// A Kptfile's value, without what is no property of the implementation: URL and commit.
fn comparable(kptfile: &str) -> Value {
    let mut value = parse(&kptfile.replace("<default-prefix>/", PREFIX));
    for place in ["/upstream/git", "/upstreamLock/git"] {
        if let Some(Value::Object(git)) = value.pointer_mut(place) {
            git.remove("repo");
            git.remove("commit");
        }
    }
    value
}

/// R23-R25, R50, R53.
#[tokio::test(flavor = "multi_thread")]
async fn git_layout_step_by_step() {
    let Some(case) = Case::new("layout").await else {
        return;
    };
    let record = case.record("n-git-layout.txt");
    let service = "Package Orchestration Service <porch@kpt.dev>";
    let first = "deploy.n1.packagevariant-1";
    let steps = |step: &str| assert_eq!(names(&case.refs()), recorded(&record, step), "{step}");

    steps("start");
    case.ready("git-layout").await;
    steps("draft made by the variant");
    let draft = commit(&case, "drafts/n1/packagevariant-1");
    assert_eq!(draft.0, service);
    assert_eq!(draft.2["package"], "n1");
    assert_eq!(draft.2["workspaceName"], "packagevariant-1");
    assert_eq!(draft.2["revision"], "0");
    let clone = json!({ "upstreamRef": { "upstreamRef": { "name": "blueprints.app.v1" } } });
    assert_eq!(draft.2["task"]["clone"], clone, "{}", draft.2);
    let kptfile = case.file(first, "Kptfile").await;
    assert_eq!(
        comparable(&kptfile),
        comparable(&case.record("n-kptfile-1-draft.yaml"))
    );
    let reviewed = case.git("deploy", &["rev-parse", "drafts/n1/packagevariant-1"]);

    case.api.lifecycle(first, "Proposed", "").await.unwrap();
    steps("proposed");
    let proposed = case.git("deploy", &["rev-parse", "proposed/n1/packagevariant-1"]);
    assert_eq!(proposed, reviewed, "V14: proposing adds nothing");
    case.api
        .lifecycle(first, "Draft", "/approval")
        .await
        .unwrap();
    steps("rejected back to draft");
    case.publish(first).await;
    steps("approved");
    let merge = commit(&case, "main");
    let trailer = json!({ "package": "n1", "workspaceName": "packagevariant-1", "revision": "1" });
    assert_eq!(
        merge,
        (
            service.to_owned(),
            "Approving package revision n1/1".to_owned(),
            trailer
        )
    );
    assert_eq!(
        case.git("deploy", &["rev-parse", "main^2"]),
        reviewed,
        "V14: what was reviewed"
    );
    let trees = case.git("deploy", &["rev-parse", "main:n1", "main^2:n1", "n1/v1:n1"]);
    assert_eq!(
        trees
            .lines()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        1,
        "{trees}"
    );

    upgrade(&case, &steps, service).await;
    remove(&case, &steps, first).await;
}

async fn upgrade(case: &Case, steps: &impl Fn(&str), service: &str) {
    let second = "deploy.n1.packagevariant-2";
    let patch = json!({ "spec": { "upstream": { "workspaceName": "v2" } } });
    case.api.patch(VARIANTS, "n1", patch).await.unwrap();
    case.until_lifecycle(second, "Draft").await;
    case.until_ready("n1").await;
    steps("variant moved to upstream v2");
    let (committer, subject, trailer) = commit(case, "drafts/n1/packagevariant-2");
    assert_eq!(
        (committer.as_str(), subject.as_str()),
        (service, "Upgrading revision")
    );
    let task = json!({
        "oldUpstreamRef": { "name": "blueprints.app.v1" },
        "newUpstreamRef": { "name": "blueprints.app.v2" },
        "localPackageRevisionRef": { "name": "deploy.n1.packagevariant-1" },
        "strategy": "resource-merge",
    });
    assert_eq!(
        trailer["task"],
        json!({ "type": "upgrade", "upgrade": task })
    );
    let ours = comparable(&case.file(second, "Kptfile").await);
    let theirs = comparable(&case.record("n-kptfile-4-upgrade-draft.yaml"));
    for part in ["metadata", "upstream", "upstreamLock", "info", "pipeline"] {
        assert_eq!(ours[part], theirs[part], "{part}");
    }
    assert_eq!(ours["status"]["conditions"], theirs["status"]["conditions"]);
    case.publish(second).await;
    steps("upgrade approved");
    assert_eq!(commit(case, "n1/v2").1, "Approving package revision n1/2");
}

async fn remove(case: &Case, steps: &impl Fn(&str), first: &str) {
    case.api
        .lifecycle(first, "DeletionProposed", "/approval")
        .await
        .unwrap();
    steps("first revision DeletionProposed");
    case.api.delete(REVISIONS, first).await.unwrap();
    wait_for("the first revision to go", async || {
        case.api.get(REVISIONS, first).await.is_null()
    })
    .await;
    steps("first revision deleted");
    let rows = case.revisions("deploy").await;
    assert_eq!(
        rows,
        [(
            "deploy.n1.packagevariant-2".to_owned(),
            "Published".to_owned()
        )]
    );
    case.rests().await;
}
