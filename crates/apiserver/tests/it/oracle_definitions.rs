//! What is wrong with definitions, in kube-apiserver's words and as often as it says so.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::causes;
use crate::world::{admin, ask, ask_as, shoes, still};

const ALL: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROOT: &str = "spec.validation.openAPIV3Schema";

fn boots() -> Value {
    let mut crd = shoes();
    crd["metadata"]["name"] = "boots.test.dev".into();
    crd["spec"]["names"] = json!({"plural": "boots", "kind": "Boot"});
    crd["spec"]["versions"][0]["selectableFields"] = json!([]);
    crd
}

/// What is told of a definition: fields and words.
async fn told(crd: Value) -> Vec<(String, String)> {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{ALL}?dryRun=All");
    let (code, answer) = ask(&server, Method::POST, &path, Some(crd)).await;
    if code == 201 {
        return Vec::new();
    }
    let list = answer["details"]["causes"].as_array().cloned();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let told = |cause: Value| {
        let field = text(&cause, "field").replace(ROOT, "@");
        let field = field.replace("@.properties[spec].properties[p]", "p");
        (field, text(&cause, "message"))
    };
    list.unwrap_or_else(|| vec![json!({"message": answer["message"]})])
        .into_iter()
        .map(told)
        .collect()
}

/// What is told of a property.
async fn of(property: Value) -> Vec<(String, String)> {
    let mut crd = boots();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"p": property}}}});
    told(crd).await
}

fn fields(told: &[(String, String)]) -> Vec<&str> {
    told.iter().map(|(field, _)| field.as_str()).collect()
}

#[tokio::test]
async fn schemas_are_held_to_their_structure_first() {
    let empty = "Required value: must not be empty for specified object fields";
    let cases = [
        (json!({}), vec![("p.type", empty)]),
        (
            json!({"type": "object", "additionalProperties": false}),
            vec![],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "type": "string"}),
            vec![],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
            vec![(
                "p.x-kubernetes-preserve-unknown-fields",
                "Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            )],
        ),
        (
            json!({"anyOf": [{"type": "string"}]}),
            vec![
                (
                    "p.anyOf[0].type",
                    "Forbidden: must be empty to be structural",
                ),
                ("p.type", empty),
            ],
        ),
        (
            json!({"x-kubernetes-map-type": "atomic"}),
            vec![
                ("p.type", empty),
                (
                    "p.type",
                    "Required value: must be object if x-kubernetes-map-type is specified",
                ),
            ],
        ),
        (
            json!({"type": "odd", "default": 3}),
            vec![(
                "p.type",
                "Unsupported value: \"odd\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            )],
        ),
    ];
    for (schema, wanted) in cases {
        let mut found = of(schema.clone()).await;
        found.sort();
        let mut wanted: Vec<_> = wanted
            .into_iter()
            .map(|(field, why)| (field.to_owned(), why.to_owned()))
            .collect();
        wanted.sort();
        assert_eq!(found, wanted, "{schema}");
    }
}

#[tokio::test]
async fn lists_and_their_keys_are_told_whole() {
    let list = |keys: Value, items: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items});
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}}});
    let found = of(list(json!(["k", "k", "z"]), item)).await;
    let keys = "p.x-kubernetes-list-map-keys";
    let default = "p.items.properties[k].default";
    let mut told = fields(&found);
    told.sort_unstable();
    assert_eq!(told, [default, default, keys, keys]);
    let found = of(json!({"type": "object", "x-kubernetes-list-type": "map"})).await;
    let mut told = fields(&found);
    told.sort_unstable();
    assert_eq!(told, ["p.items", "p.type", keys]);
    let odd =
        json!({"type": "array", "x-kubernetes-list-type": "odd", "items": {"type": "string"}});
    let why =
        "Unsupported value: \"odd\": supported values: \"atomic\", \"set\", \"map\"".to_owned();
    assert_eq!(
        of(odd).await,
        [("p.x-kubernetes-list-type".to_owned(), why)]
    );
}

#[tokio::test]
async fn rules_are_read_where_nothing_else_is_wrong() {
    let rules = |rules: Value| json!({"type": "string", "x-kubernetes-validations": rules});
    let at = |field: &str| format!("p.x-kubernetes-validations[{field}");
    let found = of(rules(
        json!([{"rule": "self == 3"}, {"rule": "true", "reason": "Odd"}]),
    ))
    .await;
    assert_eq!(fields(&found), [at("1].reason")]);
    let found = of(rules(json!([{"rule": "self ==\n 'a'"}]))).await;
    let why = "Required value: message must be specified if rule contains line breaks".to_owned();
    assert_eq!(found, [(at("0].message"), why)]);
    let found = of(rules(json!([{"rule": "true", "fieldPath": " "}]))).await;
    assert_eq!(fields(&found), [at("0].fieldPath"), at("0].fieldPath")]);
    let inner = json!({"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 2, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}});
    let found = of(inner).await;
    let place = format!("within {ROOT}.properties[spec].properties[p]");
    assert!(found[0].1.ends_with(&place), "{found:?}");
}

#[tokio::test]
async fn fields_to_select_by_are_looked_for_at_their_own_level() {
    let selects = |path: &str| {
        let mut crd = boots();
        crd["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": path}]);
        crd
    };
    let invalid = |path: &str, why: &str| format!("Invalid value: {path:?}: {why}");
    for (path, why) in [
        (
            "spec.size",
            "is an invalid path: expected [ or . but got: spec",
        ),
        (
            ".spec.nosuch",
            "is an invalid path: does not refer to a valid field",
        ),
        (
            ".metadata.name",
            "is an invalid path: does not refer to a valid field",
        ),
        (
            ".spec['size']",
            "is an invalid path: array notation is not allowed",
        ),
        (".", "is an invalid path: unexpected end of JSON path"),
    ] {
        let found = told(selects(path)).await;
        let field = "spec.selectableFields[0].jsonPath".to_owned();
        assert_eq!(found, [(field, invalid(path, why))]);
    }
    // What both versions say is told of both, and a schema that they do not share is none of it.
    let mut crd = selects(".spec.size");
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"] = json!({"openAPIV3Schema": {"type": "object"}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    let found = told(crd).await;
    assert_eq!(fields(&found), ["spec.selectableFields"]);
}

#[tokio::test]
async fn what_is_missing_is_told_once() {
    let bare = json!({"metadata": {"name": "boots.test.dev"}, "spec": {"group": "test.dev", "scope": "Namespaced", "names": {}, "versions": [{"storage": true, "schema": {"openAPIV3Schema": {}}}]}});
    let found = told(bare).await;
    let mut found = fields(&found);
    found.sort_unstable();
    let wanted = [
        "@.type",
        "metadata.name",
        "spec.names.kind",
        "spec.names.listKind",
        "spec.names.plural",
        "spec.names.singular",
        "spec.versions[0].name",
    ];
    assert_eq!(found, wanted);
    let mut old = boots();
    old["spec"]["versions"][0]["deprecationWarning"] = "".into();
    let why = "Invalid value: \"\": can only be set for deprecated versions".to_owned();
    let field = "spec.versions[0].deprecationWarning".to_owned();
    assert_eq!(told(old).await, [(field, why)]);
    let mut kept = boots();
    kept["spec"]["preserveUnknownFields"] = true.into();
    kept["spec"]["conversion"] = json!({"strategy": "Odd"});
    let found = told(kept).await;
    let mut found = fields(&found);
    found.sort_unstable();
    let (preserve, strategy) = ("spec.preserveUnknownFields", "spec.conversion.strategy");
    assert_eq!(found, [strategy, strategy, preserve, preserve]);
}

#[tokio::test]
async fn schemas_are_of_a_type() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut odd = boots();
    odd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = "spec".into();
    let (code, answer) = ask(&server, Method::POST, ALL, Some(odd)).await;
    assert_eq!((code, causes(&answer)), (400, Vec::<&str>::new()));
    let why = "json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.required of type []string";
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(why), "{message}");
}

#[tokio::test]
async fn formats_that_nobody_checks_are_warned_of_once() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut odd = boots();
    let root = &mut odd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    root["properties"]["spec"]["properties"]["size"] = json!({"type": "string", "format": "odd"});
    root["properties"]["spec"]["properties"]["at"] =
        json!({"type": "string", "format": "date-time"});
    let media = "application/json";
    let (code, _, warnings) =
        ask_as(&server, Method::POST, ALL, media, Some(odd), Some(admin())).await;
    let wanted = ["299 - \"unrecognized format \\\"odd\\\"\""];
    assert_eq!(
        (code, warnings.as_slice()),
        (201, &wanted.map(str::to_owned)[..])
    );
    let path = format!("{ALL}/boots.test.dev");
    let (_, made) = ask(&server, Method::GET, &path, None).await;
    let (code, _, warnings) = ask_as(
        &server,
        Method::PUT,
        &path,
        media,
        Some(made),
        Some(admin()),
    )
    .await;
    assert_eq!((code, warnings.len()), (200, 0), "that is no news");
}
