//! Discovery in both forms, its ETags before and after definitions change, and the documents of OpenAPI.

use serde_json::json;

use super::Maker;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const OLDER: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Documents asked again with what they were known by.
pub(super) fn make(maker: &mut Maker) {
    maker.alone = true;
    maker.home();
    let mut known = Vec::new();
    for round in 0..2 {
        for _ in 0..5 {
            let (path, accept) = document(maker);
            let id = maker.step("GET", path).header("accept", accept).id();
            known.push((id, path, accept));
        }
        for _ in 0..6 {
            let (id, path, accept) = maker.pick(&known);
            let tag = match maker.roll(8) {
                0 => "*".to_owned(),
                1 => "\"nosuch\"".to_owned(),
                2 => format!("\"nosuch\", {{{{{id}:/etag}}}}"),
                3 => format!("W/{{{{{id}:/etag}}}}"),
                _ => format!("{{{{{id}:/etag}}}}"),
            };
            maker
                .step("GET", path)
                .header("accept", accept)
                .header("if-none-match", &tag);
        }
        if round == 0 {
            change(maker);
        }
    }
    maker.step(
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parts.$N.example.dev",
    );
    maker.step("GET", "/apis/$N.example.dev").eventually();
    maker
        .step("GET", "/apis")
        .header("accept", AGGREGATED)
        .eventually();
}

fn document(maker: &mut Maker) -> (&'static str, &'static str) {
    let path = maker.pick(&[
        "/api",
        "/apis",
        "/apis",
        "/apis",
        "/apis/differ.example.dev",
        "/apis/differ.example.dev/v1",
        "/apis/differ.example.dev/v1beta1",
        "/api/v1",
        "/apis/rbac.authorization.k8s.io/v1",
        "/apis/apiextensions.k8s.io/v1",
        "/apis/coordination.k8s.io/v1",
        "/apis/differ.example.dev/v2",
        "/apis/nosuch.dev",
        "/apis/nosuch.dev/v1",
        "/apis/$N.example.dev",
        "/apis/$N.example.dev/v1",
        "/api/",
        "/apis/",
        "/apis/differ.example.dev/v1/",
        "/apis/events.k8s.io/v1",
        "/api/v2",
    ]);
    let accept = maker.pick(&[AGGREGATED, AGGREGATED, OLDER, "application/json", "application/json", "*/*", "application/yaml", "text/html",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer"]);
    (path, accept)
}

fn change(maker: &mut Maker) {
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let body = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "parts.$N.example.dev"},
        "spec": {"group": "$N.example.dev", "scope": "Cluster", "names": {"plural": "parts", "kind": "Part"}, "versions": [version]},
    });
    maker.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        body,
    );
    maker.step("GET", "/apis/$N.example.dev/v1").eventually();
    maker
        .step("GET", "/apis/$N.example.dev/v1/parts")
        .eventually();
    maker
        .step("GET", "/apis")
        .header("accept", AGGREGATED)
        .eventually();
}
