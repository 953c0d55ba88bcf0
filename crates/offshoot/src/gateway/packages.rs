//! `packages`: every package with the number of its latest revision.

use std::collections::BTreeMap;

use apiserver::ResourceName;
use apiserver::gateway::{Call, CallAnswer, Refusal, RefusalClass, Verb};
use model::{Namespace, PackageName, RepositoryName, RevisionNumber};
use serde_json::{Value, json};

use super::resources::wanted;
use super::{PackageGateway, unsupported};

pub(super) async fn handle(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let packages = all(gateway, &call.namespace).await?;
    match call.verb {
        Verb::List => {
            let items: Vec<_> = packages
                .into_iter()
                .filter(|p| wanted(p, &call.options.field_selector))
                .collect();
            let object = json!({
                "apiVersion": "porch.kpt.dev/v1alpha1",
                "kind": "PorchPackageList",
                "metadata": {},
                "items": items,
            });
            Ok(CallAnswer {
                object,
                ..CallAnswer::default()
            })
        }
        Verb::Get => {
            let found = packages
                .into_iter()
                .find(|p| api::str_at(p, &["metadata", "name"]) == Some(&call.name));
            let missing = || {
                Refusal::new(
                    RefusalClass::NotFound,
                    format!("packages.porch.kpt.dev {:?} not found", call.name),
                )
            };
            Ok(CallAnswer {
                object: found.ok_or_else(missing)?,
                ..CallAnswer::default()
            })
        }
        verb => Err(unsupported(verb, &call.resource)),
    }
}

async fn all(gateway: &PackageGateway, namespace: &str) -> Result<Vec<Value>, Refusal> {
    let resource = ResourceName::new(api::PACKAGE_GROUP, "v1alpha1", "packagerevisions");
    let list = gateway.handle.list(&resource, namespace, "").await;
    let list = list.map_err(|f| Refusal::new(RefusalClass::Unavailable, f.message))?;
    let mut latest: BTreeMap<(Namespace, RepositoryName, PackageName), RevisionNumber> =
        BTreeMap::new();
    for object in &list.items {
        let part = |path: &[&str]| api::str_at(object, path).unwrap_or_default();
        let namespace = Namespace::parse(part(&["metadata", "namespace"]));
        let repository = RepositoryName::parse(part(&["spec", "repository"]));
        let package = PackageName::parse(part(&["spec", "packageName"]));
        let (Ok(namespace), Ok(repository), Ok(package)) = (namespace, repository, package) else {
            continue;
        };
        let number = object["spec"]["revision"].as_i64().unwrap_or_default();
        let entry = latest.entry((namespace, repository, package)).or_default();
        *entry = RevisionNumber(number).max(*entry);
    }
    let write = |((namespace, repository, package), number): ((_, _, _), _)| {
        api::write_package(&namespace, &repository, &package, number)
    };
    Ok(latest.into_iter().map(write).collect())
}
