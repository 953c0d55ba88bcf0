//! Watch: a stream of JSON events over a cursor of the store.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::lists::{Rows, partial, table, too_old};
use super::negotiate::{Form, Format, Shape};
use super::query::Query;
use super::{Asked, Door, respond};
use crate::registry::Backing;
use crate::schema::FieldError;
use crate::status::Failure;
use crate::storage::{EventKind, Object, Watch};
use crate::verbs::read::Selection;
use crate::verbs::{Core, Target};

/// How long a watch lasts unless the client says otherwise: between this and twice this.
const LASTS: Duration = Duration::from_secs(1800);

/// How often a quiet watch gets a bookmark.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// After the initial events the first bookmark comes sooner.
const FIRST_BOOKMARK: Duration = Duration::from_secs(1);

/// A last bookmark comes this long before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

struct Stream {
    core: std::sync::Arc<Core>,
    target: Target,
    format: Format,
    shape: Shape,
    query: Query,
    selection: Selection,
    watch: Option<Watch>,
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    ends: Instant,
    headed: bool,
}

impl Door {
    pub(super) fn watch(&self, asked: Asked) -> Result<Response, Failure> {
        let resource = &asked.target.resource;
        if resource.backing == Backing::Virtual {
            return Err(Failure::method_not_allowed(
                "watch",
                &resource.group,
                &resource.plural,
                true,
            ));
        }
        let form = asked.accept.choose_of(asked.typed(), |s| {
            matches!(
                s,
                Shape::Object | Shape::Table(_) | Shape::Partial(_) | Shape::PartialList(_)
            )
        });
        let form = form.map_err(|_| {
            Failure::not_acceptable(&[
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ])
        })?;
        if form.format == Format::Yaml {
            return Err(Failure::not_acceptable(&[
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ]));
        }
        let stream = self.open(&asked, form)?;
        let media = match form.format {
            Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        };
        let body = futures::stream::unfold(stream, |mut stream| async {
            let chunk = stream.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), stream))
        });
        Ok(respond::with(
            200,
            media,
            Body::from_stream(body),
            &asked.warnings,
        ))
    }

    fn open(&self, asked: &Asked, form: Form) -> Result<Stream, Failure> {
        let query = &asked.query;
        let mut target = asked.target.clone();
        if !target.name.is_empty() {
            target = target.clone().at(&target.namespace, "");
        }
        let selection = Selection::parse(
            &target,
            query.get("labelSelector"),
            query.get("fieldSelector"),
        )?;
        let text = query.get("resourceVersion");
        let initial = check_initial(query)?;
        let from = match text {
            "" | "0" => None,
            text => Some(text.parse::<u64>().map_err(|_| {
                Failure::new(500, "", format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"))
            })?),
        };
        let now = Instant::now();
        let lasts = match query.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
            _ => LASTS + Duration::from_secs(self.core.store.rv() % LASTS.as_secs()),
        };
        let mut stream = Stream {
            core: std::sync::Arc::clone(&self.core),
            target,
            format: form.format,
            shape: form.shape,
            query: query.clone(),
            selection,
            watch: None,
            ready: VecDeque::new(),
            bookmarks: query.flag("allowWatchBookmarks"),
            next_bookmark: now + BOOKMARKS.min(lasts.saturating_sub(LAST_BOOKMARK)),
            ends: now + lasts,
            headed: true,
        };
        let start = match (from, initial) {
            (Some(from), None | Some(false)) => from,
            (None, Some(false)) => self.core.store.rv(),
            (_, initial) => stream.begin(initial == Some(true))?,
        };
        match self.core.watch(&stream.target, start) {
            Ok(watch) => stream.watch = Some(watch),
            Err(gone) => stream.fail(&too_old(gone)),
        }
        Ok(stream)
    }
}

/// Reads `sendInitialEvents` with the rules that go with it.
fn check_initial(query: &Query) -> Result<Option<bool>, Failure> {
    let refuse = |error| Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &[error]));
    let matching = query.get("resourceVersionMatch");
    if !query.has("sendInitialEvents") {
        if matching.is_empty() {
            return Ok(None);
        }
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        return refuse(FieldError::forbidden("resourceVersionMatch", why));
    }
    if matching.is_empty() {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        return refuse(FieldError::forbidden("resourceVersionMatch", why));
    }
    if matching != "NotOlderThan" {
        return refuse(FieldError::not_supported(
            "resourceVersionMatch",
            matching,
            &["NotOlderThan"],
        ));
    }
    Ok(Some(query.flag("sendInitialEvents")))
}

impl Stream {
    /// Starts with what is there; returns the version to follow from.
    fn begin(&mut self, marked: bool) -> Result<u64, Failure> {
        let listing = self
            .core
            .store
            .list(&self.target.resource.key(), &self.target.prefix());
        for (_, object) in listing.objects {
            if self.selection.matches(&object) {
                self.push(EventKind::Added, &object)?;
            }
        }
        if marked && self.bookmarks {
            self.bookmark(listing.rv, true)?;
            // As the real server: a client that has just been told that it is in step learns once more soon.
            self.next_bookmark = self.next_bookmark.min(Instant::now() + FIRST_BOOKMARK);
        }
        Ok(listing.rv)
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            let mut watch = self.watch.take()?;
            if Instant::now() >= self.ends {
                return None;
            }
            let pause = if self.bookmarks {
                self.next_bookmark.min(self.ends)
            } else {
                self.ends
            };
            let waited = tokio::time::timeout_at(pause, watch.next()).await;
            let step = match waited {
                Err(_) => self.pause(&watch),
                Ok(Ok(events)) => {
                    let seen: Vec<_> = events
                        .iter()
                        .filter_map(|e| self.selection.sees(e))
                        .collect();
                    seen.iter()
                        .try_for_each(|(kind, object)| self.push(*kind, object))
                }
                Ok(Err(gone)) => {
                    self.fail(&too_old(gone));
                    continue;
                }
            };
            match step {
                Ok(()) => self.watch = Some(watch),
                Err(failure) => self.fail(&failure),
            }
        }
    }

    /// Nothing happened for a while: time for a bookmark, or for the end.
    fn pause(&mut self, watch: &Watch) -> Result<(), Failure> {
        let now = Instant::now();
        if self.bookmarks && now >= self.next_bookmark && now < self.ends {
            let last = self.ends.checked_sub(LAST_BOOKMARK).unwrap_or(self.ends);
            self.next_bookmark = if now >= last {
                self.ends
            } else {
                (now + BOOKMARKS).min(last)
            };
            self.bookmark(watch.cursor().min(self.core.store.rv()), false)?;
        }
        Ok(())
    }

    fn push(&mut self, kind: EventKind, object: &std::sync::Arc<Object>) -> Result<(), Failure> {
        let word = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        let rules = self.target.rules()?;
        let shown = self
            .core
            .show(rules.resource, rules.version, std::sync::Arc::clone(object))?;
        let text = match self.shape {
            Shape::Table(version) => {
                let value = shown.value();
                let mut metadata = Map::new();
                metadata.insert("resourceVersion".to_owned(), object.rv.to_string().into());
                let headed = std::mem::take(&mut self.headed);
                let objects = std::slice::from_ref(&value);
                let (target, query, now) = (&self.target, &self.query, self.core.now());
                let table = table(Rows {
                    target,
                    version,
                    objects,
                    metadata,
                    query,
                    headed,
                    now,
                })?;
                table.to_string().into()
            }
            Shape::Partial(version) | Shape::PartialList(version) => {
                partial(&shown.value(), version).to_string().into()
            }
            _ => shown.bytes(),
        };
        self.event(word, &text);
        Ok(())
    }

    fn bookmark(&mut self, rv: u64, initial: bool) -> Result<(), Failure> {
        let rules = self.target.rules()?;
        let mut metadata = json!({"resourceVersion": rv.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = match self.shape {
            Shape::Partial(version) | Shape::PartialList(version) => (
                "PartialObjectMetadata".to_owned(),
                format!("meta.k8s.io/{version}"),
            ),
            _ => (rules.resource.kind.clone(), rules.api_version()),
        };
        let object = match self.shape {
            Shape::Table(version) => json!({
                "kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
                "columnDefinitions": Value::Null, "rows": [],
            }),
            _ => json!({"kind": kind, "apiVersion": api_version, "metadata": metadata}),
        };
        self.event("BOOKMARK", &object.to_string().into());
        Ok(())
    }

    /// Ends the stream with an ERROR event.
    fn fail(&mut self, failure: &Failure) {
        self.event("ERROR", &failure.to_status().to_string().into());
        self.watch = None;
    }

    fn event(&mut self, word: &str, object: &Bytes) {
        if self.format == Format::Protobuf {
            let value: Value = serde_json::from_slice(object).unwrap_or(Value::Null);
            let frame = super::protobuf::frame(word, &value).unwrap_or_default();
            self.ready.push_back(frame.into());
            return;
        }
        let mut line = BytesMut::with_capacity(object.len() + 40);
        line.put_slice(b"{\"type\":\"");
        line.put_slice(word.as_bytes());
        line.put_slice(b"\",\"object\":");
        line.put_slice(object);
        line.put_slice(b"}\n");
        self.ready.push_back(line.freeze());
    }
}
