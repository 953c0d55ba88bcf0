//! What goes to a function outside this process, and what comes back.

use std::sync::Arc;

use model::FunctionResultItem;
use yaml::owned::{Value, to_text};
use yaml::{Limits, Stream};

use super::answer::{list, placed};
use super::{ID, Marks, ReadError, ResourceList, entries, marked, read_results};
use crate::{FunctionCall, Item};

/// The text that a function reads.
pub(crate) fn request(call: &FunctionCall) -> String {
    to_text(&list_of(&call.items, call.config.as_deref()))
}

/// The list that a function reads: every item with its place and a number by which it is known again.
pub(crate) fn list_of(items: &[Item], config: Option<&Value>) -> Value {
    let items = items.iter().enumerate().map(|(at, item)| {
        let mut value = placed(item);
        // What is no resource is not made to look like one.
        let named = value
            .get("metadata")
            .is_some_and(|metadata| metadata.as_map().is_some());
        if named && let Some(map) = value.ensure_map(&["metadata", "annotations"]) {
            map.set_str(ID, &at.to_string());
        }
        value
    });
    list(items.collect(), config)
}

/// What a function made of the items that it was given.
///
/// What it left alone is the very value that it was given; what it changed keeps the comments and the order that it
/// had, and takes the comments that the function wrote.
pub(crate) fn reply(text: &str, given: &[Item]) -> Result<ResourceList, ReadError> {
    let stream = Stream::parse(text, &Limits::default()).map_err(ReadError::Parse)?;
    let Some(document) = stream.documents().find(|document| !document.is_empty()) else {
        return Err(ReadError::Kind(String::new()));
    };
    reply_of(&Value::read(&document).map_err(ReadError::Parse)?, given)
}

/// The same of a list that was read.
pub(crate) fn reply_of(list: &Value, given: &[Item]) -> Result<ResourceList, ReadError> {
    let mut read = ResourceList::of(list)?;
    let mut free: Vec<Option<&Item>> = given.iter().map(Some).collect();
    let mut items: Vec<(Item, Marks, Option<&Item>)> = Vec::new();
    for value in entries(list) {
        let (item, paths) = marked(value.clone());
        let at = item.id.and_then(|id| usize::try_from(id).ok());
        let was = at.and_then(|at| free.get_mut(at)?.take());
        items.push((item, paths, was));
    }
    // A function may have taken every annotation off: then the name tells which one it was.
    for (item, _, was) in items.iter_mut().filter(|(.., was)| was.is_none()) {
        let same = |other: &Option<&Item>| {
            other.is_some_and(|other| {
                let named = !item.name().is_empty() && other.reference() == item.reference();
                named || other.value.same(&item.value)
            })
        };
        let known = free.iter().position(same);
        *was = known.and_then(|at| free.get_mut(at)?.take());
    }
    read.items = Vec::with_capacity(items.len());
    for (item, paths, was) in items {
        read.items.push(match was {
            Some(was) => known(item, paths, was)?,
            None => Item {
                id: None,
                value: Arc::new(fresh(&item.value)),
                ..item
            },
        });
    }
    Ok(read)
}

/// The results of a list.
pub(crate) fn results_of(list: &serde_json::Value) -> Vec<FunctionResultItem> {
    let results = list.get("results").map(Value::from_json);
    results.as_ref().map(read_results).unwrap_or_default()
}

fn known(item: Item, paths: Marks, was: &Item) -> Result<Item, ReadError> {
    let mut value = merged(&was.value, &item.value);
    adopt_comments(&mut value, &item.value);
    let same = value.same(&was.value) && !comments_differ(&value, &was.value);
    // Whichever form of the annotation was changed says where it goes.
    let moved: Vec<&String> = paths
        .iter()
        .flatten()
        .filter(|path| Some(*path) != was.path.as_ref())
        .collect();
    let path = match moved.as_slice() {
        [one, other, ..] if one != other => {
            return Err(ReadError::Places((*one).clone(), (*other).clone()));
        }
        [path, ..] => Some((*path).clone()),
        // One that says no place any more (a script may set all annotations) has left none: it stays in its file.
        [] => was.path.clone(),
    };
    let index = item
        .index
        .or_else(|| was.index.filter(|_| path == was.path));
    Ok(Item {
        id: was.id,
        value: if same {
            was.value.clone()
        } else {
            Arc::new(value)
        },
        path,
        index,
    })
}

/// The value as it was, made to mean what the new one means. Elements of lists are known again by value or name, so
/// that no comment moves to a neighbour.
fn merged(old: &Value, new: &Value) -> Value {
    if old.same(new) {
        return old.clone();
    }
    let mut value = old.clone();
    if let (Some(was), Some(wanted)) = (old.as_map(), new.as_map()) {
        if let Some(map) = value.as_map_mut() {
            map.retain(|key, _| wanted.get(key).is_some());
            for (key, new) in wanted.iter() {
                match (map.get_mut(key), was.get(key)) {
                    (Some(slot), Some(old)) => *slot = merged(old, new),
                    _ => map.push(key, fresh(new)),
                }
            }
        }
    } else if let (Some(was), Some(wanted)) = (old.as_seq(), new.as_seq()) {
        if let Some(seq) = value.as_seq_mut() {
            *seq.items_mut() = elements(was.items(), wanted.items());
        }
    } else if old.as_scalar().is_none() || old.to_json() != new.to_json() {
        // What JSON cannot tell apart (`.inf`, dates) was not changed by a function that speaks it.
        value.overwrite(new);
    }
    value
}

fn elements(old: &[Value], new: &[Value]) -> Vec<Value> {
    let name = |value: &Value| value.get("name").and_then(Value::text).map(str::to_owned);
    let mut free: Vec<Option<&Value>> = old.iter().map(Some).collect();
    let mut take = |wanted: &dyn Fn(usize, &Value) -> bool| {
        let fits = |(at, old): (usize, &Option<&Value>)| old.is_some_and(|old| wanted(at, old));
        let at = free.iter().enumerate().position(fits)?;
        free.get_mut(at)?.take()
    };
    // What is still there claims its place first; only then may a changed one take what is left.
    let mut out: Vec<Option<Value>> = new
        .iter()
        .map(|new| take(&|_, old| old.same(new)).cloned())
        .collect();
    for (at, (slot, new)) in out.iter_mut().zip(new).enumerate() {
        if slot.is_none() {
            let named = name(new);
            let found = match &named {
                Some(_) => take(&|_, old| name(old) == named),
                None => take(&|other, _| other == at),
            };
            *slot = Some(found.map_or_else(|| fresh(new), |old| merged(old, new)));
        }
    }
    out.into_iter().flatten().collect()
}

/// A copy that belongs to no text.
fn fresh(value: &Value) -> Value {
    let mut fresh = Value::null();
    fresh.overwrite(value);
    fresh
}

/// Takes the line comments that a function wrote; one that it dropped stays.
fn adopt_comments(value: &mut Value, new: &Value) {
    if value.is_alias() || new.is_alias() {
        return;
    }
    if let Some(comment) = new.comment()
        && value.comment() != Some(comment)
    {
        value.set_comment(Some(Arc::from(comment)));
    }
    if let (Some(map), Some(wanted)) = (value.as_map_mut(), new.as_map()) {
        for (key, value) in map.iter_mut() {
            if let Some(new) = wanted.get(key) {
                adopt_comments(value, new);
            }
        }
    } else if let (Some(seq), Some(wanted)) = (value.as_seq_mut(), new.as_seq()) {
        let pairs = seq.items_mut().iter_mut().zip(wanted.items());
        pairs.for_each(|(value, new)| adopt_comments(value, new));
    }
}

fn comments_differ(a: &Value, b: &Value) -> bool {
    if a.comment() != b.comment() {
        return true;
    }
    match (a.as_map(), b.as_map(), a.as_seq(), b.as_seq()) {
        (Some(a), Some(b), ..) => a.iter().any(|(key, value)| {
            b.get(key)
                .is_some_and(|other| comments_differ(value, other))
        }),
        (.., Some(a), Some(b)) => {
            let mut pairs = a.items().iter().zip(b.items());
            pairs.any(|(a, b)| comments_differ(a, b))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function outside reads what it sets from the comments, as one inside does.
    #[test]
    fn what_is_asked_has_the_comments_of_its_resources() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kpt-set: ${name}\ndata:\n  list: x # kpt-set: ${list}\n";
        let stream = Stream::parse(text, &Limits::default()).unwrap();
        let value = Value::read(&stream.document(0).unwrap()).unwrap();
        let item = Item {
            path: Some("a.yaml".to_owned()),
            ..Item::made(value)
        };
        let asked = to_text(&list_of(std::slice::from_ref(&item), None));
        for comment in ["name: a # kpt-set: ${name}", "list: x # kpt-set: ${list}"] {
            assert!(asked.contains(comment), "{asked}");
        }
        let reply = reply(&asked, &[item]).unwrap();
        assert_eq!(reply.items.len(), 1);
        assert!(!comments_differ(
            &reply.items[0].value,
            &Value::read(&stream.document(0).unwrap()).unwrap()
        ));
    }
}
