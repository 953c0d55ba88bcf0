//! Why something is as it is: what is seen of it now, and the plan that follows. Nothing is written.

use std::fmt::Write as _;

use model::{ObjectKey, ObjectMeta, ObjectName};

use plan::set::{Observed, Subject};

use store::RefName;

use crate::{Engine, Error, Result, kept, observe, opening};

/// What is seen of a variant and what would be done about it; `None` if it is gone.
///
/// # Errors
/// Git or the cluster cannot be read now.
pub(crate) async fn variant(engine: &Engine, key: &ObjectKey) -> Result<Option<String>> {
    let Some(o) = observe::variant(engine, observe::Sink::dropped(), key).await? else {
        return Ok(None);
    };
    let early = early(engine, key, o.variant.meta()).await?;
    let plan = plan::variant::decide(&o);
    let own = plan::variant::seen(&o) + &plan::variant::explain(&plan);
    let kept = what_is_kept(engine, &o).await?;
    Ok(Some(early.unwrap_or_default() + &own + &kept))
}

/// How many refs are named.
const NAMED: usize = 3;

/// Where what people committed to deleted drafts of the package is kept (V23): a draft that is made again is without it.
async fn what_is_kept(engine: &Engine, o: &plan::variant::Observed) -> Result<String> {
    let plan::variant::Subject::Valid(variant) = &o.variant else {
        return Ok(String::new());
    };
    let at = &variant.spec.downstream;
    let Ok(open) = opening::here(engine, &variant.key.namespace, &at.repo).await else {
        return Ok(String::new());
    };
    let failed = |source| Error::Store {
        attempt: "read what is kept",
        source,
    };
    let mut all = Vec::new();
    for dir in kept::directories() {
        all.extend(open.repo.refs_below(&dir).map_err(failed)?.into_keys());
    }
    let package = at.package.as_str().replace('/', ".");
    let of_it = format!("{}.{package}.", at.repo);
    let is_of_it = |name: &&RefName| {
        // Behind it come the workspace and the commit, which have no dot.
        let rest = kept::of(name).and_then(|of| of.strip_prefix(&of_it));
        rest.is_some_and(|rest| !rest.contains('.'))
    };
    let names: Vec<&str> = all.iter().filter(is_of_it).map(RefName::as_str).collect();
    let mut text = String::new();
    for name in names.iter().take(NAMED) {
        // Writing to a String cannot fail.
        _ = writeln!(
            text,
            "kept in git: what people committed to a draft that is gone, as {name}\n  hint: git log {name} shows it, and cherry-picks take it over; the ref may be deleted"
        );
    }
    if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        _ = writeln!(text, "kept in git: {more} more beside them");
    }
    Ok(text)
}

/// Why what a variant has open is not to be approved now, as the rollout of its set has it (F7).
async fn early(engine: &Engine, key: &ObjectKey, meta: &ObjectMeta) -> Result<Option<String>> {
    let set = meta.controller().filter(|o| o.kind == "PackageVariantSet");
    let Some(Ok(name)) = set.map(|set| ObjectName::parse(&set.name)) else {
        return Ok(None);
    };
    let set = ObjectKey {
        name,
        ..key.clone()
    };
    let observed = observe::set(engine, observe::Sink::dropped(), &set).await?;
    let rolls = |o: &Observed| match &o.set {
        Subject::Valid { set, .. } => set.spec.rollout.is_some(),
        Subject::Invalid { .. } => false,
    };
    let Some(observed) = observed.filter(rolls) else {
        return Ok(None);
    };
    let (cpu, variant) = (engine.inner.options.cpu.clone(), key.name.clone());
    let early = cpu.run(move || {
        let plan = plan::set::decide(&observed);
        plan::set::early(&plan, &variant)
    });
    early.await
}

/// What would be done about a set; `None` if it is gone.
///
/// # Errors
/// The process is on its way out.
pub(crate) async fn set(engine: &Engine, key: &ObjectKey) -> Result<Option<String>> {
    let Some(observed) = observe::set(engine, observe::Sink::dropped(), key).await? else {
        return Ok(None);
    };
    // Rendering takes CPU, and expressions want the pool's stack.
    let cpu = engine.inner.options.cpu.clone();
    let text = cpu.run(move || {
        let plan = plan::set::decide(&observed);
        plan::set::waits(&observed, &plan) + &plan::set::explain(&plan)
    });
    Ok(Some(text.await?))
}
