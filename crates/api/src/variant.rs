//! `PackageVariant`.

use std::collections::BTreeMap;

use model::{
    AdoptionPolicy, ConflictPolicy, DeletionPolicy, Downstream, Injector, ObjectKey, ObjectMeta,
    PackageContext, PackageName, Problem, ProposedPolicy, RepositoryName, Strategy, VariantSpec,
};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, name, put, put_list, put_strings};
use crate::labels::check_labels;
use crate::pipeline::{read_pipeline, write_pipeline};
use crate::shape::{VARIANT, VARIANT_INJECTORS};
use crate::upstream::{Asker, read_for, write_upstream};
use crate::{read_key, read_meta};

/// Reads a variant: its key, its metadata, and its spec or everything that is wrong with it, in
/// Porch's order (R16). `None` if it has no readable namespace and name.
pub fn read_variant(
    object: &Value,
) -> Option<(ObjectKey, ObjectMeta, Result<VariantSpec, Vec<Problem>>)> {
    let key = read_key(object)?;
    let empty = Value::Object(Map::new());
    let spec = read_spec(object.get("spec").unwrap_or(&empty));
    Some((key, read_meta(object), spec))
}

fn read_spec(spec: &Value) -> Result<VariantSpec, Vec<Problem>> {
    let mut problems = Vec::new();
    let fields = FieldReader::new(spec, "spec");
    let upstream = read_for(&fields, Asker::Variant, &mut problems);
    let downstream = read_downstream(&fields, &mut problems);
    let policies = Policies::read(&fields, &mut problems);
    check_labels(&fields, &mut problems);
    let context = read_context(&fields, &mut problems);
    let injectors = read_injectors(&fields, &mut problems);
    let pipeline = read_pipeline(fields.raw("pipeline"), "spec.pipeline", &mut problems);
    fields.no_others(VARIANT, &mut problems);
    match (upstream, downstream) {
        (Some(upstream), Some(downstream)) if problems.is_empty() => Ok(VariantSpec {
            upstream,
            downstream,
            adoption: policies.adoption.unwrap_or_default(),
            deletion: policies.deletion.unwrap_or_default(),
            deletion_explicit: policies.deletion == Some(DeletionPolicy::Delete),
            labels: fields.strings("labels"),
            annotations: fields.strings("annotations"),
            context,
            pipeline,
            injectors,
            conflict_policy: policies.conflict.unwrap_or_default(),
            proposed: policies.proposed.unwrap_or_default(),
            strategy: policies.strategy.unwrap_or_default(),
            suspend: fields.flag("suspend"),
        }),
        _ => Err(problems),
    }
}

fn read_downstream(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Downstream> {
    let missing = |field: &str| Problem::new(field, format!("missing required field {field}"));
    let Some(fields) = spec.child("downstream") else {
        problems.push(missing("spec.downstream"));
        return None;
    };
    for key in ["repo", "package"] {
        if fields.text(key).is_none() {
            problems.push(missing(&fields.field(key)));
        }
    }
    let repo = fields
        .text("repo")
        .and_then(|t| name(problems, "spec.downstream.repo", t, RepositoryName::parse));
    let package = fields
        .text("package")
        .and_then(|t| name(problems, "spec.downstream.package", t, PackageName::parse));
    Some(Downstream {
        repo: repo?,
        package: package?,
    })
}

/// The policies that variants and templates share.
pub(crate) struct Policies {
    pub(crate) adoption: Option<AdoptionPolicy>,
    pub(crate) deletion: Option<DeletionPolicy>,
    pub(crate) conflict: Option<ConflictPolicy>,
    pub(crate) proposed: Option<ProposedPolicy>,
    pub(crate) strategy: Option<Strategy>,
}

impl Policies {
    pub(crate) fn read(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Self {
        let template = fields.path() != "spec";
        let mut read = |key: &str, what: &str| match fields.text(key) {
            None => None,
            Some(text) => {
                let field = fields.field(key);
                // Porch says "field" of a variant's adoption policy and nowhere else.
                let noun = if key == "adoptionPolicy" && !template {
                    " field"
                } else {
                    ""
                };
                let known = known_policy(key, text);
                if known.is_none() {
                    let problem = Problem::new(&field, format!("{field}{noun} can only be {what}"));
                    problems.push(match (key, text) {
                        ("adoptionPolicy", "adopt") => problem.hint("write \"adoptExisting\""),
                        _ => problem,
                    });
                }
                known
            }
        };
        let adoption = read("adoptionPolicy", "\"adoptNone\" or \"adoptExisting\"");
        let deletion = read("deletionPolicy", "\"orphan\" or \"delete\"");
        let conflict = read("conflictPolicy", "\"Block\", \"Upstream\" or \"Local\"");
        let proposed = read("proposedRevisions", "\"wait\" or \"revertToDraft\"");
        let strategy = read(
            "upgradeStrategy",
            "\"resource-merge\", \"fast-forward\", \"force-delete-replace\" or \"copy-merge\"",
        );
        Self {
            adoption: adoption.map(|i| [AdoptionPolicy::None, AdoptionPolicy::Existing][i.min(1)]),
            deletion: deletion.map(|i| [DeletionPolicy::Delete, DeletionPolicy::Orphan][i.min(1)]),
            conflict: conflict.map(|i| {
                [
                    ConflictPolicy::Block,
                    ConflictPolicy::Upstream,
                    ConflictPolicy::Local,
                ][i.min(2)]
            }),
            proposed: proposed
                .map(|i| [ProposedPolicy::Wait, ProposedPolicy::RevertToDraft][i.min(1)]),
            strategy: strategy.map(|i| Strategy::ALL[i.min(3)]),
        }
    }
}

/// The index of a policy's value among those that it can have.
fn known_policy(key: &str, text: &str) -> Option<usize> {
    let values: &[&str] = match key {
        "adoptionPolicy" => &["adoptNone", "adoptExisting"],
        "deletionPolicy" => &["delete", "orphan"],
        "conflictPolicy" => &["Block", "Upstream", "Local"],
        "proposedRevisions" => &["wait", "revertToDraft"],
        _ => &[
            "resource-merge",
            "fast-forward",
            "force-delete-replace",
            "copy-merge",
        ],
    };
    values.iter().position(|v| *v == text)
}

/// Keys that only the package tools may set (R13).
pub(crate) const RESERVED: [&str; 2] = ["name", "package-path"];

fn read_context(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> PackageContext {
    let Some(fields) = spec.child("packageContext") else {
        return PackageContext::default();
    };
    let data = fields.strings("data");
    let remove = fields.texts("removeKeys");
    let mut reserved = |key: &str, shown: &Value, word: &str| {
        let field = fields.field(key);
        let what = format!("{field}: Invalid value: {shown}: must not contain the key {word:?}");
        problems.push(Problem::new(&field, what));
    };
    // Key by key, as Porch tells them.
    for word in RESERVED {
        if data.contains_key(word) {
            let shown: BTreeMap<_, _> = data.iter().collect();
            reserved("data", &json!(shown), word);
        }
        if remove.iter().any(|k| k == word) {
            reserved("removeKeys", &json!(remove), word);
        }
    }
    PackageContext {
        data,
        remove_keys: remove.into_iter().collect(),
        create: fields.flag("create"),
    }
}

fn read_injectors(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Vec<Injector> {
    let read = |fields: &FieldReader<'_>| Injector {
        group: fields.owned("group"),
        version: fields.owned("version"),
        kind: fields.owned("kind"),
        name: fields.owned("name").unwrap_or_default(),
    };
    if !spec.has_shape("injectors", VARIANT_INJECTORS, problems) {
        return Vec::new();
    }
    let injectors: Vec<_> = spec.one_or_many("injectors").iter().map(read).collect();
    for (i, _) in injectors
        .iter()
        .enumerate()
        .filter(|(_, inj)| inj.name.is_empty())
    {
        let field = format!("spec.injectors[{i}].name");
        problems.push(Problem::new(&field, format!("{field} must not be empty")));
    }
    injectors
}

/// The wire form of a spec, as a set writes it: what is the default is left out.
pub fn write_variant_spec(spec: &VariantSpec) -> Value {
    let mut out = Map::new();
    out.insert("upstream".to_owned(), write_upstream(&spec.upstream));
    out.insert(
        "downstream".to_owned(),
        json!({ "repo": spec.downstream.repo.as_str(), "package": spec.downstream.package.as_str() }),
    );
    if spec.adoption == AdoptionPolicy::Existing {
        put(&mut out, "adoptionPolicy", "adoptExisting");
    }
    match spec.deletion {
        DeletionPolicy::Orphan => put(&mut out, "deletionPolicy", "orphan"),
        DeletionPolicy::Delete if spec.deletion_explicit => {
            put(&mut out, "deletionPolicy", "delete")
        }
        DeletionPolicy::Delete => {}
    }
    put_strings(&mut out, "labels", &spec.labels);
    put_strings(&mut out, "annotations", &spec.annotations);
    if let Some(context) = write_context(&spec.context) {
        out.insert("packageContext".to_owned(), context);
    }
    if let Some(pipeline) = write_pipeline(&spec.pipeline) {
        out.insert("pipeline".to_owned(), pipeline);
    }
    put_list(
        &mut out,
        "injectors",
        spec.injectors.iter().map(write_injector).collect(),
    );
    if spec.conflict_policy != ConflictPolicy::default() {
        put(&mut out, "conflictPolicy", spec.conflict_policy.as_str());
    }
    if spec.proposed == ProposedPolicy::RevertToDraft {
        put(&mut out, "proposedRevisions", "revertToDraft");
    }
    if spec.strategy != Strategy::default() {
        put(&mut out, "upgradeStrategy", spec.strategy.as_str());
    }
    if spec.suspend {
        out.insert("suspend".to_owned(), true.into());
    }
    Value::Object(out)
}

fn write_context(context: &PackageContext) -> Option<Value> {
    if *context == PackageContext::default() {
        return None;
    }
    let mut out = Map::new();
    put_strings(&mut out, "data", &context.data);
    put_list(
        &mut out,
        "removeKeys",
        context
            .remove_keys
            .iter()
            .map(|k| k.clone().into())
            .collect(),
    );
    if context.create {
        out.insert("create".to_owned(), true.into());
    }
    Some(Value::Object(out))
}

fn write_injector(injector: &Injector) -> Value {
    let mut out = Map::new();
    let fields = [
        ("group", &injector.group),
        ("version", &injector.version),
        ("kind", &injector.kind),
    ];
    for (key, value) in fields {
        put(&mut out, key, value.as_deref().unwrap_or_default());
    }
    put(&mut out, "name", &injector.name);
    Value::Object(out)
}
