//! What somebody else does between a look of the engine and its write: nothing that asks for anything.

use std::sync::Arc;

use engine::ports::{Change, Expect, RecordWrite, Records};
use model::{ObjectKey, Pairs};

use super::ledger::{Label, Ledger};
use super::ports::Ports;

impl Ports {
    pub(super) fn touch_variant(&self, key: &ObjectKey) -> bool {
        let found = self.twin.variant(key.namespace.as_str(), key.name.as_str());
        let Some(mut variant) = found.and_then(|v| v.parsed.ok()).map(Arc::unwrap_or_clone) else {
            return false;
        };
        touch(
            &mut Arc::make_mut(&mut variant.meta).annotations,
            &self.ledger,
        );
        self.twin.put_variant(variant);
        true
    }

    pub(super) fn touch_set(&self, key: &ObjectKey) -> bool {
        let found = self.twin.set(key.namespace.as_str(), key.name.as_str());
        let Some(mut set) = found.and_then(|s| s.parsed.ok()) else {
            return false;
        };
        touch(&mut set.meta.annotations, &self.ledger);
        self.twin.put_set(set);
        true
    }

    pub(super) fn touch_repository(&self, key: &ObjectKey) -> bool {
        let found = self
            .twin
            .repository(key.namespace.as_str(), key.name.as_str());
        let Some(mut repository) = found.and_then(|r| r.parsed.ok()) else {
            return false;
        };
        touch(&mut repository.meta.annotations, &self.ledger);
        self.twin.put_repository(repository);
        true
    }

    /// Somebody labels the record, and is told that it is done.
    pub(super) async fn touch_record(&self, key: &ObjectKey) {
        let Ok(Some(mut record)) = Records::get(&*self.twin, key).await else {
            return;
        };
        let label = self.ledger.open().fresh("beside");
        let version = record.meta.resource_version.clone();
        record.meta.labels.insert(label.clone(), "yes".to_owned());
        let uid = record.meta.uid.clone();
        let write = RecordWrite {
            expect: Expect::Version(version),
            change: Change::Put(Box::new(record)),
        };
        let done = Records::commit(&*self.twin, vec![write]).await;
        if done.iter().all(Result::is_ok) {
            let record = key.clone();
            let label = Label { record, uid, label };
            self.ledger.open().promise_label(label);
        }
    }
}

/// A touch by somebody else, which asks for nothing.
fn touch(annotations: &mut Pairs, ledger: &Ledger) {
    let value = ledger.open().fresh("touch");
    annotations.insert("sim.example.test/touched".to_owned(), value);
}
