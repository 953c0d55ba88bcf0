//! Watches, each from a version that the sequence has seen, so that what they tell lies in the past.

use serde_json::json;

use super::Maker;
use super::things::{CONFIG, GADGET, NOTE, OLD_GADGET, object};

const FORMS: &[&str] = &[
    "resourceVersion=V",
    "resourceVersion=V&labelSelector=turn",
    "resourceVersion=V&labelSelector=turn%3D1",
    "resourceVersion=V&fieldSelector=metadata.name%3Da",
    "resourceVersion=V&fieldSelector=metadata.name%21%3Da",
    "resourceVersion=V&allowWatchBookmarks=true",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=V&allowWatchBookmarks=true",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=true",
    "sendInitialEvents=false&resourceVersion=V&resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=V",
    "resourceVersion=V&resourceVersionMatch=NotOlderThan",
    "resourceVersion=abc",
    "resourceVersion=-1",
    "labelSelector=in%20in",
    "fieldSelector=odd%3Dx",
    "resourceVersion=V&limit=1",
    "resourceVersion=V&continue=x",
    "resourceVersion=V&timeoutSeconds=abc",
    "",
    "resourceVersion=V&fieldSelector=spec.size%3Dsmall",
];

/// Changes first, watches of them after.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(&[GADGET, GADGET, NOTE, CONFIG]);
    let mut versions = vec![maker.step("GET", &kind.all()).id()];
    for _ in 0..10 {
        let name = maker.pick(&["a", "b"]);
        let id = match maker.roll(6) {
            0 | 1 => {
                let body = object(maker, kind, name);
                maker.post(&kind.all(), body)
            }
            2 => maker.step("DELETE", &kind.one(name)).id(),
            _ => {
                let value = maker.pick(&[json!("1"), json!("2"), json!(null)]);
                maker
                    .step("PATCH", &kind.one(name))
                    .header("content-type", "application/merge-patch+json")
                    .json(json!({"metadata": {"labels": {"turn": value}}}))
                    .id()
            }
        };
        versions.push(id);
    }
    let seen = versions[0];
    for _ in 0..7 {
        let form = maker
            .pick(FORMS)
            .replace("=V", &format!("={{{{{seen}:/metadata/resourceVersion}}}}"));
        let kind = if kind == GADGET && maker.chance(20) {
            OLD_GADGET
        } else {
            kind
        };
        let path = format!("{}?watch=true&{form}", kind.all());
        let accept = maker.pick(&[
            "application/json",
            "application/json",
            "application/json",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/yaml",
        ]);
        maker.step("GET", &path).header("accept", accept).watch();
    }
}
