use std::sync::Arc;

use yaml::owned::Value;

use super::{Schemas, run};
use crate::config::Config;
use crate::{Item, wire};

const OPENAPI: &str = r##"{
  "swagger": "2.0",
  "definitions": {
    "io.k8s.api.apps.v1.Deployment": {
      "type": "object",
      "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {"$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"}
      },
      "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    },
    "io.k8s.api.apps.v1.DeploymentSpec": {
      "type": "object",
      "required": ["selector", "template"],
      "properties": {
        "replicas": {"type": "integer", "format": "int32"},
        "selector": {"type": "object"},
        "strategy": {"type": "string", "enum": ["Recreate", "RollingUpdate"]},
        "maxSurge": {"$ref": "#/definitions/IntOrString"},
        "memory": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"},
        "template": {"type": "object", "additionalProperties": {"type": "string"}}
      }
    },
    "IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"}
  }
}"##;

fn value(text: &str) -> Value {
    wire::parse_value(text).unwrap()
}

fn check(spec: &str, config: &str) -> (Vec<String>, String) {
    let mut schemas = Schemas::default();
    schemas.add("swagger.json", OPENAPI).unwrap();
    let text =
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {spec}\n");
    let mut items = vec![Item {
        path: Some("web.yaml".to_owned()),
        ..Item::made(value(&text))
    }];
    let before = Arc::clone(&items[0].value);
    let config = value(config);
    let report = run(&mut items, Config(Some(&config)), Some(&schemas));
    assert!(
        Arc::ptr_eq(&before, &items[0].value),
        "a validator changes nothing"
    );
    let told = report.results.iter().map(|result| {
        let field = result.field.clone().unwrap_or_default();
        format!("{field}: {}", result.message)
    });
    (told.collect(), report.stderr)
}

#[test]
fn errors_are_told_in_kubeconforms_words() {
    for (spec, config, wanted) in [
        (
            "{replicas: invalid}",
            "data: {strict: 'true'}",
            vec![
                "spec: missing properties 'selector', 'template'",
                "spec.replicas: got string, want null or integer",
            ],
        ),
        (
            "{selector: {}, template: {}, replicas: null}",
            "data: {}",
            vec![],
        ),
        (
            "{selector: null, template: {a: 1}}",
            "data: {}",
            vec![
                "spec.selector: got null, want object",
                "spec.template.a: got number, want null or string",
            ],
        ),
        (
            "{selector: {}, template: {}, strategy: Never, maxSurge: 25%, memory: 1}",
            "data: {}",
            vec!["spec.strategy: value must be one of 'Recreate', 'RollingUpdate'"],
        ),
        (
            "{selector: {}, template: {}, more: 1}",
            "data: {strict: 'false'}",
            vec![],
        ),
        (
            "{selector: {}, template: {}, more: 1}",
            "strict: true",
            vec!["spec: additional properties 'more' not allowed"],
        ),
        (
            "{}",
            "data: {skip_kinds: 'ConfigMap, apps/v1/Deployment'}",
            vec![],
        ),
    ] {
        assert_eq!(check(spec, config).0, wanted, "{spec} {config}");
    }
}

#[test]
fn a_kind_without_schema_is_named_and_passes() {
    let mut items = vec![Item::made(value(
        "apiVersion: a.io/v1\nkind: A\nmetadata: {name: a}\n",
    ))];
    let mut schemas = Schemas::default();
    let report = run(&mut items, Config(None), Some(&schemas));
    assert!(!report.failed());
    assert_eq!(
        report.stderr,
        "a.io/v1 A: there is no schema, so it is not checked\n"
    );
    let definition = "kind: CustomResourceDefinition\nspec:\n  group: a.io\n  names: {kind: A}\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema: {type: object, required: [spec]}\n";
    schemas.add("a.yaml", definition).unwrap();
    let report = run(&mut items, Config(None), Some(&schemas));
    assert_eq!(report.results[0].message, "missing property 'spec'");
}

#[test]
fn without_schemas_the_error_names_the_flag() {
    let report = run(&mut Vec::new(), Config(None), None);
    assert!(report.failed() && report.results[0].message.contains("--schemas=DIR"));
    let error = Schemas::default().add("x.json", "{").unwrap_err();
    assert!(error.to_string().starts_with("x.json: "), "{error}");
}

/// Kubernetes' own document, where a test run is told of one (`OFFSHOOT_OPENAPI`).
#[test]
fn kubernetes_own_document_finds_what_is_wrong() {
    let Some(path) = std::env::var_os("OFFSHOOT_OPENAPI") else {
        eprintln!("skipped: OFFSHOOT_OPENAPI names no api/openapi-spec/swagger.json of Kubernetes");
        return;
    };
    let mut schemas = Schemas::default();
    schemas
        .add("swagger.json", &std::fs::read_to_string(path).unwrap())
        .unwrap();
    assert!(schemas.len() > 100, "{} kinds", schemas.len());
    let text = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: three
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers:
      - image: nginx
        resources: {limits: {cpu: 1, memory: 1Gi}}
        ports: [{containerPort: http, portName: x}]
";
    let mut items = vec![Item::made(value(text))];
    let strict = value("data: {strict: 'true'}");
    let report = run(&mut items, Config(Some(&strict)), Some(&schemas));
    let told: Vec<String> = report
        .results
        .iter()
        .map(|result| {
            format!(
                "{}: {}",
                result.field.clone().unwrap_or_default(),
                result.message
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "spec.replicas: got string, want null or integer",
            "spec.template.spec.containers.0: missing property 'name'",
            "spec.template.spec.containers.0.ports.0.containerPort: got string, want integer",
            "spec.template.spec.containers.0.ports.0: additional properties 'portName' not allowed",
        ]
    );
}
