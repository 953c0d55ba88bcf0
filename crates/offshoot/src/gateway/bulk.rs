//! `bulkchanges`: one request for many package revisions (F3).
//!
//! Each entry is allowed or refused as if it were asked for alone, and each is answered, whatever becomes of the others.

use std::sync::Arc;

use apiserver::gateway::{Attributes, Call, CallAnswer, Refusal, RefusalClass};
use engine::usecase::{Act, Acted, Many, Wish};
use model::{Namespace, ObjectKey, ObjectName, Problem, Resolution};
use plan::revision::{RejectionReason, RevisionVerb};

use super::refusal::{invalid, refusal};
use super::{PackageGateway, caller, unsupported};
use api::{BulkEntry, BulkOutcome, BulkResult};

/// Handles a request.
pub(super) async fn handle(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    if call.verb != apiserver::gateway::Verb::Create {
        return Err(unsupported(call.verb, &call.resource));
    }
    let entries = entries(&call)?;
    gateway.late.admit_user(&call.user.name)?;
    let request = Request {
        gateway,
        one: alone(&call),
        call,
    };
    let outcomes = request.carry_out(&entries).await?;
    let results: Vec<(ObjectName, BulkOutcome)> = entries
        .into_iter()
        .map(|(entry, _)| entry.name)
        .zip(outcomes)
        .collect();
    Ok(CallAnswer {
        object: api::write_bulk(&request.call.namespace, &results),
        ..CallAnswer::default()
    })
}

/// The word that asks for decisions about conflicts.
const RESOLVE: &str = "resolve";

/// The entries, each with what is to be done.
fn entries(call: &Call) -> Result<Vec<(BulkEntry, Act)>, Refusal> {
    let sent = call.new.as_ref().unwrap_or(&serde_json::Value::Null);
    let read = api::read_bulk(sent).map_err(|problems| invalid(call, &problems))?;
    let decisions = api::read_resolutions(sent).map_err(|problems| invalid(call, &problems))?;
    let resolves = read.iter().any(|entry| entry.verb == RESOLVE);
    if resolves == decisions.is_empty() {
        let field = "spec.resolutions";
        let what = format!("{field} must be given with the verb {RESOLVE}, and with no other");
        return Err(invalid(call, &[Problem::new(field, what)]));
    }
    let decisions: Arc<Vec<Resolution>> = Arc::new(decisions);
    let mut entries = Vec::with_capacity(read.len());
    for (at, entry) in read.into_iter().enumerate() {
        if entry.verb == RESOLVE {
            entries.push((entry, Act::Resolve(Arc::clone(&decisions))));
            continue;
        }
        let Some(verb) = RevisionVerb::parse(&entry.verb) else {
            let field = format!("spec.changes[{at}].verb");
            let known = RevisionVerb::ALL.map(RevisionVerb::as_str).join(", ");
            let what = format!(
                "{field}: Unsupported value: {:?}: supported values: {known}, {RESOLVE}",
                entry.verb
            );
            return Err(invalid(call, &[Problem::new(field, what)]));
        };
        entries.push((entry, Act::Verb(verb)));
    }
    Ok(entries)
}

/// The call as which an entry is answered: one about a package revision.
fn alone(call: &Call) -> Call {
    Call {
        verb: apiserver::gateway::Verb::Update,
        group: api::PACKAGE_GROUP.to_owned(),
        resource: "packagerevisions".to_owned(),
        new: None,
        ..call.clone()
    }
}

struct Request<'a> {
    gateway: &'a PackageGateway,
    call: Call,
    one: Call,
}

impl Request<'_> {
    async fn carry_out(&self, entries: &[(BulkEntry, Act)]) -> Result<Vec<BulkOutcome>, Refusal> {
        let left = BulkOutcome {
            message: "it was not begun, since others wait: ask again".to_owned(),
            ..BulkOutcome::of(BulkResult::Left)
        };
        let mut outcomes = vec![left; entries.len()];
        let mut places = Vec::new();
        let mut wishes = Vec::new();
        for ((at, (entry, act)), outcome) in entries.iter().enumerate().zip(&mut outcomes) {
            match self.wish(entry, act).await? {
                Ok(wish) => {
                    places.push(at);
                    wishes.push(wish);
                }
                Err(refused) => *outcome = refused,
            }
        }
        let names: Vec<ObjectKey> = wishes.iter().map(|wish| wish.key.clone()).collect();
        let mut many = self.gateway.engine.many(&caller(&self.call), wishes);
        let mut told = |at: usize, outcome: BulkOutcome| {
            let place = places.get(at).and_then(|at| outcomes.get_mut(*at));
            if let Some(place) = place {
                *place = outcome;
            }
        };
        let mut patience = self.gateway.answer_within;
        loop {
            match tokio::time::timeout(patience, many.next()).await {
                Ok(Some((at, acted))) => {
                    patience = self.gateway.answer_within;
                    if let Some(key) = names.get(at) {
                        told(at, self.outcome(key, acted));
                    }
                }
                Ok(None) => return Ok(outcomes),
                Err(_) => {
                    if many.waits_for().is_some() {
                        break;
                    }
                    patience = super::late::GLANCE;
                }
            }
        }
        for (at, outcome) in self.goes_on(many, &names) {
            told(at, outcome);
        }
        Ok(outcomes)
    }

    /// What is asked for by an entry, or why that may not be.
    async fn wish(
        &self,
        entry: &BulkEntry,
        act: &Act,
    ) -> Result<Result<Wish, BulkOutcome>, Refusal> {
        let wrong = |e: model::NameError| Refusal::new(RefusalClass::BadRequest, e.to_string());
        let namespace = Namespace::parse(&self.call.namespace).map_err(wrong)?;
        let key = ObjectKey::new(namespace, entry.name.clone());
        let late = self.gateway.late.admit_name(&key);
        if let Err(refusal) = self.may(act, &entry.name).await.and(late) {
            return Ok(Err(refused(&refusal, None)));
        }
        Ok(Ok(Wish {
            key,
            act: act.clone(),
            seen: entry.tree.clone(),
            class: entry.class.clone(),
            approver: self
                .allows_all(RevisionVerb::Approve.takes(None), &entry.name)
                .await,
        }))
    }

    async fn allows_all(&self, rights: &[(&str, &str)], name: &ObjectName) -> bool {
        for (verb, subresource) in rights {
            let own = "packagerevisions";
            if !self.allows_of(own, verb, subresource, name).await {
                return false;
            }
        }
        true
    }

    async fn allows_of(
        &self,
        resource: &str,
        verb: &str,
        subresource: &str,
        name: &ObjectName,
    ) -> bool {
        let asked = Attributes {
            user: &self.call.user,
            verb,
            group: api::PACKAGE_GROUP,
            resource,
            subresource,
            namespace: &self.call.namespace,
            name: name.as_str(),
            path: "",
        };
        self.gateway.handle.may(&asked).await.allowed
    }

    /// Whether the caller may do this to a revision, as a request for it alone would be allowed.
    async fn may(&self, act: &Act, name: &ObjectName) -> Result<(), Refusal> {
        let own = "packagerevisions";
        // Deciding a conflict saves files, or accepts what they hold.
        let wanted: Vec<(&str, &str, &str)> = match act {
            // What it takes of the revision as it stands is judged with that.
            Act::Verb(verb) => {
                let takes = verb.takes(None).iter();
                takes.map(|(verb, of)| (own, *verb, *of)).collect()
            }
            Act::Resolve(_) => vec![
                (own, "update", ""),
                ("packagerevisionresources", "update", ""),
            ],
        };
        let mut denied = None;
        for asked in wanted {
            let (resource, verb, sub) = asked;
            if !self.allows_of(resource, verb, sub, name).await {
                denied = Some(asked);
                break;
            }
        }
        let Some((resource, asked, subresource)) = denied else {
            return Ok(());
        };
        let resource = match subresource {
            "" => resource.to_owned(),
            sub => format!("{resource}/{sub}"),
        };
        let text = format!(
            "packagerevisions.{group} {:?} is forbidden: User {:?} cannot {asked} resource {resource:?} in API group {group:?} \
             in the namespace {:?}",
            name.as_str(),
            self.call.user.name,
            self.call.namespace,
            group = api::PACKAGE_GROUP,
        );
        Err(Refusal::new(RefusalClass::Denied, text))
    }

    fn outcome(&self, key: &ObjectKey, acted: engine::Result<Acted>) -> BulkOutcome {
        match acted {
            Ok(Acted::Done(revision)) => BulkOutcome {
                lifecycle: revision.map(|r| r.lifecycle),
                ..BulkOutcome::of(BulkResult::Done)
            },
            Ok(Acted::Already) => BulkOutcome::of(BulkResult::Already),
            Ok(Acted::Skipped(reason, why)) => BulkOutcome {
                cause: cause(Some(reason)),
                message: why,
                ..BulkOutcome::of(BulkResult::Skipped)
            },
            Err(error) => {
                let mut one = self.one.clone();
                key.name.as_str().clone_into(&mut one.name);
                refused(&refusal(&one, &error), error.rejection())
            }
        }
    }

    /// Begins no other change, and follows those that wait for a repository: what comes of them is told as events.
    fn goes_on(&self, many: Many, names: &[ObjectKey]) -> Vec<(usize, BulkOutcome)> {
        let message = super::late::waited(self.gateway.engine.outlives(), many.waits_for());
        let going = many.stop();
        let pending = going.iter().map(|at| {
            let outcome = BulkOutcome {
                message: message.clone(),
                ..BulkOutcome::of(BulkResult::Pending)
            };
            (*at, outcome)
        });
        let pending = pending.collect();
        let user = self.call.user.name.clone();
        let names: Vec<(usize, ObjectKey)> = going
            .into_iter()
            .filter_map(|at| Some((at, names.get(at)?.clone())))
            .collect();
        super::late::follow(self.gateway, user, names, many);
        pending
    }
}

fn refused(refusal: &Refusal, why: Option<RejectionReason>) -> BulkOutcome {
    let (_, reason) = refusal.class.status();
    BulkOutcome {
        reason: reason.word().to_owned(),
        cause: cause(why),
        message: refusal.message.clone(),
        ..BulkOutcome::of(BulkResult::Refused)
    }
}

fn cause(why: Option<RejectionReason>) -> String {
    why.map_or("", RejectionReason::as_str).to_owned()
}
