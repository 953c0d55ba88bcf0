//! The HTTP door: paths, credentials, content negotiation, and nothing that decides.
//!
//! [`Door::router`] serves sockets and in-process callers alike; in-process callers carry their identity as a
//! request extension ([`Whose`]), never as a header.

mod auth;
mod body;
mod lists;
mod meta;
mod negotiate;
mod openapi;
mod path;
mod protobuf;
mod query;
mod respond;
mod reviews;
mod strict;
mod watches;
mod writes;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;

use crate::gateway::{Authorizer, Verb};
use crate::logic::select::Fields;
use crate::metrics::RequestKey;
use crate::registry::Backing;
use crate::status::Failure;
use crate::verbs::{Core, Target, Whose};

pub use auth::Credentials;
use negotiate::Accept;
use path::Route;
use query::Query;

/// What the door needs besides the verbs.
pub struct Door {
    /// The verbs.
    pub core: Arc<Core>,
    /// Who may come in.
    pub credentials: Credentials,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// The address that discovery names, `127.0.0.1:6443`.
    address: String,
    openapi: openapi::Cache,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// A request that was let in, taken apart.
struct Asked {
    method: Method,
    target: Target,
    whose: Whose,
    query: Query,
    accept: Accept,
    content_type: String,
    body: Body,
    /// Texts for `Warning` headers that every answer carries.
    warnings: Vec<String>,
}

impl Asked {
    /// Whether the answer has a protobuf form: built-in kinds and scales do, custom resources do not.
    fn typed(&self) -> bool {
        let resource = &self.target.resource;
        let known = || protobuf::knows(&resource.group, &resource.kind);
        !resource.custom() && known() || self.target.subresource == "scale"
    }
}

impl Door {
    /// Makes a door; `address` is what discovery names, `127.0.0.1:6443`.
    #[must_use]
    pub fn new(
        core: Arc<Core>,
        credentials: Credentials,
        authorizer: Arc<dyn Authorizer>,
        address: &str,
    ) -> Self {
        Self {
            core,
            credentials,
            authorizer,
            address: address.to_owned(),
            openapi: openapi::Cache::default(),
        }
    }

    /// The router over this door.
    pub fn router(self) -> Router {
        Router::new().fallback(serve).with_state(Arc::new(self))
    }

    async fn answer(&self, request: Request) -> (RequestKey, Response) {
        let (parts, body) = request.into_parts();
        let mut key = RequestKey {
            verb: "",
            resource: String::new(),
            code: 0,
        };
        let path = parts.uri.path().to_owned();
        let accept = Accept::parse(&parts.headers);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let mut warnings = Vec::new();
        let result = async {
            let whose = self
                .credentials
                .identify(&parts, self.authorizer.as_ref())?;
            let catalog = self.core.registry.catalog();
            let route = path::parse(&path, &catalog);
            path.trim_start_matches('/')
                .split('/')
                .next()
                .unwrap_or_default()
                .clone_into(&mut key.resource);
            key.verb = "get";
            let (target, watching) = match route {
                Some(Route::Resource { target, watch }) => (target, watch),
                Some(Route::Other(segments)) => {
                    return self.other(&parts, &segments, &whose, &accept, &catalog);
                }
                None => {
                    self.admit_path(&parts.method, &path, &whose)?;
                    return Err(Failure::no_such_path());
                }
            };
            key.resource = target.resource.key().to_string();
            let watching = watching || query.flag("watch");
            let verb = verb_of(&parts.method, &target, watching);
            key.verb = verb.map_or("", Verb::word);
            if let Some(verb) = verb {
                let name = named(&target, &query, verb);
                target.authorize(self.authorizer.as_ref(), &whose, verb, &name)?;
            }
            if let Some(warning) = &target.rules()?.version.deprecation {
                warnings.push(warning.clone());
            }
            let header = |name: http::HeaderName| {
                parts
                    .headers
                    .get(name)
                    .and_then(|v| v.to_str().ok())
                    .unwrap_or_default()
                    .to_owned()
            };
            let asked = Asked {
                method: parts.method.clone(),
                target,
                whose,
                accept: accept.clone(),
                content_type: header(http::header::CONTENT_TYPE),
                query,
                body,
                warnings: warnings.clone(),
            };
            self.resource(asked, verb).await
        }
        .await;
        let response =
            result.unwrap_or_else(|failure| respond::failure(&failure, &accept, &warnings));
        key.code = response.status().as_u16();
        (key, response)
    }

    async fn resource(&self, asked: Asked, verb: Option<Verb>) -> Result<Response, Failure> {
        let target = &asked.target;
        let resource = &target.resource;
        let refuse = |verb: &str| {
            Failure::method_not_allowed(verb, &resource.group, &resource.plural, resource.custom())
        };
        let Some(verb) = verb else {
            let named = matches!(asked.method, Method::PUT | Method::PATCH);
            return Err(if named {
                Failure::bad_request("name must be provided")
            } else {
                refuse("")
            });
        };
        if !resource.serves(verb.word()) && target.subresource.is_empty() {
            return Err(refuse(verb.word()));
        }
        self.check_subresource(target, verb)?;
        match verb {
            Verb::Get => self.get(asked).await,
            Verb::List => self.list(asked).await,
            Verb::Watch => self.watch(asked),
            Verb::Create => self.create(asked).await,
            Verb::Update => self.update(asked).await,
            Verb::Patch => self.patch(asked).await,
            Verb::Delete => self.delete(asked).await,
            Verb::DeleteCollection => self.delete_collection(asked).await,
        }
    }

    /// An unknown subresource is a missing *object*; a known one has few verbs.
    fn check_subresource(&self, target: &Target, verb: Verb) -> Result<(), Failure> {
        let version = target.rules()?.version;
        let resource = &target.resource;
        let sub = target.subresource.as_str();
        let usual = matches!(verb, Verb::Get | Verb::Update | Verb::Patch);
        let known = match sub {
            "" => return Ok(()),
            "status" => version.status,
            "scale" => version.scale.is_some(),
            other => match version.subresources.iter().find(|s| s.name == other) {
                Some(found) if found.verbs.iter().any(|v| v == verb.word()) => return Ok(()),
                Some(_) => {
                    return Err(Failure::method_not_allowed(
                        verb.word(),
                        &resource.group,
                        &resource.plural,
                        true,
                    ));
                }
                None => false,
            },
        };
        if !known {
            return Err(if resource.custom() {
                target.not_found()
            } else {
                Failure::no_such_path()
            });
        }
        if usual {
            Ok(())
        } else {
            Err(Failure::method_not_allowed(
                verb.word(),
                &resource.group,
                &resource.plural,
                resource.custom(),
            ))
        }
    }
}

async fn serve(State(door): State<Arc<Door>>, request: Request) -> Response {
    let (key, response) = door.answer(request).await;
    door.core.metrics.count(key);
    response
}

/// The name that a request is authorised with: the path's, or for lists and watches of one object their selector's.
fn named(target: &Target, query: &Query, verb: Verb) -> String {
    let selects = matches!(verb, Verb::List | Verb::Watch)
        && target.name.is_empty()
        && target.resource.backing != Backing::Virtual;
    let rules = target.rules().ok().filter(|_| selects);
    let fields = rules.and_then(|rules| {
        Fields::parse(query.get("fieldSelector"), rules.resource, rules.version).ok()
    });
    match fields.as_ref().and_then(Fields::name) {
        Some(name) => name.to_owned(),
        None => target.name.clone(),
    }
}

/// What a method means on a path; `None` for what is never offered there.
fn verb_of(method: &Method, target: &Target, watching: bool) -> Option<Verb> {
    let named = !target.name.is_empty();
    match (method.as_str(), named) {
        ("GET" | "HEAD", true) => Some(Verb::Get),
        ("GET" | "HEAD", false) => Some(if watching { Verb::Watch } else { Verb::List }),
        ("POST", _) => Some(Verb::Create),
        ("PUT", true) => Some(Verb::Update),
        ("PATCH", true) => Some(Verb::Patch),
        ("DELETE", true) => Some(Verb::Delete),
        ("DELETE", false) => Some(Verb::DeleteCollection),
        _ => None,
    }
}
