//! A set's plan as text.

use std::fmt;

use model::{Pairs, Variant};

use super::status::passes;
use super::{Plan, SetStep};
use crate::report::{last, then};

impl SetStep {
    /// What it does, in a few words.
    pub fn summary(&self) -> String {
        match self {
            Self::Create(variant) => format!("create {}", variant.key.name),
            Self::Update { variant, adopt, .. } => {
                let verb = if *adopt { "adopt" } else { "update" };
                format!("{verb} {}", variant.key.name)
            }
            Self::Delete { key, .. } => format!("delete {}", key.name),
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::Create(variant) | Self::Update { variant, .. } => describe(variant),
            Self::Delete { .. } => Vec::new(),
        }
    }
}

fn describe(variant: &Variant) -> Vec<String> {
    let spec = &variant.spec;
    let mut lines = vec![format!(
        "downstream {} in {}",
        spec.downstream.package, spec.downstream.repo
    )];
    let pairs = |what: &str, map: &Pairs| -> Vec<String> {
        map.iter().map(|(k, v)| format!("{what} {k}={v}")).collect()
    };
    lines.extend(pairs("label", &spec.labels));
    lines.extend(pairs("annotation", &spec.annotations));
    lines.extend(pairs("context", &spec.context.data));
    let removed = spec.context.remove_keys.iter();
    lines.extend(removed.map(|k| format!("context without {k}")));
    for (list, functions) in [
        ("mutator", &spec.pipeline.mutators),
        ("validator", &spec.pipeline.validators),
    ] {
        for function in functions {
            let config: Vec<String> = function
                .config_map
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            lines.push(format!(
                "{list} {} {}",
                function.image.as_deref().unwrap_or_default(),
                config.join(" ")
            ));
        }
    }
    lines.extend(
        spec.injectors
            .iter()
            .map(|i| format!("injector {}", i.name)),
    );
    if variant.meta.annotations.contains_key(super::EXPLICIT) {
        lines.push("from an explicit list".to_owned());
    }
    lines
}

/// The whole plan as text, stable enough for goldens.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)?;
        writeln!(f, "steps:")?;
        self.rest(f)?;
        writeln!(f, "next: {}", self.then())
    }
}

/// The same for people: a heading without anything below it tells nothing.
struct Told<'a>(&'a Plan);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(plan) = self;
        let mut report = plan.report.clone();
        // The set itself has nothing to do; where its variants stand is what is asked for.
        if report.state == "up to date" {
            plan.status.words().clone_into(&mut report.state);
        }
        write!(f, "{report}")?;
        if !plan.steps.is_empty() {
            writeln!(f, "steps:")?;
        }
        plan.rest(f)?;
        writeln!(f, "{}", last(&plan.then(), plan.steps.len()))
    }
}

impl Plan {
    /// Everything between the heading of the steps and the last line.
    fn rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "- {}", step.summary())?;
            for line in step.details() {
                writeln!(f, "    {line}")?;
            }
        }
        writeln!(f, "status:")?;
        for c in &self.status.conditions {
            writeln!(f, "- {}={} {}: {}", c.kind, c.status, c.reason, c.message)?;
        }
        let s = &self.status;
        if s.upstream.contains(", ") {
            writeln!(f, "- follows {}", s.upstream)?;
        }
        writeln!(
            f,
            "- targets {} variants {} ready {} stalled {} failed {}",
            // As the column FAILED counts: what cannot be made, and what cannot go on.
            s.targets,
            s.variants,
            s.ready,
            s.stalled,
            s.failed + s.failing
        )?;
        if s.drafts + s.proposed + s.published > 0 {
            writeln!(
                f,
                "- draft {} proposed {} published {}",
                s.drafts, s.proposed, s.published
            )?;
        }
        Ok(())
    }

    fn then(&self) -> String {
        let s = &self.status;
        // What cannot be made, and variants that cannot go on, stay so until somebody mends what their messages name.
        let mut ready = s.conditions.iter().filter(|c| c.kind == "Ready");
        let passes = ready.any(|c| passes(&c.reason));
        let stuck = s.failed + s.stalled > 0 && !passes;
        then(self.next, &self.report, &s.conditions, stuck)
    }
}

/// The plan as `offshoot why` prints it.
pub fn explain(plan: &Plan) -> String {
    Told(plan).to_string()
}
