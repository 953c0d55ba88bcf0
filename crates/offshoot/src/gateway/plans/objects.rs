//! Manifests as the server would store them if the caller wrote them now.

use std::collections::BTreeSet;
use std::sync::Arc;

use apiserver::gateway::{Call, Refusal, RefusalClass};
use apiserver::{RequestTarget, ResourceName, Whose};
use engine::Suppositions;
use engine::planned::PlannedTarget as Planned;
use engine::ports::{Gvk, OurKind};
use model::{ObjectKey, Problem};
use objects::{Failure, Resource};
use serde_json::Value;

use super::super::PackageGateway;
use super::super::refusal::invalid;
use super::super::rights::may_at;
use super::applied::{Before, missing, onto};
use crate::ports::{Overlay, read_repository, read_set, read_variant};

/// The kinds of ours.
const CONFIG: &str = "config.porch.kpt.dev";

/// What the manifests come to.
pub(super) struct Objects<'a> {
    gateway: &'a PackageGateway,
    call: &'a Call,
    suppositions: Suppositions,
    overlay: Overlay,
    unknown: Vec<(String, String)>,
    doubts: Vec<Doubt>,
    seen: BTreeSet<(String, String, String)>,
}

/// Why what a manifest comes to may be otherwise.
pub(super) struct Doubt {
    /// Which object of ours it is about; `None` for one of another kind, which any target may depend on.
    pub(super) of: Option<(OurKind, ObjectKey)>,
    /// The object, in words.
    pub(super) what: String,
    /// Why.
    pub(super) why: String,
}

impl Doubt {
    /// Whether it is about this target.
    pub(super) fn concerns(&self, target: &Planned) -> bool {
        match &self.of {
            Some((OurKind::Variant, key)) => target.variant == *key,
            Some((OurKind::Set, key)) => target.set.as_ref() == Some(key),
            _ => true,
        }
    }
}

/// What is supposed, and what of it is not certain.
pub(super) struct Taken {
    pub(super) suppositions: Suppositions,
    /// What the cluster would hold then.
    pub(super) overlay: Overlay,
    /// What is not planned.
    pub(super) unknown: Vec<(String, String)>,
    pub(super) doubts: Vec<Doubt>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(gateway: &'a PackageGateway, call: &'a Call) -> Self {
        Self {
            gateway,
            call,
            suppositions: Suppositions::default(),
            overlay: Overlay::of(call.user.clone()),
            unknown: Vec::new(),
            doubts: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// All of it.
    pub(super) fn supposed(self) -> Taken {
        Taken {
            suppositions: self.suppositions,
            overlay: self.overlay,
            unknown: self.unknown,
            doubts: self.doubts,
        }
    }

    /// A manifest that the caller would write.
    pub(super) async fn write(&mut self, manifest: &Value, field: &str) -> Result<(), Refusal> {
        let (kind, name) = (named(manifest, "kind"), at(manifest, "/metadata/name"));
        let version = named(manifest, "apiVersion");
        let Some(target) = self.target(&Gvk::of(version, kind), name) else {
            let why = match &self.gateway.drafts {
                None => "this server does not serve its kind",
                Some(_) => {
                    "of the cluster's kinds, a plan knows Kubernetes' own and Offshoot's alone"
                }
            };
            self.unknown
                .push((format!("{kind} {name}"), why.to_owned()));
            return Ok(());
        };
        self.here(manifest, &target, field)?;
        let resource = &target.resource;
        self.once((&resource.group, &resource.plural, name), field)?;
        let stored = self.stored(&target, field).await?;
        let verb = if stored.is_some() { "update" } else { "create" };
        self.may(&target, verb).await?;
        let before = match &stored {
            Some(stored) => Before::of(stored, &self.call.options.field_manager),
            None => Before::Nothing,
        };
        let written = self.would_be(&target, &stored, manifest, &before).await;
        let written = written.map_err(|failure| refused(&failure, field))?;
        if stored.is_some() && before == Before::Nothing {
            self.doubt(&target, &stored, manifest, &written).await;
        }
        self.take(&target, written);
        Ok(())
    }

    /// Where nobody recorded what was applied before, what the manifest lacks stays, as it does for `kubectl apply`; who
    /// expects it to go is told. What is there by default alone is no difference.
    async fn doubt(
        &mut self,
        target: &RequestTarget,
        stored: &Option<Value>,
        manifest: &Value,
        written: &Value,
    ) {
        let all = &Before::Everything;
        let alone = self.would_be(target, stored, manifest, all).await;
        // One that does not stand by itself lacks something.
        let alone = alone.as_ref().unwrap_or(manifest);
        let missing = missing(written, alone);
        if missing.is_empty() {
            return;
        }
        let (kind, name) = (&target.resource.kind, &target.name);
        let what = format!("what {kind} {name} says no more");
        let why = format!(
            "nothing tells what was applied to {kind} {name} before; planned as if what its manifest lacks stayed: {}",
            missing.join(", ")
        );
        self.doubts.push(Doubt {
            of: our_kind(target).zip(api_key(target)),
            what,
            why,
        });
    }

    /// What would be stored, by the server's own rules.
    async fn would_be(
        &self,
        target: &RequestTarget,
        stored: &Option<Value>,
        manifest: &Value,
        before: &Before,
    ) -> Result<Value, Failure> {
        let whose = self.whose();
        if let Some(drafts) = &self.gateway.drafts {
            let stored = stored.clone();
            return drafts
                .would_be(target, stored, (manifest, before), whose)
                .await;
        }
        let handle = &self.gateway.handle;
        match stored {
            None => handle.would_create(target, manifest.clone(), &whose).await,
            Some(_) => {
                let compute = |old: &Value| onto(old, manifest, before);
                handle.would_update(target, &compute, &whose).await
            }
        }
    }

    /// Whether the caller may do this to an object, where that lies.
    async fn may(&self, target: &RequestTarget, verb: &str) -> Result<(), Refusal> {
        let resource = &target.resource;
        let names = (&*resource.group, &*resource.plural, &*target.name);
        may_at(self.gateway, self.call, &target.namespace, verb, names).await
    }

    fn whose(&self) -> Whose {
        Whose {
            user: self.call.user.clone(),
            agent: self.call.options.field_manager.clone(),
        }
    }

    /// The object that is there under a name, in the version in which its kind is kept.
    async fn stored(&self, target: &RequestTarget, field: &str) -> Result<Option<Value>, Refusal> {
        let resource = &target.resource;
        let name = ResourceName::new(&resource.group, &resource.storage_version, &resource.plural);
        let found = self
            .gateway
            .api
            .get(&name, &target.namespace, &target.name)
            .await;
        found.map_err(|failure| refused(&failure, field))
    }

    /// An object that the caller would delete.
    pub(super) async fn delete(&mut self, asked: &Value, field: &str) -> Result<(), Refusal> {
        let (kind, name) = (named(asked, "kind"), named(asked, "name"));
        let wrong = |what: String| {
            let problem = Problem::new(field, format!("{field}: {what}"));
            invalid(self.call, &[problem])
        };
        let target = self.find(named(asked, "apiVersion"), kind, name);
        let target = target.ok_or_else(|| wrong(format!("kind {kind:?} is not served here")))?;
        let resource = &target.resource;
        self.may(&target, "delete").await?;
        if self.stored(&target, field).await?.is_none() {
            return Err(wrong(format!("{} {name:?} is not there", resource.plural)));
        }
        self.once((&resource.group, &resource.plural, name), field)?;
        let key = api_key(&target);
        match (our_kind(&target), key) {
            (Some(kind), Some(key)) => self.suppositions.deleted.push((kind, key)),
            _ => self.other(&target, None),
        }
        Ok(())
    }

    /// The resource of a kind in a version, and the object of a name in it.
    fn target(&self, kind: &Gvk, name: &str) -> Option<RequestTarget> {
        let handle = self.gateway.drafting();
        let found = handle.target_of_kind(&kind.group, &kind.version, &kind.kind)?;
        let namespace = if found.resource.namespaced {
            self.call.namespace.as_str()
        } else {
            ""
        };
        Some(found.at(namespace, name))
    }

    /// The same by what people type: a kind, its plural, singular or a short name, in any case, with its group after a dot
    /// where several have that name. As with kubectl, Offshoot's own come first, then Kubernetes' first group.
    fn find(&self, version: &str, kind: &str, name: &str) -> Option<RequestTarget> {
        if !version.is_empty() {
            return self.target(&Gvk::of(version, kind), name);
        }
        let typed = kind.to_lowercase();
        let served = self.gateway.drafting().resources();
        let called = served.iter().filter(|r| is_called(r, &typed));
        let rank = |r: &&Arc<Resource>| match r.group.as_str() {
            CONFIG => 0,
            "" => 1,
            _ => 2,
        };
        let resource = called.min_by_key(|r| (rank(r), r.group.clone()))?;
        let namespace = if resource.namespaced {
            self.call.namespace.as_str()
        } else {
            ""
        };
        Some(RequestTarget::stored(resource, namespace, name))
    }

    /// A plan is of one namespace, and of what lies in it.
    fn here(&self, manifest: &Value, target: &RequestTarget, field: &str) -> Result<(), Refusal> {
        let namespace = at(manifest, "/metadata/namespace");
        let same = namespace.is_empty() || namespace == self.call.namespace;
        if same || !target.resource.namespaced {
            return Ok(());
        }
        let field = format!("{field}.metadata.namespace");
        let what = format!(
            "{field}: it is {namespace:?}, and this plan is of namespace {:?}: plan each namespace alone",
            self.call.namespace
        );
        Err(invalid(self.call, &[Problem::new(field, what)]))
    }

    /// Nobody knows which of two manifests of one object is meant.
    fn once(&mut self, object: (&str, &str, &str), field: &str) -> Result<(), Refusal> {
        let (group, plural, name) = object;
        let entry = (group.to_owned(), plural.to_owned(), name.to_owned());
        if self.seen.insert(entry) {
            return Ok(());
        }
        let what = format!("{field}: {plural} {name:?} is named twice");
        Err(invalid(self.call, &[Problem::new(field, what)]))
    }

    fn take(&mut self, target: &RequestTarget, object: Value) {
        let all = &mut self.suppositions;
        match our_kind(target) {
            Some(OurKind::Variant) => {
                if let Some(variant) = read_variant(&object) {
                    self.overlay.written(OurKind::Variant, &variant.key);
                    all.variants.push(variant);
                }
            }
            Some(OurKind::Set) => {
                let stored = self.as_stored(target, object);
                let all = &mut self.suppositions;
                if let Some(set) = read_set(&stored) {
                    self.overlay.written(OurKind::Set, &set.key);
                    all.sets.push(set);
                }
            }
            Some(OurKind::Repository) => {
                if let Some(mut repository) = read_repository(&object) {
                    // Nobody can look into a repository that is not registered yet.
                    let known = at(&object, "/status/conditions/0/type");
                    if known.is_empty() {
                        let what = format!("repository {}", repository.key);
                        let why = "it is not registered, so that nothing in it is known";
                        self.unknown.push((what, why.to_owned()));
                        repository.status = Default::default();
                    }
                    all.repositories.push(repository);
                }
            }
            _ => self.other(target, Some(object)),
        }
    }

    /// The object in the version in which its kind is kept, which is the one that is read.
    fn as_stored(&self, target: &RequestTarget, object: Value) -> Value {
        let stored = &target.resource.storage_version;
        let version = at(&object, "/apiVersion")
            .rsplit('/')
            .next()
            .unwrap_or_default();
        if version == stored {
            return object;
        }
        api::convert_set(object.clone(), &format!("{CONFIG}/{stored}")).unwrap_or(object)
    }

    fn other(&mut self, target: &RequestTarget, object: Option<Value>) {
        let resource = &target.resource;
        let not_planned = match (resource.group.as_str(), resource.plural.as_str()) {
            (api::PACKAGE_GROUP, _) => Some(
                "what becomes of package revisions that are written or deleted by hand is not planned",
            ),
            ("", "namespaces") => Some("what goes with a namespace is not planned"),
            _ => None,
        };
        if let Some(why) = not_planned {
            let what = format!("{} {}", resource.kind, target.name);
            self.unknown.push((what, why.to_owned()));
            return;
        }
        let kind = Gvk {
            group: resource.group.clone(),
            version: resource.storage_version.clone(),
            kind: resource.kind.clone(),
        };
        self.suppositions.kinds.insert(kind);
        let place = (resource.group.clone(), resource.kind.clone());
        self.overlay
            .put(place, (&target.namespace, &target.name), object);
    }
}

/// Whether people call a resource so; in lower case.
fn is_called(resource: &Resource, typed: &str) -> bool {
    let names = [&resource.kind, &resource.plural, &resource.singular];
    let mut names = names.into_iter().chain(&resource.short_names);
    let (bare, group) = typed.split_once('.').unwrap_or((typed, ""));
    let grouped = group.is_empty() || resource.group == group;
    grouped && names.any(|known| known.to_lowercase() == bare)
}

fn our_kind(target: &RequestTarget) -> Option<OurKind> {
    if target.resource.group != CONFIG {
        return None;
    }
    match target.resource.plural.as_str() {
        "packagevariants" => Some(OurKind::Variant),
        "packagevariantsets" => Some(OurKind::Set),
        "repositories" => Some(OurKind::Repository),
        _ => None,
    }
}

fn api_key(target: &RequestTarget) -> Option<ObjectKey> {
    Some(ObjectKey::new(
        model::Namespace::parse(&target.namespace).ok()?,
        model::ObjectName::parse(&target.name).ok()?,
    ))
}

fn named<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn refused(failure: &Failure, field: &str) -> Refusal {
    let class = match failure.code {
        401 | 403 => RefusalClass::Denied,
        404 => RefusalClass::NotFound,
        409 => RefusalClass::Conflict,
        413 => RefusalClass::Limit,
        429 | 503 | 504 => RefusalClass::Unavailable,
        500 => RefusalClass::Bug,
        _ => RefusalClass::BadRequest,
    };
    Refusal::new(class, format!("{field}: {}", failure.message))
}
