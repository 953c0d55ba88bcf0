//! Secrets with credentials for git: read as whoever named them (X8).

use std::collections::BTreeMap;

use apiserver::ResourceName;
use apiserver::gateway::{Attributes, User};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::ports::{Found, PortError, Reader, Secret};
use model::{Namespace, ObjectKey};
use serde_json::Value;

use super::object_api::ObjectApi;
use super::{SECRET_SET_BY, failed, repositories};

/// The hosts that a Secret is bound to.
const HOSTS: &str = "offshoot.dev/hosts";

/// A Secret, as the reader may see it.
///
/// # Errors
/// The store cannot be read.
pub(super) async fn secret(
    api: &dyn ObjectApi,
    key: &ObjectKey,
    reader: &Reader,
) -> Result<Found<Secret>, PortError> {
    if let Some(why) = refused(api, key, reader).await? {
        return Ok(Found::Forbidden(why));
    }
    let place = (key.namespace.as_str(), key.name.as_str());
    if let Some(why) = api.unreadable(&resource(), "get", place).await {
        return Ok(Found::Forbidden(why));
    }
    let object = read(api, &key.namespace, key.name.as_str()).await?;
    Ok(object
        .as_ref()
        .map_or(Found::Absent, |object| Found::Here(read_secret(object))))
}

/// The certificates that a namespace trusts (Porch's Secret `NAMESPACE-ca-bundle`).
///
/// # Errors
/// The store cannot be read.
pub(super) async fn trusted(
    api: &dyn ObjectApi,
    namespace: &Namespace,
) -> Result<Option<Vec<u8>>, PortError> {
    let name = format!("{namespace}-ca-bundle");
    // Where nobody lets this program read it, nobody meant it for this program.
    let place = (namespace.as_str(), name.as_str());
    if api.unreadable(&resource(), "get", place).await.is_some() {
        return Ok(None);
    }
    let object = read(api, namespace, &name).await?;
    Ok(object.and_then(|object| read_secret(&object).data.remove("ca.crt")))
}

fn resource() -> ResourceName {
    ResourceName::new("", "v1", "secrets")
}

async fn read(
    api: &dyn ObjectApi,
    namespace: &Namespace,
    name: &str,
) -> Result<Option<Value>, PortError> {
    let found = api.get(&resource(), namespace.as_str(), name).await;
    found.map_err(|f| failed(format!("read secret {namespace}/{name}"), &f))
}

/// Why the reader may not read the Secret; `None` if they may.
async fn refused(
    api: &dyn ObjectApi,
    key: &ObjectKey,
    reader: &Reader,
) -> Result<Option<String>, PortError> {
    let (user, named) = match reader {
        Reader::Caller { user, groups } => {
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            (User::new(user, &groups), String::new())
        }
        Reader::Repository {
            key: repository,
            address,
        } => match setter(api, repository, key, address).await? {
            Ok(user) => {
                let named = format!(", who named secret {key} in repository {repository},");
                (user, named)
            }
            Err(why) => return Ok(Some(why)),
        },
    };
    let asked = Attributes {
        user: &user,
        verb: "get",
        group: "",
        resource: "secrets",
        subresource: "",
        namespace: key.namespace.as_str(),
        name: key.name.as_str(),
        path: "",
    };
    if api.may(&asked).await.allowed {
        return Ok(None);
    }
    Ok(Some(format!(
        "user {:?}{named} cannot get resource \"secrets\" in API group \"\" in the namespace {:?}",
        user.name,
        key.namespace.as_str()
    )))
}

/// Who named a Secret and an address in a repository, or why nobody did. An address that stands there no more, or is not
/// there yet, is not vouched for by whoever wrote the other one.
async fn setter(
    api: &dyn ObjectApi,
    repository: &ObjectKey,
    secret: &ObjectKey,
    address: &str,
) -> Result<Result<User, String>, PortError> {
    let (namespace, name) = (repository.namespace.as_str(), repository.name.as_str());
    let found = api.get(&repositories(), namespace, name).await;
    let object = found.map_err(|f| failed(format!("read repository {repository}"), &f))?;
    let object = object.unwrap_or_default();
    let names = api::str_at(&object, &["spec", "git", "secretRef", "name"]);
    if names != Some(secret.name.as_str())
        || api::str_at(&object, &["spec", "git", "repo"]) != Some(address)
        || secret.namespace != repository.namespace
    {
        let why = format!("repository {repository} names another Secret or address by now");
        return Ok(Err(why));
    }
    Ok(api.setter_of(&object).ok_or_else(|| {
        format!(
            "it is not known who named secret {secret} in repository {repository}: whoever may read the Secret says so with \
             `kubectl annotate --overwrite -n {namespace} repositories.config.porch.kpt.dev/{name} {SECRET_SET_BY}=me`"
        )
    }))
}

/// `data` of a Secret, decoded; what is no base64 was refused when it was stored.
fn read_secret(object: &Value) -> Secret {
    let entries = api::object_at(object, &["data"]).into_iter().flatten();
    let data: BTreeMap<String, Vec<u8>> = entries
        .filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?)))
        .collect();
    let text = |path: &[&str]| api::str_at(object, path).map(str::to_owned);
    Secret {
        kind: text(&["type"]).unwrap_or_else(|| "Opaque".to_owned()),
        hosts: text(&["metadata", "annotations", HOSTS]),
        data,
    }
}

#[cfg(test)]
mod tests;
