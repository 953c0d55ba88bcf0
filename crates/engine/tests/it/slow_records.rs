//! Records that take a while to be written, as those on a disk do: whoever looks at once writes at once.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Feed, Known, PortError, RecordWrite, Records};
use model::{ObjectKey, ObjectMeta, Revision};

#[derive(Debug)]
pub(crate) struct SlowRecords(pub(crate) Arc<dyn Records>);

#[async_trait::async_trait]
impl Records for SlowRecords {
    fn watch(&self, known: Known) -> Feed<Revision> {
        self.0.watch(known)
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError> {
        self.0.get(key).await
    }

    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError> {
        self.0.is_retired(key).await
    }

    fn fits(&self, record: &Revision) -> Result<(), PortError> {
        self.0.fits(record)
    }

    fn inherited(&self, key: &ObjectKey) -> Option<ObjectMeta> {
        self.0.inherited(key)
    }

    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.0.commit(writes).await
    }
}
