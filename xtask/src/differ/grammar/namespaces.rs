//! Namespaces that end with and without what holds them, and objects that go with their owners.

use serde_json::{Value, json};

use super::Maker;
use super::things::{CONFIG, GADGET, NOTE, SITE, object};

const ALL: &str = "/api/v1/namespaces";

/// The life of a namespace.
pub(super) fn make(maker: &mut Maker) {
    for _ in 0..1 + maker.roll(3) {
        let body = odd(maker);
        maker.post(&format!("{ALL}?dryRun=All"), body);
    }
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N", "labels": {"seq": "$N"}}});
    let mut body = body;
    let held = maker.chance(40);
    if maker.chance(15) {
        body["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    }
    if maker.chance(15) {
        body["spec"] = maker.pick(&[
            json!({"finalizers": []}),
            json!({"finalizers": ["kubernetes", "example.dev/more"]}),
            json!({"finalizers": ["bad"]}),
        ]);
    }
    maker.post(ALL, body);
    for _ in 0..4 {
        own(maker);
    }
    for kind in [GADGET, CONFIG, NOTE] {
        let mut body = object(maker, kind, "a");
        body["metadata"]["finalizers"] = if held && kind != NOTE {
            json!(["example.dev/hold"])
        } else {
            Value::Null
        };
        maker.post(&kind.all(), body);
    }
    maker.step("DELETE", &format!("{ALL}/$N"));
    maker.step("GET", &format!("{ALL}/$N")).eventually();
    for _ in 0..6 + maker.roll(6) {
        match maker.roll(8) {
            0 => own(maker),
            1 => {
                let body = object(maker, CONFIG, "late");
                maker.post(&CONFIG.all(), body);
            }
            2 => drop(maker.step("DELETE", &format!("{ALL}/$N"))),
            3 => drop(maker.step("GET", &CONFIG.all())),
            4 if held => free(maker),
            5 => {
                let body = object(maker, GADGET, "a");
                let path = GADGET.one("late") + "?fieldManager=one";
                maker
                    .step("PATCH", &path)
                    .header("content-type", "application/apply-patch+yaml")
                    .json(body);
            }
            _ => drop(maker.step("GET", &format!("{ALL}/$N"))),
        }
        maker.step("GET", &format!("{ALL}/$N")).eventually();
    }
}

fn free(maker: &mut Maker) {
    let kind = maker.pick(&[GADGET, CONFIG]);
    maker
        .step("PATCH", &kind.one("a"))
        .header("content-type", "application/merge-patch+json")
        .json(json!({"metadata": {"finalizers": null}}));
}

fn odd(maker: &mut Maker) -> Value {
    maker.pick(&[
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "UPPER"}}), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}), json!({"metadata": {"generateName": "gen-"}}), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N", "labels": {"kubernetes.io/metadata.name": "other"}}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N"}, "spec": {"finalizers": ["bad finalizer"]}}), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N", "namespace": "x"}}), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N"}, "status": {"phase": "Odd"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}), json!({"apiVersion": "v1", "kind": "Namespace"}),
    ])
}

/// A write to the namespace itself.
fn own(maker: &mut Maker) {
    let read = maker.step("GET", &format!("{ALL}/$N")).id();
    match maker.roll(8) {
        0 => {
            let sub = maker.pick(&["", "/status"]);
            let body = maker.pick(&[
                json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}}),
                json!({"metadata": {"labels": null}}),
                json!({"spec": {"finalizers": []}}),
                json!({"status": {"phase": "Terminating"}}),
                json!({"metadata": {"labels": {"a": "b"}}}),
                json!({"metadata": {"finalizers": ["example.dev/hold"]}}),
                json!({"metadata": {"finalizers": null}}),
            ]);
            let media = maker.pick(&[
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
            ]);
            maker
                .step("PATCH", &format!("{ALL}/$N{sub}"))
                .header("content-type", media)
                .json(body);
        }
        1 | 2 => {
            let finalizers = maker.pick(&[
                json!(["kubernetes"]),
                json!(["kubernetes", "example.dev/own"]),
                json!(["bad"]),
                Value::Null,
            ]);
            let version = maker.pick(&[
                json!(format!("{{{{{read}:/metadata/resourceVersion}}}}")),
                json!("1"),
                Value::Null,
            ]);
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N", "resourceVersion": version}, "spec": {"finalizers": finalizers}});
            let method = maker.pick(&["PUT", "PUT", "PUT", "POST", "GET", "PATCH"]);
            maker.step(method, &format!("{ALL}/$N/finalize")).json(body);
        }
        3 => {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N", "labels": {"z": "z"}}, "status": {"phase": "Active"}});
            let sub = maker.pick(&["", "/status"]);
            maker.step("PUT", &format!("{ALL}/$N{sub}")).json(body);
        }
        4 => drop(maker.step(
            "GET",
            &format!("{ALL}?fieldSelector=metadata.name%3D$N,status.phase%3DActive"),
        )),
        5 => drop(maker.step(
            "GET",
            &format!("{ALL}?labelSelector=kubernetes.io/metadata.name%3D$N"),
        )),
        6 => {
            let path = maker.pick(&[
                "/api/v1/namespaces/default",
                "/api/v1/namespaces/kube-system",
                "/api/v1/namespaces/nosuch",
                "/api/v1/namespaces",
            ]);
            maker.step("DELETE", &format!("{path}?dryRun=All"));
        }
        _ => drop(maker.step("GET", &format!("{ALL}/$N"))),
    }
}

/// Owners and what depends on them.
pub(super) fn owners(maker: &mut Maker) {
    maker.home();
    let owner = maker.pick(&[GADGET, CONFIG, SITE]);
    let mut body = object(maker, owner, "a");
    body["metadata"]["finalizers"] = Value::Null;
    if owner == GADGET {
        body["spec"] = json!({"size": "small"});
    }
    let made = maker.post(&owner.all(), body);
    let reference = json!({"apiVersion": owner.api_version(), "kind": owner.kind, "name": owner.named("a"), "uid": format!("{{{{{made}:/metadata/uid}}}}")});
    let mut names = Vec::new();
    for name in ["x", "y", "z"] {
        let kind = maker.pick(&[CONFIG, NOTE, GADGET]);
        let mut body = kind.bare(name);
        if kind == GADGET {
            body["spec"] = json!({"size": "small"});
        }
        let mut reference = reference.clone();
        if maker.chance(40) {
            reference["blockOwnerDeletion"] = true.into();
        }
        if maker.chance(40) {
            reference["controller"] = maker.chance(70).into();
        }
        body["metadata"]["ownerReferences"] = match maker.roll(8) {
            0 => json!([reference, reference]),
            1 => {
                json!([reference, {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "12345678-1234-1234-1234-123456789012"}])
            }
            _ => json!([reference]),
        };
        if maker.chance(15) {
            body["metadata"]["finalizers"] = json!(["example.dev/hold"]);
        }
        maker.post(&kind.all(), body);
        names.push(kind.one(name));
    }
    // References that lead nowhere are taken out in a server's own time: now, not later.
    for path in &names {
        maker.step("GET", path).eventually();
    }
    let policy = maker.pick(&[
        "Background",
        "Foreground",
        "Orphan",
        "Background",
        "Foreground",
    ]);
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
    maker.step("DELETE", &owner.one("a")).json(body);
    for path in &names {
        maker.step("GET", path).eventually();
    }
    maker.step("GET", &owner.one("a")).eventually();
    for path in &names {
        maker
            .step("PATCH", path)
            .header("content-type", "application/merge-patch+json")
            .json(json!({"metadata": {"finalizers": null}}));
        maker.step("GET", path).eventually();
    }
    maker.step("GET", &owner.one("a")).eventually();
}
