//! Reading: get, list and watch.

use std::sync::Arc;

use base64::Engine as _;
use objects::resource::Origin;
use objects::select::{FieldSelection, LabelSelection};
use objects::{Backing, Failure};
use objectstore::{Event, EventKind, Gone, Object, Watch};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Core, RequestTarget, Shown, Whose, refused};
use crate::gateway::Verb;

/// What a list asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListQuery {
    /// Label selector, as written.
    pub labels: String,
    /// Field selector, as written.
    pub fields: String,
    /// At most so many; zero for all.
    pub limit: usize,
    /// The token of an earlier page; empty for the first.
    pub token: String,
    /// Whether a version is asked for beside the token, which is refused once the token is read.
    pub overruled: bool,
    /// Exactly this version, instead of the newest.
    pub exact: Option<u64>,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The version of the snapshot.
    pub rv: u64,
    /// The objects.
    pub items: Vec<Shown>,
    /// The token of the next page, if there is one.
    pub token: Option<String>,
    /// How many follow, where that is known.
    pub remaining: Option<usize>,
}

/// What a continue token holds.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    rv: u64,
    start: String,
}

/// A selector of labels and fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: LabelSelection,
    fields: FieldSelection,
    prefix: String,
    /// What selects by fields of its objects.
    of: Option<RequestTarget>,
}

impl Selection {
    /// Parses the selectors of a request on `target`.
    ///
    /// # Errors
    /// 400, saying what was not understood.
    pub(crate) fn parse(
        target: &RequestTarget,
        labels: &str,
        fields: &str,
    ) -> Result<Self, Failure> {
        let rules = target.rules()?;
        Ok(Self {
            labels: LabelSelection::parse(labels)?,
            fields: FieldSelection::parse(fields, rules.resource, rules.version)?,
            prefix: target.prefix(),
            of: Some(target.clone()),
        })
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is in the addressed collection and fits.
    #[must_use]
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let fields = &object.fields;
        let namespace = self.prefix.trim_end_matches('/');
        (namespace.is_empty() || fields.namespace == namespace)
            && self.labels.matches(|key| fields.labels.get(key))
            && self
                .fields
                .matches((&fields.namespace, &fields.name), || self.read(object))
    }

    /// An object as the version that was asked shows it.
    fn read(&self, object: &Object) -> Value {
        let rules = self.of.as_ref().and_then(|target| target.rules().ok());
        let Some(rules) = rules.filter(|rules| rules.resource.origin == Origin::Crd) else {
            return object.value();
        };
        if super::as_stored(rules.resource, rules.version, object) {
            return object.value();
        }
        let read = rules.resource.read(object.value(), rules.version);
        read.unwrap_or_else(|_| object.value())
    }

    /// What an event is to this selection: an object that leaves it is deleted, one that enters it is added.
    #[must_use]
    pub(crate) fn sees(&self, event: &Event) -> Option<(EventKind, Arc<Object>)> {
        if event.kind == EventKind::Deleted {
            return event
                .old
                .as_ref()
                .filter(|old| self.matches(old))
                .map(|_| (EventKind::Deleted, Arc::clone(&event.object)));
        }
        let now = self.matches(&event.object);
        let old = event.old.as_ref().filter(|old| self.matches(old));
        match (old, now) {
            (None, true) => Some((EventKind::Added, Arc::clone(&event.object))),
            (Some(_), true) => Some((EventKind::Modified, Arc::clone(&event.object))),
            (Some(old), false) => Some((EventKind::Deleted, Arc::new(old.at(event.rv)))),
            (None, false) => None,
        }
    }
}

impl Core {
    /// Reads one object.
    ///
    /// # Errors
    /// 404, or what the gateway says.
    pub(crate) async fn get(
        &self,
        target: &RequestTarget,
        whose: &Whose,
    ) -> Result<Shown, Failure> {
        let rules = target.rules()?;
        if target.resource.backing == Backing::Virtual {
            let call = target.call(Verb::Get, whose);
            let outcome = self
                .gateway()?
                .handle(call)
                .await
                .map_err(|r| refused(target, r))?;
            return Ok(Shown::Value(outcome.object));
        }
        let found = self
            .store
            .get(&target.resource.key(), &target.key())
            .ok_or_else(|| target.not_found())?;
        self.show(rules.resource, rules.version, found)
    }

    /// Lists a collection.
    ///
    /// # Errors
    /// 400 for selectors and tokens, 410 for snapshots that are no longer kept.
    pub(crate) async fn list(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        query: &ListQuery,
    ) -> Result<Page, Failure> {
        let rules = target.rules()?;
        if target.resource.backing == Backing::Virtual {
            if query.overruled {
                return Err(overruled());
            }
            return self.list_virtual(target, whose, query).await;
        }
        let selection = Selection::parse(target, &query.labels, &query.fields)?;
        let resource = target.resource.key();
        let prefix = target.prefix();
        let token = if query.token.is_empty() {
            None
        } else {
            Some(self.token(&query.token)?)
        };
        if query.overruled {
            return Err(overruled());
        }
        // All pages are of one moment: what changes between them is neither missed nor told twice.
        let at = token.as_ref().map(|t| t.rv).or(query.exact);
        let listing = match at {
            Some(rv) => self
                .store
                .list_at(&resource, &prefix, rv)
                .map_err(|_| expired(token.as_ref(), self.store.rv()))?,
            None => self.store.list(&resource, &prefix),
        };
        let start = token.as_ref().map_or("", |t| t.start.as_str());
        let rest = listing
            .objects
            .iter()
            .filter(|(key, _)| key.as_ref() > start || start.is_empty());
        let mut items = Vec::new();
        let (mut last, mut more) = ("", 0_usize);
        for (key, object) in rest {
            if query.limit > 0 && items.len() == query.limit {
                // What follows is there whether it fits or not: a page may be the last with anything in it and have a token.
                more += 1;
                if !selection.is_empty() {
                    break;
                }
                continue;
            }
            if !selection.is_empty() && !selection.matches(object) {
                continue;
            }
            last = key;
            items.push(Arc::clone(object));
        }
        let items = self.show_all(rules.resource, rules.version, items)?;
        let token = (more > 0).then(|| {
            encode(&Token {
                v: "offset".to_owned(),
                rv: listing.rv,
                start: last.to_owned(),
            })
        });
        let remaining = (more > 0 && selection.is_empty()).then_some(more);
        Ok(Page {
            rv: listing.rv,
            items,
            token,
            remaining,
        })
    }

    async fn list_virtual(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        query: &ListQuery,
    ) -> Result<Page, Failure> {
        let mut call = target.call(Verb::List, whose);
        call.options.label_selector.clone_from(&query.labels);
        call.options.field_selector.clone_from(&query.fields);
        let labels = LabelSelection::parse(&query.labels)?;
        let rules = target.rules()?;
        drop(FieldSelection::parse(
            &query.fields,
            rules.resource,
            rules.version,
        )?);
        let rv = self.store.rv();
        let outcome = self
            .gateway()?
            .handle(call)
            .await
            .map_err(|r| refused(target, r))?;
        let mut object = outcome.object;
        let items = match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let items = items
            .into_iter()
            .filter(|item| labels.matches_value(item))
            .map(Shown::Value)
            .collect();
        Ok(Page {
            rv,
            items,
            token: None,
            remaining: None,
        })
    }

    /// Follows a collection from a version on.
    ///
    /// # Errors
    /// Events since then are no longer kept.
    pub(crate) fn watch(&self, target: &RequestTarget, from: u64) -> Result<Watch, Gone> {
        self.store.watch(&target.resource.key(), from)
    }

    fn token(&self, text: &str) -> Result<Token, Failure> {
        let bad = |why: String| Failure::bad_request(format!("invalid continue token: {why}"));
        let bytes = lenient().decode(text).map_err(|e| {
            let at = match e {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                // Go names the start of a group that is cut off.
                _ => text.len() / 4 * 4,
            };
            bad(format!(
                "continue key is not valid: illegal base64 data at input byte {at}"
            ))
        })?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|e| {
            let why = match bytes.first() {
                None => "unexpected end of JSON input".to_owned(),
                Some(b'{') => e.to_string(),
                Some(byte) => format!(
                    "invalid character {} looking for beginning of value",
                    go_char(*byte)
                ),
            };
            bad(format!("continue key is not valid: {why}"))
        })?;
        if !matches!(token.v.as_str(), "offset" | "meta.k8s.io/v1") {
            let version = &token.v;
            return Err(bad(format!(
                "continue key is not valid: server does not recognize this encoded version {version}"
            )));
        }
        let foreign = token.v != "offset";
        let problem = match (token.rv, token.start.as_str()) {
            (0, _) if foreign => "incorrect encoded start resourceVersion",
            (_, "") if foreign => "encoded start key empty",
            _ => "",
        };
        if !problem.is_empty() {
            return Err(bad(format!(
                "continue key is not valid: {problem} (version meta.k8s.io/v1)"
            )));
        }
        if foreign || token.rv > self.store.rv() {
            return Err(bad(
                "continue key is not valid: it was not given out by this server".to_owned(),
            ));
        }
        Ok(token)
    }
}

/// 400: a token and a version each say of which moment a page is to be.
fn overruled() -> Failure {
    Failure::bad_request("specifying resource version is not allowed when using continue")
}

/// Base64 as Go reads it: bits that are left over are of no account.
fn lenient() -> base64::engine::GeneralPurpose {
    let config = base64::engine::general_purpose::NO_PAD.with_decode_allow_trailing_bits(true);
    base64::engine::GeneralPurpose::new(&base64::alphabet::URL_SAFE, config)
}

/// A byte as Go's JSON decoder quotes it.
fn go_char(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

fn encode(token: &Token) -> String {
    let text = serde_json::to_vec(token).unwrap_or_default();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

/// 410 of a list; a page's token can be continued inconsistently at the newest version.
fn expired(token: Option<&Token>, newest: u64) -> Failure {
    match token {
        Some(token) => {
            let mut failure = Failure::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            );
            failure.continue_token = Some(encode(&Token {
                v: "offset".to_owned(),
                rv: newest,
                start: token.start.clone(),
            }));
            failure
        }
        None => Failure::expired("The resourceVersion for the provided list is too old."),
    }
}
