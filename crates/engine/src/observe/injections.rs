//! What the cluster holds under the names of a variant's injectors (variant-semantics.md R90).

use std::collections::{BTreeMap, BTreeSet};

use model::{Injection, InjectionOutcome, Injector, ObjectKey, ObjectName, Variant};

use crate::controllers::port;
use crate::ports::{Found, Gvk, ObjectContent, OurKind, Requester};
use crate::{Engine, Result};

/// Looks up each injector for each kind of injection point that it fits, and watches those names
/// from now on, also where nothing is there (V11).
pub(super) async fn injections(
    engine: &Engine,
    variant: &Variant,
    points: &BTreeSet<String>,
) -> Result<Vec<Injection>> {
    let mut wanted = BTreeSet::new();
    let mut injections = Vec::with_capacity(variant.spec.injectors.len());
    for injector in &variant.spec.injectors {
        let mut found = BTreeMap::new();
        for gvk in kinds(injector, points) {
            let Some(key) = key_of(variant, injector) else {
                continue;
            };
            wanted.insert((gvk.clone(), key.clone()));
            engine.follow(&gvk);
            found.insert(gvk.to_string(), look(engine, variant, &gvk, &key).await?);
        }
        injections.push(Injection {
            group: injector.group.clone(),
            version: injector.version.clone(),
            kind: injector.kind.clone(),
            name: injector.name.clone(),
            found,
        });
    }
    engine.learn(|world| {
        world.objects.want(&variant.key, wanted);
        crate::index::Wake::default()
    });
    Ok(injections)
}

fn key_of(variant: &Variant, injector: &Injector) -> Option<ObjectKey> {
    let name = ObjectName::parse(&injector.name).ok()?;
    Some(ObjectKey::new(variant.key.namespace.clone(), name))
}

/// The kinds of points that an injector could fill; one that names group, version and kind is
/// looked up even before a point of that kind was seen (points may appear by rendering, V2).
fn kinds(injector: &Injector, points: &BTreeSet<String>) -> BTreeSet<Gvk> {
    let fits = |want: &Option<String>, have: &str| want.as_deref().is_none_or(|w| w == have);
    let mut kinds: BTreeSet<Gvk> = points
        .iter()
        .filter_map(|text| Gvk::parse(text))
        .filter(|gvk| {
            fits(&injector.group, &gvk.group)
                && fits(&injector.version, &gvk.version)
                && fits(&injector.kind, &gvk.kind)
        })
        .collect();
    if let (Some(version), Some(kind)) = (&injector.version, &injector.kind) {
        kinds.insert(Gvk {
            group: injector.group.clone().unwrap_or_default(),
            version: version.clone(),
            kind: kind.clone(),
        });
    }
    kinds
}

async fn look(
    engine: &Engine,
    variant: &Variant,
    gvk: &Gvk,
    key: &ObjectKey,
) -> Result<InjectionOutcome> {
    let requester = Requester {
        kind: OurKind::Variant,
        key: variant.key.clone(),
    };
    let found = engine.ports().cluster.object(gvk, key, &requester).await;
    Ok(match found.map_err(port)? {
        Found::Here(object) => content(gvk, &object),
        Found::Absent => InjectionOutcome::Absent,
        Found::KindMissing => InjectionOutcome::KindMissing,
        Found::Forbidden(why) => InjectionOutcome::Unreadable(why),
    })
}

/// `data` of a ConfigMap, `spec` of anything else (R92).
fn content(gvk: &Gvk, object: &ObjectContent) -> InjectionOutcome {
    let (field, content) = if gvk.group.is_empty() && gvk.kind == "ConfigMap" {
        ("data", &object.data)
    } else {
        ("spec", &object.spec)
    };
    match content {
        Some(json) => InjectionOutcome::Content(json.clone()),
        None => InjectionOutcome::FieldMissing(field.to_owned()),
    }
}
