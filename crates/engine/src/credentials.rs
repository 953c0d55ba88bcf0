//! Credentials for git, from Secrets that whoever named them may read (X8).
//!
//! They are read anew for each attempt, and everything is asked anew with them: whether the reader may, whether the
//! Secret is one for git, whether it goes to this host.

use std::sync::Arc;

use async_trait::async_trait;
use model::{Class, Namespace, ObjectKey, ObjectName};
use store::{Credential, CredentialError, Credentials, Hosts};

use crate::Engine;
use crate::ports::{Found, PortError, Reader, Secret, Secrets};

/// Kubernetes' own type for user name and password.
const BASIC: &str = "kubernetes.io/basic-auth";
/// The type that everything may have: of it, nothing but a bearer token is taken (Porch's way).
const OPAQUE: &str = "Opaque";
/// A type of ours that nothing else uses.
const OURS: &str = "offshoot.dev/git";
/// Porch's for Google's workload identity: it holds nothing.
const WORKLOAD: &str = "kpt.dev/workload-identity-auth";

/// The credentials in a Secret for an address.
pub(crate) fn of_secret(
    engine: &Engine,
    namespace: &Namespace,
    secret: Option<&str>,
    address: &str,
    reader: Reader,
) -> Arc<dyn Credentials> {
    Arc::new(FromSecret {
        secrets: Arc::clone(&engine.ports().secrets),
        namespace: namespace.clone(),
        name: secret.filter(|name| !name.is_empty()).map(str::to_owned),
        address: address.to_owned(),
        reader,
    })
}

/// Credentials of a Secret, and the certificates of its namespace.
struct FromSecret {
    secrets: Arc<dyn Secrets>,
    namespace: Namespace,
    /// The Secret; `None` for no credentials.
    name: Option<String>,
    /// Where they are used.
    address: String,
    reader: Reader,
}

fn refused(text: String) -> CredentialError {
    CredentialError {
        class: Class::Denied,
        absent: false,
        text,
    }
}

fn failed(error: PortError) -> CredentialError {
    CredentialError {
        class: error.class,
        absent: false,
        text: error.to_string(),
    }
}

#[async_trait]
impl Credentials for FromSecret {
    fn tenant(&self) -> Arc<str> {
        Arc::from(self.namespace.as_str())
    }

    async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
        let Some(name) = &self.name else {
            return Ok(Credential::None);
        };
        let name = ObjectName::parse(name).map_err(|e| refused(e.to_string()))?;
        let key = ObjectKey::new(self.namespace.clone(), name);
        let found = self.secrets.secret(&key, &self.reader).await;
        let unfit = |why: String| refused(format!("secret {key} {why}"));
        match found.map_err(failed)? {
            Found::Here(secret) => {
                bound(&secret, &self.address).map_err(unfit)?;
                credential(&secret).map_err(unfit)
            }
            Found::Absent | Found::KindMissing | Found::ClusterScoped => Err(CredentialError {
                absent: true,
                ..unfit("not found".to_owned())
            }),
            Found::Forbidden(why) => Err(refused(why)),
            Found::WriterUnknown => Err(unfit("is named by nobody who is recorded".to_owned())),
        }
    }

    async fn ca_bundle(&self, _url: &str) -> Result<Option<Vec<u8>>, CredentialError> {
        self.secrets.trusted(&self.namespace).await.map_err(failed)
    }
}

/// Whether a Secret may be used at an address.
fn bound(secret: &Secret, address: &str) -> Result<(), String> {
    let Some(list) = &secret.hosts else {
        return Ok(());
    };
    let hosts = Hosts::parse(list).map_err(|wrong| {
        format!(
            "names {wrong:?} in its annotation offshoot.dev/hosts: write git.example.com, git.example.com:8443 or \
             *.example.com"
        )
    })?;
    if hosts.hold(address) {
        return Ok(());
    }
    Err(format!(
        "is bound to other hosts than that of {address} (its annotation offshoot.dev/hosts)"
    ))
}

/// The credential in a Secret that is made for git.
fn credential(secret: &Secret) -> Result<Credential, String> {
    let text = |field: &str| {
        let bytes = secret.data.get(field)?;
        String::from_utf8(bytes.clone()).ok()
    };
    let token = || text("bearerToken").map(|token| Credential::Bearer { token });
    let basic = || {
        text("password").map(|password| Credential::Basic {
            username: text("username").unwrap_or_default(),
            password,
        })
    };
    let lacks = |what: &str| format!("of type {} holds {what}", secret.kind);
    match secret.kind.as_str() {
        BASIC => basic().ok_or_else(|| lacks("no password")),
        OPAQUE => token().ok_or_else(|| {
            let way = format!("no bearerToken; user name and password are taken from type {BASIC}");
            lacks(&way)
        }),
        OURS => token()
            .or_else(basic)
            .ok_or_else(|| lacks("neither bearerToken nor password")),
        WORKLOAD => Err(format!(
            "is of type {WORKLOAD}, which is not served: make one of type {BASIC}"
        )),
        other => Err(format!(
            "is of type {other}, not one for git: {BASIC}, {OURS}, or {OPAQUE} with bearerToken"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(kind: &str, fields: &[(&str, &str)]) -> Secret {
        let field = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
        Secret {
            kind: kind.to_owned(),
            hosts: None,
            data: fields.iter().map(field).collect(),
        }
    }

    fn read(kind: &str, fields: &[(&str, &str)]) -> Result<&'static str, String> {
        credential(&secret(kind, fields)).map(|found| match found {
            Credential::Basic { .. } => "basic",
            Credential::Bearer { .. } => "bearer",
            Credential::None => "none",
        })
    }

    #[test]
    fn x8_a_secret_for_something_else_is_not_sent() {
        let all: &[_] = &[("username", "u"), ("password", "p"), ("bearerToken", "t")];
        let pair = &all[..2];
        assert_eq!(read(BASIC, all), Ok("basic"));
        assert_eq!(read(OPAQUE, all), Ok("bearer"));
        assert_eq!(read(OURS, all), Ok("bearer"));
        assert_eq!(read(OURS, pair), Ok("basic"));
        for (kind, fields) in [
            (BASIC, &all[2..]),
            (OPAQUE, pair),
            (OURS, &all[..1]),
            ("kubernetes.io/dockerconfigjson", all),
            ("kubernetes.io/service-account-token", all),
            ("kubernetes.io/tls", all),
            (WORKLOAD, all),
        ] {
            let why = read(kind, fields).unwrap_err();
            assert!(why.contains(kind), "{why}");
        }
    }

    #[test]
    fn x8_a_secret_goes_to_the_hosts_that_it_is_bound_to() {
        let mut secret = secret(BASIC, &[("password", "p")]);
        assert_eq!(bound(&secret, "https://anywhere.test/a.git"), Ok(()));
        secret.hosts = Some("git.test, *.inside.test".to_owned());
        assert_eq!(bound(&secret, "https://git.test/a.git"), Ok(()));
        assert_eq!(bound(&secret, "https://a.inside.test/a.git"), Ok(()));
        assert!(bound(&secret, "https://git.test.evil.test/a.git").is_err());
        for nowhere in ["", "https://git.test"] {
            secret.hosts = Some(nowhere.to_owned());
            assert!(
                bound(&secret, "https://git.test/a.git").is_err(),
                "{nowhere:?}"
            );
        }
    }
}
