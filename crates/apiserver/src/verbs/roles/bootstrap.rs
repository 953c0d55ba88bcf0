//! Makes the default roles and bindings, and brings those back in line that an older version made.

use objects::Failure;
use objects::write::update::Means;
use objects::write::{WriteOptions, meta};
use objectstore::{CommitError, Expect};
use serde_json::Value;

use super::defaults;
use crate::authz::{Cover, GROUP, Rule};
use crate::verbs::{Core, RequestTarget, unstored};

const AUTOUPDATE: &str = "/metadata/annotations/rbac.authorization.kubernetes.io~1autoupdate";

impl Core {
    /// Creates the default roles and bindings and the cluster roles of the embedding program that are not there.
    /// Those that are there, and that nobody excepted from it, get the rules and subjects that they lack.
    ///
    /// # Errors
    /// A role of the embedding program is no cluster role, or the store failed.
    pub(crate) async fn bootstrap_roles(&self, more: &[Value]) -> Result<(), Failure> {
        let catalog = self.registry.catalog();
        let whose = self.own("system:apiserver");
        let options = WriteOptions {
            field_manager: whose.agent.clone(),
            ..WriteOptions::default()
        };
        let roles = defaults::roles().into_iter().chain(more.iter().cloned());
        let bindings = defaults::bindings().into_iter();
        let all = roles
            .map(|role| ("clusterroles", role))
            .chain(bindings.map(|binding| ("clusterrolebindings", binding)));
        let mut ops = Vec::new();
        for (plural, object) in all {
            let Some(resource) = catalog.get(GROUP, plural) else {
                continue;
            };
            let target = RequestTarget::stored(resource, "", meta(&object, "name"));
            let found = self.store.get(&resource.key(), &target.key());
            let (expect, wanted) = match found {
                None => {
                    let moment = self.moment();
                    let made = target
                        .rules()?
                        .create(object, "", &options, &moment, Means::Post);
                    (Expect::Absent, made?.object)
                }
                Some(found) => match completed(&found.value(), &object) {
                    Some(whole) => (Expect::Rv(found.rv), whole),
                    None => continue,
                },
            };
            ops.push(self.op(&target, expect, Some(wanted))?);
        }
        if !ops.is_empty() {
            self.store.commit(ops).await.map_err(|error| match error {
                CommitError::Storage(error) => unstored(&error),
                CommitError::Conflict { .. } | CommitError::Homeless { .. } => {
                    Failure::internal("the default roles changed")
                }
            })?;
        }
        self.gather_all().await
    }
}

/// A stored role or binding with what it lacks; `None` if it lacks nothing or is excepted.
fn completed(stored: &Value, wanted: &Value) -> Option<Value> {
    if stored.pointer(AUTOUPDATE).and_then(Value::as_str) != Some("true") {
        return None;
    }
    let mut out = stored.clone();
    let list = |value: &Value, field: &str| {
        let found = value.get(field).and_then(Value::as_array);
        found.cloned().unwrap_or_default()
    };
    if wanted.get("aggregationRule").is_none() && wanted.get("rules").is_some() {
        let held = Rule::of_role(stored);
        let mut cover = Cover::of(&held);
        let wanted = Rule::of_role(wanted).into_iter();
        let lacks = wanted.filter(|rule| !cover.covers(rule));
        let mut rules = list(stored, "rules");
        rules.extend(lacks.map(|rule| rule.write()));
        out["rules"] = rules.into();
    }
    if wanted.get("subjects").is_some() {
        let mut subjects = list(stored, "subjects");
        let lacks = list(wanted, "subjects");
        let lacks: Vec<Value> = lacks
            .into_iter()
            .filter(|s| !subjects.contains(s))
            .collect();
        subjects.extend(lacks);
        out["subjects"] = subjects.into();
    }
    // What the defaults spell out and the store leaves empty is no difference.
    (out != *stored
        && (Rule::of_role(&out) != Rule::of_role(stored) || wanted.get("subjects").is_some()))
    .then_some(out)
}
