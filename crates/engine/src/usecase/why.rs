//! Why something is as it is: what is seen of it now, and the plan that follows. Nothing is written.

use model::{ObjectKey, ObjectMeta, ObjectName};

use plan::set::{Observed, Subject};

use crate::{Engine, Result, observe};

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
    Ok(Some(early.unwrap_or_default() + &own))
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
