//! Strategic merge patch for built-in kinds (`k8s.io/apimachinery/pkg/util/strategicpatch`).
//!
//! Lists with a merge key are merged item by item, lists of scalars with strategy `merge` as sets; the
//! directives `$patch`, `$setElementOrder`, `$deleteFromPrimitiveList` and `$retainKeys` are followed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{PatchError, too_deep};
use crate::schema::sorted_json;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

type Object = Map<String, Value>;

/// Applies a strategic merge patch to an object whose schema text says how lists are merged.
///
/// `schema` is `builtin::Definition::schema_json`.
///
/// # Errors
/// A patch that is no object, or directives that make no sense.
pub(crate) fn strategic(doc: &Value, patch: &Value, schema: &Value) -> Result<Value, PatchError> {
    if patch.is_null() {
        return Ok(doc.clone());
    }
    let (Some(original), Some(patch)) = (doc.as_object(), patch.as_object()) else {
        let found = super::go_kind(patch);
        let text = format!(
            "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(PatchError::Unreadable(text));
    };
    if patch.values().any(|v| too_deep(v, 0)) {
        return Err(PatchError::Unreadable(
            "the patch is nested too deeply".to_owned(),
        ));
    }
    let mut schema = schema.clone();
    if let Some(metadata) = schema.pointer_mut("/properties/metadata") {
        *metadata = crate::schema::object_meta_json();
    }
    maps(original.clone(), patch.clone(), Some(&schema)).map(Value::Object)
}

fn unfit<T>(text: impl Into<String>) -> Result<T, PatchError> {
    Err(PatchError::Unreadable(text.into()))
}

/// How the list or map at a place is merged.
struct PatchRule<'a> {
    schema: Option<&'a Value>,
    merges: bool,
    replaces: bool,
    key: &'a str,
}

fn place<'a>(schema: Option<&'a Value>, name: &str) -> PatchRule<'a> {
    let below = schema.and_then(|s| {
        s.get("properties")
            .and_then(|p| p.get(name))
            .or_else(|| s.get("additionalProperties"))
    });
    let text = |word: &str| {
        below
            .and_then(|b| b.get(word))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let strategies = text("x-kubernetes-patch-strategy");
    PatchRule {
        schema: below,
        merges: strategies.split(',').any(|s| s == "merge"),
        replaces: strategies.split(',').any(|s| s == "replace"),
        key: text("x-kubernetes-patch-merge-key"),
    }
}

fn maps(
    mut original: Object,
    mut patch: Object,
    schema: Option<&Value>,
) -> Result<Object, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => unfit(format!("unknown patch type found: {directive}")),
        };
    }
    // Directives first: they speak of what was there, and take their own part out of the patch.
    retain(&mut original, &mut patch)?;
    order(&mut original, &mut patch, schema)?;
    for (key, value) in patch {
        let (name, deletes) = match key.strip_prefix(DELETE) {
            Some(name) => (name.to_owned(), true),
            None => (key, false),
        };
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let place = place(schema, &name);
        let merged = match (original.get(&name).cloned(), value) {
            (None, _) | (Some(Value::Array(_)), Value::Object(_)) if deletes => continue,
            (Some(Value::Object(old)), Value::Object(new)) => {
                if place.replaces {
                    Value::Object(plain_map(new)?)
                } else {
                    Value::Object(maps(old, new, place.schema)?)
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                if place.merges || deletes {
                    Value::Array(lists(old, new, &place, deletes)?)
                } else {
                    Value::Array(new)
                }
            }
            (_, value) => plain(without_nulls(value))?,
        };
        original.insert(name, merged);
    }
    Ok(original)
}

/// `$retainKeys`: everything of the original that is not listed goes.
fn retain(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(kept) = patch.remove(RETAIN) else {
        return Ok(());
    };
    let Some(kept) = kept.as_array().cloned() else {
        return unfit("invalid patch format of $retainKeys");
    };
    let kept: BTreeSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let listed = |name: &str| kept.contains(name);
    for (name, value) in patch.iter() {
        let directive = name.starts_with(DELETE) || name.starts_with(ORDER);
        if !listed(name) && !value.is_null() && !directive {
            return unfit("$retainKeys doesn't contain all the non-null fields in the patch");
        }
    }
    original.retain(|name, _| listed(name));
    Ok(())
}

/// `$setElementOrder/name`: merges the list of that name and puts it into the given order.
fn order(
    original: &mut Object,
    patch: &mut Object,
    schema: Option<&Value>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|k| k.starts_with(ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let wanted = patch.remove(&directive);
        let name = directive.strip_prefix(ORDER).unwrap_or_default().to_owned();
        let Some(Value::Array(wanted)) = wanted else {
            return unfit("invalid patch format of setElementOrder list");
        };
        let place = place(schema, &name);
        let former = original.get(&name).and_then(Value::as_array).cloned();
        let list = match patch.get(&name) {
            Some(Value::Array(list)) => Some(list.clone()),
            _ => None,
        };
        let merged = match (former.clone(), list) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => plain_list(new)?,
            (Some(old), Some(new)) if place.merges => lists(old, new, &place, false)?,
            (Some(_), Some(new)) => new,
        };
        let former = former.unwrap_or_default();
        original.insert(
            name.clone(),
            Value::Array(arrange(merged, &wanted, &former, place.key)),
        );
        if patch.get(&name).is_some_and(Value::is_array) {
            patch.remove(&name);
        }
    }
    Ok(())
}

fn lists(
    original: Vec<Value>,
    patch: Vec<Value>,
    place: &PatchRule<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let objects = original.iter().chain(&patch).any(Value::is_object);
    if !objects {
        if deletes {
            let gone = positions(&patch, "");
            let stays = |item: &Value| position(&gone, item, "").is_none();
            return Ok(original.into_iter().filter(stays).collect());
        }
        let mut seen = BTreeSet::new();
        let all = original.iter().chain(&patch);
        let merged: Vec<Value> = all
            .filter(|item| seen.insert(sorted_json(item)))
            .cloned()
            .collect();
        return Ok(arrange(merged, &patch, &original, ""));
    }
    if place.key.is_empty() {
        return unfit("cannot merge lists without merge key");
    }
    let former = original.clone();
    let (mut merged, patch) = special(original, patch, place.key)?;
    let mut places = positions(&merged, place.key);
    for item in &patch {
        let Some(new) = item.as_object() else {
            return unfit("invalid patch format of a list item");
        };
        if new.get(place.key).is_none() {
            return unfit(format!(
                "map: {item} does not contain declared merge key: {}",
                place.key
            ));
        }
        let items = place.schema.and_then(|s| s.get("items"));
        let found = position(&places, item, place.key);
        match found.and_then(|i| merged.get_mut(i)) {
            Some(old) => {
                let map = old.as_object().cloned().unwrap_or_default();
                *old = Value::Object(maps(map, new.clone(), items)?);
            }
            None => {
                let new = plain(without_nulls(item.clone()))?;
                if let Some(name) = name_of(&new, place.key) {
                    places.entry(name).or_insert(merged.len());
                }
                merged.push(new);
            }
        }
    }
    Ok(arrange(merged, &patch, &former, place.key))
}

/// Items with `$patch`: `delete` takes the item of the same key out, `replace` drops the whole original.
fn special(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut rest = Vec::new();
    let mut replace = false;
    let mut deleted = BTreeSet::new();
    for item in patch {
        match item.get(DIRECTIVE).and_then(Value::as_str) {
            None => rest.push(item),
            Some("delete") => {
                if item.get(key).is_none() {
                    return unfit("delete patch type with no merge key defined");
                }
                deleted.extend(name_of(&item, key));
            }
            Some("replace") => replace = true,
            Some(other) => return unfit(format!("unknown patch type found: {other}")),
        }
    }
    if replace {
        return Ok((rest, Vec::new()));
    }
    original.retain(|old| name_of(old, key).is_none_or(|name| !deleted.contains(&name)));
    Ok((original, rest))
}

/// What tells an item of a list from the others: its key, or where the list has none the item itself.
fn name_of(item: &Value, key: &str) -> Option<String> {
    if key.is_empty() {
        return Some(sorted_json(item));
    }
    item.get(key).map(sorted_json)
}

/// Where each item of a list stands first. Lists of megabytes are merged, so nothing here looks through one for each item
/// of another.
fn positions(list: &[Value], key: &str) -> BTreeMap<String, usize> {
    let named = list.iter().enumerate();
    let named = named.filter_map(|(at, item)| name_of(item, key).map(|name| (name, at)));
    named.rev().collect()
}

fn position(places: &BTreeMap<String, usize>, item: &Value, key: &str) -> Option<usize> {
    name_of(item, key).and_then(|name| places.get(&name).copied())
}

/// Puts the items that `wanted` lists into its order; the others stay relative to those as they were in `former`.
fn arrange(items: Vec<Value>, wanted: &[Value], former: &[Value], key: &str) -> Vec<Value> {
    let (wanted, former) = (positions(wanted, key), positions(former, key));
    let placed = items.into_iter().map(|item| {
        let (to, from) = (position(&wanted, &item, key), position(&former, &item, key));
        (to, from, item)
    });
    let (mut ours, mut others): (Vec<_>, Vec<_>) = placed.partition(|(to, _, _)| to.is_some());
    ours.sort_by_key(|(to, _, _)| *to);
    others.sort_by_key(|(_, from, _)| *from);
    let mut out = Vec::with_capacity(ours.len() + others.len());
    let (mut ours, mut others) = (ours.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), ours.peek()) {
            (Some((_, Some(a), _)), Some((_, Some(b), _))) => a < b,
            (Some(_), Some(_)) | (None, Some(_)) => false,
            (Some(_), None) => true,
            (None, None) => return out,
        };
        let next = if other_first {
            others.next()
        } else {
            ours.next()
        };
        out.extend(next.map(|(_, _, item)| item));
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k, without_nulls(v)))
                .collect(),
        ),
        other => other,
    }
}

/// A new value without directives.
fn plain(value: Value) -> Result<Value, PatchError> {
    match value {
        Value::Object(map) => plain_map(map).map(Value::Object),
        Value::Array(items) => plain_list(items).map(Value::Array),
        other => Ok(other),
    }
}

fn plain_map(map: Object) -> Result<Object, PatchError> {
    let mut out = Object::new();
    for (name, value) in map {
        match name.as_str() {
            DIRECTIVE if value == "delete" => return Ok(Object::new()),
            DIRECTIVE | RETAIN => {}
            _ if name.starts_with(ORDER) || name.starts_with(DELETE) => {}
            _ => {
                out.insert(name, plain(value)?);
            }
        }
    }
    Ok(out)
}

fn plain_list(items: Vec<Value>) -> Result<Vec<Value>, PatchError> {
    let directive = |item: &Value| {
        item.get(DIRECTIVE)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let kept = items
        .into_iter()
        .filter(|item| !matches!(directive(item).as_deref(), Some("delete" | "replace")));
    kept.map(plain).collect()
}
