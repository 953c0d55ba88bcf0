//! One entry rendered to the spec of its variant (R138–R141, R150–R157).

use std::collections::{BTreeMap, BTreeSet};

use expr::{Bindings, ExprError, Value};
use model::{
    AdoptionPolicy, DeletionPolicy, Downstream, Function, FunctionTemplate, Injector,
    PackageContext, PackageName, Pairs, Pipeline, RepositoryName, Template, Upstream, VariantSet,
    VariantSpec,
};

use super::compile::{Compiled, CompiledTemplate, Pair, RESERVED, Text};

use super::observed::Observed;
use super::unroll::{Entry, Origin, Source};

/// Why an entry has no spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    /// Where the variant would have gone; unknown if that could not be computed (S2).
    pub(super) place: Option<Downstream>,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// Renders entries. What all of them have in common is bound once.
pub(super) struct Renderer<'a> {
    o: &'a Observed,
    set: &'a VariantSet,
    compiled: &'a Compiled,
    upstreams: &'a [Source],
    /// By upstream.
    common: Vec<Bindings>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(
        o: &'a Observed,
        set: &'a VariantSet,
        compiled: &'a Compiled,
        upstreams: &'a [Source],
    ) -> Self {
        let common = upstreams.iter().map(|Source { revision, .. }| {
            let mut common = Bindings::default();
            common.set(
                "upstream",
                &Value::object(
                    revision.key.name.as_str(),
                    revision.key.namespace.as_str(),
                    &revision.meta.labels,
                    &revision.meta.annotations,
                ),
            );
            common
        });
        Self {
            o,
            set,
            compiled,
            common: common.collect(),
            upstreams,
        }
    }

    /// The spec of the entry's variant.
    pub(super) fn render(&self, entry: &Entry) -> Result<VariantSpec, Failed> {
        let target = self.set.spec.targets.get(entry.target);
        let template = target.and_then(|t| t.template.as_ref());
        let compiled = self
            .compiled
            .templates
            .get(entry.target)
            .and_then(Option::as_ref);
        let mut values = self.bind(entry);
        let unknown = |message: String| Failed {
            place: None,
            reason: "TemplateError",
            message: placed(entry, &message),
        };
        let repo = compiled
            .map_or(Ok(None), |c| text(&c.repo, &values))
            .map_err(unknown)?
            .unwrap_or_else(|| entry.repo.clone());
        let repo = RepositoryName::parse(&repo).map_err(|e| unknown(e.to_string()))?;
        let repository = self.o.repositories.get(&repo);
        if let Some(object) = repository {
            let namespace = self.set.key.namespace.as_str();
            values.set(
                "repository",
                &Value::object(
                    repo.as_str(),
                    namespace,
                    &object.labels,
                    &object.annotations,
                ),
            );
        }
        let missing = format!("repository \"{repo}\" could not be loaded");
        let package = compiled
            .map_or(Ok(None), |c| text(&c.package, &values))
            .map_err(|e| {
                unknown(if repository.is_none() {
                    missing.clone()
                } else {
                    e
                })
            })?;
        let package = match package {
            None => entry.package.clone(),
            Some(text) => PackageName::parse(&text).map_err(|e| unknown(e.to_string()))?,
        };
        let place = Downstream { repo, package };
        let known = |message: String| Failed {
            place: Some(place.clone()),
            ..unknown(message)
        };
        if repository.is_none() {
            return Err(Failed {
                reason: "RepositoryNotFound",
                ..known(missing)
            });
        }
        let Some(Source { wanted, .. }) = self.upstreams.get(entry.upstream) else {
            return Err(known("there is no such upstream".to_owned()));
        };
        let mut spec = plain(wanted.clone(), place.clone());
        if let (Some(template), Some(compiled)) = (template, compiled) {
            fill(&mut spec, template, compiled, &values).map_err(known)?;
        }
        Ok(spec)
    }

    fn bind(&self, entry: &Entry) -> Bindings {
        let mut values = self.common.get(entry.upstream).cloned().unwrap_or_default();
        values.set("repoDefault", &Value::Text(entry.repo.clone()));
        values.set("packageDefault", &Value::Text(entry.package.to_string()));
        let target = match &entry.origin {
            Origin::Listed => Value::Map(BTreeMap::from([
                ("repo".to_owned(), Value::Text(entry.repo.clone())),
                ("package".to_owned(), Value::Text(entry.package.to_string())),
            ])),
            Origin::Selected(object) => Value::object(
                &object.name,
                &object.namespace,
                &object.labels,
                &object.annotations,
            ),
        };
        values.set("target", &target);
        values
    }
}

/// What is wrong, with the field where it is known, and the target for which it is.
fn placed(entry: &Entry, message: &str) -> String {
    let (target, repo) = (format!("spec.targets[{}]", entry.target), &entry.repo);
    let field = message
        .split_once(": ")
        .filter(|(field, _)| field.starts_with(&target));
    match field {
        Some((field, what)) => format!("{field} ({repo}): {what}"),
        None => format!("{target} ({repo}): {message}"),
    }
}

/// A spec without a template: defaults everywhere (R137).
fn plain(upstream: Upstream, downstream: Downstream) -> VariantSpec {
    VariantSpec {
        upstream,
        downstream,
        adoption: AdoptionPolicy::default(),
        deletion: DeletionPolicy::default(),
        deletion_explicit: false,
        labels: Pairs::new(),
        annotations: Pairs::new(),
        context: PackageContext::default(),
        pipeline: Pipeline::default(),
        injectors: Vec::new(),
        conflict_policy: model::ConflictPolicy::default(),
        proposed: model::ProposedPolicy::default(),
        strategy: model::Strategy::default(),
        suspend: false,
    }
}

fn fill(
    spec: &mut VariantSpec,
    template: &Template,
    compiled: &CompiledTemplate,
    values: &Bindings,
) -> Result<(), String> {
    spec.adoption = template.adoption.unwrap_or_default();
    spec.deletion = template.deletion.unwrap_or_default();
    spec.deletion_explicit = template.deletion == Some(DeletionPolicy::Delete);
    spec.conflict_policy = template.conflict_policy.unwrap_or_default();
    spec.proposed = template.proposed.unwrap_or_default();
    spec.strategy = template.strategy.unwrap_or_default();
    spec.labels = overlay(template.labels.clone(), &compiled.labels, values)?;
    spec.annotations = overlay(template.annotations.clone(), &compiled.annotations, values)?;
    carried(spec)?;
    if let Some(context) = &template.context {
        let mut remove_keys: BTreeSet<String> = context.remove_keys.iter().cloned().collect();
        for key in &compiled.remove_keys {
            remove_keys.extend(text(key, values)?);
        }
        let data = overlay(context.data.clone(), &compiled.data, values)?;
        let reserved = RESERVED
            .iter()
            .find(|k| data.contains_key(**k) || remove_keys.contains(**k));
        if let Some(key) = reserved {
            return Err(format!(
                "template.packageContext: must not contain the key \"{key}\""
            ));
        }
        spec.context = PackageContext {
            data,
            remove_keys,
            create: context.create,
        };
    }
    spec.pipeline = Pipeline {
        mutators: functions(&template.mutators, &compiled.mutators, values)?,
        validators: functions(&template.validators, &compiled.validators, values)?,
    };
    for (i, injector) in compiled.injectors.iter().enumerate() {
        let name = text(&injector.name, values)?.filter(|name| !name.is_empty());
        spec.injectors.push(Injector {
            group: text(&injector.group, values)?,
            version: text(&injector.version, values)?,
            kind: text(&injector.kind, values)?,
            name: name.ok_or_else(|| format!("template.injectors[{i}].name must not be empty"))?,
        });
    }
    Ok(())
}

/// What no object may carry would be refused with every draft: it is said of the target.
fn carried(spec: &VariantSpec) -> Result<(), String> {
    for (key, value) in &spec.labels {
        model::label(key, value).map_err(|what| format!("template.labels: {what}"))?;
    }
    for key in spec.annotations.keys() {
        model::label_key(key).map_err(|what| format!("template.annotations: {what}"))?;
    }
    Ok(())
}

/// Expressions over plain pairs (R140).
fn overlay(mut plain: Pairs, pairs: &[Pair], values: &Bindings) -> Result<Pairs, String> {
    let computed = pairs.iter().map(|pair| {
        let key = text(&pair.key, values)?.unwrap_or_default();
        Ok((key, text(&pair.value, values)?.unwrap_or_default()))
    });
    // All at once: one by one each would move those behind it.
    plain.extend(computed.collect::<Result<Vec<_>, String>>()?);
    Ok(plain)
}

fn functions(
    templates: &[FunctionTemplate],
    compiled: &[Vec<Pair>],
    values: &Bindings,
) -> Result<Vec<Function>, String> {
    let mut functions = Vec::new();
    for (i, template) in templates.iter().enumerate() {
        let mut function = template.function.clone();
        for pair in compiled.get(i).into_iter().flatten() {
            let key = text(&pair.key, values)?.unwrap_or_default();
            let value = text(&pair.value, values)?.unwrap_or_default();
            match function.config_map.iter_mut().find(|(k, _)| *k == key) {
                Some((_, old)) => *old = value,
                None => function.config_map.push((key, value)),
            }
        }
        functions.push(function);
    }
    Ok(functions)
}

fn text(of: &Text, values: &Bindings) -> Result<Option<String>, String> {
    match of {
        Text::Absent => Ok(None),
        Text::Plain(text) => Ok(Some(text.clone()).filter(|t| !t.is_empty())),
        Text::Computed { program, field } => program
            .eval(values)
            .map(Some)
            .map_err(|e: ExprError| format!("{field}: {e}")),
    }
}
