//! Objects as they are on another server, taken over with what only a server may say.

use objects::Failure;
use objects::write::update::Means;
use objects::write::{Moment, Prepared, WriteOptions, meta, metadata_mut};
use serde_json::Value;

use super::{Core, RequestTarget, Whose};

/// What a server says of an object beside its uid and creation time.
const SAID: [&str; 3] = [
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

impl Core {
    /// Creates an object as another server has it: its uid, times, generation and status stay. What it does not say is
    /// said anew. It passes the rules of its kind as any other, and whoever imports it is its writer.
    ///
    /// # Errors
    /// Whatever the rules, the namespace or the store refuse.
    pub(crate) async fn import(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        mut body: Value,
    ) -> Result<(), Failure> {
        let name = meta(&body, "name").to_owned();
        let target = &target.clone().at(&target.namespace, &name);
        self.check_homes(target, true).await?;
        let mut moment = self.moment();
        if !meta(&body, "uid").is_empty() {
            moment = Moment {
                uid: meta(&body, "uid").to_owned(),
                now: meta(&body, "creationTimestamp").to_owned(),
                ..moment
            };
        }
        let said = SAID.map(|key| (key, body["metadata"].get(key).cloned()));
        let status = body.get("status").cloned();
        if let Some(metadata) = metadata_mut(&mut body) {
            metadata.remove("resourceVersion");
        }
        let options = WriteOptions::default();
        let rules = target.rules()?;
        let Prepared {
            mut object,
            warnings,
        } = rules.create(body, &target.namespace, &options, &moment, Means::Post)?;
        if let Some(metadata) = metadata_mut(&mut object) {
            let known = said
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)));
            metadata.extend(known.map(|(key, value)| (key.to_owned(), value)));
        }
        if let (Some(status), Some(root)) = (status, object.as_object_mut()) {
            root.insert("status".to_owned(), status);
        }
        let prepared = Prepared { object, warnings };
        let written = self.create_once(target, whose, prepared, &options).await;
        written.map(drop)
    }
}
