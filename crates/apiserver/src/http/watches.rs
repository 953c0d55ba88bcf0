//! Watch: a stream of JSON events over a cursor of the store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use objects::schema::FieldError;
use objects::{Backing, Failure, Reason};
use objectstore::{EventKind, Key, Object, Watch};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::forms::{Rows, partial, table};
use super::lists::too_old;
use super::negotiate::{Form, Format, Shape};
use super::parameters::refused;
use super::query::Query;
use super::respond::Answer;
use super::{Asked, Door};
use crate::connections::Lasting;
use crate::limits::Share;
use crate::verbs::read::Selection;
use crate::verbs::{Core, RequestTarget};

/// How long a watch lasts unless the client says otherwise: between this and twice this.
const LASTS: Duration = Duration::from_secs(1800);

/// How often a quiet watch gets a bookmark.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// After the initial events the first bookmark comes sooner.
const FIRST_BOOKMARK: Duration = Duration::from_secs(1);

/// A last bookmark comes this long before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// So many bytes of what a watch starts with are taken from the store at once.
const PAGE: usize = 256 << 10;

/// A part of the stream that is to be sent. Events are written down when they are: a watcher that does not read
/// holds objects that others hold, too.
enum Ready {
    Text(Bytes),
    Event(EventKind, Arc<Object>),
}

/// Where the first list of a watch has got to.
struct Initial {
    /// The version that is listed.
    rv: u64,
    /// The last key that was taken; empty at first.
    after: Key,
    /// Whether a bookmark tells its end.
    marked: bool,
}

struct Stream {
    core: Arc<Core>,
    target: RequestTarget,
    format: Format,
    shape: Shape,
    query: Query,
    selection: Selection,
    /// Held as long as the stream is.
    _share: Share,
    /// What the stream starts with, where it is not all sent.
    initial: Option<Initial>,
    watch: Option<Watch>,
    ready: VecDeque<Ready>,
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
        // What is asked for is read first: only then does it matter how it would be told.
        let stream = self.open(&asked, form)?;
        if form.format == Format::Yaml {
            return Err(Failure::not_acceptable(&[
                "application/json;stream=watch",
                "application/vnd.kubernetes.protobuf;stream=watch",
            ]));
        }
        let media = match form.format {
            Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        };
        let body = futures::stream::unfold(stream, |mut stream| async {
            let chunk = stream.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), stream))
        });
        let answer = Answer::new(200, media, Body::from_stream(body));
        let mut answer = answer.warned(&asked.warnings).done();
        answer.extensions_mut().insert(Lasting);
        Ok(answer)
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
                Failure::new(500, Reason::Unknown, format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"))
            })?),
        };
        let share = self.guard.watches.take(&asked.whose.user.name);
        let share = share.map_err(Failure::too_many_watches)?;
        let now = Instant::now();
        let lasts = match query.number("timeoutSeconds")? {
            Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
            _ => LASTS + Duration::from_secs(self.core.store.rv() % LASTS.as_secs()),
        };
        let mut stream = Stream {
            core: Arc::clone(&self.core),
            target,
            format: form.format,
            shape: form.shape,
            query: query.clone(),
            selection,
            _share: share,
            initial: None,
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
            (_, initial) => {
                // The version before the first page: what is written while the list is sent is an event of the watch behind it.
                let rv = self.core.store.rv();
                stream.initial = Some(Initial {
                    rv,
                    after: "".into(),
                    marked: initial == Some(true),
                });
                rv
            }
        };
        match self.core.watch(&stream.target, start) {
            Ok(watch) => stream.watch = Some(watch),
            Err(gone) => stream.fail(&too_old(gone)),
        }
        // What cannot be shown at all is refused before the stream begins.
        stream.fill()?;
        stream.write_first()?;
        Ok(stream)
    }
}

/// Reads `sendInitialEvents` with the rules that go with it.
fn check_initial(query: &Query) -> Result<Option<bool>, Failure> {
    const FIELD: &str = "resourceVersionMatch";
    let matching = query.get(FIELD);
    let initial = query.has("sendInitialEvents");
    let mut problems = Vec::new();
    if initial && matching != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        problems.push(FieldError::forbidden(FIELD, why));
    }
    if !matching.is_empty() {
        if !initial {
            let why =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            problems.push(FieldError::forbidden(FIELD, why));
        }
        if matching != "NotOlderThan" {
            problems.push(FieldError::not_supported(
                FIELD,
                matching,
                &["NotOlderThan"],
            ));
        }
        if query.has("continue") && !query.get("continue").is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            problems.push(FieldError::forbidden(FIELD, why));
        }
    }
    refused(&problems)?;
    if !initial {
        return Ok(None);
    }
    Ok(Some(query.flag("sendInitialEvents")))
}

impl Stream {
    /// Takes on with what the stream starts with, until something of it is to be sent.
    fn fill(&mut self) -> Result<(), Failure> {
        while self.ready.is_empty()
            && let Some(initial) = &mut self.initial
        {
            let (resource, prefix) = (self.target.resource.key(), self.target.prefix());
            let from = (prefix.as_str(), initial.after.as_ref());
            let page = self.core.store.page_at(&resource, from, initial.rv, PAGE);
            let page = page.map_err(too_old)?;
            match page.last() {
                Some((last, _)) => initial.after = last.clone(),
                None => self.listed()?,
            }
            let seen = page.into_iter().map(|(_, object)| object);
            let seen = seen.filter(|object| self.selection.matches(object));
            let added = seen.map(|object| Ready::Event(EventKind::Added, object));
            self.ready.extend(added);
        }
        Ok(())
    }

    /// The first list is complete.
    fn listed(&mut self) -> Result<(), Failure> {
        let Some(initial) = self.initial.take() else {
            return Ok(());
        };
        if initial.marked && self.bookmarks {
            self.bookmark(initial.rv, true)?;
            // As the real server: a client that has just been told that it is in step learns once more soon.
            self.next_bookmark = self.next_bookmark.min(Instant::now() + FIRST_BOOKMARK);
        }
        Ok(())
    }

    /// Writes down what is to be sent first.
    fn write_first(&mut self) -> Result<(), Failure> {
        if let Some(Ready::Event(kind, object)) = self.ready.front() {
            let (kind, object) = (*kind, Arc::clone(object));
            let text = self.write(kind, &object)?;
            self.ready.pop_front();
            self.ready.push_front(Ready::Text(text));
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.ready.pop_front() {
                Some(Ready::Text(text)) => return Some(text),
                Some(Ready::Event(kind, object)) => match self.write(kind, &object) {
                    Ok(text) => return Some(text),
                    Err(failure) => {
                        self.fail(&failure);
                        continue;
                    }
                },
                None => {}
            }
            if self.initial.is_some() {
                if let Err(failure) = self.fill() {
                    self.fail(&failure);
                }
                continue;
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
                    let seen = events.iter().filter_map(|e| self.selection.sees(e));
                    let seen = seen.map(|(kind, object)| Ready::Event(kind, object));
                    self.ready.extend(seen);
                    Ok(())
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
            // A watch that was asked to begin in the future has seen nothing of what lies before.
            self.bookmark(watch.cursor().min(self.core.store.rv()), false)?;
        }
        Ok(())
    }

    /// Writes an event down.
    fn write(&mut self, kind: EventKind, object: &Arc<Object>) -> Result<Bytes, Failure> {
        let word = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        let rules = self.target.rules()?;
        let shown = self
            .core
            .show(rules.resource, rules.version, Arc::clone(object))?;
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
        Ok(self.event(word, &text))
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
            // A bookmark is a row like any other, of an object that has metadata alone; what comes first tells the columns.
            Shape::Table(version) => {
                let headed = self.ready.is_empty() && std::mem::take(&mut self.headed);
                let version_of_list = ("resourceVersion".to_owned(), rv.to_string().into());
                table(Rows {
                    target: &self.target,
                    version,
                    objects: &[json!({"metadata": metadata})],
                    metadata: Map::from_iter([version_of_list]),
                    query: &self.query,
                    headed,
                    now: self.core.now(),
                })?
            }
            _ => json!({"kind": kind, "apiVersion": api_version, "metadata": metadata}),
        };
        let text = self.event("BOOKMARK", &object.to_string().into());
        self.ready.push_back(Ready::Text(text));
        Ok(())
    }

    /// Ends the stream with an ERROR event.
    fn fail(&mut self, failure: &Failure) {
        let text = self.event("ERROR", &failure.to_status().to_string().into());
        self.ready.clear();
        self.ready.push_back(Ready::Text(text));
        self.initial = None;
        self.watch = None;
    }

    /// An event in the form of the stream.
    fn event(&self, word: &str, object: &Bytes) -> Bytes {
        if self.format == Format::Protobuf {
            let value: Value = serde_json::from_slice(object).unwrap_or(Value::Null);
            let frame = super::protobuf::frame(word, &value).unwrap_or_default();
            return frame.into();
        }
        let mut line = BytesMut::with_capacity(object.len() + 40);
        line.put_slice(b"{\"type\":\"");
        line.put_slice(word.as_bytes());
        line.put_slice(b"\",\"object\":");
        line.put_slice(object);
        line.put_slice(b"}\n");
        line.freeze()
    }
}
