//! `set-labels`: labels on resources, selectors and templates.

use yaml::owned::Value;

use crate::config::{Config, sorted_pairs};
use crate::report::{error, info, warning};
use crate::{FunctionReport, Item};

const META: &[&str] = &["metadata", "labels"];
const SELECTOR: &[&str] = &["selector", "matchLabels"];
const POD_SELECTOR: &[&str] = &["podSelector", "matchLabels"];
const LABEL_SELECTOR: &[&str] = &["labelSelector", "matchLabels"];

struct Labels {
    wanted: Vec<(String, String)>,
    count: usize,
}

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    if items.iter().all(Item::is_local_config) {
        return FunctionReport::of([info("no input resources")]);
    }
    let wanted = match wanted(config) {
        Ok(wanted) if wanted.is_empty() => {
            return FunctionReport::of([warning(
                "no `labels` arguments are given in FunctionConfig",
            )]);
        }
        Ok(wanted) => wanted,
        // The catalog's function calls it `info` and fails: a result says no less than the exit code (M26).
        Err(message) => return FunctionReport::failure(message),
    };
    let mut labels = Labels { wanted, count: 0 };
    let mut results = Vec::new();
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        if let Err(message) = labels.resource(item) {
            let mut failure = error(message);
            failure.resource = Some(item.reference());
            results.push(failure);
        }
    }
    results.push(info(format!("set {} labels in total", labels.count)));
    FunctionReport::of(results)
}

fn wanted(config: Config<'_>) -> Result<Vec<(String, String)>, String> {
    let unset = config.is_config_map() && config.name() == "function-input";
    if config.is_absent() || (unset && config.data_pairs().is_empty()) {
        return Err("`FunctionConfig` is not given".to_owned());
    }
    let key = if config.is_config_map() {
        "data"
    } else {
        "labels"
    };
    if config.is_config_map() || config.is("fn.kpt.dev/v1alpha1", "SetLabels") {
        let labels = config.get(key).filter(|labels| !labels.is_null());
        if labels.is_some_and(|labels| labels.as_map().is_none()) {
            return Err(format!("`{key}` must be a mapping of strings"));
        }
        let map = labels.and_then(Value::as_map).into_iter();
        let mut fields = map.flat_map(|map| map.iter());
        // Left out it would be missed, and nothing would say so.
        if let Some((label, _)) =
            fields.find(|(_, value)| value.text().is_none() && !value.is_null())
        {
            return Err(format!("`{key}.{label}` must be a string"));
        }
        return Ok(labels.map(sorted_pairs).unwrap_or_default());
    }
    Err(format!(
        "unknown functionConfig Kind={} ApiVersion={}, expect `ConfigMap.v1` or `SetLabels.v1alpha1.fn.kpt.dev`",
        config.kind(),
        config.api_version()
    ))
}

/// A kind whose pods come from `spec.template`.
fn has_pod_template(item: &Item) -> bool {
    item.is_gvk("", "v1", "ReplicationController") && item.group().is_empty()
        || ["Deployment", "ReplicaSet", "DaemonSet"]
            .iter()
            .any(|kind| item.is_gvk("", "", kind))
        || item.is_gvk("apps", "", "StatefulSet")
        || item.is_gvk("batch", "", "Job")
}

/// Whether there is a `spec.selector.matchLabels`, and whether it is made where it is missing.
fn label_selector(item: &Item) -> Option<bool> {
    let creates = ["Deployment", "ReplicaSet", "DaemonSet"]
        .iter()
        .any(|kind| item.is_gvk("", "", kind))
        || item.is_gvk("apps", "", "StatefulSet");
    let only_sets =
        item.is_gvk("batch", "", "Job") || item.is_gvk("policy", "", "PodDisruptionBudget");
    if creates {
        Some(true)
    } else {
        only_sets.then_some(false)
    }
}

impl Labels {
    fn resource(&mut self, item: &mut Item) -> Result<(), String> {
        let plain_selector =
            item.is_gvk("", "v1", "Service") || item.is_gvk("", "v1", "ReplicationController");
        let selector = label_selector(item);
        let pods = has_pod_template(item);
        let cron = item.is_gvk("batch", "", "CronJob");
        let claims = item.is_gvk("apps", "", "StatefulSet");
        let network = item.is_gvk("networking.k8s.io", "", "NetworkPolicy");
        let value = item.value_mut();
        self.set(value, META, true)?;
        if plain_selector {
            self.set(value, &["spec", "selector"], true)?;
        }
        if let Some(create) = selector {
            self.set(value, &["spec", "selector", "matchLabels"], create)?;
        }
        if network {
            self.set(value, &["spec", "podSelector", "matchLabels"], false)?;
        }
        let Some(spec) = value.get_mut("spec") else {
            return Ok(());
        };
        if pods && let Some(template) = spec.get_mut("template") {
            self.pod(template)?;
        }
        if cron && let Some(job) = spec.get_mut("jobTemplate") {
            self.job(job)?;
        }
        if claims {
            for claim in list(spec, "volumeClaimTemplates") {
                self.set(claim, META, true)?;
                self.set(claim, SELECTOR, false)?;
            }
        }
        if network {
            for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
                for rule in list(spec, rules) {
                    for peer in list(rule, peers) {
                        self.set(peer, POD_SELECTOR, false)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn job(&mut self, job: &mut Value) -> Result<(), String> {
        self.set(job, META, true)?;
        let Some(spec) = job.get_mut("spec") else {
            return Ok(());
        };
        self.set(spec, SELECTOR, false)?;
        spec.get_mut("template")
            .map_or(Ok(()), |template| self.pod(template))
    }

    /// Affinity terms are left alone, as the catalog's function leaves them.
    fn pod(&mut self, pod: &mut Value) -> Result<(), String> {
        self.set(pod, META, true)?;
        let Some(spec) = pod.get_mut("spec") else {
            return Ok(());
        };
        for constraint in list(spec, "topologySpreadConstraints") {
            self.set(constraint, LABEL_SELECTOR, false)?;
        }
        Ok(())
    }

    /// Sets all labels in the mapping at a path; without `create` only those that are there.
    fn set(&mut self, value: &mut Value, path: &[&str], create: bool) -> Result<(), String> {
        self.count += self.wanted.len();
        if !create && value.lookup(path).is_none() {
            return Ok(());
        }
        let blocked = || format!("field {} is not a mapping", path.join("."));
        let map = value.ensure_map(path).ok_or_else(blocked)?;
        crate::item::set_strings(map, &self.wanted, create);
        Ok(())
    }
}

fn list<'v>(value: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    let seq = value.get_mut(key).and_then(Value::as_seq_mut);
    seq.map(|seq| seq.items_mut().iter_mut())
        .into_iter()
        .flatten()
}
