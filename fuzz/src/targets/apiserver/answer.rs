//! An answer of the server, and what holds for every one.

use serde_json::Value;

use super::super::signature;

/// What stands in every object of the other namespace, and nowhere else.
pub(super) const MARK: &str = "qzxj-of-another";

/// An answer, read to its end.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// 0 where the request could not be sent, or was given up.
    pub(super) status: u16,
    pub(super) bytes: Vec<u8>,
}

impl Answer {
    /// Holds that nothing of the other namespace is in the answer.
    pub(super) fn keeps_to_its_namespace(&self, asked: &str) {
        self.is_told();
        let shown = self.bytes.windows(MARK.len()).any(|w| w == MARK.as_bytes());
        assert!(!shown, "{asked} shows what is another's: {}", self.text());
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    fn meta(&self, field: &str) -> String {
        let value = self.value();
        let found = value.pointer("/metadata").and_then(|m| m.get(field));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The object's name as a path has it: names of roles may hold nearly everything.
    pub(super) fn name_in_path(&self) -> String {
        let name = self.meta("name").into_bytes().into_iter();
        name.map(|byte| match byte {
            b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
    }

    pub(super) fn version(&self) -> String {
        self.meta("resourceVersion")
    }

    pub(super) fn deleted(&self) -> bool {
        !self.meta("deletionTimestamp").is_empty() || self.status == 404
    }

    /// The names of a list's items, or of the objects that a watch began with.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |o: &Value| {
            o.pointer("/metadata/name")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        if let Ok(list) = serde_json::from_slice::<Value>(&self.bytes)
            && let Some(items) = list.get("items").and_then(Value::as_array)
        {
            return items.iter().filter_map(name).collect();
        }
        let text = self.text();
        let events = text
            .lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok());
        events.filter_map(|e| name(e.get("object")?)).collect()
    }

    /// A refusal says why, in the form that clients read; a failure of the server's own is none of the input's.
    pub(super) fn is_told(&self) {
        if self.status < 400 {
            return;
        }
        let text = self.text();
        let status = self.value();
        let told = status.get("kind").and_then(Value::as_str) == Some("Status")
            && status.get("code").and_then(Value::as_u64) == Some(u64::from(self.status));
        assert!(
            told || (self.status == 404 && text == "404 page not found\n"),
            "{} is no Status: {text}",
            self.status
        );
        assert!(self.status < 501 || self.status == 504, "{text}");
    }

    /// What happened, for telling inputs apart.
    pub(super) fn signature(&self) -> u64 {
        let value = self.value();
        let text = |at: &str| {
            value
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let causes = value
            .pointer("/details/causes")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let (reason, message) = (text("/reason"), text("/message"));
        // The quoted parts of a message are the input's.
        let frame: String = message.split('"').step_by(2).collect();
        signature(
            &[&text("/kind"), &reason, &frame],
            &[
                usize::from(self.status) * 7919,
                causes,
                self.bytes.len() / 64,
            ],
        )
    }
}
