//! Every form of the documents means the same (A2, A3).

use model::{TargetSelection, UpstreamVersion, VariantSetSpec, WorkspaceName};
use serde_json::{Value, json};

use crate::variant;

fn version(upstream: Value) -> UpstreamVersion {
    let mut upstream = upstream;
    upstream["repo"] = json!("blueprints");
    upstream["package"] = json!("app");
    let spec = json!({ "upstream": upstream, "downstream": { "repo": "deploy", "package": "x" } });
    let (_, _, spec) = api::read_variant(&variant(spec)).unwrap();
    spec.unwrap().upstream.version
}

/// R2, R4, R5.
#[test]
fn upstream_versions() {
    let name = |text| WorkspaceName::parse(text).unwrap();
    for three in [json!(3), json!("3"), json!("v3")] {
        assert_eq!(
            version(json!({ "revision": three })),
            UpstreamVersion::Revision(3)
        );
    }
    assert_eq!(version(json!({})), UpstreamVersion::Latest);
    assert_eq!(
        version(json!({ "revision": -1 })),
        UpstreamVersion::BranchHead
    );
    assert_eq!(
        version(json!({ "revision": "main" })),
        UpstreamVersion::Named(name("main"))
    );
    assert_eq!(
        version(json!({ "revision": "v2.0.0" })),
        UpstreamVersion::Named(name("v2.0.0"))
    );
    assert_eq!(
        version(json!({ "tag": "stable" })),
        UpstreamVersion::Tag(name("stable"))
    );
    let both = json!({ "revision": 2, "workspaceName": "v2" });
    assert_eq!(version(both), UpstreamVersion::Workspace(name("v2")));
}

fn set(target: Value) -> VariantSetSpec {
    let upstream = json!({ "repo": "blueprints", "package": "app", "revision": "v1" });
    let object = variant(json!({ "upstream": upstream, "targets": [target] }));
    api::read_set(&object).unwrap().2.unwrap()
}

/// R134, R135.
#[test]
fn package_names_inside_and_beside_a_selector() {
    let labels = json!({ "matchLabels": { "env": "prod" } });
    let mut inside = labels.clone();
    inside["packageNames"] = json!(["a", "b"]);
    let inside = set(json!({ "repositorySelector": inside }));
    let beside = set(json!({ "repositorySelector": labels, "packageNames": ["a", "b"] }));
    assert_eq!(inside, beside);
    let TargetSelection::RepositorySelector { packages, .. } = &inside.targets[0].selection else {
        panic!("{inside:?}");
    };
    assert_eq!(packages.len(), 2);
}

/// R15, R138, A3.
#[test]
fn a_single_map_is_a_list_of_one() {
    let selector = json!({ "matchLabels": {} });
    let template = |labels: Value, injectors: (&str, Value)| {
        let mut template = json!({ "labelExprs": labels });
        template[injectors.0] = injectors.1;
        set(json!({ "repositorySelector": selector, "template": template }))
    };
    let label = json!({ "key": "org", "valueExpr": "repository.labels['org']" });
    let injector = json!({ "nameExpr": "'a'" });
    assert_eq!(
        template(label.clone(), ("injectors", injector.clone())),
        template(json!([label]), ("injectorExprs", json!([injector])))
    );
}

/// R8, R10, R11, R12, R14, R15.
#[test]
fn written_specs_read_back() {
    let spec = json!({
        "upstream": { "repo": "blueprints", "package": "app", "revision": 2 },
        "downstream": { "repo": "deploy", "package": "x" },
        "deletionPolicy": "orphan",
        "labels": { "a": "b" },
        "packageContext": { "data": { "k": "v" }, "removeKeys": ["old"] },
        "pipeline": { "mutators": [{ "image": "set-labels", "configMap": { "z": "1", "a": "2" } }] },
        "injectors": [{ "kind": "ConfigMap", "name": "eu" }],
        "conflictPolicy": "Local",
    });
    let read = api::read_variant(&variant(spec.clone()))
        .unwrap()
        .2
        .unwrap();
    assert_eq!(api::write_variant_spec(&read), spec);
}

/// R184–R186: what an entry of `upstreams` may be, and that `upstream` is a list of one.
#[test]
fn upstreams_of_sets() {
    let target = json!({ "repositories": [{ "name": "east" }] });
    let read = |spec: Value| api::read_set(&variant(spec)).unwrap().2.unwrap().upstreams;
    let package = json!({ "repo": "blueprints", "package": "app", "revision": "v1" });
    let one = read(json!({ "upstream": package, "targets": [target] }));
    assert_eq!(
        one,
        read(json!({ "upstreams": [package], "targets": [target] }))
    );
    let all = read(json!({
        "upstreams": [
            package,
            { "revisionSet": "stack" },
            { "selector": { "matchLabels": { "stack": "shop" } } },
            { "repo": "blueprints", "selector": { "matchExpressions": [{ "key": "stack", "operator": "Exists" }] } },
        ],
        "targets": [target],
    }));
    assert_eq!(all[..1], one);
    assert!(matches!(&all[1], model::UpstreamSource::Set(name) if name.as_str() == "stack"));
    let labels = |source: &model::UpstreamSource| match source {
        model::UpstreamSource::Labels { repo, selector } => Some((repo.clone(), selector.clone())),
        _ => None,
    };
    let (repo, selector) = labels(&all[2]).unwrap();
    assert_eq!(repo, None);
    assert_eq!(
        selector.match_labels.get("stack").map(String::as_str),
        Some("shop")
    );
    let (repo, selector) = labels(&all[3]).unwrap();
    assert_eq!(repo.unwrap().as_str(), "blueprints");
    assert_eq!(selector.requirements.len(), 1);
    let object = json!({ "spec": { "upstreams": [package] } });
    assert_eq!(api::read_revision_set(&object).unwrap(), one);
}
