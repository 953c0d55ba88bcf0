//! The forms in which objects and lists are answered: as they are, as tables, as metadata alone.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use objects::resource::Origin;
use objects::table::{self, Include, partial_metadata};
use objects::{Failure, Reason};
use serde_json::{Map, Value, json};

use super::negotiate::{Form, Format, Shape};
use super::pieces::Piece;
use super::query::Query;
use super::respond::{self, Answer};
use crate::verbs::read::Page;
use crate::verbs::{RequestTarget, Shown};

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
pub(super) fn objects(
    format: Format,
    target: &RequestTarget,
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
    let answer = Answer::new(200, "application/json", Body::from_stream(stream));
    let answer = answer.header(http::header::CONTENT_LENGTH, &length.to_string());
    Ok(answer.warned(warnings).done())
}

/// One object in the shape that was asked for.
pub(super) fn one(
    code: u16,
    form: Form,
    target: &RequestTarget,
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
pub(super) fn go_type(target: &RequestTarget, list: &str) -> String {
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
    pub(super) target: &'a RequestTarget,
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
    Ok(form.table(columns, objects, Value::Object(metadata)))
}

/// Whether items of lists leave out kind and apiVersion.
pub(super) fn typed(target: &RequestTarget) -> bool {
    target.resource.origin == Origin::BuiltIn
}

/// A list is no object whose metadata alone could be told.
///
/// # Errors
/// 406, naming the list's type.
pub(super) fn no_part(target: &RequestTarget, shape: Shape) -> Result<(), Failure> {
    if !matches!(shape, Shape::Partial(_)) {
        return Ok(());
    }
    let found = go_type(target, "List");
    let why = format!(
        "you requested PartialObjectMetadata, but the requested object is a list ({found})"
    );
    Err(Failure::new(406, Reason::NotAcceptable, why))
}

/// A page as a table or as metadata alone; `None` where the list itself was asked for.
///
/// # Errors
/// What rows are to hold beside their cells is not understood.
pub(super) fn shaped(
    shape: Shape,
    target: &RequestTarget,
    page: &Page,
    query: &Query,
    now: jiff::Timestamp,
) -> Result<Option<Value>, Failure> {
    let metadata = list_metadata(page, false);
    match shape {
        Shape::Table(version) => {
            let items: Vec<Value> = page.items.iter().map(Shown::value).collect();
            let mut table = table(Rows {
                target,
                version,
                objects: &items,
                metadata,
                query,
                headed: true,
                now,
            })?;
            let kind = target.resource.built_in_kind();
            if items.is_empty() && matches!(kind, Some("Role" | "ClusterRole")) {
                // These are printed as kinds without columns of their own: no rows are none at all.
                table["rows"] = Value::Null;
            }
            Ok(Some(table))
        }
        Shape::PartialList(version) => {
            let items = page.items.iter();
            let mut items = Value::from_iter(items.map(|item| partial(&item.value(), version)));
            if page.items.is_empty() {
                // Nobody made a list of them.
                items = Value::Null;
            }
            Ok(Some(json!({
                "kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": metadata, "items": items,
            })))
        }
        _ => Ok(None),
    }
}
