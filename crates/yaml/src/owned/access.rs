//! Reading and changing owned values.

use std::sync::Arc;

use super::{Alias, Data, Entry, Map, NEW, Scalar, Seq, Value};
use crate::Style;

impl Value {
    fn new(data: Data) -> Self {
        Self {
            data,
            comment: None,
            origin: NEW,
        }
    }

    /// A string: whatever its text, it reads back as a string.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        let tag = Some(Arc::from("!!str"));
        Self::new(Data::Scalar(Scalar {
            text: text.into(),
            style: Style::Plain,
            tag,
        }))
    }

    /// A plain scalar whose type follows from its text: `80`, `true`, `null`, or a word.
    pub fn plain(text: impl Into<Arc<str>>) -> Self {
        Self::new(Data::Scalar(Scalar {
            text: text.into(),
            style: Style::Plain,
            tag: None,
        }))
    }

    /// A scalar exactly as described.
    pub fn scalar(scalar: Scalar) -> Self {
        Self::new(Data::Scalar(scalar))
    }

    /// `null`
    pub fn null() -> Self {
        Self::plain("null")
    }

    /// A mapping of the given entries, in this order.
    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let mut map = Map::default();
        for (key, value) in entries {
            map.push(key, value);
        }
        Self::new(Data::Map(map))
    }

    /// A sequence of the given items.
    pub fn seq(items: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Data::Seq(Seq {
            items: items.into_iter().collect(),
            flow: false,
        }))
    }

    /// The same value with a line comment (its `#` included).
    #[must_use]
    pub fn with_comment(mut self, comment: Option<Arc<str>>) -> Self {
        self.comment = comment;
        self
    }

    /// What it is; an alias answers for what it stands for.
    pub fn data(&self) -> &Data {
        match &self.data {
            Data::Alias(alias) => alias.target.data(),
            data => data,
        }
    }

    /// What it is, to be changed; an alias first becomes a copy of what it stands for (M1).
    pub fn data_mut(&mut self) -> &mut Data {
        if let Data::Alias(Alias { target }) = &self.data {
            self.data = fresh(target).data;
            self.origin = NEW;
        }
        &mut self.data
    }

    /// Whether the source says this by `*name`.
    pub fn is_alias(&self) -> bool {
        matches!(self.data, Data::Alias(_))
    }

    /// The comment behind it (behind its key, for a block collection), `#` included.
    pub fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    /// Sets or removes the comment behind it.
    pub fn set_comment(&mut self, comment: Option<Arc<str>>) {
        self.comment = comment;
    }

    /// The scalar.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self.data() {
            Data::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The mapping.
    pub fn as_map(&self) -> Option<&Map> {
        match self.data() {
            Data::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The sequence.
    pub fn as_seq(&self) -> Option<&Seq> {
        match self.data() {
            Data::Seq(seq) => Some(seq),
            _ => None,
        }
    }

    /// The mapping, to be changed.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self.data_mut() {
            Data::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The sequence, to be changed.
    pub fn as_seq_mut(&mut self) -> Option<&mut Seq> {
        match self.data_mut() {
            Data::Seq(seq) => Some(seq),
            _ => None,
        }
    }

    /// A scalar's text, whatever its type; `None` for collections.
    pub fn text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| &*scalar.text)
    }

    /// A string's text; `None` for anything that is not a string to the package tools (Y1).
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar()
            .filter(|scalar| scalar.is_string())
            .map(|scalar| &*scalar.text)
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(Scalar::is_null)
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get(key)
    }

    /// The value under a key of a mapping, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.get(key)?;
        self.as_map_mut()?.get_mut(key)
    }

    /// The value at the end of a path of keys.
    pub fn lookup(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The value at the end of a path of keys, to be changed.
    pub fn lookup_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        self.lookup(path)?;
        path.iter().try_fold(self, |value, key| value.get_mut(key))
    }

    /// The string at the end of a path of keys.
    pub fn str_at(&self, path: &[&str]) -> Option<&str> {
        self.lookup(path)?.as_str()
    }

    /// The mapping at the end of a path of keys, made (with its parents) where it is absent or null; `None` where
    /// something that is not a mapping stands in the way.
    pub fn ensure_map(&mut self, path: &[&str]) -> Option<&mut Map> {
        let mut at = self;
        for key in path {
            if at.is_null() {
                at.data = Data::Map(Map::default());
            }
            at = at.as_map_mut()?.entry(key);
        }
        if at.is_null() {
            at.data = Data::Map(Map::default());
        }
        at.as_map_mut()
    }

    /// Replaces the value and keeps its comment, and its place in the text.
    pub fn replace(&mut self, value: Self) {
        let comment = value.comment.or_else(|| self.comment.take());
        self.data = value.data;
        self.comment = comment;
    }

    /// Replaces a scalar's text by a string and keeps its quotes; anything else becomes that string.
    pub fn set_str(&mut self, text: impl Into<Arc<str>>) {
        let text = text.into();
        if self.as_str() == Some(&text) {
            return;
        }
        let mut scalar = Scalar {
            text,
            style: Style::Plain,
            tag: Some(Arc::from("!!str")),
        };
        if let Data::Scalar(old) = &self.data {
            scalar.style = old.style;
        }
        self.data = Data::Scalar(scalar);
    }

    /// Makes it mean what another value means; comments and order of what survives stay.
    pub fn overwrite(&mut self, new: &Self) {
        if self.same(new) {
            return;
        }
        if let (Some(_), Some(wanted)) = (self.as_map(), new.as_map())
            && let Some(map) = self.as_map_mut()
        {
            map.retain(|key, _| wanted.get(key).is_some());
            for (key, value) in wanted.iter() {
                match map.get_mut(key) {
                    Some(old) => old.overwrite(value),
                    None => map.push(key, fresh(value).with_comment(value.comment.clone())),
                }
            }
            return;
        }
        if let (Some(_), Some(wanted)) = (self.as_seq(), new.as_seq())
            && let Some(seq) = self.as_seq_mut()
        {
            let items = seq.items_mut();
            items.truncate(wanted.items.len());
            for (at, value) in wanted.items.iter().enumerate() {
                match items.get_mut(at) {
                    Some(old) => old.overwrite(value),
                    None => items.push(fresh(value)),
                }
            }
            return;
        }
        match new.as_str() {
            Some(text) if self.as_str().is_some() => self.set_str(text),
            _ => self.replace(fresh(new)),
        }
    }

    /// Whether both mean the same to the package tools: types and values, not style, comments or order of keys.
    pub fn same(&self, other: &Self) -> bool {
        match (self.data(), other.data()) {
            (Data::Scalar(a), Data::Scalar(b)) => a.same(b),
            (Data::Map(a), Data::Map(b)) => a.same(b),
            (Data::Seq(a), Data::Seq(b)) => {
                a.items.len() == b.items.len()
                    && a.items.iter().zip(&b.items).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }
}

/// A copy that stands for itself: no origin, aliases inside kept.
pub(super) fn fresh(value: &Value) -> Value {
    let data = match &value.data {
        Data::Map(map) => {
            let entries = map.entries.iter().map(|e| Entry {
                value: fresh(&e.value),
                ..e.clone()
            });
            Data::Map(Map {
                entries: entries.collect(),
                flow: map.flow,
            })
        }
        Data::Seq(seq) => Data::Seq(Seq {
            items: seq.items.iter().map(fresh).collect(),
            flow: seq.flow,
        }),
        data => data.clone(),
    };
    Value {
        data,
        comment: None,
        origin: NEW,
    }
}

impl Map {
    /// The entries, in the order written.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The values, to be changed, each with its key.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.entries.iter_mut().map(|e| (&*e.key, &mut e.value))
    }

    /// The values, each with its key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|e| (&*e.key, &e.value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .iter()
            .find(|e| &*e.key == key)
            .map(|e| &e.value)
    }

    /// The first value under a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.entries
            .iter_mut()
            .find(|e| &*e.key == key)
            .map(|e| &mut e.value)
    }

    /// Sets a key in its place, keeping its comment, or appends it.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.get_mut(key) {
            Some(old) => old.replace(value),
            None => self.push(key, value),
        }
    }

    /// Sets a key to a string, keeping quotes and comment; whether that changed anything.
    pub fn set_str(&mut self, key: &str, text: &str) -> bool {
        match self.get_mut(key) {
            Some(old) if old.as_str() == Some(text) => false,
            Some(old) => {
                old.set_str(text);
                true
            }
            None => {
                self.push(key, Value::string(text));
                true
            }
        }
    }

    /// Appends an entry without looking whether the key is there.
    pub fn push(&mut self, key: impl Into<Arc<str>>, value: Value) {
        self.entries.push(Entry {
            key: key.into(),
            value,
            plain_key: true,
        });
    }

    /// Adds an entry at a position; beyond the end means at the end.
    pub fn insert(&mut self, at: usize, key: impl Into<Arc<str>>, value: Value) {
        let at = at.min(self.entries.len());
        self.entries.insert(
            at,
            Entry {
                key: key.into(),
                value,
                plain_key: true,
            },
        );
    }

    /// Removes every entry of that key and returns the first one's value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|e| &*e.key == key)?;
        let removed = self.entries.remove(at);
        self.entries.retain(|e| &*e.key != key);
        Some(removed.value)
    }

    /// Keeps the entries for which the answer is yes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.entries.retain(|e| keep(&e.key, &e.value));
    }

    fn entry(&mut self, key: &str) -> &mut Value {
        let at = self
            .entries
            .iter()
            .position(|e| &*e.key == key)
            .unwrap_or(self.entries.len());
        if at == self.entries.len() {
            self.push(key, Value::new(Data::Map(Self::default())));
        }
        &mut self.entries[at].value
    }

    fn same(&self, other: &Self) -> bool {
        let by_position = || {
            self.entries
                .iter()
                .zip(&other.entries)
                .all(|(a, b)| a.key == b.key && a.value.same(&b.value))
        };
        let by_key = || {
            self.entries
                .iter()
                .all(|e| other.get(&e.key).is_some_and(|value| e.value.same(value)))
                && other.entries.iter().all(|e| self.get(&e.key).is_some())
        };
        self.entries.len() == other.entries.len() && (by_position() || by_key())
    }
}

impl Seq {
    /// The items.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The items, to be changed, moved, removed and added freely.
    pub fn items_mut(&mut self) -> &mut Vec<Value> {
        &mut self.items
    }
}
