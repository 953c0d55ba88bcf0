//! The embedded server keeps what ports promise.

use apiserver::Server;
use objectstore::{Memory, Options};
use testkit::conformance::{World, cases};

use super::*;
use crate::gateway::definitions;

#[tokio::test]
async fn the_embedded_server_conforms() {
    for (name, case) in cases() {
        let backend = Box::new(Memory::new());
        let mut builder = Server::builder().backend(backend);
        builder = builder.store_options(Options::default());
        for crd in api::embedded_crds().unwrap() {
            builder = builder.crd(crd);
        }
        for resource in definitions(1 << 20).unwrap() {
            builder = builder.resource(resource);
        }
        let server = builder.build().await.unwrap();
        let ports = over(&server.handle(), Arc::new(functions::BuiltIns));
        let world = World::new(ports.records, ports.cluster, "default");
        case(&world)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
