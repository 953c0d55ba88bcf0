//! Asking on behalf of others: the `Impersonate-*` headers, each allowed by roles
//! (`k8s.io/apiserver/pkg/endpoints/filters/impersonation`).

use std::collections::BTreeMap;

use http::HeaderMap;
use objects::{Failure, Reason};

use super::AUTHENTICATED;
use crate::access::{Attributes, User, accounts};
use crate::authz::Authorizer;
use crate::verbs::target::denied;

const EXTRA: &str = "impersonate-extra-";

/// As whom somebody wants to ask.
#[derive(Debug)]
pub(super) struct Wanted {
    user: String,
    groups: Vec<String>,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
}

/// Reads the headers; `None` if nobody is to be impersonated.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<Wanted>, Failure> {
    let texts = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter().filter_map(|v| v.to_str().ok());
        values
            .filter(|v| !v.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = crate::escapes::decode(key).to_lowercase();
            extra.entry(key).or_default().extend(texts(name.as_str()));
        }
    }
    let wanted = Wanted {
        user: first("impersonate-user"),
        groups: texts("impersonate-group"),
        uid: first("impersonate-uid"),
        extra,
    };
    if !wanted.user.is_empty() {
        return Ok(Some(wanted));
    }
    if wanted.groups.is_empty() && wanted.uid.is_empty() && wanted.extra.is_empty() {
        return Ok(None);
    }
    let why = "requested impersonation without impersonating a user";
    Err(Failure::new(500, Reason::InternalError, why))
}

impl Wanted {
    /// The user to ask as, if `behind` may ask as every part of it.
    pub(super) async fn allowed(
        self,
        behind: &User,
        authorizer: &dyn Authorizer,
    ) -> Result<User, Failure> {
        let by = Impersonator { behind, authorizer };
        let account = accounts::split(&self.user);
        match account {
            Some((namespace, name)) => by.may("", "serviceaccounts", "", namespace, name).await?,
            None => by.may("", "users", "", "", &self.user).await?,
        }
        for group in &self.groups {
            by.may("", "groups", "", "", group).await?;
        }
        if !self.uid.is_empty() {
            by.may("authentication.k8s.io", "uids", "", "", &self.uid)
                .await?;
        }
        for (key, values) in &self.extra {
            for value in values {
                by.may("authentication.k8s.io", "userextras", key, "", value)
                    .await?;
            }
        }
        let mut groups = self.groups;
        if let Some((namespace, _)) = account.filter(|_| groups.is_empty()) {
            groups = accounts::groups(namespace);
        }
        let unauthenticated = "system:unauthenticated";
        let known = |g: &String| g == AUTHENTICATED || g == unauthenticated;
        if self.user == crate::access::ANONYMOUS {
            if !groups.iter().any(|g| g == unauthenticated) {
                groups.push(unauthenticated.to_owned());
            }
        } else if !groups.iter().any(known) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Ok(User {
            name: self.user,
            groups,
            uid: self.uid,
            extra: self.extra,
        })
    }
}

/// Who asks on behalf of others, and who decides whether they may.
struct Impersonator<'a> {
    behind: &'a User,
    authorizer: &'a dyn Authorizer,
}

impl Impersonator<'_> {
    async fn may(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), Failure> {
        let attributes = Attributes {
            user: self.behind,
            verb: "impersonate",
            group,
            resource,
            subresource,
            namespace,
            name,
            path: "",
        };
        let decision = self.authorizer.decide(&attributes).await;
        if decision.allowed {
            return Ok(());
        }
        let why = denied(&attributes, &decision);
        Err(Failure::forbidden(group, resource, name, &why).unadmitted())
    }
}
