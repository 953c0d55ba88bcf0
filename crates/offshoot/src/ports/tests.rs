//! The embedded server keeps what ports promise.

use apiserver::Server;
use futures::FutureExt as _;
use objectstore::{Memory, Options};
use serde_json::Value;
use testkit::conformance::{World, cases};

use super::*;
use crate::gateway::definitions;

/// Of what kind people make an object.
pub(crate) fn resource(object: &Value) -> ResourceName {
    match object["kind"].as_str() {
        Some("Repository") => repositories(),
        _ => sets(),
    }
}

#[tokio::test]
async fn the_embedded_server_conforms() {
    for (name, case) in cases() {
        let mut builder = Server::builder().memory(Memory::new());
        builder = builder.store_options(Options::default());
        for crd in api::embedded_crds().unwrap() {
            builder = builder.crd(crd);
        }
        for resource in definitions(1 << 20).unwrap() {
            builder = builder.resource(resource);
        }
        let server = builder.build().await.unwrap();
        let ports = over(&server.handle(), Arc::new(functions::BuiltIns));
        let handle = server.handle();
        let world = World::new(ports, "default", move |object| {
            let handle = handle.clone();
            async move {
                let whose = handle.own("tests");
                let resource = resource(&object);
                let made = handle.create(&resource, "default", object, &whose).await;
                made.unwrap();
            }
            .boxed()
        });
        case(&world)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
