//! Documents of the server itself: version, health, discovery, OpenAPI.

use axum::response::Response;
use http::request::Parts;
use http::{Method, header};
use objects::{Failure, Reason};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::negotiate::{Accept, Shape};
use super::openapi::{KUBERNETES, header_text};
use super::query::Query;
use super::respond::{self, Answer};
use super::{Door, path, restful};
use crate::access::ANONYMOUS;
use crate::gateway::Attributes;
use crate::registry::{Catalog, discovery};
use crate::verbs::Whose;

/// Paths that anyone may read, whatever roles say; the single checks below them need a right. Everybody may read the version by a default
/// role. A HEAD is a verb of its own, which no default role has: as at a real server it is let through in a cluster alone.
pub(super) const OPEN: [&str; 3] = ["healthz", "livez", "readyz"];

/// Paths that say what is served.
const DISCOVERY: [&str; 5] = ["", "api", "apis", "openapi", "version"];

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const DISCOVERY_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Door {
    /// Whether a user may read a path that is no resource.
    pub(super) async fn admit_path(
        &self,
        method: &Method,
        path: &str,
        whose: &Whose,
    ) -> Result<(), Failure> {
        let first = path.trim_matches('/').split('/').next().unwrap_or_default();
        let verb = method.as_str().to_lowercase();
        let verb = verb.as_str();
        let open = path.strip_prefix('/').unwrap_or(path);
        let probes = verb == "get" || (verb == "head" && self.core.host.is_some());
        if OPEN.contains(&open) && probes {
            return Ok(());
        }
        // In a cluster, whoever came in can find out what is served, whatever that cluster's authorisation is doing; and
        // anybody the version.
        let known = first == "version" || whose.user.name != ANONYMOUS;
        if self.core.host.is_some() && known && DISCOVERY.contains(&first) && verb == "get" {
            return Ok(());
        }
        let attributes = Attributes {
            user: &whose.user,
            verb,
            group: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            path,
        };
        let decision = self.authorizer.decide(&attributes).await;
        if decision.allowed {
            return Ok(());
        }
        let mut why = format!(
            "forbidden: User \"{}\" cannot {verb} path \"{path}\"",
            whose.user.name
        );
        if !decision.reason.is_empty() {
            why += ": ";
            why += &decision.reason;
        }
        let refusal = Failure::new(403, Reason::Forbidden, why);
        Err(refusal.with_details(serde_json::Map::new()).unadmitted())
    }

    /// Answers a path that is no resource.
    pub(super) async fn other(
        &self,
        parts: &Parts,
        segments: &[String],
        whose: &Whose,
        accept: &Accept,
        catalog: &Catalog,
    ) -> Result<Response, Failure> {
        self.admit_path(&parts.method, parts.uri.path(), whose)
            .await?;
        let texts: Vec<&str> = segments.iter().map(String::as_str).collect();
        // What is not there is told before anybody looks at media types.
        let listed = listed(&texts, catalog);
        let listed =
            listed.map(|found| found.ok_or_else(|| path::missing(parts.uri.path(), catalog)));
        let listed = listed.transpose()?;
        if parts.method != Method::GET && read_alone(&texts, parts.uri.path(), catalog) {
            return Err(Failure::method_not_allowed("", "", "", false));
        }
        if in_routes(&texts) && path::routed(parts.uri.path(), catalog) {
            restful::media(&parts.headers, None)?;
        }
        if let Some(document) = listed {
            return plain(accept, &document);
        }
        let query = parts.uri.query().unwrap_or_default();
        match texts.as_slice() {
            [probe @ ("healthz" | "livez" | "readyz"), check @ ..] => self.health(probe, check),
            ["backup"] => {
                let lines = self.core.store.copy().lines();
                let lines = lines.map(Ok::<_, std::convert::Infallible>);
                let body = axum::body::Body::from_stream(futures::stream::iter(lines));
                Ok(Answer::new(200, "application/x-ndjson", body).done())
            }
            ["metrics"] => {
                let page = self.core.metrics.page().ok_or_else(Failure::no_such_path)?;
                Ok(Answer::new(200, OPEN_METRICS, page).done())
            }
            ["version"] => plain(accept, &version()),
            ["api"] => discover(
                parts,
                accept,
                &discovery::core_versions(&self.address),
                || discovery::aggregated(catalog, true),
            ),
            ["apis"] => discover(parts, accept, &discovery::group_list(catalog), || {
                discovery::aggregated(catalog, false)
            }),
            ["openapi", "v3", rest @ ..] => {
                let known = header_text(&parts.headers, &header::IF_NONE_MATCH);
                self.openapi.v3(catalog, rest, &Query::parse(query), known)
            }
            ["openapi", "v2"] => self.openapi.v2(
                catalog,
                header_text(&parts.headers, &header::ACCEPT),
                header_text(&parts.headers, &header::IF_NONE_MATCH),
            ),
            [] => plain(
                accept,
                &json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]}),
            ),
            _ => Err(path::missing(parts.uri.path(), catalog)),
        }
    }
}

impl Door {
    /// Answers whether the server is well, or this check of it is.
    fn health(&self, probe: &str, check: &[&str]) -> Result<Response, Failure> {
        let waits = self.core.host.as_ref().is_some_and(|h| !h.is_ready());
        if probe == "readyz" && waits {
            let why = "the credentials of the cluster are not known yet";
            return Err(Failure::new(503, Reason::ServiceUnavailable, why));
        }
        if !checked(check) {
            return Err(Failure::no_such_path());
        }
        let media = "text/plain; charset=utf-8";
        Ok(Answer::new(200, media, "ok").done())
    }
}

/// Whether there is such a check of health: those that every server has.
fn checked(check: &[&str]) -> bool {
    matches!(
        check,
        [] | ["ping" | "log" | "etcd"] | ["poststarthook", ..]
    )
}

/// Whether documents of a path are looked for among routes, as resources are: all but the list of groups.
fn in_routes(segments: &[&str]) -> bool {
    segments.first() == Some(&"api") || segments.len() > 1
}

/// Whether a document has a route of its own, which knows no other method than GET: the version, and what is below `/api` and in the
/// versions of groups that the server brings.
fn read_alone(segments: &[&str], path: &str, catalog: &Catalog) -> bool {
    match segments {
        ["version"] | ["api"] | ["api", _] => true,
        ["apis", _, _] => path::routed(path, catalog),
        _ => false,
    }
}

fn plain(accept: &Accept, value: &Value) -> Result<Response, Failure> {
    let form = accept.choose(|shape| shape == Shape::Object)?;
    Ok(respond::value(200, form.format, value, &[]))
}

/// What a path below `/api` or `/apis` lists, if it is one of a group or version, and if there is such a one.
fn listed(segments: &[&str], catalog: &Catalog) -> Option<Option<Value>> {
    match segments {
        ["api", version] => Some(discovery::resource_list(catalog, "", version)),
        ["apis", group] => Some(discovery::group(catalog, group)),
        ["apis", group, version] => Some(discovery::resource_list(catalog, group, version)),
        _ => None,
    }
}

/// `/api` and `/apis`: the aggregated document with its ETag, or the old one.
fn discover(
    parts: &Parts,
    accept: &Accept,
    old: &Value,
    aggregated: impl Fn() -> Value,
) -> Result<Response, Failure> {
    // With a slash at its end the path of groups leads to the old document alone.
    let whole = parts.uri.path() != "/apis/";
    let form =
        accept.choose(|shape| shape == Shape::Object || (whole && shape == Shape::Discovery))?;
    if form.shape == Shape::Object {
        return Ok(respond::value(200, form.format, old, &[]));
    }
    let json = serde_json::to_vec(&aggregated()).unwrap_or_default();
    let etag = format!("\"{}\"", hash(&json));
    let known = parts.headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|v| v.to_str().ok()) == Some(etag.as_str());
    let answer = match known {
        true => Answer::known(),
        false => Answer::new(200, DISCOVERY_TYPE, json),
    };
    let answer = answer.tagged(&etag).header(header::CACHE_CONTROL, "public");
    Ok(answer.done())
}

/// An opaque hash of a document, upper-case hex.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02X}"))
        .collect()
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "34", "emulationMajor": "1", "emulationMinor": "34",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "33",
        "gitVersion": KUBERNETES, "gitCommit": "", "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
