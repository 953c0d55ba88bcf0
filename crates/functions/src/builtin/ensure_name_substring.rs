//! `ensure-name-substring`: a part that every name holds, and names follow where they are referred to.

use std::collections::BTreeMap;

use yaml::owned::Value;

use crate::config::Config;
use crate::kinds::namespaced;
use crate::{FunctionReport, Item};

const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";

/// Kinds whose names mean something of their own.
const SKIPPED: &[&str] = &[
    "APIService",
    "CustomResourceDefinition",
    "Kptfile",
    "Namespace",
];

/// Where a pod refers to others: the kind, and the path from the pod's spec; `[]` enters a list.
const POD: &[(&str, &str)] = &[
    ("ConfigMap", "volumes[]/configMap/name"),
    ("ConfigMap", "volumes[]/projected/sources[]/configMap/name"),
    (
        "ConfigMap",
        "containers[]/env[]/valueFrom/configMapKeyRef/name",
    ),
    ("ConfigMap", "containers[]/envFrom[]/configMapRef/name"),
    (
        "ConfigMap",
        "initContainers[]/env[]/valueFrom/configMapKeyRef/name",
    ),
    ("ConfigMap", "initContainers[]/envFrom[]/configMapRef/name"),
    ("Secret", "volumes[]/secret/secretName"),
    ("Secret", "volumes[]/projected/sources[]/secret/name"),
    ("Secret", "containers[]/env[]/valueFrom/secretKeyRef/name"),
    ("Secret", "containers[]/envFrom[]/secretRef/name"),
    (
        "Secret",
        "initContainers[]/env[]/valueFrom/secretKeyRef/name",
    ),
    ("Secret", "initContainers[]/envFrom[]/secretRef/name"),
    ("Secret", "imagePullSecrets[]/name"),
    ("ServiceAccount", "serviceAccountName"),
    (
        "PersistentVolumeClaim",
        "volumes[]/persistentVolumeClaim/claimName",
    ),
    ("PriorityClass", "priorityClassName"),
];

/// Where other kinds refer to others: the referring kind, the kind referred to, the path.
const OTHERS: &[(&str, &str, &str)] = &[
    ("StatefulSet", "Service", "spec/serviceName"),
    (
        "Ingress",
        "Service",
        "spec/rules[]/http/paths[]/backend/service/name",
    ),
    (
        "Ingress",
        "Service",
        "spec/rules[]/http/paths[]/backend/serviceName",
    ),
    ("Ingress", "Service", "spec/defaultBackend/service/name"),
    ("Ingress", "Service", "spec/backend/serviceName"),
    ("Ingress", "Secret", "spec/tls[]/secretName"),
    ("ServiceAccount", "Secret", "imagePullSecrets[]/name"),
    ("ServiceAccount", "Secret", "secrets[]/name"),
    (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "spec/volumeName",
    ),
    (
        "PersistentVolumeClaim",
        "StorageClass",
        "spec/storageClassName",
    ),
    (
        "ValidatingWebhookConfiguration",
        "Service",
        "webhooks[]/clientConfig/service/name",
    ),
    (
        "MutatingWebhookConfiguration",
        "Service",
        "webhooks[]/clientConfig/service/name",
    ),
];

struct Wanted {
    text: String,
    append: bool,
    /// Further fields: kind and path.
    more: Vec<(String, String)>,
}

/// Old and new names, by kind and namespace.
type Renamed = BTreeMap<(String, String, String), String>;

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let wanted = match Wanted::read(config) {
        Ok(wanted) => wanted,
        Err(message) => {
            let stderr = format!("failed to load the `functionConfig`: {message}");
            return FunctionReport {
                stderr,
                refused: true,
                ..FunctionReport::default()
            };
        }
    };
    if let Err(why) = items.iter().try_for_each(Item::is_named) {
        return FunctionReport {
            stderr: format!("failed to convert items to resource map: {why}"),
            refused: true,
            ..FunctionReport::default()
        };
    }
    let Some(wanted) = wanted else {
        return FunctionReport::default();
    };
    let mut renamed = Renamed::new();
    let mut dependencies = BTreeMap::new();
    for item in items
        .iter_mut()
        .filter(|item| !SKIPPED.contains(&item.kind()))
    {
        let (old, before) = (item.name().to_owned(), dependency(item));
        if let Some(new) = wanted.new_name(&old) {
            item.set_text(&["metadata", "name"], &new);
            let key = (item.kind().to_owned(), item.namespace().to_owned(), old);
            renamed.insert(key, new);
            dependencies.insert(before, dependency(item));
        }
        for (kind, path) in &wanted.more {
            if kind.is_empty() || kind == item.kind() {
                each(item.value_mut(), path, &mut |value| wanted.rename(value));
            }
        }
    }
    for item in items.iter_mut() {
        follow(item, &renamed, &dependencies);
    }
    FunctionReport::default()
}

impl Wanted {
    fn read(config: Config<'_>) -> Result<Option<Self>, String> {
        let none = Vec::new;
        if config.is_config_map() {
            let pairs = config.data_pairs();
            let [(mode, text)] = pairs.as_slice() else {
                return Err(format!(
                    "only 1 entry is allowed in the ConfigMap, but got: {}",
                    pairs.len()
                ));
            };
            return Self::of(mode, text, none())?.map_or_else(
                || {
                    Err(format!(
                        "unknown editMode: {mode}, only prepend and append are allowed"
                    ))
                },
                |wanted| Ok(Some(wanted)),
            );
        }
        if config.is("fn.kpt.dev/v1alpha1", "EnsureNameSubstring") {
            let text = |key: &str| config.get(key).and_then(Value::text).unwrap_or_default();
            let fields = config.get("additionalNameFields").and_then(Value::as_seq);
            let more = fields
                .map(|seq| seq.items())
                .unwrap_or_default()
                .iter()
                .map(|field| {
                    let text = |key: &str| {
                        field
                            .get(key)
                            .and_then(Value::text)
                            .unwrap_or_default()
                            .to_owned()
                    };
                    (text("kind"), text("path"))
                });
            return Self::of(text("editMode"), text("substring"), more.collect());
        }
        let version = config.api_version();
        let slash = if version.contains('/') { "" } else { "/" };
        Err(format!(
            "function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, \
             but we got: {slash}{version}, Kind={}",
            config.kind()
        ))
    }

    /// Nothing for a mode that is none.
    fn of(mode: &str, text: &str, more: Vec<(String, String)>) -> Result<Option<Self>, String> {
        let append = match mode {
            "append" => true,
            "prepend" => false,
            _ => return Ok(None),
        };
        if text.is_empty() {
            return Err("substring must not be empty".to_owned());
        }
        Ok(Some(Self {
            text: text.to_owned(),
            append,
            more,
        }))
    }

    /// The name with the text, if it does not hold it anywhere.
    fn new_name(&self, name: &str) -> Option<String> {
        let text = &self.text;
        let new = || {
            if self.append {
                format!("{name}{text}")
            } else {
                format!("{text}{name}")
            }
        };
        (!name.is_empty() && !name.contains(text)).then(new)
    }

    fn rename(&self, value: &mut Value) {
        if let Some(new) = value.text().and_then(|name| self.new_name(name)) {
            value.set_str(new);
        }
    }
}

/// How a `depends-on` annotation names a resource.
fn dependency(item: &Item) -> String {
    let (group, kind, name) = (item.group(), item.kind(), item.name());
    match item.namespace() {
        "" => format!("{group}/{kind}/{name}"),
        namespace => format!("{group}/namespaces/{namespace}/{kind}/{name}"),
    }
}

/// Follows renamed resources in everything that refers to them.
fn follow(item: &mut Item, renamed: &Renamed, dependencies: &BTreeMap<String, String>) {
    let new = item
        .annotation(DEPENDS_ON)
        .and_then(|old| dependencies.get(old))
        .cloned();
    if let Some(new) = new {
        item.set_text(&["metadata", "annotations", DEPENDS_ON], &new);
    }
    let namespace = item.namespace().to_owned();
    let find = |kind: &str, namespace: &str, name: &str| {
        let namespace = if namespaced_kind(kind) { namespace } else { "" };
        renamed
            .get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))
            .cloned()
    };
    let kind = item.kind().to_owned();
    let pod: Option<&str> = match kind.as_str() {
        "Pod" => Some("spec"),
        "Deployment"
        | "ReplicaSet"
        | "DaemonSet"
        | "StatefulSet"
        | "Job"
        | "ReplicationController" => Some("spec/template/spec"),
        "CronJob" => Some("spec/jobTemplate/spec/template/spec"),
        "PodTemplate" => Some("template/spec"),
        _ => None,
    };
    let value = item.value_mut();
    let pods = pod.into_iter().flat_map(|pod| {
        POD.iter()
            .map(move |(to, path)| (*to, format!("{pod}/{path}")))
    });
    let others = OTHERS
        .iter()
        .filter(|(from, ..)| *from == kind)
        .map(|(_, to, path)| (*to, (*path).to_owned()));
    for (to, path) in pods.chain(others).collect::<Vec<_>>() {
        each(value, &path, &mut |value| {
            if let Some(new) = value.text().and_then(|name| find(to, &namespace, name)) {
                value.set_str(new);
            }
        });
    }
    for path in ["roleRef", "subjects[]", "spec/scaleTargetRef"] {
        each(value, path, &mut |reference| {
            let text = |key: &str| reference.get(key).and_then(Value::text).unwrap_or_default();
            let within = if text("namespace").is_empty() {
                &namespace
            } else {
                text("namespace")
            };
            let new = find(text("kind"), within, text("name"));
            if let (Some(new), Some(name)) = (new, reference.get_mut("name")) {
                name.set_str(new);
            }
        });
    }
}

/// Whether a kind of the built-in groups lives in a namespace; unknown ones do.
fn namespaced_kind(kind: &str) -> bool {
    const GROUPS: [&str; 5] = [
        "",
        "apps",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "scheduling.k8s.io",
    ];
    GROUPS
        .iter()
        .find_map(|group| namespaced(group, kind))
        .unwrap_or(true)
}

/// Visits every value at a path; `[]` behind a step enters a list.
fn each(value: &mut Value, path: &str, visit: &mut dyn FnMut(&mut Value)) {
    let (step, rest) = path.split_once('/').unwrap_or((path, ""));
    let (key, listed) = step
        .strip_suffix("[]")
        .map_or((step, false), |key| (key, true));
    let Some(child) = value.get(key).filter(|child| !child.is_alias()) else {
        return;
    };
    if listed && child.as_seq().is_none() {
        return;
    }
    let Some(child) = value.get_mut(key) else {
        return;
    };
    let mut go = |child: &mut Value| {
        if rest.is_empty() {
            visit(child)
        } else {
            each(child, rest, visit)
        }
    };
    if listed {
        let items = child.as_seq_mut().map(|seq| seq.items_mut().iter_mut());
        items.into_iter().flatten().for_each(go);
    } else {
        go(child);
    }
}
