//! What a manifest would become where the objects are a cluster's: worked out aside, by a server in memory that knows the
//! same definitions and keeps nothing. The cluster itself is not asked: this program may not write there what it plans.

use apiserver::{RequestTarget, ResourceName, Server, ServerHandle, Whose};
use objects::{Failure, Reason};
use serde_json::{Value, json};

use super::applied::{Before, onto};
use crate::exit;

/// What only the server that keeps an object says of it.
const GIVEN: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// A server in memory by whose rules manifests are read.
#[derive(Debug, Clone)]
pub(crate) struct Drafts {
    handle: ServerHandle,
}

impl Drafts {
    /// One that knows Kubernetes' own kinds and Offshoot's.
    ///
    /// # Errors
    /// A definition of this build is wrong; a test builds them.
    pub(crate) async fn new() -> Result<Self, exit::ExitFailure> {
        let mut builder = Server::builder();
        let crds = api::embedded_crds();
        for crd in crds.map_err(|e| exit::ExitFailure::of("read the definitions", &e))? {
            builder = builder.crd(crd);
        }
        for (definition, versions) in super::super::versions() {
            builder = builder.converter(definition, versions);
        }
        let server = builder.build().await;
        let server = server.map_err(|e| exit::ExitFailure::of("make the server for plans", &e))?;
        Ok(Self {
            handle: server.handle(),
        })
    }

    /// The verbs of that server.
    pub(crate) fn handle(&self) -> &ServerHandle {
        &self.handle
    }

    /// What an object would be once a manifest was written, in the manifest's version.
    ///
    /// # Errors
    /// What whoever writes it would be told.
    pub(super) async fn would_be(
        &self,
        target: &RequestTarget,
        stored: Option<Value>,
        (manifest, before): (&Value, &Before),
        whose: Whose,
    ) -> Result<Value, Failure> {
        self.namespace(&target.namespace).await?;
        let version = manifest["apiVersion"].as_str().unwrap_or_default();
        let old = stored.map(|old| match target.resource.plural.as_str() {
            "packagevariantsets" => api::convert_set(old.clone(), version).unwrap_or(old),
            _ => old,
        });
        let mut asked = match &old {
            Some(old) => onto(old, manifest, before),
            None => manifest.clone(),
        };
        if let Some(metadata) = asked.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in GIVEN.iter().chain(&["managedFields"]) {
                metadata.shift_remove(*field);
            }
        }
        let mut object = self.handle.would_create(target, asked, &whose).await?;
        if let Some(old) = old {
            for field in GIVEN {
                object["metadata"][field] = old["metadata"][field].clone();
            }
            if old["spec"] != object["spec"] {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
                object["metadata"]["generation"] = (generation + 1).into();
            }
            if let Some(status) = old.get("status") {
                object["status"] = status.clone();
            }
        }
        Ok(object)
    }

    /// A namespace to write in: whether the cluster has it was asked before.
    async fn namespace(&self, name: &str) -> Result<(), Failure> {
        let namespaces = ResourceName::new("", "v1", "namespaces");
        if name.is_empty() || self.handle.stored(&namespaces, "", name)?.is_some() {
            return Ok(());
        }
        let whose = self.handle.own("system:apiserver");
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.handle.create(&namespaces, "", object, &whose).await {
            Err(failure) if failure.reason == Reason::AlreadyExists => Ok(()),
            made => made.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use apiserver::gateway::User;

    use super::*;

    fn variant(downstream: &str) -> Value {
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "PackageVariant",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "upstream": {"repo": "blueprints", "package": "web", "revision": "v1"},
                "downstream": {"repo": downstream, "package": "web"},
            },
        })
    }

    #[tokio::test]
    async fn what_is_written_aside_keeps_what_the_cluster_says_of_it() {
        let drafts = Drafts::new().await.unwrap();
        let variants = ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "packagevariants");
        let target = drafts.handle().target(&variants);
        let target = target.unwrap().at("shop", "web");
        let whose = Whose {
            user: User::new("ann", &[]),
            agent: "tests".to_owned(),
        };
        let mut old = variant("edge");
        old["metadata"]["uid"] = "of-the-cluster".into();
        old["metadata"]["resourceVersion"] = "77".into();
        old["metadata"]["generation"] = 4.into();
        old["status"] = json!({"conditions": []});
        let other = variant("other");
        let would = drafts.would_be(
            &target,
            Some(old),
            (&other, &Before::Nothing),
            whose.clone(),
        );
        let would = would.await.unwrap();
        assert_eq!(would["metadata"]["uid"], "of-the-cluster");
        assert_eq!(would["metadata"]["resourceVersion"], "77");
        assert_eq!(would["metadata"]["generation"], 5);
        assert_eq!(would["spec"]["downstream"]["repo"], "other");
        assert_eq!(would["status"], json!({"conditions": []}));
        let mut wrong = variant("edge");
        wrong["spec"]["downstraem"] = json!({});
        let before = &Before::Nothing;
        let refused = drafts.would_be(&target, None, (&wrong, before), whose.clone());
        let refused = refused.await;
        let text = refused.unwrap_err().message;
        assert!(text.contains("unknown field \"spec.downstraem\""), "{text}");
        let made = drafts
            .would_be(&target, None, (&variant("edge"), before), whose)
            .await;
        assert!(made.is_ok(), "nothing was kept of what was planned before");
    }
}
