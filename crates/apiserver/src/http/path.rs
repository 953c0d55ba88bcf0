//! Paths: which resource, object or document a request addresses.

use http::Method;
use objects::Failure;
use objects::resource::Origin;

use crate::escapes::decode;
use crate::gateway::{Attributes, Authorizer};
use crate::registry::Catalog;
use crate::verbs::target::denied;
use crate::verbs::{RequestTarget, Whose};

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Route {
    /// To a resource.
    Resource {
        /// What is addressed.
        target: RequestTarget,
        /// Whether the old `/watch/` prefix was used.
        watch: bool,
    },
    /// To a document of the server itself.
    Other(Vec<String>),
}

/// Reads a path; `None` if it leads nowhere.
pub(super) fn parse(path: &str, catalog: &Catalog) -> Option<Route> {
    // Slashes at the ends are of no account; two in the middle have nothing between them.
    let inner = path.trim_matches('/');
    if inner.is_empty() && path.len() > 1 {
        return None;
    }
    // Go decodes a path before it is taken apart: a slash that was hidden parts it, too.
    let inner = decode(inner);
    let all = inner.split('/').filter(|_| !inner.is_empty());
    let segments: Vec<String> = all.map(str::to_owned).collect();
    let texts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match texts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Some(Route::Other(segments)),
    };
    let (watch, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let target = resource(catalog, group, version, rest)?;
    Some(Route::Resource { target, watch })
}

fn resource(catalog: &Catalog, group: &str, version: &str, rest: &[&str]) -> Option<RequestTarget> {
    let (namespace, rest) = match rest {
        ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, sub) = match rest {
        [plural] => (*plural, "", String::new()),
        [plural, name] => (*plural, *name, String::new()),
        [plural, name, sub @ ..] => (*plural, *name, sub.join("/")),
        [] => return None,
    };
    let target = RequestTarget::find(catalog, group, version, plural)?;
    // Kinds without routes of their own look at the first part alone.
    let sub = match sub.split_once('/') {
        Some((first, _)) if target.resource.custom() => first.to_owned(),
        _ => sub,
    };
    let scoped = target.resource.namespaced;
    let misplaced =
        (!scoped && !namespace.is_empty()) || (scoped && namespace.is_empty() && !name.is_empty());
    if misplaced {
        return None;
    }
    Some(target.at(namespace, name).with_subresource(&sub))
}

/// What a path would address if there were such a resource: rights are asked for it all the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    group: String,
    resource: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl Named {
    /// Reads a path below `/api/VERSION` or `/apis/GROUP/VERSION`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let inner = decode(path.trim_matches('/'));
        let parts: Vec<&str> = inner.split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let rest = match rest {
            ["watch", rest @ ..] => rest,
            rest => rest,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, "status" | "finalize", ..] => (*namespace, rest),
            ["namespaces", namespace, below @ ..] if !below.is_empty() => (*namespace, below),
            ["namespaces", namespace] => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |at: usize| {
            rest.get(at)
                .map(|text| (*text).to_owned())
                .unwrap_or_default()
        };
        let named = Self {
            group: group.to_owned(),
            resource: part(0),
            namespace: namespace.to_owned(),
            name: part(1),
            subresource: part(2),
        };
        Some(named).filter(|named| !named.resource.is_empty())
    }

    /// Asks whether a user may do this.
    pub(super) async fn authorize(
        &self,
        authorizer: &dyn Authorizer,
        whose: &Whose,
        method: &Method,
        watch: bool,
    ) -> Result<(), Failure> {
        let verb = match (method.as_str(), self.name.is_empty()) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "deletecollection",
            ("DELETE", false) => "delete",
            ("GET" | "HEAD", true) if watch => "watch",
            ("GET" | "HEAD", true) => "list",
            ("GET" | "HEAD", false) => "get",
            _ => "",
        };
        let attributes = Attributes {
            user: &whose.user,
            verb,
            group: &self.group,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            path: "",
        };
        let decision = authorizer.decide(&attributes).await;
        if decision.allowed {
            return Ok(());
        }
        let why = denied(&attributes, &decision);
        Err(Failure::forbidden(&self.group, &self.resource, &self.name, &why).unadmitted())
    }
}

/// What a path to a part of an object without a name comes to.
pub(super) fn part_of_no_name(target: &RequestTarget) -> Result<Failure, Failure> {
    if !target.resource.custom() {
        return Ok(Failure::no_such_route());
    }
    let deprecation = target.rules()?.version.deprecation.clone();
    let warnings = Vec::from_iter(deprecation);
    Ok(target.not_found().with_warnings(warnings))
}

/// 404 of a path that leads nowhere: below `/api` and the groups that the server brings a `Status`, elsewhere plain text.
pub(super) fn missing(path: &str, catalog: &Catalog) -> Failure {
    if routed(path, catalog) {
        Failure::no_such_route()
    } else {
        Failure::no_such_path()
    }
}

/// Whether a path lies below what the server itself brings.
pub(super) fn routed(path: &str, catalog: &Catalog) -> bool {
    let mut segments = path.split('/').filter(|s| !s.is_empty());
    match (segments.next(), segments.next()) {
        (Some("api"), _) => true,
        (Some("apis"), Some(group)) => {
            let mut all = catalog.iter();
            all.any(|r| r.group == group && r.origin == Origin::BuiltIn)
        }
        _ => false,
    }
}
