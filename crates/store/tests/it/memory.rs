//! The memory twin passes the suite, written in place and as a remote.

use std::sync::Arc;

use async_trait::async_trait;
use store::conformance::{World, cases, run};
use store::{Error, MemoryStore, Repo, Store};

struct Memory {
    store: Arc<MemoryStore>,
    url: &'static str,
}

#[async_trait]
impl World for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn url(&self) -> String {
        self.url.to_owned()
    }

    async fn outside(&self) -> Result<Arc<dyn Repo>, Error> {
        self.store.outside(self.url)
    }

    fn restart(&self) {
        self.store.crash(|_, _| false);
    }
}

async fn all(url: &'static str) {
    for case in cases() {
        let store = Arc::new(MemoryStore::default());
        store.serve(url);
        let world = Arc::new(Memory { store, url });
        run(world, &case).await.unwrap();
    }
}

#[tokio::test]
async fn conforms_in_place() {
    all("file:///repo").await;
}

#[tokio::test]
async fn conforms_as_a_remote() {
    all("https://git.example/repo").await;
}
