//! Where a bench's downstream packages lie, and the set that makes them.
//!
//! W1 selects its targets by label, so that one of them can be relabelled; W0 names them, as the
//! fan sets that another implementation was measured with do.

use serde_json::{Value, json};

use super::{FanoutArgs, Layout, Workload};

/// The label that a target is selected by.
pub(super) const LABEL: &str = "bench.example.com/fleet";

/// The `i`th target of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets<'a> {
    args: &'a FanoutArgs,
    /// How many.
    pub(super) n: usize,
}

impl<'a> Targets<'a> {
    pub(super) fn new(args: &'a FanoutArgs, n: usize) -> Self {
        Self { args, n }
    }

    /// How many downstream repositories there are.
    pub(super) fn repositories(self) -> usize {
        if self.many() { self.n } else { 1 }
    }

    fn many(self) -> bool {
        matches!(self.args.layout, Layout::Many | Layout::ManyHttp)
    }

    /// The name of the `i`th downstream repository.
    pub(super) fn repository(self, i: usize) -> String {
        if self.many() {
            format!("deploy-{i}")
        } else {
            "deploy".to_owned()
        }
    }

    /// The downstream package of a target.
    pub(super) fn package(self, i: usize) -> String {
        if self.many() {
            "bench".to_owned()
        } else {
            format!("bench-{i}")
        }
    }

    /// The name of a target's draft of a workspace.
    pub(super) fn draft(self, i: usize, workspace: u32) -> String {
        let (repository, package) = (self.repository(i), self.package(i));
        format!("{repository}.{package}.packagevariant-{workspace}")
    }

    /// The object that is injected into a target, and selects it in one repository.
    pub(super) fn config_map(self, i: usize) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": self.name(i), "labels": { LABEL: "yes" } },
            "data": { "region": format!("region-{i}") },
        })
    }

    fn name(self, i: usize) -> String {
        if self.many() {
            self.repository(i)
        } else {
            self.package(i)
        }
    }

    /// Path of the object whose label makes a target, below the API's root.
    pub(super) fn selected(self, i: usize) -> String {
        let name = self.name(i);
        if self.many() {
            format!("/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories/{name}")
        } else {
            format!("/api/v1/namespaces/default/configmaps/{name}")
        }
    }

    /// The set over all targets, following a revision of the upstream package.
    pub(super) fn set(self, revision: u32) -> Value {
        let target = match (self.args.workload, self.many()) {
            (Workload::W0, false) => {
                let names: Vec<String> = (0..self.n).map(|i| self.package(i)).collect();
                json!({ "repositories": [{ "name": "deploy", "packageNames": names }] })
            }
            (Workload::W0, true) => {
                let names = (0..self.n).map(|i| json!({ "name": self.repository(i) }));
                json!({ "repositories": names.collect::<Vec<_>>() })
            }
            (Workload::W1, false) => json!({
                "objectSelector": { "apiVersion": "v1", "kind": "ConfigMap", "matchLabels": { LABEL: "yes" } },
                "template": template(&json!({ "repo": "deploy", "packageExpr": "target.name" })),
            }),
            (Workload::W1, true) => json!({
                "repositorySelector": { "matchLabels": { LABEL: "yes" } },
                "template": template(&json!({ "package": "bench" })),
            }),
        };
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2",
            "kind": "PackageVariantSet",
            "metadata": { "name": "bench" },
            "spec": {
                "upstream": { "repo": "blueprints", "package": "bench", "revision": revision },
                "targets": [target],
                // What one deletion costs is measured, not how long it waits for others.
                "deletionGuard": { "enabled": false },
            },
        })
    }
}

/// One context key and one function parameter by CEL, one injector by `nameExpr`.
fn template(downstream: &Value) -> Value {
    json!({
        "downstream": downstream,
        "packageContext": { "dataExprs": [{ "key": "site", "valueExpr": "target.name" }] },
        "pipeline": { "mutators": [{
            "name": "site",
            "image": "set-annotations:v0.1.4",
            "configMapExprs": [{ "key": "example.com/site", "valueExpr": "target.name" }],
        }] },
        "injectors": [{ "kind": "ConfigMap", "nameExpr": "target.name" }],
    })
}
