//! A map of the expression library that iterates in the order of its keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::ExecutionError;
use cel::common::traits::{Container, Indexer, Iterable, Iterator, Sizer};
use cel::common::types::{CelInt, CelString, MAP_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};

/// A value and its key, as iteration lends it out.
#[derive(Debug)]
struct Entry {
    key: CelString<'static>,
    value: Box<dyn Val>,
}

/// Texts and maps by text, in order. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct SortedMap(Arc<BTreeMap<String, Entry>>);

impl SortedMap {
    pub(crate) fn new(entries: impl std::iter::Iterator<Item = (String, Bound)>) -> Self {
        let entries = entries.map(|(key, value)| {
            let entry = Entry {
                key: CelString::from(key.clone()),
                value: value.into_val(),
            };
            (key, entry)
        });
        Self(Arc::new(entries.collect()))
    }

    fn find(&self, key: &dyn Val) -> Option<&Entry> {
        let key = key.downcast_ref::<CelString<'_>>()?;
        self.0.get(key.inner())
    }
}

impl Bound {
    /// As the library takes it.
    pub(crate) fn into_val(self) -> Box<dyn Val> {
        match self {
            Self::Text(text) => Box::new(CelString::from(text.to_string())),
            Self::Map(map) => Box::new(map),
        }
    }
}

impl StaticVal for SortedMap {}

impl Val for SortedMap {
    fn get_type(&self) -> &Type {
        &MAP_TYPE
    }

    fn cel_type() -> &'static Type {
        &MAP_TYPE
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn into_indexer<'w>(self: Box<Self>) -> Option<Box<dyn Indexer + 'w>>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    /// Equal to any map, ours or a literal, of the same keys and values.
    fn equals(&self, other: &dyn Val) -> bool {
        let (Some(sizer), Some(indexer)) = (other.as_sizer(), other.as_indexer()) else {
            return false;
        };
        self.size() == sizer.size()
            && self.0.values().all(|entry| {
                indexer
                    .get(&entry.key)
                    .is_ok_and(|value| entry.value.equals(value.as_ref()))
            })
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(self.clone())
    }
}

impl Container for SortedMap {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        Ok(self.find(key).is_some())
    }
}

impl Indexer for SortedMap {
    fn get<'b, 'v>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.find(key) {
            Some(entry) => Ok(CowVal::Borrowed(entry.value.as_ref())),
            None => Err(missing(key)),
        }
    }

    fn steal<'v>(self: Box<Self>, key: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        match self.find(key) {
            Some(entry) => Ok(entry.value.clone_as_boxed()),
            None => Err(missing(key)),
        }
    }
}

fn missing(key: &dyn Val) -> ExecutionError {
    let text = key.downcast_ref::<CelString<'_>>().map_or_else(
        || match cel::Value::try_from(key) {
            Ok(cel::Value::Int(i)) => i.to_string(),
            Ok(cel::Value::UInt(u)) => u.to_string(),
            _ => key.get_type().name().to_owned(),
        },
        |text| text.inner().to_owned(),
    );
    ExecutionError::no_such_key(&text)
}

impl Iterable for SortedMap {
    fn iter<'b, 'v>(&'b self) -> Box<dyn Iterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        Box::new(Keys(self.0.values()))
    }
}

struct Keys<'b>(std::collections::btree_map::Values<'b, String, Entry>);

impl<'b, 'v> Iterator<'b, 'v> for Keys<'b> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        let entry = self.0.next()?;
        Some(&entry.key)
    }
}

impl Sizer for SortedMap {
    fn size(&self) -> CelInt {
        i64::try_from(self.0.len()).unwrap_or(i64::MAX).into()
    }
}

/// A value as evaluation takes it; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    Text(Arc<str>),
    Map(SortedMap),
}
