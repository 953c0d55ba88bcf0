//! One step of a sequence: a request as it is written down, with what each server has to put in for itself.
//!
//! `$N` is the sequence's own name, the same for both servers. `{{7:/metadata/uid}}` is what stands at that place in the answer to
//! the step of id 7 of the same server. Steps know each other by id, so that some can be left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a step is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Mode {
    /// Asked once.
    #[default]
    Once,
    /// Asked until both answer alike, for as long as the housekeeping of a real server may take.
    Eventually,
    /// A stream of events, read until none come for a while.
    Watch,
    /// Everything older than now is forgotten by the store.
    Compact,
}

/// What is sent after the headers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Payload {
    /// Nothing.
    None,
    /// A value, written compactly.
    Json(Value),
    /// Bytes as they are.
    Text(String),
}

/// A request and who sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) id: u32,
    #[serde(default)]
    pub(super) mode: Mode,
    pub(super) user: String,
    pub(super) method: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Payload,
}

impl Step {
    /// The request in one line.
    pub(super) fn line(&self) -> String {
        let mode = match self.mode {
            Mode::Once => "",
            Mode::Eventually => " (eventually)",
            Mode::Watch => " (watch)",
            Mode::Compact => return "compact the store".to_owned(),
        };
        let headers: String = self
            .headers
            .iter()
            .map(|(name, value)| format!(" [{name}: {value}]"))
            .collect();
        format!("{} {} {}{mode}{headers}", self.user, self.method, self.path)
    }

    /// The body as it is written down.
    pub(super) fn sent(&self) -> String {
        match &self.body {
            Payload::None => String::new(),
            Payload::Json(value) => value.to_string(),
            Payload::Text(text) => text.clone(),
        }
    }
}

/// What one server answered so far, by step.
#[derive(Debug, Default, Clone)]
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) answers: BTreeMap<u32, Value>,
}

impl Memory {
    /// Puts the server's own values into a text. What was never answered is `0`, a value that no server gives.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        let text = text.replace("$N", &self.name);
        let mut rest = text.as_str();
        while let Some(at) = rest.find("{{") {
            let (before, after) = rest.split_at(at);
            out += before;
            let Some(end) = after.find("}}") else {
                rest = after;
                break;
            };
            out += &self.value(&after[2..end]);
            rest = &after[end + 2..];
        }
        out + rest
    }

    fn value(&self, place: &str) -> String {
        let found = place.split_once(':').and_then(|(id, pointer)| {
            let answer = self.answers.get(&id.parse().ok()?)?;
            answer.pointer(pointer).cloned()
        });
        match found {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => "0".to_owned(),
        }
    }

    /// As [`Self::fill`], in every text and key of a value.
    pub(super) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|v| self.fill_value(v)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(k, v)| (self.fill(k), self.fill_value(v)))
                .collect(),
            other => other.clone(),
        }
    }

    /// The bytes of a body.
    pub(super) fn bytes(&self, body: &Payload) -> Vec<u8> {
        match body {
            Payload::None => Vec::new(),
            Payload::Json(value) => self.fill_value(value).to_string().into_bytes(),
            Payload::Text(text) => self.fill(text).into_bytes(),
        }
    }
}
