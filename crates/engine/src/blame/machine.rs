//! The machine's output made again, layer by layer; believed only where it gives the recorded bytes (F5).

use std::collections::BTreeMap;

use model::{Files, Function, ObjectKey, ObjectName, PackagePath, Revision, VariantSet};
use package::kptfile::Kptfile;
use package::layers::{Layer, Layered, Layers, LayersInput};
use package::merge::{Earlier, Versions};
use plan::variant::words::SET_KIND;

use super::walk::Output;
use super::wrote::Wrote;
use crate::observe::old_files;
use crate::{Engine, Error, Result, conversation, opening};

/// What was made again.
pub(super) struct Remade {
    output: Files,
    layered: Option<Layered>,
    /// What each layer left otherwise of what the one before it held, by file; from the second layer on.
    differs: Vec<Differs>,
    upstream: Wrote,
    set: Option<VariantSet>,
}

/// The files that differ from what they were, and what their documents were then.
type Differs = BTreeMap<PackagePath, Vec<Earlier>>;

fn differs(layered: &Layered) -> Vec<Differs> {
    let pairs = layered.stages.windows(2).filter_map(|pair| match pair {
        [before, after] => Some((&before.files, &after.files)),
        _ => None,
    });
    let of = |(before, after): (&Files, &Files)| {
        let versions = Versions::new(before, after);
        let changed = after
            .iter()
            .filter(|(path, file)| before.get(*path) != Some(*file));
        let changed = changed.map(|(path, _)| (path.clone(), versions.earlier(path)));
        changed.collect()
    };
    pairs.map(of).collect()
}

/// Makes an output again, with built-in functions alone; nothing where that cannot be done.
pub(super) async fn remake(engine: &Engine, revision: &Revision, made: &Output) -> Result<Remade> {
    let namespace = &revision.key.namespace;
    let nothing = |output: Files| Remade {
        output,
        layered: None,
        differs: Vec::new(),
        upstream: Wrote::Unknown,
        set: None,
    };
    let open = opening::here(engine, namespace, &revision.repository).await?;
    let Ok(snapshot) = open.snapshot(made.tree) else {
        return Ok(nothing(Files::new()));
    };
    let output = snapshot.files.clone();
    let kptfile = Kptfile::of_files(&output).ok();
    let upstream = kptfile
        .as_ref()
        .and_then(|k| k.fields().upstream.clone()?.git);
    let lock = kptfile
        .as_ref()
        .and_then(|k| k.fields().upstream_lock.clone()?.git);
    let Some((git_upstream, lock)) = upstream.zip(lock) else {
        return Ok(nothing(output));
    };
    let Ok(files) = old_files(engine, namespace, &lock) else {
        return Ok(nothing(output));
    };
    let from = Wrote::Upstream {
        git_ref: lock.git_ref.clone(),
        repo: lock.repo.clone(),
        commit: lock.commit,
    };
    let input = LayersInput {
        output: output.clone(),
        upstream: files,
        git_upstream,
        lock,
        package: revision.package.clone(),
        variant: variant_name(made)?,
        deployment: revision.deployment,
        context_keys: made.context_keys.clone(),
    };
    let cpu = engine.inner.options.cpu.clone();
    let layers = cpu.run(move || Layers::new(&input).ok()).await?;
    let layered = match layers {
        Some(layers) => conversation::converse_built_in(engine, namespace, layers)
            .await?
            .and_then(std::result::Result::ok),
        None => None,
    };
    let (layered, differs) = match layered {
        Some(layered) => {
            let both = cpu.run(move || (differs(&layered), layered)).await?;
            (Some(both.1), both.0)
        }
        None => (None, Vec::new()),
    };
    Ok(Remade {
        output,
        layered,
        differs,
        upstream: from,
        set: made.variant.as_ref().and_then(|key| set_of(engine, key)),
    })
}

/// The set of the variant that made it, as it is now.
fn set_of(engine: &Engine, key: &ObjectKey) -> Option<VariantSet> {
    engine.world(|w| {
        let variant = w.variant(key)?;
        let set = variant.meta.controller().filter(|c| c.kind == SET_KIND)?;
        let name = ObjectName::parse(&set.name).ok()?;
        let stored = w.sets.get(&ObjectKey::new(key.namespace.clone(), name))?;
        stored.parsed.as_ref().ok().cloned()
    })
}

impl Remade {
    /// Which layer wrote a field of the output.
    pub(super) fn wrote(&self, file: &PackagePath, document: usize, path: &str) -> Wrote {
        self.layer(file, document, path).unwrap_or(Wrote::Unknown)
    }

    fn layer(&self, file: &PackagePath, document: usize, path: &str) -> Option<Wrote> {
        let layered = self.layered.as_ref()?;
        let made = layered.stages.last()?;
        // Another outcome may have come about in another way.
        if made.files.get(file) != self.output.get(file) {
            return None;
        }
        let mut at = document;
        let layers = layered.stages.iter().skip(1).zip(&self.differs);
        for (after, differs) in layers.rev() {
            let Some(all) = differs.get(file) else {
                continue;
            };
            let was = all.get(at)?;
            match was.document.filter(|_| !was.touches(path)) {
                Some(document) => at = document,
                None => return Some(self.named(&after.layer, layered, (file, at, path))),
            }
        }
        Some(self.upstream.clone())
    }

    fn named(
        &self,
        layer: &Layer,
        layered: &Layered,
        (file, document, path): (&PackagePath, usize, &str),
    ) -> Wrote {
        match layer {
            Layer::Upstream => self.upstream.clone(),
            Layer::Clone => Wrote::Clone,
            Layer::Context => Wrote::Context {
                expression: self.context_expression(path),
            },
            Layer::Pipeline => Wrote::Pipeline,
            Layer::Injection => {
                let here = |i: &&package::mutate::Injected| {
                    i.point.file == *file && i.point.index == document
                };
                let found = layered.injected.iter().find(here);
                Wrote::Injected {
                    object: found.and_then(|i| i.object.clone()),
                }
            }
            Layer::Function(function) => Wrote::Function {
                name: label(function),
                expression: self.function_expression(function),
            },
            Layer::Report => Wrote::Report,
        }
    }

    /// The set's expression behind a key of the package context.
    fn context_expression(&self, path: &str) -> Option<String> {
        let key = path.strip_prefix("data.")?;
        let set = self.set.as_ref()?;
        let templates = set.spec.targets.iter().filter_map(|t| t.template.as_ref());
        let exprs = templates
            .filter_map(|t| t.context.as_ref())
            .flat_map(|c| &c.data_exprs);
        let mut mine = exprs.filter(|e| e.key.as_deref().is_none_or(|k| k == key));
        let text = mine.find_map(told)?;
        Some(format!("{text} (packagevariantset {})", set.key.name))
    }

    /// The set's expressions behind the configuration of one of its variant's functions.
    fn function_expression(&self, function: &Function) -> Option<String> {
        let index = own_index(&function.name)?;
        let set = self.set.as_ref()?;
        let templates = set.spec.targets.iter().filter_map(|t| t.template.as_ref());
        let found = templates.filter_map(|t| t.mutators.get(index));
        let mut found = found.filter(|f| !f.config_map_exprs.is_empty());
        let texts: Vec<String> = found
            .next()?
            .config_map_exprs
            .iter()
            .filter_map(told)
            .collect();
        (!texts.is_empty())
            .then(|| format!("{} (packagevariantset {})", texts.join(", "), set.key.name))
    }
}

/// The variant's name; a clone of a person has functions of no variant.
fn variant_name(made: &Output) -> Result<ObjectName> {
    match &made.variant {
        Some(key) => Ok(key.name.clone()),
        None => ObjectName::parse("none")
            .map_err(|e| Error::refused(model::Class::Bug, "", e.to_string())),
    }
}

/// The number in `PackageVariant.{variant}.{function}.{number}`.
fn own_index(name: &str) -> Option<usize> {
    let rest = name.strip_prefix("PackageVariant.")?;
    rest.rsplit_once('.')?.1.parse().ok()
}

fn label(function: &Function) -> String {
    let runs = function
        .image
        .as_deref()
        .or(function.exec.as_deref())
        .unwrap_or_default();
    match function.name.is_empty() {
        true => runs.to_owned(),
        false => format!("{} ({runs})", function.name),
    }
}

/// An entry as the template has it, if there is an expression in it.
fn told(entry: &model::MapExpr) -> Option<String> {
    if entry.key_expr.is_none() && entry.value_expr.is_none() {
        return None;
    }
    let side = |plain: &Option<String>, expr: &Option<String>| {
        expr.clone()
            .or_else(|| plain.as_ref().map(|p| format!("{p:?}")))
            .unwrap_or_default()
    };
    let key = match (&entry.key_expr, &entry.key) {
        (None, Some(key)) => key.clone(),
        (expr, key) => side(key, expr),
    };
    Some(format!("{key} = {}", side(&entry.value, &entry.value_expr)))
}
