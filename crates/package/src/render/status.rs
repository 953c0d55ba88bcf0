//! The outcome of a render in the Kptfile's `status`, as kpt and Porch put it (M12).

use model::{
    Condition, Files, Function, FunctionResult, FunctionResultItem, RenderStatus, Severity, Status,
};
use yaml::owned::Value;

use crate::documents::Documents;
use crate::kptfile;
use crate::mutate::{OWN_FUNCTION_PREFIX, kptfile as fields};

/// The gate and condition of a draft that was made although its render failed (V2).
pub const GATE: &str = "offshoot.dev/Rendered";

/// What is to be told.
#[derive(Clone, Copy)]
pub(super) struct RenderOutcome<'s> {
    pub(super) status: &'s RenderStatus,
    /// Why the last step could not even run.
    pub(super) execution_error: Option<&'s str>,
    /// Whether the package is to be gated.
    pub(super) gate: bool,
    /// What the Kptfiles hold that nobody knows.
    pub(super) strange: &'s [String],
    /// What is no YAML, and was seen by no function.
    pub(super) unread: &'s [String],
}

/// How many warnings are told.
const TOLD: usize = 10;

/// What is said of a file that is no YAML, where nothing needs it to be (M7).
pub(super) fn unread(why: &str) -> String {
    format!("{why}; the file is kept as it is, since no function sees it")
}

/// The first of many, and how many more there are.
pub(super) fn first_of(mut warnings: Vec<String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(TOLD);
    warnings.truncate(TOLD);
    if more > 0 {
        warnings.push(format!("and {more} more"));
    }
    warnings
}

/// What an image without a registry stands for.
const DEFAULT_PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// The image as it would be fetched: with the default registry, and a tag.
fn resolved_image(image: &str, tag: Option<&str>) -> String {
    tagged(prefixed(image), tag.or(Some("latest")))
}

/// A function's image as people are shown it: with the default registry, and the tag that it names (A4).
pub(super) fn shown_image(function: &Function) -> Option<String> {
    let image = prefixed(function.image.as_deref()?);
    Some(tagged(image, function.tag.as_deref()))
}

fn prefixed(image: &str) -> String {
    if image.contains('/') {
        image.to_owned()
    } else {
        format!("{DEFAULT_PREFIX}/{image}")
    }
}

/// The image with this tag, unless it has one.
fn tagged(image: String, tag: Option<&str>) -> String {
    let last = image.rsplit('/').next().unwrap_or(&image);
    match tag {
        Some(tag) if !last.contains([':', '@']) => format!("{image}:{tag}"),
        _ => image,
    }
}

/// What a message calls a function: its name, image or command.
pub(super) fn label(function: &Function) -> String {
    if function.name.is_empty() {
        let image = shown_image(function).or_else(|| function.exec.clone());
        image.unwrap_or_default()
    } else if let Some(image) = shown_image(function)
        && function.name.starts_with(OWN_FUNCTION_PREFIX)
    {
        // Nobody chose this name: the image says which function it is.
        format!("{} ({image})", function.name)
    } else {
        function.name.clone()
    }
}

/// Writes the status into the root's Kptfile where its value changes; a Kptfile that cannot be changed is left.
pub(super) fn mirror(files: &mut Files, outcome: &RenderOutcome<'_>) {
    let path = kptfile::path();
    let Some(file) = files.get(&path) else { return };
    let Ok(parsed) = Documents::parse(&path, file) else {
        return;
    };
    let Some(document) = parsed.documents().first() else {
        return;
    };
    let mut value = Value::clone(&document.value);
    set(&mut value, outcome);
    let first = std::sync::Arc::new(value);
    let text = parsed.rewrite(|at| {
        if at == 0 {
            Some(first.clone())
        } else {
            parsed
                .documents()
                .get(at)
                .map(|document| document.value.clone())
        }
    });
    if let Ok(Some(text)) = text {
        let file = file.with_bytes(text.into_bytes());
        files.insert(path, file);
    }
}

/// Sets the status in a Kptfile's value.
pub(super) fn set(kptfile: &mut Value, outcome: &RenderOutcome<'_>) {
    let status = outcome.status;
    let details = details(status, outcome.execution_error);
    gate(kptfile, outcome);
    let Some(map) = kptfile.ensure_map(&["status"]) else {
        return;
    };
    if map.get("conditions").is_none_or(Value::is_null) {
        map.set("conditions", Value::seq([]));
    }
    if let Some(conditions) = map.get_mut("conditions").and_then(Value::as_seq_mut) {
        let new = condition(outcome);
        let is_rendered =
            |value: &Value| value.get("type").and_then(Value::text) == Some("Rendered");
        match conditions
            .items_mut()
            .iter_mut()
            .find(|value| is_rendered(value))
        {
            Some(old) if old.same(&new) => {}
            Some(old) => update(old, new),
            None => conditions.items_mut().push(new),
        }
    }
    match (details, map.get("renderStatus")) {
        (Some(new), Some(old)) if old.same(&new) => {}
        (Some(new), _) => map.set("renderStatus", new),
        (None, _) => {
            map.remove("renderStatus");
        }
    }
}

/// Adds the gate of a kept failure, or takes it off once a render succeeded.
fn gate(kptfile: &mut Value, outcome: &RenderOutcome<'_>) {
    if outcome.gate {
        let why = "the render failed; the draft was kept because it was asked for";
        let condition = Condition::new(GATE, Status::False, "RenderFailed", why);
        fields::add_gate(kptfile, GATE);
        fields::set_condition(kptfile, &condition);
    } else if outcome.status.succeeded() {
        fields::remove_gate(kptfile, GATE);
    }
}

/// Sets the fields of a condition in place, so that a comment at one of them stays.
fn update(old: &mut Value, new: Value) {
    let (Some(fields), Some(new)) = (old.as_map_mut(), new.as_map()) else {
        return;
    };
    fields
        .retain(|key, _| new.get(key).is_some() || !["status", "reason", "message"].contains(&key));
    for (key, value) in new.iter() {
        if !fields.get(key).is_some_and(|old| old.same(value)) {
            fields.set(key, value.clone());
        }
    }
}

/// The reason of a `Rendered` condition where nothing failed, and some files could not be read.
pub const NOT_READ: &str = "FilesNotRead";

fn condition(outcome: &RenderOutcome<'_>) -> Value {
    let status = outcome.status;
    let (state, reason) = match status.succeeded() {
        true if outcome.unread.is_empty() => ("True", "RenderSuccess"),
        // Nothing that was to run failed; a function that is added later will.
        true => ("True", NOT_READ),
        false => ("False", "RenderFailed"),
    };
    let mut fields = vec![
        ("type", Value::string("Rendered")),
        ("status", Value::string(state)),
        ("reason", Value::string(reason)),
    ];
    if let Some(error) = &status.error {
        fields.push(("message", Value::string(error.as_str())));
    } else {
        let strange = outcome.strange.iter().cloned();
        let doubts = strange.chain(outcome.unread.iter().map(|why| unread(why)));
        let doubts = first_of(doubts.collect()).join("; ");
        if !doubts.is_empty() {
            fields.push(("message", Value::string(doubts)));
        }
    }
    Value::map(fields)
}

fn details(status: &RenderStatus, execution_error: Option<&str>) -> Option<Value> {
    let last = status.steps.len().saturating_sub(1);
    let mut fields = Vec::new();
    for (key, validators) in [("mutationSteps", false), ("validationSteps", true)] {
        let steps: Vec<Value> = status
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.validator == validators)
            .map(|(at, result)| step(result, execution_error.filter(|_| at == last)))
            .collect();
        if !steps.is_empty() {
            fields.push((key, Value::seq(steps)));
        }
    }
    let failed = status.steps.last().filter(|step| step.exit_code != 0);
    if let Some(step) = failed {
        let name = if step.name.is_empty() {
            image(step).or_else(|| step.exec.clone())
        } else {
            Some(step.name.clone())
        };
        let why =
            execution_error.map_or_else(|| format!("exit code {}", step.exit_code), str::to_owned);
        let summary = format!("{}: {why}", name.unwrap_or_default());
        fields.push(("errorSummary", Value::string(summary)));
    }
    (!fields.is_empty()).then(|| Value::map(fields))
}

fn image(step: &FunctionResult) -> Option<String> {
    step.image
        .as_deref()
        .map(|image| resolved_image(image, None))
}

fn step(step: &FunctionResult, execution_error: Option<&str>) -> Value {
    let mut fields = Vec::new();
    let mut text = |key: &'static str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            fields.push((key, Value::string(text)));
        }
    };
    text("name", Some(&step.name));
    text("image", image(step).as_deref());
    text("exec", step.exec.as_deref());
    text("executionError", execution_error);
    text(
        "stderr",
        Some(step.stderr.as_str()).filter(|_| execution_error.is_none() && step.exit_code != 0),
    );
    fields.push(("exitCode", Value::plain(step.exit_code.to_string())));
    if !step.results.is_empty() {
        fields.push(("results", Value::seq(step.results.iter().map(result))));
    }
    let errors: Vec<Value> = step
        .results
        .iter()
        .filter(|r| r.severity == Severity::Error)
        .map(result)
        .collect();
    if !errors.is_empty() {
        fields.push(("errorResults", Value::seq(errors)));
    }
    Value::map(fields)
}

fn result(result: &FunctionResultItem) -> Value {
    let mut fields = vec![
        ("message", Value::string(result.message.as_str())),
        ("severity", Value::string(result.severity.as_str())),
    ];
    if let Some(resource) = &result.resource {
        let texts = [
            ("apiVersion", &resource.api_version),
            ("kind", &resource.kind),
            ("name", &resource.name),
            ("namespace", &resource.namespace),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        fields.push((
            "resourceRef",
            Value::map(texts.map(|(key, text)| (key, Value::string(text.as_str())))),
        ));
    }
    if let Some(path) = &result.field {
        let mut field = vec![("path", Value::string(path.as_str()))];
        for (key, json) in [
            ("currentValue", &result.current),
            ("proposedValue", &result.proposed),
        ] {
            if let Some(value) = json
                .as_deref()
                .and_then(|json| serde_json::from_str(json).ok())
            {
                field.push((key, Value::from_json(&value)));
            }
        }
        fields.push(("field", Value::map(field)));
    }
    if let Some((path, index)) = &result.file {
        let mut file = vec![("path", Value::string(path.as_str()))];
        if let Some(index) = index.filter(|index| *index > 0) {
            file.push(("index", Value::plain(index.to_string())));
        }
        fields.push(("file", Value::map(file)));
    }
    if !result.tags.is_empty() {
        let tags = result
            .tags
            .iter()
            .map(|(key, text)| (key.as_str(), Value::string(text.as_str())));
        fields.push(("tags", Value::map(tags)));
    }
    Value::map(fields)
}
