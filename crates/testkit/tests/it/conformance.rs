//! The twin keeps what ports promise: what simulations find is found over something like a cluster.

use std::sync::Arc;

use testkit::conformance::{World, cases};
use testkit::twin::Twin;

#[tokio::test]
async fn the_twin_conforms() {
    for (name, case) in cases() {
        let twin = Twin::new();
        let world = World::new(Arc::clone(&twin) as _, twin as _, "shop");
        case(&world)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
