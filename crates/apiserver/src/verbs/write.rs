//! Writing: create, update and patch, on objects and their subresources.

use std::sync::Arc;

use objects::resource::Origin;
use objects::write::part::Part;
use objects::write::update::{Means, Update, Updated};
use objects::write::{Prepared, WriteOptions, meta, metadata_mut, rv_of};
use objects::{Backing, Failure, Reason};
use objectstore::{CommitError, Expect, Object, Op};
use serde_json::Value;

use super::claims::Claim;
use super::{Core, RequestTarget, Shown, Whose, Written, lost, refused};
use crate::authz::GROUP;
use crate::gateway::{CallAnswer, Refusal, Verb};

/// How often a write that names no version is computed again after another write came first.
const ATTEMPTS: usize = 8;

/// Computes the wanted object from the current one, in the version of the request.
pub type Compute<'a> = dyn Fn(&Value) -> Result<(Value, Means), Failure> + Send + Sync + 'a;

impl Core {
    /// Creates an object.
    ///
    /// # Errors
    /// Whatever the rules, the namespace, the gateway or the store refuse.
    pub(crate) async fn create(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        self.make(target, whose, body, options, Means::Post).await
    }

    async fn make(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        mut body: Value,
        options: &WriteOptions,
        means: Means,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let name = meta(&body, "name").to_owned();
        let target = &target.clone().at(&target.namespace, &name);
        self.check_homes(target, true).await?;
        if name.is_empty() && target.resource.backing != Backing::Stored {
            return self.create_unnamed(target, whose, body, options).await;
        }
        let mut moment = self.moment();
        let stem = !meta(&body, "generateName").is_empty();
        let generated = name.is_empty() && stem;
        for _ in 0..ATTEMPTS {
            // Kept for another name, and for what is told of a role that grants too much.
            let sent = match generated || target.resource.group == GROUP {
                true => body.clone(),
                false => body.take(),
            };
            let home = &target.namespace;
            let prepared = match rules.create(sent, home, options, &moment, means) {
                Ok(prepared) => prepared,
                Err(refused) => {
                    return Err(self.granted(target, whose, (None, &body), refused).await);
                }
            };
            let target = &target
                .clone()
                .at(&target.namespace, meta(&prepared.object, "name"));
            match self.create_once(target, whose, prepared, options).await {
                Err(failure) if failure.reason == Reason::AlreadyExists && generated => {
                    moment = self.moment()
                }
                Err(failure) if failure.reason == Reason::AlreadyExists && stem => {
                    return Err(failure.ungenerated());
                }
                other => return other,
            }
        }
        Err(Failure::new(
            500,
            Reason::ServerTimeout,
            "no free generated name was found; try again",
        ))
    }

    /// Hands an object over whose name is the gateway's to compose: it passes the rules under a
    /// name that nobody sees.
    async fn create_unnamed(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        mut body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let set_name = |object: &mut Value, name: &str| {
            if let Some(metadata) = metadata_mut(object) {
                metadata.insert("name".to_owned(), name.into());
            }
        };
        set_name(&mut body, "unnamed");
        let (rules, moment) = (target.rules()?, self.moment());
        let mut prepared = rules.create(body, &target.namespace, options, &moment, Means::Post)?;
        set_name(&mut prepared.object, "");
        let call = (Verb::Create, None, Some(prepared.object));
        self.hand_over(target, whose, call, options, prepared.warnings, 201)
            .await
    }

    pub(crate) async fn create_once(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        mut prepared: Prepared,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        // Looked at for a better answer alone: whether it is absent the store decides when it writes.
        let found = self.store.get(&target.resource.key(), &target.key());
        let exists = |found: &Object| {
            let deleting = found.fields.deletion_timestamp.is_some();
            Failure::already_exists(
                &target.resource.group,
                &target.resource.plural,
                &target.name,
                deleting,
            )
        };
        if let Some(found) = found.filter(|_| target.resource.backing != Backing::Virtual) {
            return Err(exists(&found).with_warnings(prepared.warnings));
        }
        self.check_grant(target, whose, None, &prepared.object)
            .await?;
        self.sign(target, whose, None, &mut prepared.object);
        self.sign_field(target, whose, None, &mut prepared.object);
        if target.resource.backing != Backing::Stored {
            let call = (Verb::Create, None, Some(prepared.object));
            return self
                .hand_over(target, whose, call, options, prepared.warnings, 201)
                .await;
        }
        if options.dry_run {
            return Ok(Written {
                code: 201,
                object: Shown::Value(target.rules()?.once_stored(prepared.object)?),
                warnings: prepared.warnings,
            });
        }
        let op = self.op(target, Expect::Absent, Some(prepared.object))?;
        match self.store.commit(vec![op]).await {
            Ok(objects) => self.answer(target, objects, prepared.warnings, 201).await,
            Err(CommitError::Conflict {
                found: Some(found), ..
            }) => Err(exists(&found)),
            Err(error) => Err(lost(target, &error)),
        }
    }

    /// Replaces an object, or a part of it.
    ///
    /// # Errors
    /// Whatever the rules, the gateway or the store refuse.
    pub(crate) async fn update(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        mut body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        // What cannot be this object is refused before anybody asks whether it is there.
        let rules = target.rules()?;
        rules.check_types(&body)?;
        rules.check_identity(&mut body, &target.namespace, Means::Put)?;
        objects::write::update::check_name(&body, &target.name)?;
        if self.makes_on_update(target) {
            return self.put_new(target, whose, body, options).await;
        }
        // What names a version is computed once, so that nothing is to be kept for later.
        if rv_of(&body).is_some() {
            let compute = move |_: &Value| Ok((body, Means::Put));
            return self
                .attempt(target, whose, Verb::Update, compute, options)
                .await;
        }
        let compute = move |_: &Value| Ok((body.clone(), Means::Put));
        self.modify(target, whose, Verb::Update, &compute, options)
            .await
    }

    /// Whether a PUT makes the object: it is not there, and is of a kind that the real server makes so.
    pub(crate) fn makes_on_update(&self, target: &RequestTarget) -> bool {
        let made = matches!(
            target.resource.plural.as_str(),
            "leases" | "events" | "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings"
        );
        let resource = &target.resource;
        made && resource.origin == Origin::BuiltIn
            && target.subresource.is_empty()
            && self.store.get(&resource.key(), &target.key()).is_none()
    }

    async fn put_new(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        if !meta(&body, "uid").is_empty() {
            let place = (target.namespace.as_str(), target.name.as_str());
            let (rules, dry_run) = (target.rules()?, options.dry_run);
            return Err(rules.other_uid(place, &body, &Value::Null, dry_run));
        }
        objects::write::version_of(&body)?;
        self.make(target, whose, body, options, Means::Put).await
    }

    /// Computes and writes a change of an object; computed again where another write came first and no version was named.
    ///
    /// # Errors
    /// Whatever the rules, the gateway or the store refuse.
    pub(crate) async fn modify(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        verb: Verb,
        compute: &Compute<'_>,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let mut conditional = true;
            let compute = |old: &Value| {
                let (new, means) = compute(old)?;
                // Only a body asks for the version that it names: in a patched object it is that of the state it was computed from.
                conditional = rv_of(&new).is_some() && means == Means::Put;
                Ok((new, means))
            };
            match self.attempt(target, whose, verb, compute, options).await {
                Err(failure)
                    if failure.reason == Reason::Conflict
                        && !conditional
                        && target.resource.backing != Backing::Virtual =>
                {
                    last = Some(failure);
                }
                other => return other,
            }
        }
        Err(last.unwrap_or_else(|| Failure::internal("the object kept changing")))
    }

    /// Computes and writes a change of an object once.
    async fn attempt(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        verb: Verb,
        compute: impl FnOnce(&Value) -> Result<(Value, Means), Failure> + Send,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let part = Part::of(target.subresource.as_str(), rules);
        let stored = target.resource.backing == Backing::Stored;
        if !stored {
            self.check_homes(target, false).await?;
        }
        let (found, old) = self.current(target, whose).await?;
        if stored {
            // What is not there is told first.
            self.check_homes(target, false).await?;
        }
        let (new, means) = compute(&old)?;
        let sent = (target.resource.group == GROUP).then(|| new.clone());
        let asked = Update {
            old: &old,
            new,
            part,
            means,
            name: &target.name,
            namespace: &target.namespace,
        };
        let updated = match (rules.update(asked, options, &self.moment()), sent) {
            (Err(refused), Some(sent)) => {
                return Err(self
                    .granted(target, whose, (Some(&old), &sent), refused)
                    .await);
            }
            (updated, _) => updated?,
        };
        self.write_update(target, whose, verb, (found, old), updated, options)
            .await
    }

    /// Reads the current state in the version of the request, from the store or, for virtual resources, the gateway.
    pub(crate) async fn current(
        &self,
        target: &RequestTarget,
        whose: &Whose,
    ) -> Result<(Option<Arc<Object>>, Value), Failure> {
        let rules = target.rules()?;
        if target.resource.backing == Backing::Virtual {
            return Ok((
                None,
                self.get(&target.clone().with_subresource(""), whose)
                    .await?
                    .value(),
            ));
        }
        let found = self
            .store
            .get(&target.resource.key(), &target.key())
            .ok_or_else(|| target.not_found())?;
        // What a reader would be shown as it lies there is changed as it lies there.
        let value = match super::as_stored(rules.resource, rules.version, &found) {
            true => found.value(),
            false => rules.resource.read(found.value(), rules.version)?,
        };
        Ok((Some(found), value))
    }

    async fn write_update(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        verb: Verb,
        (found, old): (Option<Arc<Object>>, Value),
        updated: Updated,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let handed = target.resource.backing != Backing::Stored;
        let (mut prepared, remove) = match updated {
            Updated::Unchanged(prepared)
                if (!handed && !self.outdated(target, found.as_deref(), &prepared.object)?)
                    || (handed && target.subresource.is_empty()) =>
            {
                return Ok(Written {
                    code: 200,
                    object: Shown::Value(prepared.object),
                    warnings: prepared.warnings,
                });
            }
            Updated::Unchanged(prepared) | Updated::Changed(prepared) => (prepared, false),
            Updated::Removed(prepared) => (prepared, true),
        };
        self.check_grant(target, whose, Some(&old), &prepared.object)
            .await?;
        self.sign(target, whose, Some(&old), &mut prepared.object);
        self.sign_field(target, whose, Some(&old), &mut prepared.object);
        if handed {
            let call = (verb, Some(old), Some(prepared.object));
            return self
                .hand_over(target, whose, call, options, prepared.warnings, 200)
                .await;
        }
        if options.dry_run && !remove {
            return Ok(Written {
                code: 200,
                object: Shown::Value(target.rules()?.once_stored(prepared.object)?),
                warnings: prepared.warnings,
            });
        }
        let expect = Expect::Rv(found.map_or(0, |f| f.rv));
        if remove {
            // The answer is the last state, under the version before the removal.
            if !options.dry_run {
                let op = self.op(target, expect, None)?;
                let gone = self.store.commit(vec![op]).await;
                gone.map_err(|e| lost(target, &e))?;
                self.after_write(target).await?;
            }
            return Ok(Written {
                code: 200,
                object: Shown::Value(prepared.object),
                warnings: prepared.warnings,
            });
        }
        let op = self.op(target, expect, Some(prepared.object))?;
        let objects = self
            .store
            .commit(vec![op])
            .await
            .map_err(|e| lost(target, &e))?;
        self.answer(target, objects, prepared.warnings, 200).await
    }

    /// Lets the gateway decide a computed write.
    pub(crate) async fn hand_over(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        (verb, old, new): (Verb, Option<Value>, Option<Value>),
        options: &WriteOptions,
        mut warnings: Vec<String>,
        code: u16,
    ) -> Result<Written, Failure> {
        let mut call = target.call(verb, whose);
        call.options.expect_rv = old.as_ref().and_then(rv_of);
        call.options
            .field_manager
            .clone_from(&options.field_manager);
        (call.old, call.new, call.dry_run) = (old, new, options.dry_run);
        let gateway = self.gateway()?;
        // The record is written while the gateway works: its owners have to be known before.
        let kept = &self.kept_as(target, &call, gateway.as_ref());
        let claim = self.claim(kept, call.new.as_ref(), options.dry_run);
        let asked = claim.as_ref().map(Claim::owners);
        let handled = gateway.handle(call).await;
        let mut outcome: CallAnswer = match handled {
            Ok(outcome) => outcome,
            Err(refusal) => return Err(self.not_handled(target, verb, refusal).await),
        };
        drop(claim);
        let shown = self.show_owners(kept, asked, &mut outcome.object).await;
        shown.map_err(|e| lost(target, &e))?;
        warnings.extend(outcome.warnings);
        Ok(Written {
            code: outcome.status.unwrap_or(code),
            object: Shown::Value(outcome.object),
            warnings,
        })
    }

    /// What a client is told of a write that the gateway did not do: for one that was to make something, that its place has
    /// gone meanwhile, if it has.
    async fn not_handled(&self, target: &RequestTarget, verb: Verb, refusal: Refusal) -> Failure {
        if verb == Verb::Create
            && self.host.is_none()
            && let Err(gone) = self.check_homes(target, true).await
        {
            return gone;
        }
        refused(target, refusal)
    }

    /// Makes the operation that stores an object in the version in which its resource is kept.
    pub(crate) fn op(
        &self,
        target: &RequestTarget,
        expect: Expect,
        object: Option<Value>,
    ) -> Result<Op, Failure> {
        let put = match object {
            Some(object) => {
                let mut object = target.resource.to_storage(object)?;
                if let Some(metadata) = metadata_mut(&mut object) {
                    metadata.remove("resourceVersion");
                }
                Some(super::sizes::draft(target, object)?)
            }
            None => None,
        };
        let makes = put.is_some() && matches!(expect, Expect::Absent | Expect::Any);
        Ok(Op {
            resource: target.resource.key(),
            key: target.key(),
            expect,
            put,
            homes: if makes {
                self.homes(target)
            } else {
                Vec::new()
            },
        })
    }

    pub(crate) async fn answer(
        &self,
        target: &RequestTarget,
        objects: Vec<Arc<Object>>,
        warnings: Vec<String>,
        code: u16,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let object = objects
            .into_iter()
            .next()
            .ok_or_else(|| Failure::internal("the store answered nothing"))?;
        let object = self.show(rules.resource, rules.version, object)?;
        self.after_write(target).await?;
        Ok(Written {
            code,
            object,
            warnings,
        })
    }

    /// Some kinds change what is served: definitions take effect before the answer.
    pub(crate) async fn after_write(&self, target: &RequestTarget) -> Result<(), Failure> {
        let resource = &target.resource;
        if resource.origin == Origin::BuiltIn && resource.plural == "customresourcedefinitions" {
            self.refresh_crd(&target.name).await?;
        }
        Ok(())
    }
}
