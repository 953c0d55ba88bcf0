//! The fields of every message that built-in kinds are made of, read once from `fields.txt`.
//!
//! `cargo xtask protobuf` writes that file from the published types. A line `kind GROUP/KIND MESSAGE` names a kind's
//! message; `message NAME` starts one; its fields are `NUMBER NAME SHAPE TYPE[!]`, where `!` says that the field is shown
//! in JSON even when it is empty.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How often a field may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Once, and written even when it is empty, as Go's encoder does.
    One,
    /// Once or not at all.
    Maybe,
    /// Any number of times.
    List,
    /// Any number of times, under keys.
    Map,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    Text,
    /// Base64 in JSON.
    Bytes,
    Int,
    Bool,
    Double,
    Time {
        micro: bool,
    },
    /// JSON text in a message of its own (`FieldsV1`, `JSON`).
    Json,
    /// A message with a list of texts: `ExtraValue`, `Verbs`.
    Texts,
    /// A schema, or whether anything goes.
    OrBool,
    /// A schema, or several.
    OrArray,
    /// A schema, or names of properties.
    OrTexts,
    /// Another message.
    Message(usize),
}

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    /// Its number.
    pub(super) number: u64,
    /// Its name in JSON.
    pub(super) name: &'static str,
    /// How often it may be there.
    pub(super) shape: Shape,
    /// What it holds.
    pub(super) kind: FieldKind,
    /// Whether JSON shows it even when it is empty.
    pub(super) always: bool,
}

/// All messages.
#[derive(Debug, Default)]
pub(super) struct Tables {
    messages: Vec<Vec<Field>>,
    kinds: BTreeMap<(&'static str, &'static str), usize>,
    /// `JSONSchemaProps`.
    pub(super) schema: usize,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables::parse(include_str!("fields.txt")));

/// The tables.
pub(super) fn tables() -> &'static Tables {
    &TABLES
}

impl Tables {
    fn parse(text: &'static str) -> Self {
        let names = text.lines().filter_map(|l| l.strip_prefix("message "));
        let places: BTreeMap<&str, usize> = names.enumerate().map(|(i, n)| (n, i)).collect();
        let mut out = Self {
            schema: places
                .get("apiextensions.v1.JSONSchemaProps")
                .copied()
                .unwrap_or_default(),
            ..Self::default()
        };
        for line in text.lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("kind"), Some(kind), Some(message)) => {
                    let found = kind.split_once('/').zip(places.get(message));
                    out.kinds.extend(found.map(|(kind, place)| (kind, *place)));
                }
                (Some("message"), Some(_), None) => out.messages.push(Vec::new()),
                (Some(number), Some(name), Some(what)) => {
                    let found = field(number, name, what, &places);
                    if let Some(message) = out.messages.last_mut() {
                        message.extend(found);
                    }
                }
                _ => {}
            }
        }
        for message in &mut out.messages {
            message.sort_by_key(|f| f.number);
        }
        out
    }

    /// The fields of a message, by number.
    pub(super) fn message(&self, place: usize) -> &[Field] {
        self.messages.get(place).map_or(&[], Vec::as_slice)
    }

    /// The message of a kind; those of every group (`Status`, `DeleteOptions`) are found under any.
    pub(super) fn of(&self, group: &str, kind: &str) -> Option<usize> {
        let found = self.kinds.get(&(group, kind));
        found
            .or_else(|| self.kinds.get(&("meta.k8s.io", kind)))
            .copied()
    }

    /// How many kinds there are.
    #[cfg(test)]
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds.keys().copied()
    }
}

fn field(
    number: &str,
    name: &'static str,
    what: &'static str,
    places: &BTreeMap<&str, usize>,
) -> Option<Field> {
    let (what, always) = what
        .strip_suffix('!')
        .map_or((what, false), |what| (what, true));
    let shape = match what.get(..1)? {
        "=" => Shape::One,
        "*" => Shape::Maybe,
        "[" => Shape::List,
        "{" => Shape::Map,
        _ => return None,
    };
    let kind = match what.get(1..)? {
        "string" => FieldKind::Text,
        "bytes" => FieldKind::Bytes,
        "int" => FieldKind::Int,
        "bool" => FieldKind::Bool,
        "double" => FieldKind::Double,
        "time" => FieldKind::Time { micro: false },
        "microtime" => FieldKind::Time { micro: true },
        "fields" | "json" => FieldKind::Json,
        "strings" => FieldKind::Texts,
        "orbool" => FieldKind::OrBool,
        "orarray" => FieldKind::OrArray,
        "orstrings" => FieldKind::OrTexts,
        message => FieldKind::Message(*places.get(message)?),
    };
    Some(Field {
        number: number.parse().ok()?,
        name,
        shape,
        kind,
        always,
    })
}
