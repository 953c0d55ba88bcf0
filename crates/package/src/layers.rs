//! The machine's output layer by layer: what clone, context, injection and each function made of an upstream package (F5).
//!
//! All that it takes is the output itself and the upstream package: what the recipe stated is read back from what it wrote.
//! So an old output is explained as well as a new one, and whether the explanation holds is a comparison of bytes. Like a
//! render, a conversation.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ConflictPolicy, Files, Function, GitLock, GitUpstream, Injection, InjectionOutcome, ObjectName,
    PackageName, Recipe, Strategy,
};

use crate::clone::{CloneSpec, clone};
use crate::context;
use crate::derive::recipe_anew;
use crate::mutate::{self, Injected, MutateError, Mutation, Previous, injection_points};
use crate::render::{Conversation, Options, Output, Render, RenderStep, Rendered, RunFailure};

/// What is to be explained.
#[derive(Debug, Clone)]
pub struct LayersInput {
    /// *V*: what the machine made, as it was recorded.
    pub output: Files,
    /// The upstream package that it was made of.
    pub upstream: Files,
    /// What the Kptfile says about it.
    pub git_upstream: GitUpstream,
    /// Where it was taken from.
    pub lock: GitLock,
    /// The downstream package.
    pub package: PackageName,
    /// The variant.
    pub variant: ObjectName,
    /// Whether the repository is a deployment repository (V13).
    pub deployment: bool,
    /// The context keys that were stated.
    pub context_keys: BTreeSet<String>,
}

/// Who wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// The upstream package.
    Upstream,
    /// The clone: names, marks, upstream and lock.
    Clone,
    /// The package context.
    Context,
    /// The variant's own functions, put into the pipeline.
    Pipeline,
    /// Configuration from the cluster.
    Injection,
    /// A function, as the Kptfile has it.
    Function(Box<Function>),
    /// The report of the render.
    Report,
}

/// What the package was after a layer had written.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Who wrote.
    pub layer: Layer,
    /// What there was then.
    pub files: Files,
}

/// All stages, from the upstream package on.
#[derive(Debug, Clone)]
pub struct Layered {
    /// In the order in which they were made; those that wrote nothing are left out.
    pub stages: Vec<Stage>,
    /// How each injection point fared.
    pub injected: Vec<Injected>,
}

/// The making of the stages.
#[derive(Debug)]
pub struct Layers {
    layered: Layered,
    render: Render,
    mutations: Vec<Mutation>,
    running: Option<Function>,
    ran: usize,
    again: bool,
    done: bool,
}

fn options() -> Options {
    Options {
        gate_failure: true,
        tell_unread: true,
        trace: true,
        ..Options::default()
    }
}

impl Layers {
    /// Begins: everything up to the first function.
    ///
    /// # Errors
    /// The upstream package cannot be cloned or mutated any more: nothing can be told.
    pub fn new(input: &LayersInput) -> Result<Self, LayersError> {
        let recipe = recipe(input);
        let mut layered = Layered {
            stages: vec![Stage {
                layer: Layer::Upstream,
                files: input.upstream.clone(),
            }],
            injected: Vec::new(),
        };
        let spec = CloneSpec {
            package: input.package.clone(),
            upstream: input.git_upstream.clone(),
            lock: input.lock.clone(),
            deployment: input.deployment,
        };
        let cloned = clone(&input.upstream, &spec).map_err(LayersError::Clone)?;
        layered.push(Layer::Clone, cloned.files);
        let previous = mutate::previous(&input.output).unwrap_or_default();
        let mutations = Mutation::of(&recipe, previous);
        for mutation in &mutations {
            let layer = match mutation {
                Mutation::Context { .. } => Layer::Context,
                Mutation::Pipeline { .. } => Layer::Pipeline,
                Mutation::Inject { .. } => Layer::Injection,
            };
            layered.mutate(layer, std::slice::from_ref(mutation))?;
        }
        Ok(Self {
            render: Render::new(layered.last(), options()),
            layered,
            mutations,
            running: None,
            ran: 0,
            again: false,
            done: false,
        })
    }

    /// The report, and what points that appeared by rendering make necessary.
    fn rendered(&mut self, rendered: Rendered) -> Result<(), LayersError> {
        self.layered.push(Layer::Report, rendered.files.clone());
        self.done = true;
        let points = injection_points(&rendered.files).map_err(LayersError::Mutate)?;
        let known: Vec<String> = self
            .layered
            .injected
            .iter()
            .map(|i| i.point.condition_type())
            .collect();
        if self.again
            || points
                .iter()
                .all(|point| known.contains(&point.condition_type()))
        {
            return Ok(());
        }
        let inject: Vec<Mutation> = self
            .mutations
            .iter()
            .filter(|m| matches!(m, Mutation::Inject { .. }))
            .cloned()
            .collect();
        self.layered.injected.clear();
        self.layered.mutate(Layer::Injection, &inject)?;
        self.render = Render::new(self.layered.last(), options());
        (self.again, self.done, self.ran) = (true, false, 0);
        Ok(())
    }
}

impl Layered {
    fn last(&self) -> Files {
        self.stages
            .last()
            .map(|stage| stage.files.clone())
            .unwrap_or_default()
    }

    fn push(&mut self, layer: Layer, files: Files) {
        if self.stages.last().is_none_or(|stage| stage.files != files) {
            self.stages.push(Stage { layer, files });
        }
    }

    fn mutate(&mut self, layer: Layer, mutations: &[Mutation]) -> Result<(), LayersError> {
        let mutated = mutate::apply(&self.last(), mutations).map_err(LayersError::Mutate)?;
        self.injected.extend(mutated.injected);
        self.push(layer, mutated.files);
        Ok(())
    }
}

impl Conversation for Layers {
    type End = Result<Layered, LayersError>;

    fn next(&mut self) -> RenderStep<Self::End> {
        while !self.done {
            match self.render.next() {
                RenderStep::Run(run) => {
                    self.running = Some(run.function.clone());
                    return RenderStep::Run(run);
                }
                RenderStep::Done(rendered) => {
                    if let Err(error) = self.rendered(*rendered) {
                        return RenderStep::Done(Box::new(Err(error)));
                    }
                }
            }
        }
        RenderStep::Done(Box::new(Ok(self.layered.clone())))
    }

    fn resume(&mut self, answer: Result<Output, RunFailure>) {
        self.render.resume(answer);
        if self.render.changes() > self.ran
            && let Some(function) = self.running.take()
        {
            self.ran = self.render.changes();
            let files = self.render.so_far();
            self.layered
                .push(Layer::Function(Box::new(function)), files);
        }
    }
}

/// Why the stages cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// The upstream package cannot be cloned.
    #[error(transparent)]
    Clone(crate::clone::CloneError),
    /// It cannot be mutated.
    #[error(transparent)]
    Mutate(MutateError),
}

/// The recipe, read back from what it wrote.
fn recipe(input: &LayersInput) -> Recipe {
    let written = context::data(&input.output);
    let offered = context::data(&input.upstream);
    let empty = Recipe {
        package: input.package.clone(),
        variant: input.variant.clone(),
        deployment: input.deployment,
        context: input
            .context_keys
            .iter()
            .map(|key| (key.clone(), String::new()))
            .collect(),
        remove_keys: offered
            .keys()
            .filter(|key| !written.contains_key(*key))
            .cloned()
            .collect(),
        create_context: !input.context_keys.is_empty(),
        pipeline: model::Pipeline::default(),
        injections: Vec::new(),
        kept: Vec::new(),
        strategy: Strategy::default(),
        conflict_policy: ConflictPolicy::default(),
        push_on_render_failure: true,
    };
    Recipe {
        injections: injections(&input.output),
        ..recipe_anew(&empty, &input.output)
    }
}

/// What the points of a package were given. Two of one kind with different objects cannot be told apart by an injector: what
/// they hold counts as kept.
fn injections(output: &Files) -> Vec<Injection> {
    let points = injection_points(output).unwrap_or_default();
    let held = mutate::previous(output).unwrap_or_default();
    let mut kinds: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for point in points {
        if let Some(Previous { name, content }) = held.get(&point.condition_type()) {
            let known = kinds.entry(point.gvk()).or_default();
            known.insert((name.clone(), content.clone()));
        }
    }
    let one = |(gvk, mut objects): (String, BTreeSet<(String, String)>)| {
        let (name, content) = objects.pop_first().filter(|_| objects.is_empty())?;
        let found = InjectionOutcome::Content(content.as_str().into());
        Some(Injection {
            group: None,
            version: None,
            kind: None,
            name,
            found: BTreeMap::from([(gvk, found)]),
        })
    };
    kinds.into_iter().filter_map(one).collect()
}
