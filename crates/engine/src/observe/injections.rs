//! What the cluster holds under the names of a variant's injectors (R90).

use std::collections::{BTreeMap, BTreeSet};

use model::{Injection, InjectionOutcome, Injector, KeptInjection, ObjectKey, ObjectName, Variant};
use plan::set::KindScope;
use plan::variant::Writer;

use super::Sink;
use crate::error::port;
use crate::ports::{Found, Gvk, ObjectContent, OurKind, Requester};
use crate::{Engine, Result};

/// Looks up each injector for each kind of injection point that it fits, and watches those names
/// from now on, also where nothing is there (V11).
pub(super) async fn injections(
    engine: &Engine,
    sink: Sink<'_>,
    variant: &Variant,
    points: &BTreeSet<String>,
    before: &[KeptInjection],
) -> Result<(Vec<Injection>, Writer)> {
    let mut writer = Writer::Known;
    let mut wanted = BTreeSet::new();
    let mut injections = Vec::with_capacity(variant.spec.injectors.len());
    for injector in &variant.spec.injectors {
        let mut found = BTreeMap::new();
        for gvk in kinds(injector, points) {
            let Some(key) = key_of(variant, injector) else {
                continue;
            };
            wanted.insert((gvk.clone(), key.clone()));
            sink.follow(&gvk);
            let outcome = match look(engine, variant, &gvk, &key).await? {
                Some(outcome) => outcome,
                None => {
                    let text = gvk.to_string();
                    let lacks = points.contains(&text) && !before.iter().any(|k| k.gvk == text);
                    let lacked = matches!(writer, Writer::Unknown { lacking: true });
                    writer = Writer::Unknown {
                        lacking: lacked || lacks,
                    };
                    stays(before, &text, &injector.name)
                }
            };
            found.insert(gvk.to_string(), outcome);
        }
        injections.push(Injection {
            group: injector.group.clone(),
            version: injector.version.clone(),
            kind: injector.kind.clone(),
            name: injector.name.clone(),
            found,
        });
    }
    sink.wants(&variant.key, wanted);
    Ok((injections, writer))
}

/// What injectors name and nobody has, each by kind and name: of the kinds of the package's points, those that would be taken if
/// somebody had them, which is before whatever serves such a point.
pub(super) fn absent(injections: &[Injection], points: &BTreeSet<String>) -> Vec<String> {
    let mut served: BTreeSet<&str> = BTreeSet::new();
    let mut all = BTreeSet::new();
    for injection in injections {
        let of_points = injection
            .found
            .iter()
            .filter(|(gvk, _)| points.contains(*gvk));
        let open: Vec<_> = of_points
            .filter(|(gvk, _)| !served.contains(gvk.as_str()))
            .collect();
        let missing = |outcome: &InjectionOutcome| {
            matches!(
                outcome,
                InjectionOutcome::Absent | InjectionOutcome::KindMissing
            )
        };
        if !open.is_empty() && open.iter().all(|(_, outcome)| missing(outcome)) {
            let kinds = open.iter().filter_map(|(gvk, _)| gvk.rsplit('/').next());
            let kinds: Vec<&str> = kinds.collect();
            all.insert(format!("{} {}", kinds.join(" or "), injection.name));
        }
        let holds = open
            .iter()
            .filter(|(_, outcome)| matches!(outcome, InjectionOutcome::Content(_)));
        served.extend(holds.map(|(gvk, _)| gvk.as_str()));
    }
    all.into_iter().collect()
}

/// What an injector came to when it was looked up last, as far as the package tells.
fn stays(before: &[KeptInjection], gvk: &str, name: &str) -> InjectionOutcome {
    let mut before = before.iter();
    let kept = before.find(|k| k.gvk == gvk && k.injected == name);
    kept.map_or(InjectionOutcome::Absent, |kept| {
        InjectionOutcome::Content(kept.content.clone())
    })
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

/// What is found; `None` if it is read for nobody (X6).
async fn look(
    engine: &Engine,
    variant: &Variant,
    gvk: &Gvk,
    key: &ObjectKey,
) -> Result<Option<InjectionOutcome>> {
    let requester = Requester {
        kind: OurKind::Variant,
        key: variant.key.clone(),
    };
    let found = engine.ports().cluster.object(gvk, key, &requester).await;
    Ok(Some(match found.map_err(port)? {
        Found::WriterUnknown => return Ok(None),
        Found::Here(object) => content(gvk, &object),
        Found::Absent => InjectionOutcome::Absent,
        Found::KindMissing => InjectionOutcome::KindMissing,
        Found::Forbidden(why) => InjectionOutcome::Unreadable(why),
        Found::ClusterScoped => KindScope::not_injected(&gvk.to_string()),
    }))
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
