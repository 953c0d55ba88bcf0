//! Expressions of sets before they decide anything: on a laptop, and when a set is written.

use serde_json::json;

use crate::local::offshoot;
use crate::process::Process;

const SETS: &str = "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";

/// R156, A4a: a set whose expressions cannot be compiled is taken as it is written, and whoever writes it is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_that_cannot_be_compiled_is_warned_about() {
    let root = tempfile::tempdir().unwrap();
    let server = Process::start(root.path(), &[]).await;
    let set = |name: &str, expression: &str| {
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": { "name": name, "namespace": "default" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "app", "revision": 1 },
                "targets": [{
                    "repositories": [{ "name": "east" }],
                    "template": { "downstream": { "packageExpr": expression } },
                }],
            },
        })
    };
    server.client.take_warnings();
    for (name, expression) in [("fine", "packageDefault"), ("plain", "'a'")] {
        server
            .client
            .post(SETS, &set(name, expression))
            .await
            .unwrap();
        assert_eq!(server.client.take_warnings(), [""; 0]);
    }
    server
        .client
        .post(SETS, &set("wrong", "nope"))
        .await
        .unwrap();
    let told = "spec.targets[0].template.downstream.packageExpr: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')";
    assert_eq!(server.client.take_warnings(), [told]);
}

/// R150–R153, R156: what a set's expression yields, and where it is wrong.
#[test]
fn an_expression_is_evaluated_without_a_server() {
    let root = tempfile::tempdir().unwrap();
    let vars =
        "repoDefault: east\npackageDefault: app\ntarget:\n  name: site\n  labels: {region: eu}\n";
    std::fs::write(root.path().join("vars.yaml"), vars).unwrap();
    std::fs::write(root.path().join("odd.yaml"), "target: {labels: {n: 1}}\n").unwrap();
    let eval = |arguments: &[&str]| {
        let all = [&["template", "eval", "--expr"], arguments].concat();
        offshoot(root.path(), &all, "")
    };
    let answer = eval(&[
        "target.labels['region'] + '-' + packageDefault",
        "--vars",
        "vars.yaml",
    ]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (0, "eu-app\n"),
        "{}",
        answer.err
    );
    let wrong = |arguments: &[&str], part: &str| {
        let answer = eval(arguments);
        assert_eq!((answer.code, answer.out.as_str()), (1, ""));
        assert!(answer.err.contains(part), "{}", answer.err);
    };
    wrong(&["'a' +"], "ERROR: <input>:1:6: Syntax error");
    wrong(&["nothing"], " | nothing\n | ^");
    wrong(
        &["1 + 1"],
        "unsupported type conversion from 'int' to string",
    );
    wrong(
        &["repository.name", "--repo-expr"],
        "it is not available in downstream.repoExpr",
    );
    wrong(
        &["target.labels['zone']", "--vars", "vars.yaml"],
        "no such key: zone",
    );
    wrong(
        &["'x'", "--vars", "odd.yaml"],
        "variables hold texts and mappings only",
    );
    wrong(
        &["'x'", "--vars", "missing.yaml"],
        "cannot read missing.yaml",
    );
    assert_eq!(eval(&[]).code, 64);
}
