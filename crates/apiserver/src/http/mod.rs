//! The HTTP door: paths, credentials, content negotiation, and nothing that decides.
//!
//! [`Door::router`] serves sockets and in-process callers alike; in-process callers carry their identity as a
//! request extension ([`Whose`]), never as a header.

mod body;
mod forms;
mod lists;
mod meta;
mod negotiate;
mod openapi;
mod parameters;
mod path;
mod pieces;
mod protobuf;
pub(crate) mod query;
mod respond;
mod restful;
mod reviews;
mod scale;
mod scan;
mod strict;
mod tokens;
mod watches;
mod writes;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;
use http::request::Parts;

use crate::access::ANONYMOUS;
use crate::audit::{Audit, Trail};
use crate::authn::{Authenticator, Caller};
use crate::connections::{self, Connections};
use crate::gateway::{Authorizer, Verb};
use crate::limits::{Limits, Seats, Shares};
use crate::metrics::RequestKey;
use crate::verbs::{Core, RequestTarget, Whose};

use negotiate::Accept;
use objects::select::FieldSelection;
use objects::write::patching::PatchKind;
use objects::{Backing, Failure};
use path::Route;
use query::Query;
use respond::Answer;

/// What the door needs besides the verbs.
pub(crate) struct Door {
    /// The verbs.
    pub core: Arc<Core>,
    /// Who may come in.
    pub authenticator: Authenticator,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// How much at once, and for how long.
    guard: Arc<Guard>,
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

/// What all doors of a server share: seats, and the audit log if there is one.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: Limits,
    reading: Seats,
    writing: Seats,
    watches: Shares,
    connections: Connections,
    audit: Option<Audit>,
}

impl Guard {
    /// Gives seats as the limits say, and writes events into the log.
    #[must_use]
    pub(crate) fn new(limits: Limits, audit: Option<Audit>) -> Self {
        Self {
            limits,
            reading: Seats::new(limits.reading, limits.waiting),
            writing: Seats::new(limits.writing, limits.waiting),
            watches: Shares::new(limits.watches, limits.all_watches),
            connections: Connections::new(limits),
            audit,
        }
    }

    /// The connections of the server.
    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }
}

/// What is noted of a request while it is answered.
struct Seen {
    key: RequestKey,
    trail: Option<Trail>,
    /// Texts for `Warning` headers.
    warnings: Vec<String>,
}

/// A request that was let in, taken apart.
struct Asked {
    method: Method,
    target: RequestTarget,
    whose: Whose,
    query: Query,
    accept: Accept,
    content_type: String,
    body: Body,
    /// Texts for `Warning` headers that every answer carries.
    warnings: Vec<String>,
}

impl Asked {
    /// Whether the answer has a protobuf form: built-in kinds do, custom resources and their scales do not.
    fn typed(&self) -> bool {
        let resource = &self.target.resource;
        let known = || protobuf::knows(&resource.group, &resource.kind);
        !resource.custom() && known()
    }
}

impl Door {
    /// Makes a door; `address` is what discovery names, `127.0.0.1:6443`.
    #[must_use]
    pub(crate) fn new(
        core: Arc<Core>,
        authenticator: Authenticator,
        authorizer: Arc<dyn Authorizer>,
        guard: Arc<Guard>,
        address: &str,
    ) -> Self {
        Self {
            core,
            authenticator,
            authorizer,
            guard,
            address: address.to_owned(),
            openapi: openapi::Cache::default(),
        }
    }

    /// The router over this door.
    pub(crate) fn router(self) -> Router {
        Router::new().fallback(serve).with_state(Arc::new(self))
    }

    async fn answer(&self, request: Request) -> (RequestKey, Response) {
        let (parts, body) = request.into_parts();
        let log = self.guard.audit.as_ref();
        let id = log.map(|_| uuid::Uuid::new_v4().to_string());
        let begin = |id| Trail::begin(&parts, id, self.core.now());
        let mut seen = Seen {
            key: RequestKey {
                verb: "",
                resource: String::new(),
                code: 0,
            },
            trail: id.as_deref().map(begin),
            warnings: Vec::new(),
        };
        let accept = Accept::parse(&parts.headers);
        let result = self.decide(&parts, body, &accept, &mut seen).await;
        let code = match &result {
            Ok(response) => response.status().as_u16(),
            Err(failure) => failure.code,
        };
        if let (Some(log), Some(trail)) = (log, seen.trail) {
            log.write(&trail.end(code, result.as_ref().err(), self.core.now()));
        }
        let failed = |failure| respond::failure(&failure, &accept, &seen.warnings);
        let mut answer = Answer::of(result.unwrap_or_else(failed));
        if let Some(id) = id {
            let name = http::HeaderName::from_static("audit-id");
            answer = answer.header(name, &id);
        }
        let response = answer.done();
        let code = response.status().as_u16();
        (RequestKey { code, ..seen.key }, response)
    }

    /// Lets a request in, or not, and has it answered.
    async fn decide(
        &self,
        parts: &Parts,
        body: Body,
        accept: &Accept,
        seen: &mut Seen,
    ) -> Result<Response, Failure> {
        let path = parts.uri.path();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        if !query.flag("watch") {
            restful::deadline(query.get("timeout"))?;
        }
        let rules = self.authorizer.as_ref();
        let caller = self.authenticator.identify(parts, rules).await?;
        if let Some(trail) = &mut seen.trail {
            trail.caller(&caller);
        }
        on_connection(parts, &caller)?;
        seen.warnings.extend(unread_token(parts, &caller));
        let whose = caller.whose;
        let catalog = self.core.registry.catalog();
        known_place(path).clone_into(&mut seen.key.resource);
        seen.key.verb = "get";
        let (target, watching) = match path::parse(path, &catalog) {
            Some(Route::Resource { target, watch }) if self.core.is_defined(&target.resource) => {
                (target, watch)
            }
            Some(Route::Other(segments)) => {
                return self.other(parts, &segments, &whose, accept, &catalog).await;
            }
            _ => {
                self.admit_nowhere(parts, &whose, query.flag("watch"))
                    .await?;
                return Err(path::missing(path, &catalog));
            }
        };
        if target.name.is_empty() && !target.subresource.is_empty() {
            self.admit_nowhere(parts, &whose, query.flag("watch"))
                .await?;
            return Err(path::part_of_no_name(&target)?);
        }
        seen.key.resource = target.resource.key().to_string();
        let watching = watching || query.flag("watch");
        let verb = verb_of(&parts.method, &target, watching);
        seen.key.verb = verb.map_or("", Verb::word);
        if let Some(trail) = &mut seen.trail {
            trail.target(&target, verb);
        }
        if let Some(verb) = verb.or_else(|| collective(&parts.method, &target)) {
            let name = named(&target, &query, verb);
            let decision = target.authorize(rules, &whose, verb, &name).await?;
            if let Some(trail) = &mut seen.trail {
                trail.allowed(&decision.reason);
            }
        }
        if !target.resource.custom() {
            self.routed(&parts.method, &target, verb)?;
            restful::media(&parts.headers, verb)?;
        }
        let deprecation = &target.rules()?.version.deprecation;
        seen.warnings.extend(deprecation.clone());
        let asked = Asked {
            method: parts.method.clone(),
            target,
            whose,
            accept: accept.clone(),
            content_type: content_type(parts).to_owned(),
            query,
            body,
            warnings: seen.warnings.clone(),
        };
        self.seated(asked, verb).await
    }

    /// Asks for the rights that a path to nothing needs: those for the resource that it names, or for the path.
    async fn admit_nowhere(
        &self,
        parts: &Parts,
        whose: &Whose,
        watch: bool,
    ) -> Result<(), Failure> {
        let path = parts.uri.path();
        match path::Named::parse(path) {
            Some(named) => {
                let rules = self.authorizer.as_ref();
                named.authorize(rules, whose, &parts.method, watch).await
            }
            None => self.admit_path(&parts.method, path, whose).await,
        }
    }

    /// Refuses methods that the routes of a built-in resource have not, before anything else about a request.
    fn routed(
        &self,
        method: &Method,
        target: &RequestTarget,
        verb: Option<Verb>,
    ) -> Result<(), Failure> {
        let resource = &target.resource;
        let plain = target.subresource.is_empty();
        let named_create = verb == Some(Verb::Create) && plain && !target.name.is_empty();
        let refused = || {
            let verb = verb.map_or("", Verb::word);
            Failure::method_not_allowed(verb, &resource.group, &resource.plural, false)
        };
        let known = plain || {
            let version = target.rules()?.version;
            let sub = target.subresource.as_str();
            (sub == "status" && version.status)
                || version.subresources.iter().any(|s| s.name == sub)
        };
        match verb {
            _ if !known => Err(Failure::no_such_route()),
            None => Err(refused()),
            Some(_) if *method == Method::HEAD || named_create => Err(refused()),
            Some(verb) if plain && !resource.serves(verb.word()) => Err(refused()),
            Some(verb) => self.check_subresource(target, verb),
        }
    }

    /// Answers once the user has a seat. What the embedding program answers ends in its own time: giving a
    /// write of its up halfway would help nobody.
    async fn seated(&self, asked: Asked, verb: Option<Verb>) -> Result<Response, Failure> {
        let reads = matches!(verb, None | Some(Verb::Get | Verb::List | Verb::Watch));
        let guard = &self.guard;
        let seats = if reads {
            &guard.reading
        } else {
            &guard.writing
        };
        let limit = guard.limits.request;
        let seat = tokio::time::timeout(limit, seats.take(&asked.whose.user.name)).await;
        let _seat = seat.map_err(|_| Failure::too_many_requests())??;
        let backing = asked.target.resource.backing;
        if matches!(backing, Backing::WriteThrough | Backing::Virtual) {
            return self.resource(asked, verb).await;
        }
        match tokio::time::timeout(limit, self.resource(asked, verb)).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::timed_out(limit)),
        }
    }

    async fn resource(&self, asked: Asked, verb: Option<Verb>) -> Result<Response, Failure> {
        let target = &asked.target;
        let resource = &target.resource;
        let refuse = |verb: &str| {
            Failure::method_not_allowed(verb, &resource.group, &resource.plural, resource.custom())
        };
        let Some(verb) = verb else {
            let named = matches!(asked.method, Method::PUT | Method::PATCH);
            if asked.method == Method::PATCH {
                PatchKind::of(&body::media_type(&asked.content_type), resource.custom())?;
            }
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
            Verb::Create if target.subresource == "token" => self.token_request(asked).await,
            Verb::Create => self.create(asked).await,
            Verb::Update => self.update(asked).await,
            Verb::Patch => self.patch(asked).await,
            Verb::Delete => self.delete(asked).await,
            Verb::DeleteCollection => self.delete_collection(asked).await,
        }
    }

    /// An unknown subresource is a missing *object*; a known one has few verbs.
    fn check_subresource(&self, target: &RequestTarget, verb: Verb) -> Result<(), Failure> {
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
                        resource.custom(),
                    ));
                }
                None => false,
            },
        };
        if !known {
            return Err(if resource.custom() {
                target.not_found()
            } else {
                Failure::no_such_route()
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

/// What to warn about in the credentials of somebody who came in without.
fn unread_token(parts: &Parts, caller: &Caller) -> Option<String> {
    let unread = caller.whose.user.name == ANONYMOUS && crate::authn::spaced(&parts.headers);
    let why = "the provided Authorization header contains extra space before the bearer token, and is ignored";
    unread.then(|| why.to_owned())
}

fn content_type(parts: &Parts) -> &str {
    let media = parts.headers.get(http::header::CONTENT_TYPE);
    media.and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// Notes on the connection, if there is one, who came in: so many of theirs may have requests under way.
fn on_connection(parts: &Parts, caller: &Caller) -> Result<(), Failure> {
    let user = caller.behind.as_ref().unwrap_or(&caller.whose.user);
    match parts.extensions.get::<Arc<connections::Request>>() {
        Some(request) if user.name != ANONYMOUS => request
            .of(&user.name)
            .map_err(Failure::too_many_connections),
        _ => Ok(()),
    }
}

/// What a path that leads to no resource is counted under: never a stranger's own words, of which there is no end.
fn known_place(path: &str) -> &'static str {
    const PLACES: [&str; 10] = [
        "api", "apis", "backup", "healthz", "livez", "metrics", "openapi", "readyz", "version", "",
    ];
    let first = path.trim_start_matches('/').split('/').next();
    let known = PLACES.into_iter().find(|place| Some(*place) == first);
    known.unwrap_or("other")
}

/// The name that a request is authorised with: the path's, or for lists and watches of one object their selector's.
fn named(target: &RequestTarget, query: &Query, verb: Verb) -> String {
    let selects = matches!(verb, Verb::List | Verb::Watch)
        && target.name.is_empty()
        && target.resource.backing != Backing::Virtual;
    let rules = target.rules().ok().filter(|_| selects);
    let fields = rules.and_then(|rules| {
        FieldSelection::parse(query.get("fieldSelector"), rules.resource, rules.version).ok()
    });
    match fields.as_ref().and_then(FieldSelection::name) {
        Some(name) => name.to_owned(),
        None => target.name.clone(),
    }
}

/// What a method that no collection takes would mean there: rights are asked for first.
fn collective(method: &Method, target: &RequestTarget) -> Option<Verb> {
    match method.as_str() {
        "PUT" if target.name.is_empty() => Some(Verb::Update),
        "PATCH" if target.name.is_empty() => Some(Verb::Patch),
        _ => None,
    }
}

/// What a method means on a path; `None` for what is never offered there.
fn verb_of(method: &Method, target: &RequestTarget, watching: bool) -> Option<Verb> {
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
