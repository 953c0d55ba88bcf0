//! Which resources a replacement goes to.

use std::rc::Rc;

use regex::Regex;
use yaml::owned::Value;

use super::text;
use crate::Item;
use crate::labels::Labels;
use crate::regexes;

/// Which resources are targets.
pub(super) struct Select {
    fields: [Option<Rc<Regex>>; 5],
    labels: Labels,
    annotations: Labels,
}

impl Select {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let regex = |key: &str| {
            let text = text(value, key);
            let compile = || {
                regexes::compile(&format!("^(?:{text})$"))
                    .map_err(|error| format!("selector {key}: {error}"))
            };
            (!text.is_empty()).then(compile).transpose()
        };
        Ok(Self {
            fields: [
                regex("group")?,
                regex("version")?,
                regex("kind")?,
                regex("name")?,
                regex("namespace")?,
            ],
            labels: Labels::parse(text(value, "labelSelector"))?,
            annotations: Labels::parse(text(value, "annotationSelector"))?,
        })
    }

    pub(super) fn matches(&self, item: &Item) -> bool {
        self.identity(item) && self.marks(item)
    }

    /// A resource is rejected by what it is, or by its labels and annotations; what is not stated rejects nothing.
    pub(super) fn rejects(&self, item: &Item) -> bool {
        let identity = self.fields.iter().any(Option::is_some);
        let marks = !self.labels.is_empty() || !self.annotations.is_empty();
        (identity && self.identity(item)) || (marks && self.marks(item))
    }

    fn identity(&self, item: &Item) -> bool {
        let have = [
            item.group(),
            item.version(),
            item.kind(),
            item.name(),
            item.namespace(),
        ];
        let mut fields = self.fields.iter().zip(have);
        fields.all(|(regex, have)| regex.as_ref().is_none_or(|regex| regex.is_match(have)))
    }

    fn marks(&self, item: &Item) -> bool {
        let of = |field: &'static str| {
            move |key: &str| item.value.lookup(&["metadata", field, key])?.text()
        };
        self.labels.matches(of("labels")) && self.annotations.matches(of("annotations"))
    }
}
