//! Nothing is made in what goes, also where it went after it was looked at.

use std::sync::Arc;

use async_trait::async_trait;
use objects::Resource;
use objects::write::delete::DeleteOptions;
use objects::write::update::Means;
use objects::write::{Prepared, WriteOptions};
use objectstore::{Expect, Memory, Options};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::gateway::{Call, CallAnswer, Gateway, Refusal, RefusalClass};
use crate::server::Server;
use crate::verbs::handle::ServerHandle;
use crate::verbs::records::Record;

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

fn shoes() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shoes.test.dev"},
        "spec": {
            "group": "test.dev", "scope": "Namespaced", "names": {"plural": "shoes", "singular": "shoe", "kind": "Shoe", "listKind": "ShoeList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}

/// A kind of the embedding program.
fn crates() -> Resource {
    let definition = json!({"spec": {
        "group": "ware.dev", "scope": "Namespaced", "names": {"plural": "crates", "kind": "Crate"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }}}],
    }});
    Resource::from_crd(&definition).unwrap().write_through()
}

/// A server with a namespace `going`.
async fn server() -> Server {
    let builder = Server::builder()
        .memory(Memory::new())
        .store_options(Options::default())
        .counted_uids(1)
        .crd(shoes())
        .resource(crates());
    let server = builder.build().await.unwrap();
    let core = Arc::clone(server.handle().core());
    let namespaces = target(&core, "", "namespaces", "");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}});
    let (whose, options) = (core.own("test"), WriteOptions::default());
    let made = core.create(&namespaces, &whose, body, &options).await;
    made.unwrap();
    server
}

fn target(core: &Core, group: &str, plural: &str, namespace: &str) -> RequestTarget {
    let catalog = core.registry.catalog();
    RequestTarget::stored(catalog.get(group, plural).unwrap(), namespace, "")
}

/// An object that was computed, and not written yet.
fn computed(core: &Core, target: &RequestTarget, body: Value) -> Prepared {
    let (options, moment) = (WriteOptions::default(), core.moment());
    let rules = target.rules().unwrap();
    rules
        .create(body, "going", &options, &moment, Means::Post)
        .unwrap()
}

async fn delete(core: &Core, target: RequestTarget, name: &str) {
    let target = target.at("", name);
    let (whose, options) = (core.own("test"), DeleteOptions::default());
    core.delete(&target, &whose, &options).await.unwrap();
}

#[tokio::test]
async fn a_namespace_that_goes_before_the_write_gets_nothing_more() {
    let server = server().await;
    let core = Arc::clone(server.handle().core());
    let (whose, options) = (core.own("test"), WriteOptions::default());
    let maps = target(&core, "", "configmaps", "going").at("going", "late");
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}});
    let late = || computed(&core, &maps, body.clone());
    let write = async |late| core.create_once(&maps, &whose, late, &options).await;

    let held = late();
    delete(&core, target(&core, "", "namespaces", ""), "going").await;
    let refused = write(held).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            403,
            "configmaps \"late\" is forbidden: unable to create new content in namespace going because it is being terminated"
        )
    );
    server.handle().settle().await.unwrap();
    assert!(core.store.get("namespaces", "going").is_none());
    let refused = write(late()).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (404, "namespaces \"going\" not found")
    );
    assert_eq!(core.store.count("configmaps"), 0);
}

#[tokio::test]
async fn a_definition_that_goes_before_the_write_gets_nothing_more() {
    let server = server().await;
    let core = Arc::clone(server.handle().core());
    let (whose, options) = (core.own("test"), WriteOptions::default());
    let shoes = target(&core, "test.dev", "shoes", "going").at("going", "late");
    let body = json!({"apiVersion": "test.dev/v1", "kind": "Shoe", "metadata": {"name": "late"}});
    let write = async |late| core.create_once(&shoes, &whose, late, &options).await;

    let held = computed(&core, &shoes, body.clone());
    let definitions = target(
        &core,
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "",
    );
    delete(&core, definitions, "shoes.test.dev").await;
    let refused = write(held.clone()).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            405,
            "create not allowed while custom resource definition is terminating"
        )
    );
    // It is told before anything is computed, too.
    let asked = core.create(&shoes, &whose, body, &options).await;
    assert_eq!(asked.unwrap_err(), refused);
    server.handle().settle().await.unwrap();
    assert!(core.store.get(DEFINITIONS, "shoes.test.dev").is_none());
    let refused = write(held).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (404, "404 page not found\n")
    );
    assert_eq!(core.store.count("shoes.test.dev"), 0);
}

#[tokio::test]
async fn nothing_is_answered_under_a_definition_that_the_store_has_no_more() {
    let server = server().await;
    let core = Arc::clone(server.handle().core());
    let ask = async || {
        let path = "/apis/test.dev/v1/namespaces/going/shoes";
        let request = http::Request::get(path).extension(core.own("test"));
        let request = request.body(axum::body::Body::empty()).unwrap();
        let answer = server.router("127.0.0.1:0").oneshot(request).await;
        answer.unwrap().status().as_u16()
    };
    assert_eq!(ask().await, 200);
    let definitions = target(
        &core,
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "",
    );
    let gone = definitions.at("", "shoes.test.dev");
    let removal = core.op(&gone, Expect::Any, None).unwrap();
    // Those who watch are told with the commit, and may ask before what is served has followed.
    core.store.commit(vec![removal]).await.unwrap();
    assert!(core.registry.catalog().get("test.dev", "shoes").is_some());
    assert_eq!(ask().await, 404);
}

/// Takes so long that the namespace goes meanwhile, then writes the record.
struct Slow(ServerHandle);

#[async_trait]
impl Gateway for Slow {
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal> {
        let core = self.0.core();
        delete(core, target(core, "", "namespaces", ""), &call.namespace).await;
        self.0.settle().await.unwrap();
        let record = Record {
            group: call.group,
            resource: call.resource,
            namespace: call.namespace,
            name: call.name,
            expect: Expect::Absent,
            object: call.new,
            manager: String::new(),
        };
        let written = self.0.commit(vec![record]).await;
        let written = written.map_err(|e| Refusal::new(RefusalClass::Bug, e.to_string()))?;
        Ok(CallAnswer {
            object: written.first().map(|o| o.value()).unwrap_or_default(),
            ..CallAnswer::default()
        })
    }
}

#[tokio::test]
async fn a_namespace_that_goes_while_the_gateway_works_gets_no_record() {
    let server = server().await;
    server.set_gateway(Arc::new(Slow(server.handle())));
    let core = Arc::clone(server.handle().core());
    let (whose, options) = (core.own("test"), WriteOptions::default());
    let target = target(&core, "ware.dev", "crates", "going");
    let body = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": "late"}});
    let refused = core.create(&target, &whose, body, &options).await;
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (404, "namespaces \"going\" not found")
    );
    assert_eq!(core.store.count("crates.ware.dev"), 0);
}
