//! The exact texts of Porch (R16, A4).

use serde_json::{Value, json};

use crate::variant;

fn variant_text(spec: Value) -> String {
    let (_, _, spec) = api::read_variant(&variant(spec)).unwrap();
    model::join_problems(&spec.unwrap_err())
}

fn set_text(spec: Value) -> String {
    let (_, _, spec) = api::read_set(&variant(spec)).unwrap();
    model::join_problems(&spec.unwrap_err())
}

fn fine() -> Value {
    json!({
        "upstream": { "repo": "blueprints", "package": "app", "workspaceName": "v1" },
        "downstream": { "repo": "deploy", "package": "x" },
    })
}

fn fine_with(key: &str, value: Value) -> Value {
    let mut spec = fine();
    spec[key] = value;
    spec
}

/// R2, R8, R16.
#[test]
fn missing_fields() {
    assert_eq!(
        variant_text(json!({})),
        "missing required field spec.upstream; missing required field spec.downstream"
    );
    assert_eq!(
        variant_text(json!({ "upstream": {}, "downstream": {} })),
        "missing required field spec.upstream.repo; missing required field spec.upstream.package; \
         missing required field spec.downstream.repo; missing required field spec.downstream.package"
    );
}

/// R9, R10, R16.
#[test]
fn policies() {
    let mut spec = fine_with("adoptionPolicy", json!("adoptAll"));
    spec["deletionPolicy"] = json!("keep");
    assert_eq!(
        variant_text(spec),
        "spec.adoptionPolicy field can only be \"adoptNone\" or \"adoptExisting\"; \
         spec.deletionPolicy can only be \"orphan\" or \"delete\""
    );
}

/// R13, R16.
#[test]
fn reserved_context_keys() {
    let context = json!({ "data": { "name": "a", "package-path": "b" }, "removeKeys": ["name"] });
    assert_eq!(
        variant_text(fine_with("packageContext", context)),
        "spec.packageContext.data: Invalid value: {\"name\":\"a\",\"package-path\":\"b\"}: \
         must not contain the key \"name\"; \
         spec.packageContext.removeKeys: Invalid value: [\"name\"]: must not contain the key \"name\"; \
         spec.packageContext.data: Invalid value: {\"name\":\"a\",\"package-path\":\"b\"}: \
         must not contain the key \"package-path\""
    );
}

/// R15, R16.
#[test]
fn injectors_need_names() {
    let injectors = json!([{ "name": "a" }, { "kind": "ConfigMap" }]);
    assert_eq!(
        variant_text(fine_with("injectors", injectors)),
        "spec.injectors[1].name must not be empty"
    );
}

/// R3.
#[test]
fn forms_that_disagree() {
    let mut spec = fine();
    spec["upstream"]["revision"] = json!(2);
    assert_eq!(
        variant_text(spec),
        "spec.upstream: `revision` and `workspaceName` name different revisions"
    );
    let mut spec = fine();
    spec["upstream"] = json!({ "repo": "a", "package": "b", "revision": 0 });
    assert!(variant_text(spec).starts_with("spec.upstream.revision: Invalid value: 0"));
}

/// R131-R133, R139, R140.
#[test]
fn sets() {
    assert_eq!(
        set_text(json!({ "upstream": {}, "targets": [] })),
        "spec.upstream.package is a required field; spec.upstream.repo is a required field; \
         must specify at least one item in spec.targets"
    );
    let upstream = json!({ "repo": "blueprints", "package": "app" });
    assert_eq!(
        set_text(json!({ "upstream": upstream, "targets": [{}] })),
        "spec.targets[0] must specify one of `repositories`, `repositorySelector`, or `objectSelector`"
    );
    let target = json!({
        "repositories": [{ "name": "", "packageNames": [""] }],
        "objectSelector": {},
        "template": {
            "adoptionPolicy": "x",
            "downstream": { "repo": "a", "repoExpr": "b" },
            "labelExprs": [{ "key": "a", "keyExpr": "b", "value": "c" }],
            "injectors": [{ "kind": "K" }],
            "pipeline": { "mutators": [{ "image": "i", "name": "foo.bar" }], "validators": [{}] },
        },
    });
    assert_eq!(
        set_text(json!({ "upstream": upstream, "targets": [target] }))
            .split("; ")
            .collect::<Vec<_>>(),
        [
            "spec.targets[0].repositories[0].name cannot be empty",
            "spec.targets[0].repositories[0].packageNames[0] cannot be empty",
            "spec.targets[0].objectselector.apiVersion cannot be empty",
            "spec.targets[0].objectselector.kind cannot be empty",
            "spec.targets[0] must specify one of `repositories`, `repositorySelector`, or `objectSelector`",
            "spec.targets[0].template.adoptionPolicy can only be \"adoptNone\" or \"adoptExisting\"",
            "spec.targets[0].template may specify only one of `downstream.repo` and `downstream.repoExpr`",
            "spec.targets[0].template.labelExprs[0] may specify only one of `key` and `keyExpr`",
            "spec.targets[0].template.injectors[0] must specify either `name` or `nameExpr`",
            "spec.targets[0].template.pipeline.validators[0].image must not be empty",
            "spec.targets[0].template.pipeline.mutators[0].name must not contain '.'",
        ]
    );
}

#[test]
fn file_keys_that_no_package_may_hold() {
    let object =
        json!({ "spec": { "resources": { "../x": "", "a.yaml": "", "A.yaml": "", "b": 1 } } });
    let problems = api::read_resources(&object).unwrap_err();
    let fields: Vec<_> = problems.iter().map(|p| p.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.resources[../x]",
            "spec.resources[A.yaml]",
            "spec.resources[b]"
        ]
    );
}

#[test]
fn addresses_with_credentials_are_refused_without_showing_them() {
    let object = json!({
        "metadata": { "name": "r", "namespace": "default" },
        "spec": { "git": { "repo": "https://user:secret@git.example.test/x.git" } },
    });
    let text = model::join_problems(&api::read_repository(&object).unwrap_err());
    assert!(
        text.contains("credentials do not belong into the address") && !text.contains("secret@")
    );
}

fn upstreams_text(upstreams: &Value) -> String {
    let target = json!({ "repositories": [{ "name": "east" }] });
    set_text(json!({ "upstreams": upstreams, "targets": [target] }))
}

/// R184–R186: several upstream packages, with the paths of what is wrong.
#[test]
fn several_upstreams() {
    let text = |upstream: Value| upstreams_text(&json!([upstream]));
    assert_eq!(
        upstreams_text(&json!([])),
        "spec.upstreams must have at least one entry"
    );
    assert_eq!(
        set_text(json!({
            "upstream": { "repo": "a", "package": "b" },
            "upstreams": [{ "repo": "a", "package": "b" }],
            "targets": [{ "repositories": [{ "name": "east" }] }],
        })),
        "spec must specify only one of `upstream` and `upstreams`"
    );
    assert_eq!(
        text(json!({})),
        "spec.upstreams[0] must specify one of `package`, `revisionSet`, or `selector`"
    );
    assert_eq!(
        text(json!({ "repo": "blueprints" })),
        "spec.upstreams[0].package is a required field"
    );
    assert_eq!(
        text(json!({ "repo": "blueprints", "package": "app", "revision": 0 }))
            .split(": ")
            .take(2)
            .collect::<Vec<_>>(),
        ["spec.upstreams[0].revision", "Invalid value"]
    );
    assert_eq!(
        text(json!({ "repo": "a", "package": "b", "tag": "stable", "revision": 1 })),
        "spec.upstreams[0]: `tag` cannot be combined with `revision` or `workspaceName`"
    );
    assert_eq!(
        text(json!({ "revisionSet": "stack", "package": "app", "repo": "blueprints" })),
        "spec.upstreams[0]: `revisionSet` cannot be combined with `package` and `repo`"
    );
    assert_eq!(
        text(json!({ "selector": { "matchLabels": { "a": "b" } }, "revision": 1 })),
        "spec.upstreams[0]: `selector` cannot be combined with `revision`"
    );
    assert_eq!(
        text(json!({ "selector": {} })),
        "spec.upstreams[0].selector must name at least one label"
    );
    assert_eq!(
        text(json!({ "selector": { "matchLabels": { "a": "b" }, "kind": "ConfigMap" } })),
        "spec.upstreams[0].selector.kind: a selector of package revisions has no such field"
    );
    assert_eq!(
        text(json!({ "selector": { "matchLabels": "a" } })),
        "spec.upstreams[0].selector.matchLabels: must be a mapping of texts"
    );
    assert_eq!(
        upstreams_text(&json!([{ "revisionSet": "stack" }, { "revisionSet": "Not A Name" }]))
            .split(": ")
            .take(3)
            .collect::<Vec<_>>(),
        [
            "spec.upstreams[1].revisionSet",
            "Invalid value",
            "\"Not A Name\""
        ]
    );
}

/// R185: the selection that sets share says what is wrong in the same words.
#[test]
fn package_revision_sets() {
    let text = |upstreams: Value| {
        let object = json!({ "spec": { "upstreams": upstreams } });
        model::join_problems(&api::read_revision_set(&object).unwrap_err())
    };
    assert_eq!(
        text(json!([])),
        "spec.upstreams must have at least one entry"
    );
    assert_eq!(
        text(json!([{}])),
        "spec.upstreams[0] must specify one of `package` and `selector`"
    );
    assert_eq!(
        text(json!([{ "revisionSet": "other" }])),
        "spec.upstreams[0]: a PackageRevisionSet cannot take another one"
    );
    assert_eq!(
        text(json!([{ "repo": "a", "package": "b" }, { "package": "c" }])),
        "spec.upstreams[1].repo is a required field"
    );
}

/// Names that are missing are said to be, not shown as `""`.
#[test]
fn empty_names_are_not_quoted() {
    assert_eq!(
        upstreams_text(&json!([{ "revisionSet": "" }])),
        "spec.upstreams[0].revisionSet must not be empty"
    );
    let error = model::PackageName::parse("").unwrap_err();
    assert_eq!(error.to_string(), "package must not be empty");
    let error = model::label("", "x").unwrap_err();
    assert_eq!(error, "the key must not be empty");
}

/// What revisions carry by the server's own word.
#[test]
fn marks_of_the_server_are_given_by_no_variant() {
    for (field, key) in [
        ("labels", "kpt.dev/latest-revision"),
        ("labels", "offshoot.dev/set"),
        ("annotations", "offshoot.dev/rejected-by"),
    ] {
        let said = variant_text(fine_with(field, json!({ key: "true" })));
        assert_eq!(
            said,
            format!("spec.{field}: {key} is set by the server alone")
        );
    }
}
