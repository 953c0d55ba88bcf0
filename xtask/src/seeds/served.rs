//! Holds one example against the embedded server: accepted without a word, stored as written, at rest when it is
//! applied again, and meant as the document says.

use std::collections::BTreeMap;

use http::Method;
use model::{Downstream, VariantSpec};
use serde_json::{Map, Value, json};

use super::Result;
use super::meaning::Means;
use super::world::{CONFIG, World};

/// What client-side apply remembers.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Applies an object in both ways, one after the other; nothing is left behind.
pub(super) async fn hold(world: &World, object: &Value, means: &Means) -> Result<()> {
    if let Means::Set { repositories, .. } = means {
        world.repositories(repositories).await?;
    }
    let paths = Paths::of(object)?;
    for from in [From::Client, From::Server] {
        let held = one_way(world, &paths, object, means, from).await;
        let gone = world.client.delete(&paths.one).await;
        held.map_err(|why| format!("{from:?}: {why}"))?;
        gone.map_err(|e| format!("delete: {e}"))?;
        world.wait(&paths.one, Value::is_null).await?;
        if matches!(means, Means::Set { .. }) {
            let variants = format!("{CONFIG}/v1alpha1/namespaces/default/packagevariants");
            let none = |list: &Value| list["items"].as_array().is_some_and(Vec::is_empty);
            world.wait(&variants, none).await?;
        }
    }
    Ok(())
}

async fn one_way(
    world: &World,
    paths: &Paths,
    object: &Value,
    means: &Means,
    from: From,
) -> Result<()> {
    let first = apply(world, paths, object, from).await?;
    if first.get("spec") != object.get("spec") {
        return Err(format!("it is stored as {}", first["spec"]));
    }
    let warned = world.client.take_warnings();
    if !warned.is_empty() {
        return Err(format!("the server warns: {}", warned.join("; ")));
    }
    if let Means::Set { variants, .. } = means {
        variants_of(world, &paths.one, variants).await?;
    }
    world.settle().await;
    let before = world.wait(&paths.one, |o| !o.is_null()).await?;
    let after = apply(world, paths, object, from).await?;
    if before != after {
        return Err(format!("applied again, {before} becomes {after}"));
    }
    Ok(())
}

struct Paths {
    all: String,
    one: String,
}

impl Paths {
    fn of(object: &Value) -> Result<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let version = text("/apiVersion").ok_or("it has no apiVersion")?;
        let name = text("/metadata/name").ok_or("it has no name")?;
        let plural = format!("{}s", text("/kind").unwrap_or_default().to_lowercase());
        let all = format!("/apis/{version}/namespaces/default/{plural}");
        Ok(Self {
            one: format!("{all}/{name}"),
            all,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum From {
    Client,
    Server,
}

async fn apply(world: &World, paths: &Paths, object: &Value, from: From) -> Result<Value> {
    match from {
        From::Client => client_side(world, paths, object).await,
        From::Server => {
            let query = "fieldManager=seeds&fieldValidation=Strict";
            let path = format!("{}?{query}", paths.one);
            let applied = world.client.apply(&path, object).await;
            applied.map_err(|e| format!("apply: {e}"))
        }
    }
}

/// As kubectl does: a difference against what was applied last and what is there; none is no request.
async fn client_side(world: &World, paths: &Paths, object: &Value) -> Result<Value> {
    let mut modified = object.clone();
    let text = object.to_string();
    modified["metadata"]["annotations"][LAST_APPLIED] = text.into();
    let Ok(current) = world.client.get(&paths.one).await else {
        let path = format!("{}?fieldValidation=Strict", paths.all);
        return world.create(&path, &modified).await;
    };
    let annotations = current.pointer("/metadata/annotations");
    let last = annotations.and_then(|a| a.get(LAST_APPLIED)?.as_str());
    let original: Value = serde_json::from_str(last.ok_or("nothing was applied before")?)
        .map_err(|e| format!("what was applied last: {e}"))?;
    let patch = three_way(&original, &modified, &current);
    if patch.as_object().is_some_and(Map::is_empty) {
        return Ok(current);
    }
    Err(format!("applied again, kubectl would send {patch}"))
}

/// What was changed or added against what is there, and what was taken off against what was applied last.
fn three_way(original: &Value, modified: &Value, current: &Value) -> Value {
    let mut patch = Map::new();
    let empty = Map::new();
    let object = |v: &Value| v.as_object().cloned().unwrap_or_else(|| empty.clone());
    let (original, current) = (object(original), object(current));
    for (key, wanted) in &object(modified) {
        match current.get(key) {
            Some(is) if is == wanted => {}
            Some(is) if is.is_object() && wanted.is_object() => {
                let before = original.get(key).cloned().unwrap_or_default();
                let inner = three_way(&before, wanted, is);
                if inner.as_object().is_none_or(|i| !i.is_empty()) {
                    patch.insert(key.clone(), inner);
                }
            }
            _ => {
                patch.insert(key.clone(), wanted.clone());
            }
        }
    }
    let gone = original
        .keys()
        .filter(|k| modified.get(k.as_str()).is_none());
    for key in gone.filter(|k| current.contains_key(*k)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// The variants of the set are those of the document.
async fn variants_of(
    world: &World,
    set: &str,
    wanted: &BTreeMap<Downstream, VariantSpec>,
) -> Result<()> {
    let ready = |o: &Value| {
        let conditions = o.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|c| c["type"] == "Ready" && c["status"] == "True")
    };
    world.wait(set, ready).await?;
    let path = format!("{CONFIG}/v1alpha1/namespaces/default/packagevariants");
    let list = world
        .client
        .request(Method::GET, &path, "application/json", None);
    let list = list.await.map_err(|e| e.to_string())?;
    let mut found = BTreeMap::new();
    for object in list["items"].as_array().into_iter().flatten() {
        let (_, _, spec) = api::read_variant(object).ok_or("a variant has no name")?;
        let spec = spec.map_err(|problems| model::join_problems(&problems))?;
        found.insert(spec.downstream.clone(), spec);
    }
    if found == *wanted {
        return Ok(());
    }
    let show = |all: &BTreeMap<Downstream, VariantSpec>| {
        json!(
            all.values()
                .map(api::write_variant_spec)
                .collect::<Vec<_>>()
        )
    };
    Err(format!(
        "the set makes {}, the document shows {}",
        show(&found),
        show(wanted)
    ))
}
