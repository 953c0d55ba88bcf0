//! The twin as the store of records.

use async_trait::async_trait;
use engine::ports::{Change, Expect, Feed, Known, PortError, RecordWrite, Records};
use model::{Class, ObjectKey, ObjectMeta, Revision};

use super::Twin;

#[async_trait]
impl Records for Twin {
    fn watch(&self, _known: Known) -> Feed<Revision> {
        self.state().revisions.watch()
    }

    async fn get(&self, key: &ObjectKey) -> Result<Option<Revision>, PortError> {
        Ok(self.state().revisions.get(key).cloned())
    }

    async fn is_retired(&self, key: &ObjectKey) -> Result<bool, PortError> {
        Ok(self.state().retired.contains(key))
    }

    fn fits(&self, record: &Revision) -> Result<(), PortError> {
        match self.state().large.contains(&record.key) {
            true => Err(PortError::new(
                Class::Limit,
                format!("write record {}", record.key),
                "it is too large",
            )),
            false => Ok(()),
        }
    }

    fn inherited(&self, key: &ObjectKey) -> Option<ObjectMeta> {
        self.state().inherited.get(key).cloned()
    }

    async fn commit(&self, writes: Vec<RecordWrite>) -> Vec<Result<Option<Revision>, PortError>> {
        writes
            .into_iter()
            .map(|write| self.commit_one(write))
            .collect()
    }
}

impl Twin {
    fn commit_one(&self, write: RecordWrite) -> Result<Option<Revision>, PortError> {
        let state = &mut *self.state();
        let key = match &write.change {
            Change::Put(record) => record.key.clone(),
            Change::Delete(key) => key.clone(),
        };
        let fail = |class, why: &str| PortError::new(class, format!("write record {key}"), why);
        if state.refused.contains(&key) {
            return Err(fail(Class::Denied, "a rule of the cluster forbids it"));
        }
        let stored = state.revisions.get(&key);
        let version = stored.map(|r| r.meta.resource_version.clone());
        match (&write.expect, version) {
            (Expect::Absent, Some(_)) => return Err(fail(Class::Conflict, "it exists")),
            (Expect::Version(_), None) => return Err(fail(Class::Conflict, "it is gone")),
            (Expect::Version(want), Some(have)) if *want != have => {
                return Err(fail(Class::Conflict, "it has changed"));
            }
            _ => {}
        }
        match write.change {
            Change::Put(record) => {
                let mut record = *record;
                let before = stored.cloned();
                record.meta.generation = before.as_ref().map_or(1, |b| b.meta.generation);
                if record.meta.created.is_empty() {
                    record.meta.created = model::utc(state.clock);
                }
                let (stored, changed) = state.revisions.put(key, record, &mut state.version);
                if changed {
                    self.wrote();
                }
                Ok(Some(stored))
            }
            Change::Delete(key) => {
                if state.revisions.remove(&key, &mut state.version) {
                    state.retired.insert(key);
                    self.wrote();
                }
                Ok(None)
            }
        }
    }
}
