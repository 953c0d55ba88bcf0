//! What a Kptfile says, typed.

use model::{Condition, GitLock, GitUpstream, Pairs, Pipeline, ReadinessGate, RenderStatus};

/// Every field of a Kptfile that anybody asks for. Unknown fields stay in the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KptfileFields {
    /// `metadata.name`; empty if there is none (kpt does not insist).
    pub name: String,
    /// `metadata.namespace`
    pub namespace: Option<String>,
    /// `metadata.labels`
    pub labels: Pairs,
    /// `metadata.annotations`
    pub annotations: Pairs,
    /// `upstream`: what is wanted.
    pub upstream: Option<KptfileUpstream>,
    /// `upstreamLock`: what was taken.
    pub upstream_lock: Option<UpstreamLock>,
    /// `info`
    pub info: Info,
    /// `pipeline`
    pub pipeline: Pipeline,
    /// `inventory`
    pub inventory: Option<Inventory>,
    /// `status.conditions`, in order.
    pub conditions: Vec<Condition>,
    /// `status.renderStatus`
    pub render_status: Option<RenderStatus>,
}

impl KptfileFields {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.kind == kind)
    }
}

/// `upstream`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KptfileUpstream {
    /// `type`: `git`, `generic`, or whatever stands there.
    pub kind: String,
    /// `git`
    pub git: Option<GitUpstream>,
    /// `updateStrategy`, as written.
    pub update_strategy: Option<String>,
}

/// `upstreamLock`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamLock {
    /// `type`
    pub kind: String,
    /// `git`
    pub git: Option<GitLock>,
}

/// `info`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info {
    /// `site`
    pub site: String,
    /// `emails`
    pub emails: Vec<String>,
    /// `license`
    pub license: String,
    /// `licenseFile`
    pub license_file: String,
    /// `description`
    pub description: String,
    /// `keywords`
    pub keywords: Vec<String>,
    /// `man`
    pub man: String,
    /// `readinessGates`, in order.
    pub readiness_gates: Vec<ReadinessGate>,
}

/// `inventory`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// `namespace`
    pub namespace: String,
    /// `name`
    pub name: String,
    /// `inventoryID`
    pub id: String,
    /// `labels`
    pub labels: Pairs,
    /// `annotations`
    pub annotations: Pairs,
}
