//! Which sets and variants nobody has looked at yet as they stand now: until none is left, a selection of drafts may be a part of
//! what is to come. Nothing is written, and what has to be decided by a person counts as settled.

use std::collections::{BTreeMap, BTreeSet};

use model::{Standing, UpstreamVersion, VariantStatus};
use serde_json::Value;

use crate::client::{Client, PACKAGES, SETS, VARIANTS, collection};
use crate::exit::ExitFailure;
use crate::visible::counted;

/// How many are named.
const NAMED: usize = 5;

/// The latest published revisions.
const LATEST: &str = "kpt.dev/latest-revision=true";

/// What has not got there yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::commands) struct Behind {
    /// Sets that were not looked at as they stand, which may make or change variants still.
    sets: Vec<String>,
    /// Variants that were not looked at as they stand, or wait for something that comes back by itself.
    variants: Vec<String>,
    /// How many variants there are.
    of: usize,
}

impl Behind {
    /// Whether nothing is.
    pub(in crate::commands) fn is_settled(&self) -> bool {
        self.sets.is_empty() && self.variants.is_empty()
    }

    /// What it is, in a line.
    pub(in crate::commands) fn words(&self) -> String {
        let mut parts = Vec::new();
        if !self.variants.is_empty() {
            parts.push(format!(
                "{} of {} not there yet: {}",
                self.variants.len(),
                counted(self.of, "variant", "variants"),
                named(&self.variants)
            ));
        }
        if !self.sets.is_empty() {
            let sets = counted(self.sets.len(), "set was", "sets were");
            parts.push(format!("{sets} not looked at yet: {}", named(&self.sets)));
        }
        parts.join("; ")
    }

    /// What a person can ask.
    pub(super) fn hint(&self) -> String {
        match (self.variants.first(), self.sets.first()) {
            (Some(name), _) => format!("offshoot why pvar/{name}"),
            (None, Some(name)) => format!("offshoot why pvset/{name}"),
            (None, None) => String::new(),
        }
    }
}

fn named(names: &[String]) -> String {
    let rest = if names.len() > NAMED { ", …" } else { "" };
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    first.join(", ") + rest
}

/// Asks the server; of these sets, or of everything where none is named.
///
/// # Errors
/// The server cannot be reached, or refuses to list variants or sets.
pub(in crate::commands) async fn behind(
    client: &Client,
    namespace: &str,
    only: &[String],
) -> Result<Behind, ExitFailure> {
    // In this order: a set that says that it has written its variants has done so before they are listed, and a revision that is
    // listed was there before the variants that follow it say so.
    let sets = items(client.get(&collection(SETS, namespace, &[])).await?);
    let path = collection(PACKAGES, namespace, &[("labelSelector", LATEST)]);
    let latest = match client.ask(http::Method::GET, &path, None).await? {
        (200, list) => items(list),
        // Whoever may not list revisions is told of the others.
        _ => Vec::new(),
    };
    let variants = items(client.get(&collection(VARIANTS, namespace, &[])).await?);
    let seen = Seen {
        sets: &sets,
        latest: &latest,
        variants: &variants,
    };
    Ok(judge(&seen, only))
}

/// Refuses names of sets that are not there: nothing would ever be waited for.
///
/// # Errors
/// One is not there, or the server cannot be reached.
pub(super) async fn check(
    client: &Client,
    namespace: &str,
    only: &[String],
) -> Result<(), ExitFailure> {
    if only.is_empty() {
        return Ok(());
    }
    let sets = items(client.get(&collection(SETS, namespace, &[])).await?);
    let known: BTreeSet<&str> = sets.iter().map(name).collect();
    let missing = only.iter().find(|name| !known.contains(name.as_str()));
    missing.map_or(Ok(()), |name| {
        let near = model::nearest(name, known.iter().copied());
        let way = match near {
            Some(near) => format!("did you mean {near}?"),
            None => "kubectl get pvset lists them".to_owned(),
        };
        Err(ExitFailure::new(format!("there is no set {name:?}")).hint(way))
    })
}

/// What the server lists.
struct Seen<'a> {
    sets: &'a [Value],
    latest: &'a [Value],
    variants: &'a [Value],
}

fn judge(seen: &Seen<'_>, only: &[String]) -> Behind {
    let meant = |set: Option<&str>| {
        only.is_empty() || set.is_some_and(|set| only.iter().any(|name| name == set))
    };
    let sets = seen.sets.iter().filter(|set| meant(Some(name(set))));
    let unseen = |set: &&Value| {
        let status = api::read_set_status(set);
        let generation = api::read_meta(set).generation;
        status.observed_generation != generation || status.condition("Ready").is_none()
    };
    let latest = Latest::of(seen);
    let mine: Vec<&Value> = seen
        .variants
        .iter()
        .filter(|variant| meant(set_of(variant).as_deref()))
        .collect();
    let waits = |variant: &&&Value| {
        let status = api::read_variant_status(variant);
        match Standing::of(&status, api::read_meta(variant).generation) {
            Standing::Unknown | Standing::Waiting => true,
            Standing::Failed | Standing::Suspended => false,
            _ => latest.is_past(variant, &status),
        }
    };
    Behind {
        sets: sets
            .filter(unseen)
            .map(|set| name(set).to_owned())
            .collect(),
        variants: mine
            .iter()
            .filter(waits)
            .map(|variant| name(variant).to_owned())
            .collect(),
        of: mine.len(),
    }
}

/// What is published latest of each package, for the variants that follow it: a new one changes no generation of theirs.
struct Latest<'a> {
    /// Names of revisions by namespace, repository and package.
    names: BTreeMap<[&'a str; 3], BTreeSet<&'a str>>,
    /// Namespace and name of sets that hold their variants where they are.
    held: BTreeSet<[&'a str; 2]>,
}

impl<'a> Latest<'a> {
    fn of(seen: &Seen<'a>) -> Self {
        let mut names: BTreeMap<[&str; 3], BTreeSet<&str>> = BTreeMap::new();
        for revision in seen.latest {
            let at = |path: &[&str]| api::str_at(revision, path).unwrap_or_default();
            let key = [
                at(&["metadata", "namespace"]),
                at(&["spec", "repository"]),
                at(&["spec", "packageName"]),
            ];
            names.entry(key).or_default().insert(name(revision));
        }
        let suspended = seen.sets.iter().filter(|set| {
            let said = set.pointer("/spec/suspend");
            said.and_then(Value::as_bool).unwrap_or_default()
        });
        Self {
            names,
            held: suspended.map(|set| [namespace(set), name(set)]).collect(),
        }
    }

    /// Whether a variant follows what is published latest, and was looked at before that was there.
    fn is_past(&self, variant: &Value, status: &VariantStatus) -> bool {
        let spec = variant.get("spec").unwrap_or(&Value::Null);
        let Some(upstream) = api::read_upstream(spec, &mut Vec::new()) else {
            return false;
        };
        let plain = upstream.version == UpstreamVersion::Latest
            && upstream.commit.is_none()
            && !upstream.allow_unpublished;
        let own = namespace(variant);
        let set = set_of(variant);
        let held = set.is_some_and(|set| self.held.contains(&[own, set.as_str()]));
        if !plain || held {
            return false;
        }
        let key = [own, upstream.repo.as_str(), upstream.package.as_str()];
        let followed = status.upstream.as_ref().map(|name| name.as_str());
        match (self.names.get(&key), followed) {
            (Some(latest), Some(followed)) => !latest.contains(followed),
            _ => false,
        }
    }
}

fn set_of(variant: &Value) -> Option<String> {
    let meta = api::read_meta(variant);
    let set = meta.controller().filter(|c| c.kind == "PackageVariantSet");
    set.map(|set| set.name.clone())
}

fn name(object: &Value) -> &str {
    api::str_at(object, &["metadata", "name"]).unwrap_or_default()
}

fn namespace(object: &Value) -> &str {
    api::str_at(object, &["metadata", "namespace"]).unwrap_or_default()
}

fn items(mut list: Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conditions(reason: &str) -> Value {
        let status = if reason == "NoErrors" {
            "True"
        } else {
            "False"
        };
        json!([{ "type": "Ready", "status": status, "reason": reason, "message": "" }])
    }

    fn set(name: &str, seen: i64) -> Value {
        json!({
            "metadata": { "namespace": "default", "name": name, "generation": 2 },
            "status": { "observedGeneration": seen, "conditions": conditions("NoErrors") },
        })
    }

    fn variant(name: &str, set: &str, seen: i64, reason: &str, follows: &str) -> Value {
        json!({
            "metadata": { "namespace": "default", "name": name, "generation": 2, "ownerReferences": [
                { "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": set, "uid": "u", "controller": true },
            ] },
            "spec": { "upstream": { "repo": "cat", "package": "web" }, "downstream": { "repo": "east", "package": "web" } },
            "status": {
                "observedGeneration": seen, "conditions": conditions(reason), "offshoot": { "upstream": follows },
                "downstreamTargets": [{ "name": "east.web.v1", "workspaceName": "v1", "lifecycle": "Draft" }],
            },
        })
    }

    fn latest(name: &str) -> Value {
        json!({ "metadata": { "namespace": "default", "name": name }, "spec": { "repository": "cat", "packageName": "web" } })
    }

    fn judged(sets: &[Value], latest: &[Value], variants: &[Value], only: &[&str]) -> Behind {
        let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
        let seen = Seen {
            sets,
            latest,
            variants,
        };
        judge(&seen, &only)
    }

    #[test]
    fn whoever_was_not_looked_at_as_it_stands_is_behind() {
        let v1 = "cat.web.v1";
        let variants = [
            variant("a", "web", 2, "NoErrors", v1),
            variant("b", "web", 1, "NoErrors", v1),
            variant("c", "web", 2, "RepositoryNotReady", v1),
            variant("d", "web", 2, "RenderFailed", v1),
            variant("e", "other", 1, "NoErrors", v1),
        ];
        let sets = [set("web", 2), set("other", 1)];
        let all = judged(&sets, &[], &variants, &[]);
        assert_eq!(
            all.words(),
            "3 of 5 variants not there yet: b, c, e; 1 set was not looked at yet: other"
        );
        let web = judged(&sets, &[], &variants, &["web"]);
        assert_eq!(web.words(), "2 of 4 variants not there yet: b, c");
        assert_eq!(web.hint(), "offshoot why pvar/b");
        // What a person has to decide or mend is settled.
        let decided = [
            variant("a", "web", 2, "Conflicted", v1),
            variant("d", "web", 2, "RenderFailed", v1),
        ];
        assert!(judged(&sets, &[], &decided, &["web"]).is_settled());
    }

    #[test]
    fn whoever_follows_the_latest_is_behind_until_it_has_seen_it() {
        let latest = [latest("cat.web.v2")];
        let of = |follows: &str| [variant("a", "web", 2, "NoErrors", follows)];
        let sets = [set("web", 2)];
        assert!(!judged(&sets, &latest, &of("cat.web.v1"), &[]).is_settled());
        assert!(judged(&sets, &latest, &of("cat.web.v2"), &[]).is_settled());
        let mut pinned = of("cat.web.v1");
        pinned[0]["spec"]["upstream"]["revision"] = "v1".into();
        assert!(judged(&sets, &latest, &pinned, &[]).is_settled());
        let mut held = sets;
        held[0]["spec"] = json!({ "suspend": true });
        assert!(judged(&held, &latest, &of("cat.web.v1"), &[]).is_settled());
    }
}
