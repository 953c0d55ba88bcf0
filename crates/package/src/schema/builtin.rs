//! The built-in kinds: only fields that lead to a list map, a set or a free map are named.
//!
//! Source: the `x-kubernetes-patch-strategy`, `x-kubernetes-list-map-keys` and `x-kubernetes-list-type`
//! facts of Kubernetes' OpenAPI documents. Of a list that the API server itself replaces as a whole
//! (tolerations, Ingress rules, `volumeClaimTemplates` …) nothing is stated: a merge looks at its elements (M22).

use super::{Entries, ListKey, ListRule, Schema};

/// A type: its interesting fields.
#[derive(Debug)]
pub struct Type(&'static [(&'static str, Field)]);

#[derive(Debug)]
enum Field {
    Object(&'static Type),
    /// Of those of a value it may have one alone.
    Either(&'static Type),
    Map(&'static [ListKey], &'static Type),
    Grants,
    Set,
    Values,
    Functions(&'static Type),
    /// A map that takes any name.
    Free,
}

impl Type {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, name: &str) -> Option<&'static Field> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, f)| f)
    }

    pub(super) fn field(&self, name: &str) -> Schema<'static> {
        match self.get(name) {
            Some(Field::Object(t) | Field::Either(t)) => Schema::Builtin(t),
            _ => Schema::Unknown,
        }
    }

    pub(super) fn alternatives(&'static self) -> impl Iterator<Item = &'static str> {
        let either = self.0.iter().filter(|(_, f)| matches!(f, Field::Either(_)));
        either.map(|(name, _)| *name)
    }

    /// What the entries of the map under a field are to each other, where that is stated.
    pub(super) fn entries(&self, name: &str) -> Option<Entries> {
        match self.get(name)? {
            Field::Free => Some(Entries::Free),
            _ => Some(Entries::Parts),
        }
    }

    pub(super) fn list(&self, name: &str) -> (ListRule<'static>, Schema<'static>) {
        match self.get(name) {
            Some(Field::Map(keys, t)) => (ListRule::Map(keys), Schema::Builtin(t)),
            Some(Field::Grants) => (ListRule::Grants, Schema::Unknown),
            Some(Field::Set) => (ListRule::Set, Schema::Unknown),
            Some(Field::Values) => (ListRule::Values, Schema::Unknown),
            Some(Field::Functions(t)) => (ListRule::Functions, Schema::Builtin(t)),
            _ => (ListRule::Unstated, Schema::Unknown),
        }
    }
}

/// The type of a kind; versions of a kind do not differ in the keys of their lists.
pub(super) fn find(group: &str, kind: &str) -> Option<&'static Type> {
    let of = |table: &'static [(&str, &Type)]| table.iter().find(|(k, _)| *k == kind).map(|t| t.1);
    match group {
        "" => of(CORE),
        "apps" | "extensions" => of(APPS),
        "batch" => of(BATCH),
        "admissionregistration.k8s.io" => of(ADMISSION),
        "storage.k8s.io" if kind == "CSINode" => Some(&CSI_NODE),
        "resource.k8s.io" if kind == "ResourceClaim" => Some(&RESOURCE_CLAIM),
        "kustomize.config.k8s.io" if matches!(kind, "Kustomization" | "Component") => {
            Some(&KUSTOMIZATION)
        }
        "rbac.authorization.k8s.io" if matches!(kind, "Role" | "ClusterRole") => Some(&ROLE),
        "networking.k8s.io" if kind == "NetworkPolicy" => Some(&NETWORK_POLICY),
        "policy" if kind == "PodDisruptionBudget" => Some(&DISRUPTION_BUDGET),
        "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "autoscaling"
        | "certificates.k8s.io"
        | "flowcontrol.apiserver.k8s.io"
        | "networking.k8s.io"
        | "policy" => Some(&CONDITIONED),
        _ => None,
    }
}

/// A type by the last part of its name in Kubernetes' OpenAPI document.
pub(super) fn named(name: &str) -> Option<&'static Type> {
    Some(match name {
        "Container" | "EphemeralContainer" => &CONTAINER,
        "PodSpec" => &POD_SPEC,
        "PodTemplateSpec" => &POD_TEMPLATE,
        "ServiceSpec" => &SERVICE_SPEC,
        "ObjectMeta" => &META,
        kind => find("apps", kind)
            .or_else(|| find("", kind))
            .or_else(|| find("batch", kind))?,
    })
}

/// The keys of a list by its one merge key.
pub(super) fn key(name: &str) -> Option<&'static [ListKey]> {
    static KEYS: &[(&str, &[ListKey])] = &[
        ("name", NAME),
        ("type", TYPE),
        ("ip", IP),
        ("uid", &[ListKey::new("uid")]),
        ("key", &[ListKey::new("key")]),
        ("port", &[ListKey::new("port")]),
        ("containerPort", &[ListKey::new("containerPort")]),
        ("mountPath", &[ListKey::new("mountPath")]),
        ("devicePath", &[ListKey::new("devicePath")]),
        ("topologyKey", &[ListKey::new("topologyKey")]),
        ("conditionType", &[ListKey::new("conditionType")]),
    ];
    KEYS.iter()
        .find(|(key, _)| *key == name)
        .map(|(_, keys)| *keys)
}

static CORE: &[(&str, &Type)] = &[
    ("Pod", &POD),
    ("PodTemplate", &POD_TEMPLATE_OBJECT),
    ("ReplicationController", &WORKLOAD),
    ("Service", &SERVICE),
    ("ServiceAccount", &SERVICE_ACCOUNT),
    ("Node", &NODE),
    ("Namespace", &CONDITIONED),
    ("PersistentVolumeClaim", &CONDITIONED),
    ("ComponentStatus", &COMPONENT_STATUS),
];

static APPS: &[(&str, &Type)] = &[
    ("DaemonSet", &WORKLOAD),
    ("Deployment", &WORKLOAD),
    ("ReplicaSet", &WORKLOAD),
    ("StatefulSet", &WORKLOAD),
];

static BATCH: &[(&str, &Type)] = &[("Job", &WORKLOAD), ("CronJob", &CRON_JOB)];

static ADMISSION: &[(&str, &Type)] = &[
    ("MutatingWebhookConfiguration", &WEBHOOKS),
    ("ValidatingWebhookConfiguration", &WEBHOOKS),
    ("ValidatingAdmissionPolicy", &ADMISSION_POLICY),
    ("MutatingAdmissionPolicy", &ADMISSION_POLICY),
];

static NAME: &[ListKey] = &[ListKey::new("name")];
static TYPE: &[ListKey] = &[ListKey::new("type")];
static IP: &[ListKey] = &[ListKey::new("ip")];
/// Each of its fields is a thing of its own, and nothing more is stated of them.
static LEAF: Type = Type(&[]);

static META: Type = Type(&[
    ("finalizers", Field::Set),
    ("ownerReferences", Field::Map(&[ListKey::new("uid")], &LEAF)),
]);

/// What every object has.
pub(super) static OBJECT: Type = Type(&[("metadata", Field::Object(&META))]);

static CONDITIONS: Type = Type(&[("conditions", Field::Map(TYPE, &LEAF))]);

static CONDITIONED: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("status", Field::Object(&CONDITIONS)),
]);

static RESOURCES: Type = Type(&[("claims", Field::Map(NAME, &LEAF))]);

/// What a probe or a hook does.
static HANDLER: Type = Type(&[
    ("exec", Field::Either(&LEAF)),
    ("grpc", Field::Either(&LEAF)),
    ("httpGet", Field::Either(&LEAF)),
    ("sleep", Field::Either(&LEAF)),
    ("tcpSocket", Field::Either(&LEAF)),
]);

static LIFECYCLE: Type = Type(&[
    ("postStart", Field::Object(&HANDLER)),
    ("preStop", Field::Object(&HANDLER)),
]);

static ENV_SOURCE: Type = Type(&[
    ("configMapKeyRef", Field::Either(&LEAF)),
    ("fieldRef", Field::Either(&LEAF)),
    ("fileKeyRef", Field::Either(&LEAF)),
    ("resourceFieldRef", Field::Either(&LEAF)),
    ("secretKeyRef", Field::Either(&LEAF)),
]);

static ENV: Type = Type(&[
    ("value", Field::Either(&LEAF)),
    ("valueFrom", Field::Either(&ENV_SOURCE)),
]);

static VOLUME: Type = Type(&[
    ("awsElasticBlockStore", Field::Either(&LEAF)),
    ("azureDisk", Field::Either(&LEAF)),
    ("azureFile", Field::Either(&LEAF)),
    ("cephfs", Field::Either(&LEAF)),
    ("cinder", Field::Either(&LEAF)),
    ("configMap", Field::Either(&LEAF)),
    ("csi", Field::Either(&LEAF)),
    ("downwardAPI", Field::Either(&LEAF)),
    ("emptyDir", Field::Either(&LEAF)),
    ("ephemeral", Field::Either(&LEAF)),
    ("fc", Field::Either(&LEAF)),
    ("flexVolume", Field::Either(&LEAF)),
    ("gcePersistentDisk", Field::Either(&LEAF)),
    ("gitRepo", Field::Either(&LEAF)),
    ("glusterfs", Field::Either(&LEAF)),
    ("hostPath", Field::Either(&LEAF)),
    ("image", Field::Either(&LEAF)),
    ("iscsi", Field::Either(&LEAF)),
    ("nfs", Field::Either(&LEAF)),
    ("persistentVolumeClaim", Field::Either(&LEAF)),
    ("portworxVolume", Field::Either(&LEAF)),
    ("projected", Field::Either(&LEAF)),
    ("rbd", Field::Either(&LEAF)),
    ("secret", Field::Either(&LEAF)),
    ("vsphereVolume", Field::Either(&LEAF)),
]);

static CONTAINER: Type = Type(&[
    ("env", Field::Map(NAME, &ENV)),
    ("lifecycle", Field::Object(&LIFECYCLE)),
    ("livenessProbe", Field::Object(&HANDLER)),
    (
        "ports",
        Field::Map(
            &[
                ListKey::new("containerPort"),
                ListKey::or("protocol", "TCP"),
            ],
            &LEAF,
        ),
    ),
    ("readinessProbe", Field::Object(&HANDLER)),
    ("resources", Field::Object(&RESOURCES)),
    ("securityContext", Field::Object(&LEAF)),
    ("startupProbe", Field::Object(&HANDLER)),
    (
        "volumeDevices",
        Field::Map(&[ListKey::new("devicePath")], &LEAF),
    ),
    (
        "volumeMounts",
        Field::Map(&[ListKey::new("mountPath")], &LEAF),
    ),
]);

static POD_SPEC: Type = Type(&[
    ("affinity", Field::Object(&LEAF)),
    ("containers", Field::Map(NAME, &CONTAINER)),
    ("ephemeralContainers", Field::Map(NAME, &CONTAINER)),
    ("hostAliases", Field::Map(IP, &LEAF)),
    ("imagePullSecrets", Field::Map(NAME, &LEAF)),
    ("initContainers", Field::Map(NAME, &CONTAINER)),
    ("resourceClaims", Field::Map(NAME, &LEAF)),
    ("resources", Field::Object(&RESOURCES)),
    ("schedulingGates", Field::Map(NAME, &LEAF)),
    ("securityContext", Field::Object(&LEAF)),
    (
        "topologySpreadConstraints",
        Field::Map(
            &[
                ListKey::new("topologyKey"),
                ListKey::new("whenUnsatisfiable"),
            ],
            &LEAF,
        ),
    ),
    ("volumes", Field::Map(NAME, &VOLUME)),
]);

static POD_STATUS: Type = Type(&[
    ("conditions", Field::Map(TYPE, &LEAF)),
    ("hostIPs", Field::Map(IP, &LEAF)),
    ("podIPs", Field::Map(IP, &LEAF)),
    ("resourceClaimStatuses", Field::Map(NAME, &LEAF)),
]);

static POD: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&POD_SPEC)),
    ("status", Field::Object(&POD_STATUS)),
]);

static POD_TEMPLATE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&POD_SPEC)),
]);

static POD_TEMPLATE_OBJECT: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("template", Field::Object(&POD_TEMPLATE)),
]);

static TEMPLATED: Type = Type(&[("template", Field::Object(&POD_TEMPLATE))]);

static WORKLOAD: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&TEMPLATED)),
    ("status", Field::Object(&CONDITIONS)),
]);

static JOB_TEMPLATE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&TEMPLATED)),
]);

static CRON_JOB_SPEC: Type = Type(&[("jobTemplate", Field::Object(&JOB_TEMPLATE))]);

static CRON_JOB: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&CRON_JOB_SPEC)),
]);

static DISRUPTION_BUDGET_SPEC: Type = Type(&[
    ("maxUnavailable", Field::Either(&LEAF)),
    ("minAvailable", Field::Either(&LEAF)),
]);

static DISRUPTION_BUDGET: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&DISRUPTION_BUDGET_SPEC)),
    ("status", Field::Object(&CONDITIONS)),
]);

static SERVICE_SPEC: Type = Type(&[(
    "ports",
    Field::Map(
        &[ListKey::new("port"), ListKey::or("protocol", "TCP")],
        &LEAF,
    ),
)]);

static SERVICE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&SERVICE_SPEC)),
    ("status", Field::Object(&CONDITIONS)),
]);

static SERVICE_ACCOUNT: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("secrets", Field::Map(NAME, &LEAF)),
]);

static NODE_SPEC: Type = Type(&[("podCIDRs", Field::Set)]);

static NODE_STATUS: Type = Type(&[
    ("addresses", Field::Map(TYPE, &LEAF)),
    ("conditions", Field::Map(TYPE, &LEAF)),
]);

static NODE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&NODE_SPEC)),
    ("status", Field::Object(&NODE_STATUS)),
]);

static COMPONENT_STATUS: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("conditions", Field::Map(TYPE, &LEAF)),
]);

static WEBHOOK: Type = Type(&[("matchConditions", Field::Map(NAME, &LEAF))]);

static WEBHOOKS: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("webhooks", Field::Map(NAME, &WEBHOOK)),
]);

static ADMISSION_POLICY_SPEC: Type = Type(&[
    ("matchConditions", Field::Map(NAME, &LEAF)),
    ("variables", Field::Map(NAME, &LEAF)),
]);

static ADMISSION_POLICY: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&ADMISSION_POLICY_SPEC)),
    ("status", Field::Object(&CONDITIONS)),
]);

static ROLE: Type = Type(&[("metadata", Field::Object(&META)), ("rules", Field::Grants)]);

static NETWORK_POLICY_SPEC: Type = Type(&[("ingress", Field::Grants), ("egress", Field::Grants)]);

static NETWORK_POLICY: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&NETWORK_POLICY_SPEC)),
]);

static CSI_NODE_SPEC: Type = Type(&[("drivers", Field::Map(NAME, &LEAF))]);

static CSI_NODE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("spec", Field::Object(&CSI_NODE_SPEC)),
]);

static RESOURCE_CLAIM_STATUS: Type =
    Type(&[("reservedFor", Field::Map(&[ListKey::new("uid")], &LEAF))]);

static RESOURCE_CLAIM: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("status", Field::Object(&RESOURCE_CLAIM_STATUS)),
]);

static FUNCTION: Type = Type(&[
    ("configMap", Field::Free),
    ("selectors", Field::Values),
    ("exclude", Field::Values),
]);

static PIPELINE: Type = Type(&[
    ("mutators", Field::Functions(&FUNCTION)),
    ("validators", Field::Functions(&FUNCTION)),
]);

static INFO: Type = Type(&[
    ("keywords", Field::Set),
    (
        "readinessGates",
        Field::Map(&[ListKey::new("conditionType")], &LEAF),
    ),
]);

/// A Kptfile: conditions, gates and selectors are sets, pipelines merge by identity (M15).
pub(super) static KPTFILE: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("info", Field::Object(&INFO)),
    ("pipeline", Field::Object(&PIPELINE)),
    ("status", Field::Object(&CONDITIONS)),
]);

/// kustomize's own file: what generators make pairs by name, and what it refers to is there or not (M22).
pub(super) static KUSTOMIZATION: Type = Type(&[
    ("metadata", Field::Object(&META)),
    ("resources", Field::Set),
    ("components", Field::Set),
    ("bases", Field::Set),
    ("crds", Field::Set),
    ("configMapGenerator", Field::Map(NAME, &LEAF)),
    ("secretGenerator", Field::Map(NAME, &LEAF)),
]);
