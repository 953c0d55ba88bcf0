//! Cluster roles that gather the rules of others by label: what the cluster's aggregation controller does.

use std::collections::HashSet;

use objects::Failure;
use objects::select::LabelSelection;
use objectstore::{Object, ObjectRef};
use serde_json::Value;

use crate::lock::lock;
use crate::verbs::{Core, RequestTarget};

const CONTROLLER: &str = "system:serviceaccount:kube-system:clusterrole-aggregation-controller";
/// Where cluster roles are kept.
pub(crate) const RESOURCE: &str = "clusterroles.rbac.authorization.k8s.io";

impl Core {
    /// Whether cluster roles were written since this was asked last.
    fn roles_changed(&self) -> bool {
        let mut slot = lock(&self.aggregated);
        if slot.as_ref().is_some_and(|watch| !watch.pending()) {
            return false;
        }
        // A new cursor each time: nothing is kept of the events, everything is looked at.
        let rv = self.store.rv();
        *slot = self.store.watch(&RESOURCE.into(), rv).ok();
        true
    }

    /// The roles that gather others', if cluster roles changed.
    pub(crate) fn gathering_roles(&self) -> Vec<ObjectRef> {
        if !self.roles_changed() {
            return Vec::new();
        }
        let all = self.store.list(RESOURCE, "").objects.into_iter();
        let gathers = |role: &Object| selectors(&role.value()).is_some();
        all.filter(|(_, role)| gathers(role))
            .map(|(key, _)| (RESOURCE.into(), key))
            .collect()
    }

    /// Writes the rules that a role gathers, if they are others than it holds; returns how many roles were written.
    pub(crate) async fn gather(
        &self,
        target: &RequestTarget,
        object: &Object,
    ) -> Result<usize, Failure> {
        let role = object.value();
        let Some(selectors) = selectors(&role) else {
            return Ok(0);
        };
        let all = self.store.list(RESOURCE, "").objects;
        let mut rules: Vec<Value> = Vec::new();
        let mut seen = HashSet::new();
        for selector in selectors.iter().filter_map(labels) {
            let chosen = all
                .iter()
                .map(|(_, other)| other)
                .filter(|other| other.fields.name != object.fields.name)
                .filter(|other| selector.matches(|key| other.fields.labels.get(key)));
            for other in chosen {
                let listed = other
                    .value()
                    .get("rules")
                    .and_then(Value::as_array)
                    .cloned();
                let listed = listed.unwrap_or_default().into_iter();
                rules.extend(listed.filter(|rule| seen.insert(rule.to_string())));
            }
        }
        let held = role.get("rules").and_then(Value::as_array);
        if held.map_or(rules.is_empty(), |held| *held == rules) {
            return Ok(0);
        }
        let whose = self.own(CONTROLLER);
        let write = self.edit(target, &whose, |value| {
            if let Some(root) = value.as_object_mut() {
                root.insert("rules".to_owned(), rules.clone().into());
            }
        });
        write.await
    }

    /// Brings all gathering roles up to date, when a server starts.
    pub(crate) async fn gather_all(&self) -> Result<(), Failure> {
        loop {
            let mut done = 0;
            for (resource, key) in self.gathering_roles() {
                if let Some(object) = self.store.get(&resource, &key)
                    && let Some(target) = self.target_of(&(resource, key), &object)
                {
                    done += self.gather(&target, &object).await?;
                }
            }
            if done == 0 {
                return Ok(());
            }
        }
    }
}

/// The selectors of a role that gathers others'.
fn selectors(role: &Value) -> Option<&Vec<Value>> {
    let found = role.pointer("/aggregationRule/clusterRoleSelectors");
    found.and_then(Value::as_array)
}

/// A `LabelSelector`; `None` if it cannot be read.
fn labels(selector: &Value) -> Option<LabelSelection> {
    let mut parts = Vec::new();
    let exact = selector.get("matchLabels").and_then(Value::as_object);
    for (key, value) in exact.into_iter().flatten() {
        parts.push(format!("{key}={}", value.as_str()?));
    }
    let others = selector.get("matchExpressions").and_then(Value::as_array);
    for one in others.into_iter().flatten() {
        let key = one.get("key").and_then(Value::as_str)?;
        let values = one.get("values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        let values = values.collect::<Vec<_>>().join(",");
        parts.push(match one.get("operator").and_then(Value::as_str)? {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    LabelSelection::parse(&parts.join(",")).ok()
}
