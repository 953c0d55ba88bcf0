//! Get and list: objects, lists, tables and partial metadata.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use super::negotiate::{Form, Format, Shape};
use super::pieces::Piece;
use super::query::Query;
use super::{Asked, Door, respond};
use crate::reason::Reason;
use crate::registry::Origin;
use crate::schema::FieldError;
use crate::status::Failure;
use crate::storage::Gone;
use crate::table::{self, Include, partial_metadata};
use crate::verbs::read::{ListQuery, Page};
use crate::verbs::{Shown, Target};

/// How long a read waits for a version that is not there yet.
const WAIT: std::time::Duration = std::time::Duration::from_secs(3);

impl Door {
    pub(super) async fn get(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), |s| {
            matches!(
                s,
                Shape::Object | Shape::Table(_) | Shape::Partial(_) | Shape::PartialList(_)
            )
        })?;
        if let Some(version) = rv_parameter(&asked.query, false)? {
            self.reach(version).await?;
        }
        let shown = self.core.get(&asked.target, &asked.whose).await?;
        if asked.target.subresource == "scale" {
            let scale = super::scale::shown(&asked.target, &shown.value())?;
            if let Shape::Table(version) = form.shape {
                let table = super::scale::table(&scale, version, &asked.query, self.core.now())?;
                return Ok(respond::value(200, form.format, &table, &asked.warnings));
            }
            if let Shape::Partial(version) = form.shape {
                let part = partial(&scale, version);
                return Ok(respond::value(200, form.format, &part, &asked.warnings));
            }
            return Ok(respond::value(200, form.format, &scale, &asked.warnings));
        }
        one(
            200,
            form,
            &asked.target,
            &shown,
            &asked.query,
            self.core.now(),
            &asked.warnings,
        )
    }

    pub(super) async fn list(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked
            .accept
            .choose_of(asked.typed(), |s| s != Shape::Discovery)?;
        if matches!(form.shape, Shape::Partial(_)) {
            let found = go_type(&asked.target, "List");
            let why = format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({found})"
            );
            return Err(Failure::new(406, Reason::NotAcceptable, why));
        }
        let query = list_query(&asked.query)?;
        if let Some(version) = rv_parameter(&asked.query, true)? {
            self.reach(version).await?;
        }
        let page = self.core.list(&asked.target, &asked.whose, &query).await?;
        let warnings = &asked.warnings;
        match form.shape {
            Shape::Table(version) => {
                let items: Vec<Value> = page.items.iter().map(Shown::value).collect();
                let metadata = list_metadata(&page, false);
                let now = self.core.now();
                let (target, query) = (&asked.target, &asked.query);
                let table = table(Rows {
                    target,
                    version,
                    objects: &items,
                    metadata,
                    query,
                    headed: true,
                    now,
                })?;
                Ok(respond::value(200, form.format, &table, warnings))
            }
            Shape::PartialList(version) => {
                let items: Vec<Value> = page
                    .items
                    .iter()
                    .map(|item| partial(&item.value(), version))
                    .collect();
                let value = json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
                    "metadata": list_metadata(&page, false), "items": items,
                });
                Ok(respond::value(200, form.format, &value, warnings))
            }
            _ => Ok(objects(form.format, &asked.target, &page, warnings)?),
        }
    }

    /// Waits until the store has reached a version that the client has seen.
    pub(super) async fn reach(&self, version: u64) -> Result<(), Failure> {
        let started = tokio::time::Instant::now();
        while self.core.store.rv() < version {
            if started.elapsed() > WAIT {
                let current = self.core.store.rv();
                let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
                let mut details = Map::new();
                details.insert("causes".to_owned(), json!([cause]));
                details.insert("retryAfterSeconds".to_owned(), 1.into());
                let message =
                    format!("Timeout: Too large resource version: {version}, current: {current}");
                return Err(Failure::new(504, Reason::Timeout, message).with_details(details));
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// The version parameter of a read; zero and absent ask for anything.
fn rv_parameter(query: &Query, list: bool) -> Result<Option<u64>, Failure> {
    let text = query.get("resourceVersion");
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    // Go's ParseUint takes digits alone.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let parsed = Some(text).filter(|_| digits).map(str::parse::<u64>);
    let parsed = parsed.and_then(Result::ok).ok_or(());
    let problem = match digits {
        true => "value out of range",
        false => "invalid syntax",
    };
    let why = format!(
        "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {problem}"
    );
    parsed.map(Some).map_err(|_| {
        if list {
            Failure::bad_request(format!("invalid resource version: {why}"))
        } else {
            Failure::new(500, Reason::Unknown, why)
        }
    })
}

/// What is wrong with the parameters of a list: all of it at once.
fn list_problems(query: &Query, token: &str) -> Vec<FieldError> {
    const FIELD: &str = "resourceVersionMatch";
    let (version, matching) = (query.get("resourceVersion"), query.get(FIELD));
    let mut problems = Vec::new();
    let mut forbidden = |field: &str, why: &str| problems.push(FieldError::forbidden(field, why));
    if !matching.is_empty() {
        if version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            forbidden(FIELD, why);
        }
        if !token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            forbidden(FIELD, why);
        }
        if matching == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            forbidden(FIELD, why);
        }
    }
    if query.has("sendInitialEvents") {
        let why = "sendInitialEvents is forbidden for list";
        forbidden("sendInitialEvents", why);
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        let known = ["Exact", "NotOlderThan", ""];
        let at = problems.iter().position(|p| p.path == "sendInitialEvents");
        let at = at.unwrap_or(problems.len());
        problems.insert(at, FieldError::not_supported(FIELD, matching, &known));
    }
    problems
}

/// Reads the parameters of a list.
pub(super) fn list_query(query: &Query) -> Result<ListQuery, Failure> {
    let limit = query.number("limit")?.unwrap_or(0);
    let token = query.get("continue").to_owned();
    let (version, matching) = (
        query.get("resourceVersion"),
        query.get("resourceVersionMatch"),
    );
    let problems = list_problems(query, &token);
    if !problems.is_empty() {
        return Err(Failure::invalid(
            "meta.k8s.io",
            "ListOptions",
            "",
            &problems,
        ));
    }
    if !token.is_empty() && !version.is_empty() && version != "0" {
        return Err(Failure::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let exact = if matching == "Exact"
        || (matching.is_empty() && limit > 0 && !version.is_empty() && version != "0")
    {
        rv_parameter(query, true)?
    } else {
        None
    };
    Ok(ListQuery {
        labels: query.get("labelSelector").to_owned(),
        fields: query.get("fieldSelector").to_owned(),
        // What any version answers is answered at once, and whole.
        limit: match version {
            "0" if token.is_empty() => 0,
            _ => usize::try_from(limit).unwrap_or(0),
        },
        token,
        exact,
    })
}

/// The metadata of a list; custom resources show an empty continue token on the last page.
pub(super) fn list_metadata(page: &Page, custom: bool) -> Map<String, Value> {
    let mut metadata = Map::new();
    match &page.token {
        Some(token) => drop(metadata.insert("continue".to_owned(), token.clone().into())),
        None if custom => drop(metadata.insert("continue".to_owned(), "".into())),
        None => {}
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), remaining.into());
    }
    metadata.insert("resourceVersion".to_owned(), page.rv.to_string().into());
    metadata
}

/// A list as it is: stored bytes, one after the other.
fn objects(
    format: Format,
    target: &Target,
    page: &Page,
    warnings: &[String],
) -> Result<Response, Failure> {
    let rules = target.rules()?;
    let custom = rules.resource.custom();
    let metadata = Value::Object(list_metadata(page, custom)).to_string();
    let (kind, api_version) = (
        json!(rules.resource.list_kind).to_string(),
        json!(rules.api_version()).to_string(),
    );
    let mut pieces: Vec<Piece> = Vec::with_capacity(page.items.len() * 2 + 2);
    let text = |text: String| Piece::Text(text.into());
    pieces.push(text(if custom {
        format!("{{\"apiVersion\":{api_version},\"items\":[")
    } else {
        format!(
            "{{\"kind\":{kind},\"apiVersion\":{api_version},\"metadata\":{metadata},\"items\":["
        )
    }));
    for (i, item) in page.items.iter().enumerate() {
        if i > 0 {
            pieces.push(Piece::Text(Bytes::from_static(b",")));
        }
        let piece = match item {
            Shown::Stored(object) if custom => Piece::Object(Arc::clone(object)),
            Shown::Stored(object) => {
                pieces.push(Piece::Text(Bytes::from_static(b"{")));
                Piece::Body(Arc::clone(object))
            }
            Shown::Value(value) if !custom => {
                let mut value = value.clone();
                if let Some(root) = value.as_object_mut() {
                    root.shift_remove("kind");
                    root.shift_remove("apiVersion");
                }
                text(value.to_string())
            }
            Shown::Value(_) => Piece::Text(item.bytes()),
        };
        pieces.push(piece);
    }
    pieces.push(text(if custom {
        format!("],\"kind\":{kind},\"metadata\":{metadata}}}\n")
    } else {
        "]}\n".to_owned()
    }));
    let length: usize = pieces.iter().map(Piece::len).sum();
    if format != Format::Json {
        let mut whole = BytesMut::with_capacity(length);
        pieces.iter().for_each(|piece| whole.put(piece.bytes()));
        return Ok(respond::text(200, format, whole.freeze(), warnings));
    }
    let pieces = pieces.into_iter().map(|piece| piece.bytes());
    let stream = futures::stream::iter(pieces.map(Ok::<_, std::convert::Infallible>));
    let mut response = respond::with(200, "application/json", Body::from_stream(stream), warnings);
    respond::set(
        response.headers_mut(),
        http::header::CONTENT_LENGTH,
        &length.to_string(),
    );
    Ok(response)
}

/// One object in the shape that was asked for.
pub(super) fn one(
    code: u16,
    form: Form,
    target: &Target,
    shown: &Shown,
    query: &Query,
    now: jiff::Timestamp,
    warnings: &[String],
) -> Result<Response, Failure> {
    match form.shape {
        Shape::Table(version) => {
            let object = shown.value();
            let mut metadata = Map::new();
            if let Some(rv) = object.pointer("/metadata/resourceVersion") {
                metadata.insert("resourceVersion".to_owned(), rv.clone());
            }
            let objects = std::slice::from_ref(&object);
            let table = table(Rows {
                target,
                version,
                objects,
                metadata,
                query,
                headed: true,
                now,
            })?;
            Ok(respond::value(code, form.format, &table, warnings))
        }
        Shape::Partial(version) => Ok(respond::value(
            code,
            form.format,
            &partial(&shown.value(), version),
            warnings,
        )),
        Shape::PartialList(_) if target.resource.custom() => {
            Err(Failure::new(500, Reason::Unknown, "content is not a list"))
        }
        Shape::PartialList(_) => {
            let found = go_type(target, "");
            let why = format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({found})"
            );
            Err(Failure::new(406, Reason::NotAcceptable, why))
        }
        _ => Ok(respond::text(code, form.format, shown.bytes(), warnings)),
    }
}

/// The Go type of an object, or with `List` of a list, as the real server names it.
fn go_type(target: &Target, list: &str) -> String {
    let resource = &target.resource;
    if resource.custom() {
        return format!("*unstructured.Unstructured{list}");
    }
    let package = match resource.group.as_str() {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    format!("*{package}.{}{list}", resource.kind)
}

/// The metadata of an object alone.
pub(super) fn partial(object: &Value, version: &str) -> Value {
    partial_metadata(object, &format!("meta.k8s.io/{version}"))
}

/// What a table is made from.
pub(super) struct Rows<'a> {
    pub(super) target: &'a Target,
    pub(super) version: &'a str,
    pub(super) objects: &'a [Value],
    pub(super) metadata: Map<String, Value>,
    pub(super) query: &'a Query,
    /// Whether the columns are described: once in a watch.
    pub(super) headed: bool,
    pub(super) now: jiff::Timestamp,
}

/// A table over objects.
pub(super) fn table(rows: Rows<'_>) -> Result<Value, Failure> {
    let columns = &rows.target.rules()?.version.columns;
    let form = (rows.version, rows.headed, rows.now);
    table_of(columns, (rows.objects, rows.metadata), rows.query, form)
}

/// A table of columns over objects, in a version of meta.k8s.io, with or without descriptions of the columns.
pub(super) fn table_of(
    columns: &[table::Column],
    (objects, metadata): (&[Value], Map<String, Value>),
    query: &Query,
    (version, headed, now): (&str, bool, jiff::Timestamp),
) -> Result<Value, Failure> {
    let text = query.get("includeObject");
    let include = Include::parse(text).ok_or_else(|| {
        Failure::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: \"{text}\": must be 'Metadata', 'Object', 'None', or empty"
        ))
    })?;
    let form = table::Form {
        include,
        api_version: &format!("meta.k8s.io/{version}"),
        definitions: headed,
        now,
    };
    Ok(table::table(
        columns,
        objects,
        Value::Object(metadata),
        form,
    ))
}

/// 410 of a list or a watch that is too old.
pub(super) fn too_old(gone: Gone) -> Failure {
    Failure::expired(gone.to_string())
}

/// Whether items of lists leave out kind and apiVersion.
pub(super) fn typed(target: &Target) -> bool {
    target.resource.origin == Origin::BuiltIn
}
