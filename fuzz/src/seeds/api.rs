//! What runs against the API server begin with: what clients send, and what Go's encoders write.

use base64::Engine as _;
use serde_json::Value;

use super::joined;

/// What Go's encoders wrote, beside its JSON.
const GOLDEN: &str = include_str!("../../../crates/apiserver/src/http/protobuf/golden.jsonl");

const SHOE: &str = "apiVersion: test.dev/v1\nkind: Shoe\nmetadata:\n  name: one\n  labels: {app: shop, new: \"1\"}\nspec:\n  size: 41\n  max: 50\n  laces:\n  - {id: a, length: 3}\n  - {id: b, length: 50%}\n  tags: [x, y]\n  free: {a: [1, {b: null}]}\nstatus: {worn: true}\n";
const MAP: &str = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\",\"annotations\":{\"a/b\":\"c\"},\"finalizers\":[\"a.b/c\"]},\"data\":{\"k\":\"v\"},\"binaryData\":{\"b\":\"AP8=\"}}";
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: hats.fuzz.dev}\nspec:\n  group: fuzz.dev\n  scope: Namespaced\n  names: {plural: hats, singular: hat, kind: Hat, shortNames: [ht]}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {status: {}, scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}}\n    selectableFields: [{jsonPath: .spec.colour}]\n    additionalPrinterColumns: [{name: C, type: string, jsonPath: '.spec.colour'}]\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            required: [colour]\n            x-kubernetes-validations:\n            - {rule: 'self.count < 10 || self.colour == \"red\"', message: few, fieldPath: .count, reason: FieldValueForbidden}\n            - {rule: 'self.colour == oldSelf.colour', messageExpression: '\"was \" + oldSelf.colour'}\n            properties:\n              colour: {type: string, enum: [red, blue], maxLength: 9}\n              count: {type: integer, format: int32, default: 1, minimum: 0, exclusiveMaximum: true, maximum: 99, multipleOf: 1}\n              any: {x-kubernetes-int-or-string: true, pattern: '^[0-9]+%?$'}\n              open: {type: object, x-kubernetes-preserve-unknown-fields: true, nullable: true}\n              sizes: {type: array, maxItems: 5, x-kubernetes-list-type: set, items: {type: number}}\n              parts:\n                type: array\n                maxItems: 4\n                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [name, port]\n                items: {type: object, required: [name], properties: {name: {type: string, maxLength: 5}, port: {type: integer, default: 80}}}\n              by: {type: object, maxProperties: 3, additionalProperties: {type: string, format: date-time}}\n              pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}\n            oneOf: [{required: [count]}, {required: [any]}]\n            not: {required: [sizes, parts]}\n          status: {type: object, properties: {count: {type: integer}}}\n";
const HAT: &str = "apiVersion: fuzz.dev/v1\nkind: Hat\nmetadata: {name: h}\nspec:\n  colour: red\n  count: 3\n  open: {x: 1}\n  parts: [{name: a}, {name: a, port: 81}]\n  by: {t: '2020-01-01T00:00:00Z'}\n  pod: {apiVersion: v1, kind: Pod, metadata: {name: p}}\n";

/// A seed with its choosing byte before it.
fn chosen(at: usize, text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(at).unwrap_or_default()][..], text].concat()
}

fn each(choices: usize, texts: &[&str]) -> Vec<Vec<u8>> {
    let pairs = texts
        .iter()
        .flat_map(|text| (0..choices).map(move |at| chosen(at, text.as_bytes())));
    pairs.collect()
}

pub(crate) fn paths() -> Vec<Vec<u8>> {
    each(
        3,
        &[
            "api/v1/namespaces/mine/configmaps/one",
            "api/v1/namespaces/other/secrets/one",
            "api/v1/namespaces/mine%2F..%2Fother/configmaps/one",
            "api/v1/namespaces/mine/configmaps/..%2fother%2fone",
            "api/v1/configmaps?fieldSelector=metadata.namespace%3Dmine&limit=2",
            "api/v1/watch/namespaces/mine/configmaps?resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1",
            "apis/test.dev/v1/namespaces/mine/shoes/one/status?pretty=true",
            "apis/test.dev/v1/namespaces/mine/shoes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1",
            "apis/test.dev/v1/namespaces/mine/shoes?resourceVersion=30&resourceVersionMatch=Exact&limit=1",
            "apis/apiextensions.k8s.io/v1/customresourcedefinitions/shoes.test.dev",
            "openapi/v3/apis/test.dev/v1?hash=x",
            "openapi/v2",
            "apis//v1",
            "healthz/ping?verbose",
            "api/v1/namespaces/mine?dryRun=All&propagationPolicy=Foreground&gracePeriodSeconds=-1",
        ],
    )
}

pub(crate) fn selectors() -> Vec<Vec<u8>> {
    let pairs = [
        ("app=shop,tier!=edge", "metadata.name=one"),
        (
            "app in (shop, x),tier notin (a),!gone,app",
            "spec.size=40,metadata.namespace=mine",
        ),
        ("app", "metadata.name!=one,metadata.name==two"),
        ("a.b/c=d", "involvedObject.kind=Pod,type!=Normal"),
        ("tier=edge,app=shop", "metadata.namespace=other"),
        ("x>1,y<2", "reason=\\,x\\=y"),
        ("", ""),
    ];
    let texts: Vec<Vec<u8>> = pairs
        .iter()
        .map(|(labels, fields)| joined(&[labels, fields]))
        .collect();
    (0..3)
        .flat_map(|at| texts.iter().map(move |text| chosen(at, text)))
        .collect()
}

pub(crate) fn tokens() -> Vec<Vec<u8>> {
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let own = [
        "{\"v\":\"meta.k8s.io/v1\",\"rv\":20,\"start\":\"one\\u0000\"}",
        "{\"v\":\"meta.k8s.io/v1\",\"rv\":-1,\"start\":\"../other/one\\u0000\"}",
        "{\"v\":\"meta.k8s.io/v1\",\"rv\":99999,\"start\":\"\"}",
        "{\"v\":\"x\"}",
    ];
    let mut all: Vec<String> = own.into_iter().map(encode).collect();
    all.extend([
        "@".to_owned(),
        "@A".to_owned(),
        "e30".to_owned(),
        String::new(),
    ]);
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    each(3, &texts)
}

pub(crate) fn patches() -> Vec<Vec<u8>> {
    each(
        12,
        &[
            "{\"metadata\":{\"labels\":{\"a\":\"b\",\"app\":null}},\"data\":{\"k\":\"v\"},\"spec\":{\"size\":44,\"laces\":[{\"id\":\"a\"}]}}",
            "[{\"op\":\"test\",\"path\":\"/metadata/name\",\"value\":\"one\"},{\"op\":\"add\",\"path\":\"/metadata/labels/x~1y\",\"value\":\"z\"},{\"op\":\"remove\",\"path\":\"/metadata/labels/app\"}]",
            "[{\"op\":\"replace\",\"path\":\"/spec/size\",\"value\":9},{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"/spec/free\"},{\"op\":\"move\",\"from\":\"/spec/free/size\",\"path\":\"/spec/free/a\"}]",
            "{\"metadata\":{\"finalizers\":[\"a.b/c\"],\"$deleteFromPrimitiveList/finalizers\":[\"x\"],\"$setElementOrder/ownerReferences\":[{\"uid\":\"u\"}]},\"data\":{\"$patch\":\"replace\",\"z\":\"y\"}}",
            "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"two\",\"uid\":\"u\"},{\"$patch\":\"delete\",\"uid\":\"v\"}],\"managedFields\":[{}],\"resourceVersion\":\"1\"}}",
            "{\"status\":{\"worn\":true},\"$retainKeys\":[\"status\"]}",
            "null",
        ],
    )
}

pub(crate) fn applies() -> Vec<Vec<u8>> {
    let mut all = each(4, &[SHOE, MAP]);
    all.extend(each(2, &[
        "apiVersion: test.dev/v1\nkind: Shoe\nmetadata: {name: one, finalizers: [a.b/c]}\nspec: {laces: [{id: b}, {id: a, length: 1}], tags: [z, x]}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: two, uid: u}]}\ndata: {a: y, yes: \"no\"}\nimmutable: on\n",
        "apiVersion: test.dev/v1\nkind: Shoe\nspec: {size: ~, tags: [], free: {}}\n",
    ]));
    all.push(chosen(65, SHOE.as_bytes()));
    all.push(chosen(
        66,
        SHOE.replace("name: one", "name: new").as_bytes(),
    ));
    all
}

pub(crate) fn definitions() -> Vec<Vec<u8>> {
    let two = CRD.replace("  versions:\n", "  conversion: {strategy: None}\n  versions:\n  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n");
    let deep = CRD.replace(
        "colour: {type: string",
        "deep: {type: array, items: {type: array, items: {type: object, additionalProperties: {type: array, items: {type: string}}}}}\n              colour: {type: string",
    );
    let rules = CRD.replace(
        "self.count < 10",
        "self.parts.all(p, self.parts.exists(q, p.name.startsWith(q.name) && q.port > 1))",
    );
    vec![
        joined(&[CRD, HAT]),
        joined(&[&two, HAT]),
        joined(&[&deep, HAT]),
        joined(&[&rules, HAT]),
        joined(&[&CRD.replace("Namespaced", "Cluster"), HAT]),
    ]
}

pub(crate) fn bodies() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for line in GOLDEN.lines() {
        let golden: Value = serde_json::from_str(line).unwrap_or_default();
        let text = golden.get("json").map(Value::to_string).unwrap_or_default();
        let encoded = golden.get("protobuf").and_then(Value::as_str);
        let bytes = encoded.and_then(|e| base64::engine::general_purpose::STANDARD.decode(e).ok());
        let kinds = [
            "ConfigMap\"",
            "Secret\"",
            "Event\"",
            "Shoe\"",
            "Lease\"",
            "ServiceAccount\"",
            "Role\"",
            "RoleBinding\"",
        ];
        let plural = kinds
            .iter()
            .position(|kind| text.starts_with(&format!("{{\"kind\":\"{kind}")));
        let plural = plural.unwrap_or_default() * 3;
        // An object of its own, so that it is made rather than refused.
        let text = text
            .replace("\"namespace\":\"ns\",", "")
            .replace("\"resourceVersion\":\"12\",", "");
        all.push(chosen(plural, text.as_bytes()));
        all.extend(bytes.map(|bytes| chosen(plural + 2, &bytes)));
    }
    all.extend(each(
        2,
        &[
            MAP,
            SHOE,
            "[]",
            "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u\"}}",
        ],
    ));
    all.push(chosen(
        10,
        SHOE.replace("name: one", "name: new").as_bytes(),
    ));
    all
}
