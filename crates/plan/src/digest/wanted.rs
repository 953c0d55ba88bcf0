//! Hashes of what a set wants: of one variant's spec, and of the upstream packages (F7).

use model::{
    Injector, LabelSelector, PackageName, SelectorOperator, StepMembers, Target, TargetSelection,
    Uid, Upstream, UpstreamSource, UpstreamVersion, VariantSpec,
};

use super::{Encoder, function};

/// How many hex digits stand for a spec: enough that two specs of one variant are never taken for one.
const DIGITS: usize = 16;

/// Stands for a variant's spec; whether somebody suspended it is no part of it.
pub(crate) fn spec(spec: &VariantSpec) -> String {
    let mut e = Encoder::new("offshoot.dev/variant-spec");
    upstream(&mut e, &spec.upstream);
    e.text(spec.downstream.repo.as_str());
    e.text(spec.downstream.package.as_str());
    // Each policy by its place among its kind's values.
    e.count(spec.adoption as usize);
    e.count(spec.deletion as usize);
    e.flag(spec.deletion_explicit);
    e.map(spec.labels.iter());
    e.map(spec.annotations.iter());
    e.map(spec.context.data.iter());
    e.list(spec.context.remove_keys.iter(), |e, key| e.text(key));
    e.flag(spec.context.create);
    for functions in [&spec.pipeline.mutators, &spec.pipeline.validators] {
        e.list(functions.iter(), function);
    }
    e.list(spec.injectors.iter(), injector);
    e.text(spec.conflict_policy.as_str());
    e.count(spec.proposed as usize);
    e.text(spec.strategy.as_str());
    short(e)
}

fn injector(e: &mut Encoder, injector: &Injector) {
    for part in [&injector.group, &injector.version, &injector.kind] {
        e.option(part.as_deref());
    }
    e.text(&injector.name);
}

fn upstream(e: &mut Encoder, upstream: &Upstream) {
    e.text(upstream.repo.as_str());
    e.text(upstream.package.as_str());
    version(e, &upstream.version);
    e.flag(upstream.allow_unpublished);
    e.option(upstream.commit.map(|c| c.to_string()).as_deref());
}

fn version(e: &mut Encoder, version: &UpstreamVersion) {
    let (kind, text) = match version {
        UpstreamVersion::Latest => ("latest", String::new()),
        UpstreamVersion::Revision(n) => ("revision", n.to_string()),
        UpstreamVersion::Named(name) => ("named", name.to_string()),
        UpstreamVersion::Workspace(name) => ("workspace", name.to_string()),
        UpstreamVersion::Tag(name) => ("tag", name.to_string()),
        UpstreamVersion::BranchHead => ("head", String::new()),
    };
    e.text(kind);
    e.text(&text);
}

/// Stands for the upstream packages at the commits that are wanted.
pub(crate) fn wants<'a>(upstreams: impl ExactSizeIterator<Item = &'a Upstream>) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout-wants");
    e.list(upstreams, upstream);
    short(e)
}

/// Stands for what the spec says of upstream packages, whatever that comes to.
pub(crate) fn asked(sources: &[UpstreamSource]) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout-asked");
    e.list(sources.iter(), |e, source| match source {
        UpstreamSource::Package(package) => {
            e.text("package");
            upstream(e, package);
        }
        UpstreamSource::Set(name) => {
            e.text("set");
            e.text(name.as_str());
        }
        UpstreamSource::Labels { repo, selector } => {
            e.text("labels");
            e.option(repo.as_ref().map(|repo| repo.as_str()));
            labels(e, selector);
        }
    });
    short(e)
}

/// Stands for what says in which packages the targets are, whatever is selected.
pub(crate) fn places(targets: &[Target]) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout-places");
    e.list(targets.iter(), |e, target| {
        let packages = |e: &mut Encoder, packages: &[PackageName]| {
            e.list(packages.iter(), |e, package| e.text(package.as_str()));
        };
        match &target.selection {
            TargetSelection::Repositories(repositories) => {
                e.text("repositories");
                e.list(repositories.iter(), |e, (repo, named)| {
                    e.text(repo.as_str());
                    packages(e, named);
                });
            }
            TargetSelection::RepositorySelector {
                selector,
                packages: named,
            } => {
                e.text("repository-selector");
                labels(e, selector);
                packages(e, named);
            }
            TargetSelection::ObjectSelector {
                selector,
                packages: named,
            } => {
                e.text("object-selector");
                e.text(&selector.api_version);
                e.text(&selector.kind);
                e.option(selector.name.as_deref());
                labels(e, &selector.labels);
                packages(e, named);
            }
        }
        let template = target.template.as_ref();
        for text in [
            template.and_then(|t| t.repo.as_deref()),
            template.and_then(|t| t.repo_expr.as_deref()),
            template.and_then(|t| t.package.as_deref()),
            template.and_then(|t| t.package_expr.as_deref()),
        ] {
            e.option(text);
        }
    });
    short(e)
}

fn labels(e: &mut Encoder, selector: &LabelSelector) {
    e.map(selector.match_labels.iter());
    e.list(selector.requirements.iter(), |e, requirement| {
        e.text(&requirement.key);
        e.text(match requirement.operator {
            SelectorOperator::In => "in",
            SelectorOperator::NotIn => "not-in",
            SelectorOperator::Exists => "exists",
            SelectorOperator::DoesNotExist => "does-not-exist",
        });
        e.list(requirement.values.iter(), |e, value| e.text(value));
    });
}

/// The name of a set's rollout of this after that one: a number, and a hash. The same events give the same name: a process
/// that dies before it is remembered finds its own marks again.
pub(crate) fn rollout(set: &Uid, number: u64, before: &str, wants: &str) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout");
    e.text(set.as_str());
    e.text(before);
    e.text(wants);
    let mut hash = short(e);
    hash.truncate(10);
    format!("{number}-{hash}")
}

/// Which of a set's rollouts a name is of: a later one has a higher number.
pub(crate) fn number(rollout: &str) -> u64 {
    let digits = rollout.split_once('-').map(|(digits, _)| digits);
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Where a target stands among those of a share: by a hash of its variant's uid, or of its place before it has one.
pub(crate) fn order(of: &str) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout-order");
    e.text(of);
    short(e)
}

/// Stands for what a step of a rollout takes.
pub(crate) fn members(of: &StepMembers) -> String {
    let mut e = Encoder::new("offshoot.dev/rollout-step");
    match of {
        StepMembers::Selector(selector) => {
            e.text("selector");
            labels(&mut e, selector);
        }
        StepMembers::Percent(percent) => {
            e.text("percent");
            e.count(usize::from(*percent));
        }
        StepMembers::Rest => e.text("rest"),
    }
    short(e)
}

fn short(e: Encoder) -> String {
    let digest = e.finish();
    let hex = digest.as_str().rsplit(':').next().unwrap_or_default();
    hex.chars().take(DIGITS).collect()
}
