//! The canonical encoding of a draft's inputs, hashed (V21).
//!
//! Whether there is anything to do is a comparison of these digests and nothing else. Two forms
//! exist: [`inputs`] covers what the machine alone makes of an upstream; [`draft`] adds what only
//! an open draft depends on: its base and the policies of the merge. The encoding is ours alone,
//! never that of a library or of our binary's version; changing it means a new [`FORMAT`].

pub(crate) mod wanted;

use std::collections::BTreeMap;

use model::{CommitId, Digest, Function, InjectionOutcome, Recipe, Revision, Selector, TreeId};
use sha2::{Digest as _, Sha256};

/// The format version of digests that are made today (X7).
pub const FORMAT: u32 = 1;

/// The digest of the upstream's commit, the recipe, injected contents and functions.
///
/// Injections count by what they come to: for each kind of injection point, the first injector
/// that finds something, and what it found. What was injected earlier and is kept counts as if it
/// were still found, so that a vanished object alone changes nothing (V22).
pub fn inputs(upstream: &Revision, recipe: &Recipe) -> Digest {
    let mut e = Encoder::new("offshoot.dev/inputs");
    source(&mut e, upstream);
    e.text(recipe.package.as_str());
    e.text(recipe.variant.as_str());
    e.flag(recipe.deployment);
    e.map(recipe.context.iter());
    e.list(recipe.remove_keys.iter(), |e, key| e.text(key));
    e.flag(recipe.create_context);
    for functions in [&recipe.pipeline.mutators, &recipe.pipeline.validators] {
        e.list(functions.iter(), function);
    }
    e.list(
        effective(recipe).into_iter(),
        |e, (gvk, (name, outcome))| {
            e.text(gvk);
            e.text(name);
            e.text(outcome);
        },
    );
    e.finish()
}

/// The digest of an open draft: [`inputs`], the base's tree, and everything that decides how they
/// are merged or that shows in a draft alone. It is also the idempotency key of the draft.
pub fn draft(inputs: &Digest, recipe: &Recipe, base: Option<TreeId>) -> Digest {
    let mut e = Encoder::new("offshoot.dev/draft");
    e.text(inputs.as_str());
    e.option(base.map(|tree| tree.to_string()).as_deref());
    e.text(recipe.strategy.as_str());
    e.text(recipe.conflict_policy.as_str());
    e.flag(recipe.push_on_render_failure);
    e.list(recipe.injections.iter(), |e, injection| {
        e.option(injection.group.as_deref());
        e.option(injection.version.as_deref());
        e.option(injection.kind.as_deref());
        e.text(&injection.name);
        e.list(injection.found.iter(), |e, (gvk, outcome)| {
            e.text(gvk);
            outcome_text(e, outcome);
        });
    });
    e.list(recipe.kept.iter(), |e, kept| {
        e.text(&kept.gvk);
        e.text(&kept.point);
        e.text(&kept.injected);
        e.text(&kept.content);
    });
    e.finish()
}

/// The digest of a render of what a person pushed into an open draft (V14): another push is tried again.
pub fn render(draft: &Digest, tip: CommitId) -> Digest {
    let mut e = Encoder::new("offshoot.dev/render");
    e.text(draft.as_str());
    e.text(&tip.to_string());
    e.finish()
}

/// What is cloned: the place and commit of the upstream, by its lock (V1).
fn source(e: &mut Encoder, upstream: &Revision) {
    match &upstream.self_lock {
        Some(lock) => {
            let (repo, directory) = lock.place();
            e.text(repo);
            e.text(directory);
            e.text(&lock.commit.unwrap_or(upstream.commit).to_string());
        }
        None => {
            e.text(upstream.repository.as_str());
            e.text(upstream.package.as_str());
            e.text(&upstream.commit.to_string());
        }
    }
}

/// For each group/version/kind: the name and content that its points get.
fn effective(recipe: &Recipe) -> BTreeMap<&str, (&str, &str)> {
    let mut result: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for injection in &recipe.injections {
        for (gvk, outcome) in &injection.found {
            if let InjectionOutcome::Content(content) = outcome {
                result
                    .entry(gvk)
                    .or_insert_with(|| (&injection.name, content.as_ref()));
            }
        }
    }
    for kept in &recipe.kept {
        result
            .entry(&kept.gvk)
            .or_insert_with(|| (&kept.injected, kept.content.as_ref()));
    }
    result
}

fn outcome_text(e: &mut Encoder, outcome: &InjectionOutcome) {
    match outcome {
        InjectionOutcome::Content(content) => {
            e.text("content");
            e.text(content);
        }
        InjectionOutcome::FieldMissing(field) => {
            e.text("field-missing");
            e.text(field);
        }
        InjectionOutcome::Absent => e.text("absent"),
        InjectionOutcome::KindMissing => e.text("kind-missing"),
        InjectionOutcome::Unreadable(why) => {
            e.text("unreadable");
            e.text(why);
        }
    }
}

fn function(e: &mut Encoder, function: &Function) {
    e.option(function.image.as_deref());
    e.option(function.tag.as_deref());
    e.option(function.exec.as_deref());
    e.option(function.config_path.as_deref());
    e.list(function.config_map.iter(), |e, (key, value)| {
        e.text(key);
        e.text(value);
    });
    e.text(&function.name);
    e.list(function.selectors.iter(), selector);
    e.list(function.exclude.iter(), selector);
}

fn selector(e: &mut Encoder, selector: &Selector) {
    e.option(selector.api_version.as_deref());
    e.option(selector.kind.as_deref());
    e.option(selector.name.as_deref());
    e.option(selector.namespace.as_deref());
    e.map(selector.labels.iter());
    e.map(selector.annotations.iter());
}

/// Writes values so that no two different sequences of them give the same bytes: every text
/// carries its length, every list its count, every option whether it is there.
struct Encoder(Sha256);

impl Encoder {
    fn new(domain: &str) -> Self {
        let mut encoder = Self(Sha256::new());
        encoder.count(FORMAT as usize);
        encoder.text(domain);
        encoder
    }

    fn count(&mut self, n: usize) {
        self.0.update((n as u64).to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.0.update([u8::from(flag)]);
    }

    fn option(&mut self, text: Option<&str>) {
        self.flag(text.is_some());
        self.text(text.unwrap_or_default());
    }

    fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, each: impl Fn(&mut Self, T)) {
        self.count(items.len());
        for item in items {
            each(self, item);
        }
    }

    fn map<'m>(&mut self, map: impl ExactSizeIterator<Item = (&'m String, &'m String)>) {
        self.list(map, |e, (key, value)| {
            e.text(key);
            e.text(value);
        });
    }

    fn finish(self) -> Digest {
        Digest::new(FORMAT, &self.0.finalize())
    }
}
