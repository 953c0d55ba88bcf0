//! OpenAPI documents: made once for each state of the catalog, named by their hash.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header;
use objects::Failure;
use objects::openapi::{self, ServedKind};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::query::Query;
use super::respond::Answer;
use crate::lock::lock;
use crate::registry::Catalog;

/// The Kubernetes version whose behaviour this server follows.
pub(super) const KUBERNETES: &str = "v1.34.4";

/// The documents of one state of the catalog.
#[derive(Debug, Default)]
struct Documents {
    revision: u64,
    /// Place (`apis/apps/v1`) → hash and text.
    v3: BTreeMap<String, (String, Bytes)>,
    v2: Option<(String, Bytes)>,
    /// The same in protobuf, once somebody asked.
    v2_binary: std::sync::OnceLock<Bytes>,
}

/// What the real server calls the protobuf form.
const OPENAPI_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Makes documents on request and keeps them until the catalog changes.
#[derive(Debug, Default)]
pub(super) struct Cache {
    documents: Mutex<Option<Arc<Documents>>>,
}

impl Cache {
    fn at(&self, catalog: &Catalog) -> Arc<Documents> {
        let mut slot = lock(&self.documents);
        if let Some(documents) = slot.as_ref().filter(|d| d.revision == catalog.revision) {
            return Arc::clone(documents);
        }
        let made = Arc::new(make(catalog));
        *slot = Some(Arc::clone(&made));
        made
    }

    /// `/openapi/v3` and what is below it.
    pub(super) fn v3(
        &self,
        catalog: &Catalog,
        rest: &[&str],
        query: &Query,
        known: &str,
    ) -> Result<Response, Failure> {
        let documents = self.at(catalog);
        if rest.is_empty() {
            let hashes = documents
                .v3
                .iter()
                .map(|(place, (hash, _))| (place.clone(), hash.clone()))
                .collect();
            let body = openapi::index(&hashes).to_string();
            // The real server says so too; clients do not look.
            return Ok(Answer::new(200, "text/plain; charset=utf-8", body).done());
        }
        let place = rest.join("/");
        let Some((hash, text)) = documents.v3.get(&place) else {
            return Ok(Answer::nothing().done());
        };
        let etag = format!("\"{hash}\"");
        let asked = query.get("hash");
        let (code, body) = match asked {
            "" if known == etag => (304, Body::empty()),
            "" => (200, text.clone().into()),
            asked if asked == hash => (200, text.clone().into()),
            _ => (301, Body::empty()),
        };
        let mut answer = Answer::new(code, "application/json", body).tagged(&etag);
        if code == 301 {
            let now = format!("/openapi/v3/{place}?hash={hash}");
            answer = answer.header(header::LOCATION, &now);
        } else if asked == hash {
            answer = answer.header(header::CACHE_CONTROL, "public, immutable");
        }
        Ok(answer.done())
    }

    /// `/openapi/v2`, in JSON or in the protobuf form that kubectl and client-go ask for; never in both at once in memory
    /// before somebody asked.
    pub(super) fn v2(
        &self,
        catalog: &Catalog,
        accept: &str,
        known: &str,
    ) -> Result<Response, Failure> {
        let binary = accept.contains("com.github.proto-openapi.spec.v2");
        let json = accept.is_empty() || accept.contains("json") || accept.contains("*/*");
        if !(binary || json) {
            return Err(Failure::not_acceptable(&[
                "application/json",
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            ]));
        }
        let documents = self.at(catalog);
        let (hash, text) = documents.v2.as_ref().ok_or_else(Failure::no_such_path)?;
        let etag = format!("\"{hash}\"");
        let answer = if known == etag {
            Answer::new(304, "application/json", Body::empty())
        } else if binary {
            let body = documents.v2_binary.get_or_init(|| {
                let value = serde_json::from_slice(text).unwrap_or_default();
                super::protobuf::openapi_document(&value).into()
            });
            Answer::new(200, OPENAPI_V2, body.clone())
        } else {
            Answer::new(200, "application/json", text.clone())
        };
        Ok(answer.tagged(&etag).done())
    }
}

fn make(catalog: &Catalog) -> Documents {
    let mut documents = Documents {
        revision: catalog.revision,
        ..Documents::default()
    };
    let mut all = Vec::new();
    for (group, versions) in catalog.groups() {
        for version in versions {
            let kinds = kinds(catalog, &group, &version);
            let text = ServedKind::document(&group, &version, &kinds).to_string();
            let place = openapi::place(&group, &version);
            documents
                .v3
                .insert(place, (hash(text.as_bytes()), text.into()));
            all.extend(kinds);
        }
    }
    let version = json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": KUBERNETES}, "paths": {}});
    let version = version.to_string();
    documents.v3.insert(
        "version".to_owned(),
        (hash(version.as_bytes()), version.into()),
    );
    let swagger = ServedKind::swagger(&all).to_string();
    documents.v2 = Some((hash(swagger.as_bytes()), swagger.into()));
    documents
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02X}"))
        .collect()
}

fn kinds(catalog: &Catalog, group: &str, version: &str) -> Vec<ServedKind> {
    let resources = catalog.iter().filter(|r| r.group == group);
    resources
        .filter_map(|r| {
            r.version(version)
                .filter(|v| v.served)
                .map(|v| ServedKind::of(r, v))
        })
        .collect()
}

/// The value of a header; empty if it is missing.
pub(super) fn header_text<'a>(headers: &'a http::HeaderMap, name: &http::HeaderName) -> &'a str {
    headers
        .get(name)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
}
