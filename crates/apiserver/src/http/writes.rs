//! Create, update, patch and delete: bodies and options in, objects and statuses out.

use axum::response::Response;
use bytes::Bytes;
use objects::schema::{FieldError, Reading};
use objects::write::delete::DeleteOptions;
use objects::write::patching::{self, PatchKind};
use objects::write::{FieldValidation, WriteOptions};
use objects::{Backing, Failure, Misread, Reason};
use serde_json::{Value, json};

use super::negotiate::{Form, SERVED, Shape};
use super::query::Query;
use super::{Asked, Door, body, forms, parameters, respond};
use crate::gateway::Verb;
use crate::verbs::patches::check_config;
use crate::verbs::read::Selection;
use crate::verbs::{RequestTarget, Shown, Whose, Written};

/// The shapes that a written object can be answered in.
pub(super) fn shapes(shape: Shape) -> bool {
    shape != Shape::Discovery
}

/// Reads the options of a write; `kind` is what refusals call them. All that is wrong is told at once.
pub(super) fn options(asked: &Asked, kind: &str) -> Result<WriteOptions, Failure> {
    let query = &asked.query;
    let given = query.get("fieldManager");
    let mut problems = Vec::new();
    if kind == "PatchOptions" {
        let applies = body::media_type(&asked.content_type) == "application/apply-patch+yaml";
        if applies && given.is_empty() {
            let why = "is required for apply patch";
            problems.push(FieldError::required("fieldManager", why));
        }
        if !applies && query.has("force") {
            let why = "may not be specified for non-apply patch";
            problems.push(FieldError::forbidden("force", why));
        }
    }
    if given.len() > 128 {
        problems.push(FieldError::too_long("fieldManager", 128));
    }
    for (at, c) in given.char_indices().filter(|(_, c)| c.is_control()) {
        let code = u32::from(c);
        let detail = format!("invalid character U+{code:04X} (at position {at})");
        problems.push(FieldError::invalid("fieldManager", given, detail));
    }
    let (dry_run, problem) = dry_run(query);
    problems.extend(problem);
    let field_validation = match query.get("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            let known = ["", "Ignore", "Strict", "Warn"];
            problems.push(FieldError::not_supported("fieldValidation", other, &known));
            FieldValidation::Warn
        }
    };
    if !problems.is_empty() {
        return Err(Failure::invalid("meta.k8s.io", kind, "", &problems));
    }
    let manager = if given.is_empty() {
        asked.whose.agent.as_str()
    } else {
        given
    };
    Ok(WriteOptions {
        dry_run,
        field_manager: manager.to_owned(),
        field_validation,
        force: query.flag("force"),
        duplicates: Vec::new(),
        strategic: None,
    })
}

/// Whether nothing is to be written, and what is wrong with how that was asked.
fn dry_run(query: &Query) -> (bool, Option<FieldError>) {
    let values: Vec<&str> = query.all("dryRun").collect();
    let odd = values.iter().any(|value| *value != "All");
    let problem = || FieldError::not_supported("dryRun", json!(values), &["All"]);
    (!values.is_empty(), odd.then(problem))
}

/// As [`dry_run`], of a deletion.
fn dry_deletion(query: &Query) -> Result<bool, Failure> {
    match dry_run(query) {
        (dry, None) => Ok(dry),
        (_, Some(problem)) => Err(Failure::invalid(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            &[problem],
        )),
    }
}

impl Door {
    pub(super) async fn create(&self, asked: Asked) -> Result<Response, Failure> {
        if asked.target.resource.backing == Backing::Answered {
            return self.review(asked).await;
        }
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let mut options = options(&asked, "CreateOptions")?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let wanted = body::Wanted::of(&asked.target, &options)?;
        let decoded = body::object(&bytes, &asked.content_type, wanted)?;
        options.duplicates = decoded.duplicates;
        let strictly = Strictly::new(&asked.target, &decoded.object, &options);
        let object = decoded.object;
        let written = self
            .core
            .create(&asked.target, &asked.whose, object, &options)
            .await
            .map_err(|failure| strictly.told(failure))?;
        answer(
            form,
            &asked.target,
            &written,
            &asked.query,
            self.core.now(),
            asked.warnings,
        )
    }

    pub(super) async fn update(&self, asked: Asked) -> Result<Response, Failure> {
        if asked.target.subresource == "scale" {
            return self.put_scale(asked).await;
        }
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let mut options = options(&asked, "UpdateOptions")?;
        self.may_create(&asked.target, &asked.whose).await?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let wanted = body::Wanted::of(&asked.target, &options)?;
        let decoded = body::object(&bytes, &asked.content_type, wanted)?;
        options.duplicates = decoded.duplicates;
        let strictly = Strictly::new(&asked.target, &decoded.object, &options);
        let object = decoded.object;
        let written = self
            .core
            .update(&asked.target, &asked.whose, object, &options)
            .await
            .map_err(|failure| strictly.told(failure))?;
        answer(
            form,
            &asked.target,
            &written,
            &asked.query,
            self.core.now(),
            asked.warnings,
        )
    }

    pub(super) async fn patch(&self, mut asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let custom = asked.target.resource.custom();
        let kind = PatchKind::of(&body::media_type(&asked.content_type), custom)?;
        let mut options = options(&asked, "PatchOptions")?;
        let bytes = body::read(
            std::mem::take(&mut asked.body),
            asked.target.resource.body_limit,
        )
        .await?;
        let parsed = parse_patch(kind, &bytes, options.field_validation);
        if parsed.is_err() && kind != PatchKind::Apply {
            // What is not there is told before what it should become.
            let whole = asked.target.clone().with_subresource("");
            self.core.current(&whole, &asked.whose).await?;
        }
        let (patch, duplicates) = parsed?;
        options.duplicates = duplicates;
        if asked.target.subresource == "scale" {
            return self.patch_scale(asked, form, kind, &patch, &options).await;
        }
        let written = if kind == PatchKind::Apply {
            self.core
                .apply(&asked.target, &asked.whose, &patch, &options)
                .await
                .map_err(|failure| match check_config(&asked.target, &patch) {
                    Ok(()) => twice(failure, &options),
                    // Nobody reads further what says that it is something else.
                    Err(_) => failure,
                })?
        } else {
            self.core
                .patch(&asked.target, &asked.whose, kind, &patch, &options)
                .await?
        };
        answer(
            form,
            &asked.target,
            &written,
            &asked.query,
            self.core.now(),
            asked.warnings,
        )
    }

    pub(super) async fn delete(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let options =
            delete_options(&asked.query, asked.body, &asked.content_type, &asked.target).await?;
        let written = self
            .core
            .delete(&asked.target, &asked.whose, &options)
            .await?;
        // A Status is a Status in every shape; what is only marked is an object like any other.
        let shape = match &written.object {
            Shown::Value(value) if value["kind"] == "Status" && value["apiVersion"] == "v1" => {
                Shape::Object
            }
            _ => form.shape,
        };
        answer(
            Form { shape, ..form },
            &asked.target,
            &written,
            &asked.query,
            self.core.now(),
            asked.warnings,
        )
    }

    pub(super) async fn delete_collection(&self, asked: Asked) -> Result<Response, Failure> {
        let target = &asked.target;
        if target.resource.namespaced && target.namespace.is_empty() {
            let resource = &target.resource;
            return Err(Failure::method_not_allowed(
                "deletecollection",
                &resource.group,
                &resource.plural,
                resource.custom(),
            ));
        }
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let query = &asked.query;
        let listed = parameters::list_query(query)?;
        // A selector that is not understood is told before the body is looked at.
        Selection::parse(target, &listed.labels, &listed.fields)?;
        let options = delete_options(query, asked.body, &asked.content_type, target).await?;
        let page = self
            .core
            .delete_collection(target, &asked.whose, &listed, &options)
            .await?;
        forms::no_part(target, form.shape)?;
        let shaped = forms::shaped(form.shape, target, &page, query, self.core.now())?;
        if let Some(shaped) = shaped {
            return Ok(respond::value(200, form.format, &shaped, &asked.warnings));
        }
        let rules = target.rules()?;
        let strip = |mut value: Value| {
            if let Some(root) = value.as_object_mut().filter(|_| forms::typed(target)) {
                root.shift_remove("kind");
                root.shift_remove("apiVersion");
            }
            value
        };
        let items: Vec<Value> = page.items.iter().map(|i| strip(i.value())).collect();
        let metadata = forms::list_metadata(&page, rules.resource.custom());
        let list = json!({
            "kind": rules.resource.list_kind, "apiVersion": rules.api_version(), "metadata": metadata, "items": items,
        });
        Ok(respond::value(200, form.format, &list, &asked.warnings))
    }
}

/// Reads the options of a delete from the body, or where there is none from the query.
async fn delete_options(
    query: &Query,
    content: axum::body::Body,
    content_type: &str,
    target: &RequestTarget,
) -> Result<DeleteOptions, Failure> {
    let bytes = body::read(content, target.resource.body_limit).await?;
    if bytes.is_empty() {
        query.number("gracePeriodSeconds")?;
        let mut options = json!({"dryRun": query.all("dryRun").collect::<Vec<_>>()});
        for name in ["propagationPolicy", "orphanDependents"] {
            if query.has(name) {
                options[name] = if name == "orphanDependents" {
                    query.flag(name).into()
                } else {
                    query.get(name).into()
                };
            }
        }
        dry_deletion(query)?;
        return DeleteOptions::parse(&options);
    }
    let parsed = match body::media_type(content_type).as_str() {
        "application/yaml" => body::yaml(&bytes).and_then(body::map),
        body::PROTOBUF => body::protobuf(&bytes),
        "application/json" => body::json(&bytes, Reading::anything()),
        _ => return Err(Failure::unsupported_media_type(&SERVED)),
    };
    // A body that holds nothing asks for nothing.
    let parsed = parsed.or_else(body::nothing);
    let parsed = parsed
        .and_then(|decoded| Misread::interpret(&decoded.object).map(|()| decoded.object))
        .map_err(|why| Failure::new(500, Reason::Unknown, why))?;
    let said = |field: &str| {
        parsed
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = said("kind");
    if !kind.is_empty() && kind != "DeleteOptions" {
        let version = match said("apiVersion") {
            "" => "meta.k8s.io/v1",
            given => given,
        };
        let apart = [
            "Status",
            "APIVersions",
            "APIGroupList",
            "APIGroup",
            "APIResourceList",
        ];
        if version.trim_start_matches('/') == "v1" && apart.contains(&kind) {
            let why = format!("converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion");
            return Err(Failure::new(500, Reason::Unknown, why));
        }
        let message = format!(
            "no kind {kind:?} is registered for version {:?} in scheme \"pkg/runtime/scheme.go:110\"",
            version.trim_start_matches('/')
        );
        return Err(Failure::new(500, Reason::Unknown, message));
    }
    // Whoever sends options says nothing by parameters.
    DeleteOptions::parse(&parsed)
}

impl Door {
    /// A PUT that makes the object, as it does for some kinds, needs the right to create it.
    async fn may_create(&self, target: &RequestTarget, whose: &Whose) -> Result<(), Failure> {
        if self.core.makes_on_update(target) {
            let (rights, verb) = (self.authorizer.as_ref(), Verb::Create);
            target.authorize(rights, whose, verb, "").await?;
        }
        Ok(())
    }
}

/// A refusal of what was applied, with what was read before: keys that stand twice in its text.
fn twice(failure: Failure, options: &WriteOptions) -> Failure {
    // Whose fields they are is decided before that is told.
    let read = matches!(failure.code, 400 | 422) && failure.warnings.is_empty();
    let warns = options.field_validation == FieldValidation::Warn && read;
    match warns {
        true => failure.with_warnings(options.duplicates.clone()),
        false => failure,
    }
}

/// What a strict reader finds in a body, for refusals that come before anybody looked: the real server reads first.
struct Strictly(Result<Vec<String>, Failure>);

impl Strictly {
    fn new(target: &RequestTarget, body: &Value, options: &WriteOptions) -> Self {
        let Ok(rules) = target.rules() else {
            return Self(Ok(Vec::new()));
        };
        Self(rules.read_strictly(body, options))
    }

    /// The refusal with the warnings, or what a strict reader refuses first.
    fn told(self, failure: Failure) -> Failure {
        if failure.misread.is_some() {
            return failure;
        }
        match self.0 {
            Err(refused) => refused,
            Ok(warnings) if failure.warnings.is_empty() => failure.with_warnings(warnings),
            Ok(_) => failure,
        }
    }
}

/// What the real server's library for patches says of those that nobody has read strictly before.
fn read_laxly(kind: PatchKind, patch: &Value) -> Result<(), Failure> {
    let found = |value: &Value| match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
    };
    match (kind, patch) {
        (PatchKind::Json, Value::Array(all)) => match all.iter().find_map(found) {
            None => Ok(()),
            Some(found) => Err(Failure::bad_request(format!(
                "json: cannot unmarshal {found} into Go value of type jsonpatch.Operation"
            ))),
        },
        (PatchKind::Merge, Value::Array(_)) => match Misread::interpret(patch) {
            Err(why) => Err(patching::misfit(patch, patch, &why)),
            Ok(()) => Ok(()),
        },
        (PatchKind::Merge, patch) if found(patch).is_some() => {
            Err(Failure::bad_request("Invalid JSON Patch"))
        }
        _ => Ok(()),
    }
}

fn parse_patch(
    kind: PatchKind,
    bytes: &Bytes,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Failure> {
    let strict = validation == FieldValidation::Strict;
    if kind == PatchKind::Apply {
        let decoded = body::yaml(bytes);
        let decoded = decoded.map_err(|why| {
            Failure::bad_request(format!(
                "error decoding YAML: error converting YAML to JSON: {why}"
            ))
        })?;
        if let Some(twice) = decoded.duplicates.first().filter(|_| strict) {
            return Err(Failure::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {twice}"
            )));
        }
        let found = match &decoded.object {
            Value::Object(_) => return Ok((decoded.object, decoded.duplicates)),
            Value::Null => return Ok((json!({}), Vec::new())),
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
        };
        return Err(Failure::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let (patch, twice) = super::strict::parse(bytes, Reading::anything()).map_err(|e| {
        let why = body::go_words(bytes, &e);
        // Each of the real server's readers says it in its own way.
        Failure::bad_request(match (kind, validation) {
            (PatchKind::Strategic, _) | (PatchKind::Json, FieldValidation::Ignore) => why,
            (PatchKind::Merge, FieldValidation::Ignore) => "Invalid JSON Patch".to_owned(),
            _ => format!("error decoding patch: {why}"),
        })
    })?;
    if kind == PatchKind::Json && validation == FieldValidation::Ignore && patch.is_object() {
        let why = "json: cannot unmarshal object into Go value of type jsonpatch.Patch";
        return Err(Failure::bad_request(why));
    }
    if validation == FieldValidation::Ignore {
        read_laxly(kind, &patch)?;
    }
    let lead = if kind == PatchKind::Json {
        "json patch "
    } else {
        ""
    };
    let told = twice.iter().map(|odd| format!("{lead}{odd}"));
    Ok((patch, told.collect()))
}

fn answer(
    form: Form,
    target: &RequestTarget,
    written: &Written,
    query: &Query,
    now: jiff::Timestamp,
    mut warnings: Vec<String>,
) -> Result<Response, Failure> {
    warnings.extend(written.warnings.iter().cloned());
    let told = forms::one(
        written.code,
        form,
        target,
        &written.object,
        query,
        now,
        &warnings,
    );
    // It is written all the same, and what is to be said of that is said.
    told.map_err(|failure| failure.with_warnings(written.warnings.clone()))
}
