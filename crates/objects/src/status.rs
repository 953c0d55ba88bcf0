//! Failures as clients see them: a `Status` object with code, reason, message, details and causes.
//!
//! The texts are those of kube-apiserver, as recorded; people and tools grep for them.

use serde_json::{Map, Value, json};

use crate::reason::Reason;
use crate::schema::{FieldError, invalid_message, quote};

/// Why a body cannot be read as what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misread {
    /// It is of another type, or a part of it is: what the decoder says.
    Type(String),
    /// A strict reader refuses fields of it: which, and why.
    Strict(String),
}

impl Misread {
    /// What Go reads of every body first: texts that say what it is.
    ///
    /// # Errors
    /// What they are instead, in Go's words.
    pub fn interpret(object: &Value) -> Result<(), String> {
        let found = match object {
            Value::Object(_) | Value::Null => "",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
        };
        if !found.is_empty() {
            return Err(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            ));
        }
        let members = object.as_object().into_iter().flatten();
        for (name, value) in
            members.filter(|(name, _)| matches!(name.as_str(), "apiVersion" | "kind"))
        {
            let found = match value {
                Value::Null | Value::String(_) => continue,
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            return Err(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{name} of type string"
            ));
        }
        let version = object.get("apiVersion").and_then(Value::as_str);
        match version.filter(|version| version.matches('/').count() > 1) {
            Some(version) => Err(format!("unexpected GroupVersion string: {version}")),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Misread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Type(why) => f.write_str(why),
            Self::Strict(what) => write!(f, "strict decoding error: {what}"),
        }
    }
}

/// A refused request, complete with what the client is told.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: Reason,
    /// The text for people.
    pub message: String,
    /// `details`, where there are any.
    pub details: Option<Box<Map<String, Value>>>,
    /// `metadata.continue`, for an expired list.
    pub continue_token: Option<String>,
    /// Whether the answer is plain text instead of a `Status` (unknown paths).
    pub plain: bool,
    /// Why the body was not read, where that is why: nothing else of the request was looked at.
    pub misread: Option<Misread>,
    /// Texts for `Warning` headers that were found before the refusal.
    pub warnings: Vec<String>,
    /// Whether rights decided it, before anything of the request was looked at: such answers must not be sniffed.
    pub unadmitted: bool,
}

/// Names a resource in messages: `widgets.shop.example.dev`, or `configmaps` in the core group.
#[must_use]
pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

fn details(group: &str, kind: &str, name: &str) -> Map<String, Value> {
    let mut map = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            map.insert(key.to_owned(), value.into());
        }
    }
    map
}

impl Failure {
    /// A failure without details.
    #[must_use]
    pub fn new(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
            plain: false,
            misread: None,
            warnings: Vec::new(),
            unadmitted: false,
        }
    }

    /// Says that rights decided it.
    #[must_use]
    pub fn unadmitted(mut self) -> Self {
        self.unadmitted = true;
        self
    }

    /// Adds texts for `Warning` headers.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Adds `details`.
    #[must_use]
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds the kind and name in `details` and the causes of a refusal.
    #[must_use]
    pub fn with_causes(mut self, causes: Vec<Value>) -> Self {
        if !causes.is_empty() {
            self.details
                .get_or_insert_default()
                .insert("causes".to_owned(), causes.into());
        }
        self
    }

    /// 404 as plain text: a path that names no resource.
    #[must_use]
    pub fn no_such_path() -> Self {
        Self {
            plain: true,
            ..Self::new(404, Reason::NotFound, "404 page not found\n")
        }
    }

    /// 404 below a group that the server itself brings: there the real server has routes, and says so as a `Status`.
    #[must_use]
    pub fn no_such_route() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, Reason::NotFound, message).with_details(Map::new())
    }

    /// 404 of an object; `plural` as `details.kind`.
    #[must_use]
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", qualified(plural, group));
        Self::new(404, Reason::NotFound, message).with_details(details(group, plural, name))
    }

    /// 409 of a create.
    #[must_use]
    pub fn already_exists(group: &str, plural: &str, name: &str, deleting: bool) -> Self {
        let prefix = if deleting {
            "object is being deleted: "
        } else {
            ""
        };
        let message = format!(
            "{prefix}{} \"{name}\" already exists",
            qualified(plural, group)
        );
        Self::new(409, Reason::AlreadyExists, message).with_details(details(group, plural, name))
    }

    /// A 409 of a create that has a stem for its name: to be tried again, says the real server, even where the name was given.
    #[must_use]
    pub fn ungenerated(mut self) -> Self {
        self.message += ", the server was not able to generate a unique name for the object";
        let details = self.details.get_or_insert_default();
        details.insert("retryAfterSeconds".to_owned(), 1.into());
        self
    }

    /// 409 of a write that expected another state.
    #[must_use]
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            qualified(plural, group)
        );
        Self::new(409, Reason::Conflict, message).with_details(details(group, plural, name))
    }

    /// 409 of an update with an outdated version.
    #[must_use]
    pub fn modified(group: &str, plural: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, plural, name, why)
    }

    /// 422 with all causes; `kind` names the kind (or, on some paths, the plural).
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let causes = errors
            .iter()
            .map(|e| json!({"reason": e.kind.reason(), "message": e.body(), "field": e.field()}));
        let message = invalid_message(kind, group, name, errors);
        Self::new(422, Reason::Invalid, message)
            .with_details(details(group, kind, name))
            .with_causes(causes.collect())
    }

    /// 400.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Reason::BadRequest, message)
    }

    /// 400 of a body that cannot be read as a `kind`: what it says it is, in which version.
    #[must_use]
    pub fn misread((said, version): (&str, &str), kind: &str, why: Misread) -> Self {
        let message = format!(
            "{said} in version {} cannot be handled as a {kind}: {why}",
            quote(version)
        );
        Self {
            misread: Some(why),
            ..Self::bad_request(message)
        }
    }

    /// 403 of an object.
    #[must_use]
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let whose = qualified(plural, group);
        let message = if name.is_empty() {
            format!("{whose} is forbidden: {why}")
        } else {
            format!("{whose} \"{name}\" is forbidden: {why}")
        };
        Self::new(403, Reason::Forbidden, message).with_details(details(group, plural, name))
    }

    /// 405; `custom` tells the two wordings of the real server apart.
    #[must_use]
    pub fn method_not_allowed(verb: &str, group: &str, plural: &str, custom: bool) -> Self {
        let message = if custom {
            format!(
                "{verb} is not supported on resources of kind \"{}\"",
                qualified(plural, group)
            )
        } else {
            "the server does not allow this method on the requested resource".to_owned()
        };
        let map = if custom {
            details(group, plural, "")
        } else {
            Map::new()
        };
        Self::new(405, Reason::MethodNotAllowed, message).with_details(map)
    }

    /// 410: what was asked for is no longer kept.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Expired, message)
    }

    /// 415 naming what would be understood.
    #[must_use]
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, Reason::UnsupportedMediaType, message)
    }

    /// 406 naming what could be served.
    #[must_use]
    pub fn not_acceptable(served: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            served.join(", ")
        );
        Self::new(406, Reason::NotAcceptable, message)
    }

    /// 401.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, Reason::Unauthorized, "Unauthorized")
    }

    /// 429: come again.
    #[must_use]
    pub fn too_many_requests() -> Self {
        let mut details = Map::new();
        details.insert("retryAfterSeconds".to_owned(), 1.into());
        let message = "Too many requests, please try again later.";
        Self::new(429, Reason::TooManyRequests, message).with_details(details)
    }

    /// 429: so many watches are open that another one would be at the cost of others.
    #[must_use]
    pub fn too_many_watches(limit: usize) -> Self {
        let message = format!(
            "too many watches are open: at most {limit} may be. End some of them, or come again later"
        );
        Self {
            message,
            ..Self::too_many_requests()
        }
    }

    /// 429: requests of this user are under way on so many connections that another one would be at the cost of others.
    #[must_use]
    pub fn too_many_connections(limit: usize) -> Self {
        let message = format!(
            "requests are under way on too many connections of yours: at most {limit} may have some. Send several on one connection \
             (HTTP/2), end some watches, or come again later"
        );
        Self {
            message,
            ..Self::too_many_requests()
        }
    }

    /// 504: not done in time.
    #[must_use]
    pub fn timed_out(after: std::time::Duration) -> Self {
        let seconds = after.as_secs_f64();
        let message = format!("Timeout: request did not complete within {seconds}s");
        Self::new(504, Reason::Timeout, message)
    }

    /// 413 of a request body.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, Reason::RequestEntityTooLarge, message)
    }

    /// 500 with a text that says what was attempted.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, Reason::InternalError, message)
    }

    /// The `Status` object.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), token.clone().into());
        }
        let mut status = Map::new();
        status.insert("kind".to_owned(), "Status".into());
        status.insert("apiVersion".to_owned(), "v1".into());
        status.insert("metadata".to_owned(), metadata.into());
        status.insert("status".to_owned(), "Failure".into());
        status.insert("message".to_owned(), self.message.clone().into());
        if self.reason != Reason::Unknown {
            status.insert("reason".to_owned(), self.reason.word().into());
        }
        if let Some(details) = &self.details {
            status.insert("details".to_owned(), Value::Object((**details).clone()));
        }
        status.insert("code".to_owned(), self.code.into());
        status.into()
    }
}
