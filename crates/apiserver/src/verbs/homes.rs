//! What an object lies in, and whether it may be made there.

use super::{Core, Target};
use crate::aggregated::NamespacePhase;
use crate::registry::Backing;
use crate::status::Failure;
use crate::storage::key_of;

impl Core {
    /// Writes need a namespace that exists; creates one that stays.
    pub(super) async fn check_namespace(
        &self,
        target: &Target,
        creating: bool,
    ) -> Result<(), Failure> {
        if !target.resource.namespaced {
            return Ok(());
        }
        let namespace = &target.namespace;
        if let Some(host) = &self.host {
            // What is there lies in a namespace that is: only what is new has to ask.
            if !creating || target.resource.backing == Backing::Virtual {
                return Ok(());
            }
            return match host.namespace(namespace).await? {
                NamespacePhase::Active => Ok(()),
                NamespacePhase::Terminating => Err(terminating(target)),
                NamespacePhase::Absent => Err(Failure::not_found("", "namespaces", namespace)),
            };
        }
        let Some(found) = self.store.get("namespaces", &key_of("", namespace)) else {
            return Err(Failure::not_found("", "namespaces", namespace));
        };
        if creating && found.fields.deletion_timestamp.is_some() {
            return Err(terminating(target));
        }
        Ok(())
    }
}

/// Nothing new is made in a namespace that goes.
fn terminating(target: &Target) -> Failure {
    let (group, plural) = (&target.resource.group, &target.resource.plural);
    let namespace = &target.namespace;
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = serde_json::json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    Failure::forbidden(group, plural, &target.name, &why).with_causes(vec![cause])
}
