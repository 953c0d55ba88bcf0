//! Rendering: a package's pipeline as a conversation.
//!
//! [`Render`] knows the order (packages depth first, mutators before validators), what each function sees, and
//! how its output becomes text again. It runs nothing itself: [`Render::next`] says what to run on which parsed
//! documents, [`Render::resume`] takes the answer. So it runs the same under simulation, in a test and against a
//! container. Files arrive and leave as bytes; a file whose documents nobody changed stays as it is.

mod config;
mod entry;
mod failed;
mod plan;
mod resource;
mod resources;
mod seen;
mod select;
mod status;

use std::sync::Arc;

use model::{Files, Function, FunctionResult, FunctionResultItem, RenderStatus, Severity};
use yaml::owned::Value;

use crate::documents::Parsed;
use crate::krm::not_krm;

use failed::{Blocked, wrap};
use plan::{Plan, Task, own_files};
use resources::{Refused, Resources};

use status::RenderOutcome;
pub use status::{GATE, NOT_READ};

/// How to render.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Gate a package that is kept although its render failed (V2); a render that succeeds takes the gate off again.
    pub gate_failure: bool,
    /// Leave the Kptfile's `status` alone.
    pub without_status: bool,
    /// Note which functions change anything, at the cost of comparing.
    pub trace: bool,
    /// Read also the files of packages whose pipelines run nothing, as kpt does: what is no YAML is an error there, too.
    /// Without, such files are carried as they are (M7, A11).
    pub read_all: bool,
    /// Say of such files that they are no YAML, in the condition and as warnings, and carry them all the same.
    pub tell_unread: bool,
    /// Refuse what kpt refuses where we are lenient (M18): fields of a Kptfile that nobody knows, and in packages
    /// without a pipeline what is no resource; and keys that stand twice.
    pub strict: bool,
    /// How many bytes the resources may be after any step; functions may be handed 128 times as many, all steps together. Nothing is
    /// counted without.
    pub package_bytes: Option<u64>,
}

/// One resource on its way to or from a function.
#[derive(Debug, Clone)]
pub struct Item {
    /// What rendering knows it by; a resource that a function made has none.
    pub id: Option<u32>,
    /// The document.
    pub value: Arc<Value>,
    /// Its file, relative to the package that it belongs to (of a new one: whose pipeline runs); none for a new
    /// resource without a wish.
    pub path: Option<String>,
    /// Its position in the file.
    pub index: Option<u32>,
}

/// A function to be run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Which one, as the Kptfile has it.
    pub function: Function,
    /// Its configuration.
    pub config: Option<Arc<Value>>,
    /// What it sees.
    pub items: Vec<Item>,
    /// Whether it only judges: its items are then dropped.
    pub validator: bool,
}

/// What a function that ran answered.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The resources as it left them.
    pub items: Vec<Item>,
    /// What it reported.
    pub results: Vec<FunctionResultItem>,
    /// 0, or how it failed.
    pub exit_code: i32,
    /// What it printed to the error stream.
    pub stderr: String,
}

/// A function that could not be run at all, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFailure(pub String);

/// What to do next.
#[derive(Debug, Clone)]
pub enum RenderStep<End = Rendered> {
    /// Run this, and resume with the answer.
    Run(Box<Run>),
    /// Nothing more.
    Done(Box<End>),
}

/// Something that needs functions run until it ends: a render, or a derivation that renders several times.
pub trait Conversation {
    /// What it ends with.
    type End;

    /// The next function to run, or the end. Asking twice gives the same answer.
    fn next(&mut self) -> RenderStep<Self::End>;

    /// Takes the answer to the last [`RenderStep::Run`].
    fn resume(&mut self, answer: Result<Output, RunFailure>);
}

impl Conversation for Render {
    type End = Rendered;

    fn next(&mut self) -> RenderStep {
        Self::next(self)
    }

    fn resume(&mut self, answer: Result<Output, RunFailure>) {
        Self::resume(self, answer);
    }
}

/// The end of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The package's files: rendered, or (on failure) as they were but for the Kptfile's status. Where the Kptfile asks
    /// for it (`kpt.dev/save-on-render-failure`), what the functions before the failing one made is kept.
    pub files: Files,
    /// What happened.
    pub status: RenderStatus,
    /// Whether nothing ran since a file cannot be read.
    pub unreadable: bool,
    /// With [`Options::trace`]: the functions that changed anything, by name or image, in order.
    pub changed_by: Vec<String>,
    /// What did not stop it, but was hardly meant: fields of a Kptfile that nobody knows, files that are no YAML and that
    /// no function sees (M7, M18).
    pub warnings: Vec<String>,
}

/// A render under way.
#[derive(Debug, Clone)]
pub struct Render {
    files: Files,
    options: Options,
    plan: Plan,
    resources: Resources,
    /// What the one function is given instead of what it names.
    config: Option<Arc<Value>>,
    cursor: usize,
    steps: Vec<FunctionResult>,
    execution_error: Option<String>,
    error: Option<String>,
    unreadable: bool,
    mirrored: bool,
    changed_by: Vec<String>,
    /// The bytes of what functions reported.
    told: usize,
    /// What was written at the end, as it was parsed.
    written: Parsed,
}

/// The longest message of a function that is kept, in bytes.
const MESSAGE: usize = 64 << 10;
/// What a result counts beside its message.
const RESULT: usize = 128;
/// What all results of a render may be; errors are told all the same.
const REPORTS: usize = 4 << 20;

impl Render {
    /// Looks at a package; whatever is wrong with it becomes the status of the render.
    pub fn new(files: Files, options: Options) -> Self {
        Self::known(files, options, &Parsed::default())
    }

    /// The same of a package of which something was parsed already.
    pub(crate) fn known(files: Files, options: Options, parsed: &Parsed) -> Self {
        match Plan::read(&files, options.strict, parsed) {
            Ok(plan) => {
                let mut render = Self::with(files, options, plan, parsed);
                if render.error.is_none() {
                    let problem = config::problem(&render.files, &render.plan);
                    render.error = problem.map(|(package, why)| wrap(&package, &why, false));
                }
                render
            }
            Err(error) => {
                // The root tells what is wrong with a subpackage, if it can itself be read.
                let mirrored = Plan::read(&own_files(&files), options.strict, parsed).is_ok();
                let mut render = Self::with(files, options, Plan::default(), parsed);
                render.mirrored = mirrored;
                render.error = Some(format!("pkg.read: {error}"));
                render.unreadable = true;
                render
            }
        }
    }

    fn with(files: Files, options: Options, plan: Plan, parsed: &Parsed) -> Self {
        let (resources, error) = match Resources::read(&files, &plan, options, parsed) {
            Ok(mut resources) => {
                resources.bound(options.package_bytes);
                let mut idle = plan.idle().filter(|_| options.strict);
                let error =
                    idle.find_map(|dir| Some(wrap(dir, &resources.check_krm(dir).err()?, false)));
                (resources, error)
            }
            Err(error) => (
                Resources::default(),
                Some(format!("pkg.render: pkg .: {error}")),
            ),
        };
        Self {
            files,
            options,
            plan,
            resources,
            config: None,
            cursor: 0,
            steps: Vec::new(),
            execution_error: None,
            unreadable: error.is_some(),
            error,
            mirrored: true,
            changed_by: Vec::new(),
            told: 0,
            written: Parsed::default(),
        }
    }

    /// The files that the end wrote, as they were parsed to be checked: whoever reads them next need not parse them.
    pub(crate) fn into_written(self) -> Parsed {
        self.written
    }

    /// One function over a whole package, whatever its pipelines say; `config` instead of what the function names.
    pub fn one(
        files: Files,
        function: Function,
        config: Option<Arc<Value>>,
        options: Options,
    ) -> Self {
        let plan = Plan::one(&files, function);
        let mut render = Self::with(files, options, plan, &Parsed::default());
        let invalid = config.as_deref().and_then(|config| not_krm("", config));
        if let Some(why) = invalid {
            render.error = Some(format!("the functionConfig is not valid: {why}"));
        }
        render.config = config;
        render
    }

    /// The next function to run, or the end. Asking twice gives the same answer.
    #[must_use = "nothing runs unless somebody runs it"]
    #[expect(
        clippy::should_implement_trait,
        reason = "no iterator: it waits for an answer before it goes on"
    )]
    pub fn next(&mut self) -> RenderStep {
        while self.error.is_none()
            && let Some(task) = self.plan.tasks.get(self.cursor).cloned()
        {
            match self.prepare(&task) {
                Ok(run) => return RenderStep::Run(Box::new(run)),
                Err(Blocked::Before(why)) => self.error = Some(wrap(&task.package, &why, false)),
                Err(Blocked::Step(why)) => self.record(&task, Output::default(), Some(why)),
            }
        }
        RenderStep::Done(Box::new(self.finish()))
    }

    /// Takes the answer to the last [`RenderStep::Run`].
    pub fn resume(&mut self, answer: Result<Output, RunFailure>) {
        let Some(task) = self.plan.tasks.get(self.cursor).cloned() else {
            return;
        };
        self.cursor += 1;
        let mut output = match answer {
            Ok(output) => output,
            Err(RunFailure(why)) => return self.record(&task, Output::default(), Some(why)),
        };
        let items = std::mem::take(&mut output.items);
        self.shorten(&mut output);
        let failed = output.exit_code != 0
            || output
                .results
                .iter()
                .any(|result| result.severity == Severity::Error);
        if failed {
            output.exit_code = if output.exit_code == 0 {
                1
            } else {
                output.exit_code
            };
            return self.record(&task, output, None);
        }
        if self.options.trace && !task.validator && self.resources.would_change(&task, &items) {
            self.changed_by.push(status::label(&task.function));
        }
        match self.resources.take_back(&task, items) {
            Ok(()) => self.record(&task, output, None),
            Err(Refused::Output(why)) => self.record(&task, output, Some(why)),
            Err(Refused::NoResource(why)) => {
                output.exit_code = 1;
                output.stderr += &why;
                self.record(&task, output, None);
            }
        }
    }

    /// Keeps what functions report within bounds: it stays in memory and stands in the Kptfile.
    fn shorten(&mut self, output: &mut Output) {
        let cut = |text: &mut String| {
            if text.len() > MESSAGE {
                text.truncate(text.floor_char_boundary(MESSAGE));
                text.push('…');
            }
        };
        cut(&mut output.stderr);
        output.results.iter_mut().for_each(|r| cut(&mut r.message));
        let before = output.results.len();
        output.results.retain(|result| {
            self.told += result.message.len() + RESULT;
            self.told <= REPORTS || result.severity == Severity::Error
        });
        let left_out = before - output.results.len();
        if left_out > 0 {
            output.stderr += &format!("{left_out} more results are not told\n");
        }
    }

    fn prepare(&mut self, task: &Task) -> Result<Run, Blocked> {
        if task.first {
            self.resources
                .check_krm(&task.package)
                .map_err(Blocked::Step)?;
        }
        let config = match &task.function.config_path {
            _ if self.config.is_some() => self.config.clone(),
            Some(path) => {
                let now = self.resources.config(&task.package, path);
                let Some(config) =
                    now.or_else(|| self.resources.config_as_read(&task.package, path))
                else {
                    return Err(Blocked::Before(config::missing(task, path, config::UNSEEN)));
                };
                Some(config)
            }
            None => select::config_map(&task.function).map(Arc::new),
        };
        self.resources.look().map_err(Blocked::Step)?;
        if task.validator {
            self.resources.decided(task).map_err(Blocked::Step)?;
        }
        let items = self.resources.seen(task);
        Ok(Run {
            function: task.function.clone(),
            config,
            items,
            validator: task.validator,
        })
    }

    /// Notes how a step went; an error of any kind ends the render (M20).
    fn record(&mut self, task: &Task, output: Output, execution_error: Option<String>) {
        let function = &task.function;
        let failed = output.exit_code != 0 || execution_error.is_some();
        if failed {
            let why = execution_error.clone().unwrap_or_else(|| {
                let first = output
                    .results
                    .iter()
                    .find(|result| result.severity == Severity::Error);
                let first = first
                    .or_else(|| output.results.last())
                    .map(|result| result.message.as_str());
                let why = first.unwrap_or_else(|| output.stderr.trim());
                format!("function {:?} failed: {why}", status::label(function))
            });
            self.error = Some(wrap(&task.package, &why, true));
        }
        self.steps.push(FunctionResult {
            name: function.name.clone(),
            image: status::shown_image(function),
            exec: function.exec.clone(),
            validator: task.validator,
            stderr: execution_error.clone().unwrap_or(output.stderr),
            exit_code: if failed && output.exit_code == 0 {
                1
            } else {
                output.exit_code
            },
            results: output.results,
        });
        self.execution_error = execution_error;
    }

    fn finish(&mut self) -> Rendered {
        self.note_added();
        let changed_by = self.changed_by.clone();
        let mut status = self.status();
        let mut files = None;
        if self.error.is_none() || self.plan.keep_on_failure {
            // Functions see the Kptfile too: then it is written once, with its status.
            let before = self.resources.kptfile().cloned();
            let told = before
                .clone()
                .filter(|_| self.mirrors())
                .map(|mut kptfile| {
                    status::set(Arc::make_mut(&mut kptfile), &self.outcome(&status));
                    kptfile
                });
            let mirrored = told.is_some();
            self.resources.put_kptfile(told);
            let written = self.resources.write(&self.files);
            // Asking for the end again gives the same end.
            self.resources.put_kptfile(before);
            let written = written.map(|(files, parsed)| {
                self.written = parsed;
                files
            });
            match written {
                Ok(written) if mirrored => {
                    return Rendered {
                        files: written,
                        status,
                        unreadable: self.unreadable,
                        changed_by,
                        warnings: self.warnings(),
                    };
                }
                Ok(written) => files = Some(written),
                Err(error) => {
                    self.error
                        .get_or_insert_with(|| format!("pkg.render: pkg .: {error}"));
                    status = self.status();
                }
            }
        }
        let mut files = files.unwrap_or_else(|| self.files.clone());
        if self.mirrors() {
            status::mirror(&mut files, &self.outcome(&status));
        }
        Rendered {
            files,
            status,
            unreadable: self.unreadable,
            changed_by,
            warnings: self.warnings(),
        }
    }

    fn warnings(&self) -> Vec<String> {
        let unread = self.resources.unread.iter().map(|why| status::unread(why));
        let strange = self.plan.strange.iter().cloned();
        status::first_of(strange.chain(unread).collect())
    }

    fn status(&self) -> RenderStatus {
        RenderStatus {
            steps: self.steps.clone(),
            error: self.error.clone(),
        }
    }

    fn outcome<'s>(&'s self, status: &'s RenderStatus) -> RenderOutcome<'s> {
        RenderOutcome {
            status,
            execution_error: self.execution_error.as_deref(),
            gate: self.options.gate_failure && self.error.is_some(),
            strange: &self.plan.strange,
            unread: &self.resources.unread,
        }
    }

    fn mirrors(&self) -> bool {
        self.mirrored && !self.options.without_status
    }
}
