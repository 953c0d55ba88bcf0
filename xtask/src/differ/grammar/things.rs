//! The kinds that sequences work with, and objects of them.

use serde_json::{Value, json};

use super::Maker;

/// A kind as requests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) api: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) status: bool,
}

const fn kind(api: &'static str, plural: &'static str, kind: &'static str) -> Kind {
    Kind {
        api,
        plural,
        kind,
        namespaced: true,
        status: false,
    }
}

pub(super) const GADGET: Kind = Kind {
    status: true,
    ..kind("apis/differ.example.dev/v1", "gadgets", "Gadget")
};
pub(super) const OLD_GADGET: Kind = Kind {
    status: true,
    ..kind("apis/differ.example.dev/v1beta1", "gadgets", "Gadget")
};
pub(super) const SITE: Kind = Kind {
    status: true,
    namespaced: false,
    ..kind("apis/differ.example.dev/v1", "sites", "Site")
};
pub(super) const NOTE: Kind = kind("apis/differ.example.dev/v1", "notes", "Note");
pub(super) const CONFIG: Kind = kind("api/v1", "configmaps", "ConfigMap");
pub(super) const SECRET: Kind = kind("api/v1", "secrets", "Secret");
pub(super) const ACCOUNT: Kind = kind("api/v1", "serviceaccounts", "ServiceAccount");
pub(super) const EVENT: Kind = kind("api/v1", "events", "Event");
pub(super) const LEASE: Kind = kind("apis/coordination.k8s.io/v1", "leases", "Lease");
pub(super) const ROLE: Kind = kind("apis/rbac.authorization.k8s.io/v1", "roles", "Role");
pub(super) const BINDING: Kind = kind(
    "apis/rbac.authorization.k8s.io/v1",
    "rolebindings",
    "RoleBinding",
);
pub(super) const CLUSTER_ROLE: Kind = Kind {
    namespaced: false,
    ..kind(
        "apis/rbac.authorization.k8s.io/v1",
        "clusterroles",
        "ClusterRole",
    )
};

/// All of them; the first more often.
pub(super) const KINDS: &[Kind] = &[
    GADGET,
    GADGET,
    GADGET,
    GADGET,
    OLD_GADGET,
    SITE,
    NOTE,
    NOTE,
    CONFIG,
    CONFIG,
    SECRET,
    ACCOUNT,
    EVENT,
    LEASE,
    ROLE,
    BINDING,
    CLUSTER_ROLE,
];

impl Kind {
    pub(super) fn api_version(&self) -> &'static str {
        self.api.strip_prefix("apis/").unwrap_or("v1")
    }

    /// The path of the collection.
    pub(super) fn all(&self) -> String {
        match self.namespaced {
            true => format!("/{}/namespaces/$N/{}", self.api, self.plural),
            false => format!("/{}/{}", self.api, self.plural),
        }
    }

    /// A name as this kind may have it: what is not in a namespace carries the sequence's.
    pub(super) fn named(&self, name: &str) -> String {
        match self.namespaced {
            true => name.to_owned(),
            false => format!("$N-{name}"),
        }
    }

    /// The path of one.
    pub(super) fn one(&self, name: &str) -> String {
        format!("{}/{}", self.all(), self.named(name))
    }

    /// The least that names an object.
    pub(super) fn bare(&self, name: &str) -> Value {
        json!({"apiVersion": self.api_version(), "kind": self.kind, "metadata": {"name": self.named(name)}})
    }

    /// Whether it is defined by a definition.
    pub(super) fn custom(&self) -> bool {
        self.api.contains("example.dev")
    }
}

/// An object with a content that varies.
pub(super) fn object(maker: &mut Maker, kind: Kind, name: &str) -> Value {
    let mut out = kind.bare(name);
    metadata(maker, &mut out);
    let content = content(maker, kind);
    if let (Some(out), Value::Object(content)) = (out.as_object_mut(), content) {
        out.extend(content);
    }
    out
}

/// Labels, annotations and the like, sometimes.
pub(super) fn metadata(maker: &mut Maker, object: &mut Value) {
    object["metadata"]["labels"] = json!({"seq": "$N"});
    if maker.chance(50) {
        let key = maker.pick(&["tier", "app", "example.dev/part"]);
        object["metadata"]["labels"][key] = maker.pick(&["web", "db", "", "a-b_c.d"]).into();
    }
    if maker.chance(25) {
        let key = maker.pick(&["note", "example.dev/why"]);
        object["metadata"]["annotations"] = json!({key: maker.pick(&["x", "", "two words"])});
    }
    if maker.chance(8) {
        object["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    }
}

fn content(maker: &mut Maker, kind: Kind) -> Value {
    let text = |maker: &mut Maker| maker.pick(&["one", "two", "three", "", "4", "true"]);
    match kind.kind {
        "Gadget" => json!({"spec": spec(maker)}),
        "Site" => {
            json!({"spec": {"title": text(maker), "zones": [text(maker)], "weights": {"a": maker.roll(9)}}})
        }
        "Note" => {
            json!({"spec": {"copies": maker.roll(4), "text": text(maker), "deep": {"er": [1, {"x": null}]}}})
        }
        "ConfigMap" => json!({"data": {"k": text(maker), "l": text(maker)}}),
        "Secret" => match maker.roll(3) {
            0 => json!({"stringData": {"k": text(maker)}}),
            1 => json!({"data": {"k": "aGk="}, "type": "example.dev/own"}),
            _ => json!({"data": {"k": "aGk=", "l": ""}}),
        },
        "ServiceAccount" => json!({"automountServiceAccountToken": maker.chance(50)}),
        "Event" => {
            json!({"involvedObject": {"namespace": "$N", "kind": "Gadget", "name": text(maker)}, "reason": text(maker), "message": text(maker), "type": "Normal", "count": maker.roll(4)})
        }
        "Lease" => {
            json!({"spec": {"holderIdentity": text(maker), "leaseDurationSeconds": maker.roll(30) + 1, "renewTime": "2024-05-01T10:00:00.123456Z"}})
        }
        "RoleBinding" => {
            json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}]})
        }
        _ => {
            let verbs = maker.pick(&[json!(["get"]), json!(["get", "list"]), json!(["*"])]);
            json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]})
        }
    }
}

/// A gadget's spec; all of it is valid, now and then a field is not.
pub(super) fn spec(maker: &mut Maker) -> Value {
    let mut spec = json!({"size": maker.pick(&["small", "medium", "large"])});
    for _ in 0..maker.roll(5) {
        let (field, value) = field(maker);
        spec[field] = value;
    }
    if maker.chance(12) {
        let (field, value) = wrong(maker);
        spec[field] = value;
    }
    spec
}

/// A field of a gadget's spec.
pub(super) fn field(maker: &mut Maker) -> (&'static str, Value) {
    let number = maker.roll(9);
    match maker.roll(17) {
        0 => ("count", number.into()),
        1 => ("least", number.into()),
        2 => ("most", number.into()),
        3 => ("ratio", maker.pick(&[json!(0.5), json!(1), json!(0.25)])),
        4 => ("on", maker.chance(50).into()),
        5 => ("code", format!("AB-{number}").into()),
        6 => ("serial", maker.pick(&["s1", "s2"]).into()),
        7 => ("born", "2024-05-01T10:00:00Z".into()),
        8 => ("note", maker.pick(&[Value::Null, "n".into()])),
        9 => ("port", maker.pick(&[json!(80), json!("http")])),
        10 => ("replicas", number.into()),
        11 => (
            "tags",
            maker.pick(&[json!(["a"]), json!(["a", "b"]), json!([])]),
        ),
        12 => ("parts", parts(maker)),
        13 => (
            "ports",
            maker.pick(&[
                json!([{"port": 80}]),
                json!([{"port": 80, "protocol": "UDP"}, {"port": 80, "name": "x"}]),
            ]),
        ),
        14 => (
            "labels",
            maker.pick(&[json!({"a": "1"}), json!({}), json!({"a": "1", "b": "2"})]),
        ),
        15 => ("box", json!({"width": number})),
        _ => (
            "extra",
            maker.pick(&[
                json!({"any": {"thing": [1]}}),
                json!({"known": 3}),
                json!({"known": 3, "n": null}),
            ]),
        ),
    }
}

fn parts(maker: &mut Maker) -> Value {
    let names = maker.pick(&[vec!["a"], vec!["a", "b"], vec!["b", "a", "c"], vec![]]);
    let part = |name: &&str| json!({"name": name, "amount": maker.roll(4)});
    names.iter().map(part).collect()
}

/// A field that the schema does not allow.
pub(super) fn wrong(maker: &mut Maker) -> (&'static str, Value) {
    match maker.roll(20) {
        0 => ("size", "huge".into()),
        1 => ("size", 3.into()),
        2 => ("size", Value::Null),
        3 => ("count", "five".into()),
        4 => ("count", 101.into()),
        5 => ("count", json!(1.5)),
        6 => ("code", "nope".into()),
        7 => ("code", "AB-123456789".into()),
        8 => ("tags", json!(["a", "a"])),
        9 => ("tags", json!("a")),
        10 => ("parts", json!([{"name": "a"}, {"name": "a"}])),
        11 => ("parts", json!([{"amount": 1}])),
        12 => ("parts", json!([3])),
        13 => ("ratio", 2.into()),
        14 => ("born", "yesterday".into()),
        15 => ("unknown", json!({"x": 1})),
        16 => ("labels", json!({"a": 1})),
        17 => ("port", json!(true)),
        18 => ("template", json!({"kind": "X"})),
        _ => ("box", json!([])),
    }
}
