//! Paths: which resource, object or document a request addresses.

use super::query::decode;
use crate::registry::{Catalog, Origin};
use crate::status::Failure;
use crate::verbs::Target;

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Route {
    /// To a resource.
    Resource {
        /// What is addressed.
        target: Target,
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
    let all = inner.split('/').filter(|_| !inner.is_empty());
    let segments: Vec<String> = all.map(decode).collect();
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

fn resource(catalog: &Catalog, group: &str, version: &str, rest: &[&str]) -> Option<Target> {
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
    // A decoded slash would read as another namespace or object.
    if name.contains('/') || namespace.contains('/') {
        return None;
    }
    let target = Target::find(catalog, group, version, plural)?;
    let scoped = target.resource.namespaced;
    let misplaced =
        (!scoped && !namespace.is_empty()) || (scoped && namespace.is_empty() && !name.is_empty());
    if misplaced {
        return None;
    }
    Some(target.at(namespace, name).with_subresource(&sub))
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
