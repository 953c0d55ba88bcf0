//! The service account that every namespace has.

use objects::Failure;
use objects::write::WriteOptions;
use objectstore::key_of;

use super::followed::Followed;
use super::{Core, RequestTarget};
use crate::lock::lock;

const CONTROLLER: &str = "system:serviceaccount:kube-system:service-account-controller";

impl Core {
    /// The namespaces that may lack their account: all of them at first, and where events were missed.
    pub(crate) fn without_account(&self) -> Vec<String> {
        let mut slot = lock(&self.accounts);
        if let Some(followed) = slot.as_mut() {
            match followed.news() {
                Ok(names) => return names,
                Err(_) => *slot = None,
            }
        }
        let rv = self.store.rv();
        let watch = |resource: &str| self.store.watch(&resource.into(), rv).ok();
        if let (Some(namespaces), Some(accounts)) = (watch("namespaces"), watch("serviceaccounts"))
        {
            *slot = Some(Followed {
                namespaces,
                accounts,
            });
        }
        let all = self.store.list("namespaces", "").objects;
        all.into_iter()
            .map(|(_, object)| object.fields.name.clone())
            .collect()
    }

    /// Gives a namespace its account `default`, if it lacks it; returns how many were made.
    pub(crate) async fn make_account(&self, namespace: &str) -> Result<usize, Failure> {
        let catalog = self.registry.catalog();
        let there = self
            .store
            .get("serviceaccounts", &key_of(namespace, "default"));
        let home = self.store.get("namespaces", namespace);
        let active = home.is_some_and(|n| n.fields.deletion_timestamp.is_none());
        let (Some(resource), true, None) = (catalog.get("", "serviceaccounts"), active, there)
        else {
            return Ok(0);
        };
        let body = serde_json::json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"},
        });
        let whose = self.own(CONTROLLER);
        let options = WriteOptions {
            field_manager: whose.agent.clone(),
            ..WriteOptions::default()
        };
        let target = RequestTarget::stored(resource, namespace, "");
        match self.create(&target, &whose, body, &options).await {
            Ok(_) => Ok(1),
            // Somebody else made it, or the namespace goes meanwhile.
            Err(failure) if matches!(failure.code, 403 | 404 | 409) => Ok(0),
            Err(failure) => Err(failure),
        }
    }
}
