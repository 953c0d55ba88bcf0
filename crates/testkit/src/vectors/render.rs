//! The vectors of `render`: whole packages through their pipelines, with the built-in functions.
//!
//! Trees are compared document by document and by value. In the Kptfile's status, what functions print to their
//! error stream is informational, a result without severity is `info`, and where the recorded condition says only
//! `already handled error`, ours may say more (M20). What a Kptfile says is compared by what kpt reads in it: texts, whatever
//! they are written as. Packages are read strictly, as kpt reads them; that we are more lenient by default is M18's.
//! Recorded runs of single functions over a package (`kpt fn eval`, also in a chain) are cases, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use functions::runtime::Exec;
use functions::{BuiltIns, FunctionCall, FunctionOutcome, Limits, RunError, Runner as _};
use model::{File, Files, PackagePath};
use package::kptfile::{Kptfile, KptfileFields};
use package::render::{
    Conversation, Item, Options, Output, Render, RenderStep, Rendered, RunFailure,
};
use serde_json::Value;

use super::evals::{self, Eval};
use super::known::{Checked, cases, digest};

/// One case, read.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, unique in the set.
    pub name: String,
    /// The package.
    pub input: BTreeMap<String, String>,
    /// What must be available, such as `builtin:set-labels` or `starlark`.
    pub needs: Vec<String>,
    /// 0, or how it failed.
    pub exit_code: i64,
    /// The text of every file that differs from the input.
    pub changed: BTreeMap<String, String>,
    /// Files that must be gone.
    pub deleted: BTreeSet<String>,
    /// Whether the package's pipelines are run and the result is written back into it.
    pub in_place: bool,
    /// Single functions that are run instead.
    pub eval: Option<Eval>,
    /// Whether programs that the package needs are not recorded.
    pub incomplete: bool,
    /// Whether the files' texts are recorded; without, only the exit code is.
    pub recorded: bool,
    /// Whether the recording is from before renders left a status in the Kptfile.
    pub without_status: bool,
}

/// Reads all cases of a folder, or of one file with a case on each line.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn read(place: &Path) -> std::io::Result<Vec<Case>> {
    Ok(cases(place)?.iter().filter_map(case).collect())
}

fn case(json: &Value) -> Option<Case> {
    let texts = |key: &str| -> BTreeMap<String, String> {
        let fields = json
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        fields
            .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())))
            .collect()
    };
    let list = |key: &str| -> Vec<String> {
        let items = json
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    let config = |key: &str| json.get("config").and_then(|config| config.get(key));
    let skipped = config("skip").and_then(Value::as_bool).unwrap_or_default();
    let own_command = json.get("cli").is_some() || text("command").is_some_and(|c| c != "render");
    let tree = text("tree");
    let eval = if skipped { None } else { evals::read(json) };
    Some(Case {
        eval,
        incomplete: json.get("omitted_files").is_some(),
        name: text("name")?.to_owned(),
        input: texts("input"),
        needs: list("needs"),
        exit_code: json
            .get("exit_code")
            .or_else(|| config("exitCode"))
            .and_then(Value::as_i64)
            .unwrap_or_default(),
        changed: texts("expected_changed"),
        deleted: list("expected_deleted").into_iter().collect(),
        in_place: text("output").unwrap_or("in-place") == "in-place" && !own_command && !skipped,
        recorded: tree.is_none_or(|tree| tree == "diff-applied"),
        without_status: text("rerun") == Some("values-equal-but-status"),
    })
}

/// Whether the functions that a case needs are all built in or commands, and its result is a package.
pub fn can_run(case: &Case) -> bool {
    // A tag may be a range of versions, which only a registry can resolve.
    let kptfiles = || {
        let is = |path: &String| path == "Kptfile" || path.ends_with("/Kptfile");
        case.input.iter().filter(move |(path, _)| is(path))
    };
    let ranges = kptfiles().any(|(_, text)| text.contains("\n      tag: "));
    // Without a Kptfile nothing was rendered: what changed the tree is not recorded.
    let rendered = case.in_place && (kptfiles().next().is_some() || case.changed.is_empty());
    (rendered || case.eval.is_some())
        && case.needs.iter().all(|need| {
            let name = need.strip_prefix("builtin:").unwrap_or(need);
            match name {
                "exec" => !case.incomplete,
                // Only images would have been fetched.
                "network" => !ranges,
                // Schemas are this machine's, not the vectors'.
                "kubeconform" => false,
                name => functions::find(name).is_some(),
            }
        })
}

/// A package of texts.
pub fn files(texts: &BTreeMap<String, String>) -> Files {
    let path = |path: &String| PackagePath::parse(path).ok();
    texts
        .iter()
        .filter_map(|(p, text)| Some((path(p)?, File::text(text))))
        .collect()
}

/// Renders a package with the built-in functions.
pub fn render(files: Files, options: Options) -> Rendered {
    drive(Render::new(files, options))
}

/// Holds a conversation with the built-in functions to its end.
pub fn drive<C: Conversation>(mut conversation: C) -> C::End {
    loop {
        match conversation.next() {
            RenderStep::Done(end) => return *end,
            RenderStep::Run(run) => {
                let items = run.items.into_iter().map(to_function).collect();
                let call = FunctionCall {
                    function: run.function,
                    config: run.config,
                    items,
                    tenant: None,
                };
                let answer = answer(call).map_err(|error| RunFailure(error.to_string()));
                conversation.resume(answer.map(|outcome| Output {
                    items: outcome.items.into_iter().map(from_function).collect(),
                    results: outcome.results,
                    exit_code: outcome.exit_code,
                    stderr: outcome.stderr,
                }));
            }
        }
    }
}

/// A built-in function's answer here and now, a command's when it has ended.
fn answer(call: FunctionCall) -> Result<FunctionOutcome, RunError> {
    if call.function.exec.is_none() {
        return BuiltIns.call(call);
    }
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build();
        let runtime = runtime.map_err(|error| RunError::Start {
            function: "a command".to_owned(),
            why: error.to_string(),
        })?;
        runtime.block_on(Exec.run(call, &Limits::default()))
    };
    // On a thread of its own: the caller may be within a runtime.
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| {
        Err(RunError::Start {
            function: "a command".to_owned(),
            why: "its thread ended".to_owned(),
        })
    })
}

fn to_function(item: Item) -> functions::Item {
    let Item {
        id,
        value,
        path,
        index,
    } = item;
    functions::Item {
        id,
        value,
        path,
        index,
    }
}

fn from_function(item: functions::Item) -> Item {
    let functions::Item {
        id,
        value,
        path,
        index,
    } = item;
    Item {
        id,
        value,
        path,
        index,
    }
}

/// Runs a case.
pub fn run(case: &Case) -> Checked {
    let strict = Options {
        strict: true,
        ..Options::default()
    };
    let rendered = match &case.eval {
        Some(eval) => evals::run(eval, files(&case.input), drive),
        None => render(files(&case.input), strict),
    };
    let said = |(path, file): (&PackagePath, &File)| {
        let text = file.as_text().unwrap_or_default();
        let values = documents(text, case.without_status);
        let values = values.map(|values| values.iter().map(sorted).collect::<Vec<_>>().join("\n"));
        format!("{path}\n{}", values.unwrap_or_else(|| text.to_owned()))
    };
    let failed = u8::from(!rendered.status.succeeded()).to_string();
    let said: Vec<String> = [failed]
        .into_iter()
        .chain(rendered.files.iter().map(said))
        .collect();
    Checked {
        more: false,
        name: case.name.clone(),
        difference: differences(case, &rendered),
        result: digest(said.iter().map(String::as_str)),
    }
}

/// A value's text with sorted keys.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, String> = fields
                .iter()
                .map(|(key, value)| (key, self::sorted(value)))
                .collect();
            format!("{sorted:?}")
        }
        Value::Array(items) => format!("{:?}", items.iter().map(sorted).collect::<Vec<_>>()),
        scalar => scalar.to_string(),
    }
}

/// How a result differs from the recorded one.
fn differences(case: &Case, rendered: &Rendered) -> Option<String> {
    let mut out = Vec::new();
    let failed = i64::from(!rendered.status.succeeded());
    if failed != case.exit_code {
        out.push(format!(
            "exit code {failed}, recorded {}: {:?}",
            case.exit_code, rendered.status.error
        ));
    }
    if !case.recorded {
        return (!out.is_empty()).then(|| out.join("\n"));
    }
    let (expected, whole) = expected(case);
    for (path, text) in &expected {
        match rendered.files.get(path.as_str()).and_then(File::as_text) {
            None => out.push(format!("{path} is missing")),
            Some(ours) => out.extend(difference(path, ours, text, case.without_status)),
        }
    }
    for path in rendered
        .files
        .keys()
        .filter(|path| whole && !expected.contains_key(path.as_str()))
    {
        out.push(format!("{path} should not be there"));
    }
    (!out.is_empty()).then(|| out.join("\n"))
}

/// The files that are to be there, and whether they are all of them: what is written elsewhere is only resources.
fn expected(case: &Case) -> (BTreeMap<String, String>, bool) {
    if let Some(out) = case.eval.as_ref().and_then(|eval| eval.out.as_deref()) {
        let written = case.changed.iter().filter_map(|(path, text)| {
            let path = path.strip_prefix(out)?.strip_prefix('/')?;
            Some((path.to_owned(), text.clone()))
        });
        return (written.collect(), false);
    }
    let mut expected = case.input.clone();
    expected.extend(case.changed.clone());
    expected.retain(|path, _| !case.deleted.contains(path));
    (expected, true)
}

fn difference(path: &str, ours: &str, theirs: &str, without_status: bool) -> Option<String> {
    let (a, b) = (
        documents(ours, without_status),
        documents(theirs, without_status),
    );
    let same = match (&a, &b) {
        (Some(a), Some(b)) => a == b,
        _ => ours == theirs,
    };
    (!same).then(|| format!("{path}:\n--- ours\n{ours}\n--- recorded\n{theirs}"))
}

fn documents(text: &str, without_status: bool) -> Option<Vec<Value>> {
    let stream = yaml::Stream::parse(text, &yaml::Limits::default()).ok()?;
    let kptfile = Kptfile::parse(text).ok();
    let documents = stream.documents().filter(|document| !document.is_empty());
    documents
        .map(|document| {
            let mut value = document.to_json(yaml::Reader::V3).ok()?;
            if let Some(kptfile) = &kptfile {
                typed(&mut value, kptfile.fields());
            }
            Some(normal(value, without_status))
        })
        .collect()
}

/// A Kptfile with what its typed fields mean to kpt in place of how they are written.
fn typed(value: &mut Value, fields: &KptfileFields) {
    let mut pipeline = fields.pipeline.clone();
    for function in pipeline.mutators.iter_mut().chain(&mut pipeline.validators) {
        function.config_map.sort();
    }
    let said = [
        ("pipeline", format!("{pipeline:?}")),
        ("upstream", format!("{:?}", fields.upstream)),
        ("upstreamLock", format!("{:?}", fields.upstream_lock)),
    ];
    for (key, said) in said {
        if let Some(field) = value.get_mut(key) {
            *field = said.into();
        }
    }
}

/// The same document without what is informational only.
fn normal(mut document: Value, without_status: bool) -> Value {
    if document.get("kind").and_then(Value::as_str) != Some("Kptfile") {
        return document;
    }
    if let (true, Some(fields)) = (without_status, document.as_object_mut()) {
        fields.remove("status");
    }
    if let Some(conditions) = document
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
    {
        for condition in conditions.iter_mut() {
            let rendered = condition.get("type").and_then(Value::as_str) == Some("Rendered");
            if let (true, Some(fields)) = (rendered, condition.as_object_mut()) {
                fields.remove("message");
            }
        }
        conditions.sort_by_key(Value::to_string);
    }
    for list in ["mutationSteps", "validationSteps"] {
        let steps = document.pointer_mut(&format!("/status/renderStatus/{list}"));
        for step in steps.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(fields) = step.as_object_mut() {
                fields.remove("stderr");
            }
            for results in ["results", "errorResults"] {
                let results = step.get_mut(results).and_then(Value::as_array_mut);
                for result in results
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_object_mut)
                {
                    result.entry("severity").or_insert_with(|| "info".into());
                }
            }
        }
    }
    document
}
