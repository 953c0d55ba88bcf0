//! Create, update, patch and delete: bodies and options in, objects and statuses out.

use axum::response::Response;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::negotiate::{Form, Shape};
use super::query::Query;
use super::{Asked, Door, body, lists, respond};
use crate::gateway::Verb;
use crate::logic::delete::DeleteOptions;
use crate::logic::patching::{self, PatchKind};
use crate::logic::{FieldValidation, WriteOptions, meta};
use crate::registry::Backing;
use crate::schema::FieldError;
use crate::status::Failure;
use crate::verbs::read::Selection;
use crate::verbs::{Target, Written};

/// The shapes that a written object can be answered in.
fn shapes(shape: Shape) -> bool {
    matches!(shape, Shape::Object | Shape::Table(_) | Shape::Partial(_))
}

/// Reads the options of a write; `kind` is what refusals call them.
fn options(asked: &Asked, kind: &str) -> Result<WriteOptions, Failure> {
    let query = &asked.query;
    let refuse = |error| Err(Failure::invalid("meta.k8s.io", kind, "", &[error]));
    let field_validation = match query.get("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            return refuse(FieldError::not_supported(
                "fieldValidation",
                other,
                &["", "Ignore", "Strict", "Warn"],
            ));
        }
    };
    let given = query.get("fieldManager");
    let manager = if given.is_empty() {
        asked.whose.agent.as_str()
    } else {
        given
    };
    if given.len() > 128 {
        return refuse(FieldError::too_long("fieldManager", 128));
    }
    if let Some((at, c)) = given.char_indices().find(|(_, c)| c.is_control()) {
        let detail = format!(
            "invalid character U+{:04X} (at position {at})",
            u32::from(c)
        );
        return refuse(FieldError::invalid("fieldManager", given, detail));
    }
    Ok(WriteOptions {
        dry_run: dry_run(query, kind)?,
        field_manager: manager.to_owned(),
        field_validation,
        force: query.flag("force"),
        duplicates: Vec::new(),
    })
}

fn dry_run(query: &Query, kind: &str) -> Result<bool, Failure> {
    let mut dry = false;
    for value in query.all("dryRun") {
        if value != "All" {
            let error = FieldError::not_supported("dryRun", json!([value]), &["All"]);
            return Err(Failure::invalid("meta.k8s.io", kind, "", &[error]));
        }
        dry = true;
    }
    Ok(dry)
}

impl Door {
    pub(super) async fn create(&self, asked: Asked) -> Result<Response, Failure> {
        if asked.target.resource.backing == Backing::Answered {
            return self.review(asked).await;
        }
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let mut options = options(&asked, "CreateOptions")?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let kind = &asked.target.resource.kind;
        let decoded = body::object(
            &bytes,
            &asked.content_type,
            kind,
            asked.target.resource.custom(),
        )?;
        options.duplicates = decoded.duplicates;
        let object = decoded.object;
        let written = self
            .core
            .create(&asked.target, &asked.whose, object, &options)
            .await?;
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
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let mut options = options(&asked, "UpdateOptions")?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let kind = &asked.target.resource.kind;
        let decoded = body::object(
            &bytes,
            &asked.content_type,
            kind,
            asked.target.resource.custom(),
        )?;
        options.duplicates = decoded.duplicates;
        let object = decoded.object;
        if asked.target.subresource == "scale" {
            let written = self
                .put_scale(
                    &asked.target,
                    &asked.whose,
                    &options,
                    |_| Ok(object.clone()),
                )
                .await?;
            return scale_answer(form, &asked.target, &written, asked.warnings);
        }
        if asked.target.subresource == "finalize" {
            let finalizers = object
                .pointer("/spec/finalizers")
                .cloned()
                .unwrap_or_else(|| json!([]));
            let compute = |old: &Value| {
                let mut new = old.clone();
                put_at(&mut new, "spec.finalizers", finalizers.clone());
                Ok((new, crate::logic::update::Means::Patch))
            };
            let whole = asked.target.clone().with_subresource("");
            let written = self
                .core
                .modify(&whole, &asked.whose, Verb::Update, &compute, &options)
                .await?;
            return answer(
                form,
                &asked.target,
                &written,
                &asked.query,
                self.core.now(),
                asked.warnings,
            );
        }
        let written = self
            .core
            .update(&asked.target, &asked.whose, object, &options)
            .await?;
        answer(
            form,
            &asked.target,
            &written,
            &asked.query,
            self.core.now(),
            asked.warnings,
        )
    }

    pub(super) async fn patch(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), shapes)?;
        let custom = asked.target.resource.custom();
        let kind = PatchKind::of(&body::media_type(&asked.content_type), custom)?;
        let options = options(&asked, "PatchOptions")?;
        let bytes = body::read(asked.body, asked.target.resource.body_limit).await?;
        let patch = parse_patch(
            kind,
            &bytes,
            options.field_validation == FieldValidation::Strict,
        )?;
        if asked.target.subresource == "scale" {
            let rules = asked.target.rules()?;
            let compute = |scale: &Value| patching::apply(rules, kind, scale, &patch);
            let written = self
                .put_scale(&asked.target, &asked.whose, &options, compute)
                .await?;
            return scale_answer(form, &asked.target, &written, asked.warnings);
        }
        let written = if kind == PatchKind::Apply {
            if asked.query.get("fieldManager").is_empty() {
                let error = FieldError::required("fieldManager", "is required for apply patch");
                return Err(Failure::invalid(
                    "meta.k8s.io",
                    "PatchOptions",
                    "",
                    &[error],
                ));
            }
            self.core
                .apply(&asked.target, &asked.whose, &patch, &options)
                .await?
        } else {
            if asked.query.has("force") {
                let error =
                    FieldError::forbidden("force", "may not be specified for non-apply patch");
                return Err(Failure::invalid(
                    "meta.k8s.io",
                    "PatchOptions",
                    "",
                    &[error],
                ));
            }
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
        // A Status is a Status in every shape.
        let form = Form {
            shape: Shape::Object,
            ..form
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
        let form = asked
            .accept
            .choose_of(asked.typed(), |s| s == Shape::Object)?;
        let query = &asked.query;
        let selection = Selection::parse(
            target,
            query.get("labelSelector"),
            query.get("fieldSelector"),
        )?;
        let options = delete_options(query, asked.body, &asked.content_type, target).await?;
        let items = self
            .core
            .delete_collection(target, &asked.whose, &selection, &options)
            .await?;
        let rules = target.rules()?;
        let strip = |mut value: Value| {
            if let Some(root) = value.as_object_mut().filter(|_| lists::typed(target)) {
                root.shift_remove("kind");
                root.shift_remove("apiVersion");
            }
            value
        };
        let items: Vec<Value> = items.iter().map(|i| strip(i.value())).collect();
        let mut metadata = Map::new();
        if rules.resource.custom() {
            metadata.insert("continue".to_owned(), "".into());
        }
        metadata.insert(
            "resourceVersion".to_owned(),
            self.core.store.rv().to_string().into(),
        );
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
    target: &Target,
) -> Result<DeleteOptions, Failure> {
    query.number("gracePeriodSeconds")?;
    let bytes = body::read(content, target.resource.body_limit).await?;
    if bytes.is_empty() {
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
        dry_run(query, "DeleteOptions")?;
        return DeleteOptions::parse(&options);
    }
    let parsed = match body::media_type(content_type).as_str() {
        "application/yaml" => body::yaml(&bytes),
        body::PROTOBUF => body::protobuf(&bytes),
        _ => body::json(&bytes),
    };
    let parsed = parsed.map_err(|why| Failure::new(500, "", why))?.object;
    let (kind, version) = (
        parsed.get("kind").and_then(Value::as_str),
        parsed.get("apiVersion").and_then(Value::as_str),
    );
    if let (Some(kind), Some(version)) = (kind, version)
        && kind != "DeleteOptions"
    {
        let message = format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:110\""
        );
        return Err(Failure::new(500, "", message));
    }
    let mut options = DeleteOptions::parse(&parsed)?;
    options.dry_run |= dry_run(query, "DeleteOptions")?;
    Ok(options)
}

fn parse_patch(kind: PatchKind, bytes: &Bytes, strict: bool) -> Result<Value, Failure> {
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
        return Ok(decoded.object);
    }
    let parsed: Result<Value, _> = serde_json::from_slice(bytes);
    parsed.map_err(|e| Failure::bad_request(format!("error decoding patch: {e}")))
}

fn answer(
    form: Form,
    target: &Target,
    written: &Written,
    query: &Query,
    now: jiff::Timestamp,
    mut warnings: Vec<String>,
) -> Result<Response, Failure> {
    warnings.extend(written.warnings.iter().cloned());
    lists::one(
        written.code,
        form,
        target,
        &written.object,
        query,
        now,
        &warnings,
    )
}

/// The Scale of an object.
pub(super) fn scale_of(target: &Target, object: &Value) -> Result<Value, Failure> {
    let rules = target.rules()?;
    let paths = rules
        .version
        .scale
        .as_ref()
        .ok_or_else(|| target.not_found())?;
    let at = |path: &str| {
        path.trim_start_matches('.')
            .split('.')
            .try_fold(object, |v, k| v.get(k))
            .cloned()
    };
    let mut metadata = Map::new();
    for field in [
        "creationTimestamp",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ] {
        if let Some(value) = object.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = Map::new();
    if let Some(replicas) = at(&paths.spec_replicas).filter(|v| v.as_i64() != Some(0)) {
        spec.insert("replicas".to_owned(), replicas);
    }
    let mut status = Map::new();
    status.insert(
        "replicas".to_owned(),
        at(&paths.status_replicas).unwrap_or_else(|| 0.into()),
    );
    if let Some(selector) = paths.selector.as_deref().and_then(at) {
        status.insert("selector".to_owned(), selector);
    }
    Ok(
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}),
    )
}

fn scale_answer(
    form: Form,
    target: &Target,
    written: &Written,
    mut warnings: Vec<String>,
) -> Result<Response, Failure> {
    warnings.extend(written.warnings.iter().cloned());
    let scale = scale_of(target, &written.object.value())?;
    Ok(respond::value(written.code, form.format, &scale, &warnings))
}

impl Door {
    /// Writes the wanted count of an object through its Scale.
    async fn put_scale(
        &self,
        target: &Target,
        whose: &crate::verbs::Whose,
        options: &WriteOptions,
        wanted: impl Fn(&Value) -> Result<Value, Failure> + Send + Sync,
    ) -> Result<Written, Failure> {
        let paths = target
            .rules()?
            .version
            .scale
            .clone()
            .ok_or_else(|| target.not_found())?;
        let whole = target.clone().with_subresource("");
        let compute = |old: &Value| {
            let scale = wanted(&scale_of(target, old)?)?;
            let rv = meta(&scale, "resourceVersion");
            if !rv.is_empty() && rv != meta(old, "resourceVersion") {
                let resource = &target.resource;
                return Err(Failure::modified(
                    &resource.group,
                    &resource.plural,
                    &target.name,
                ));
            }
            let replicas = scale
                .pointer("/spec/replicas")
                .cloned()
                .unwrap_or_else(|| 0.into());
            let mut new = old.clone();
            put_at(
                &mut new,
                paths.spec_replicas.trim_start_matches('.'),
                replicas,
            );
            Ok((new, crate::logic::update::Means::Patch))
        };
        self.core
            .modify(&whole, whose, Verb::Update, &compute, options)
            .await
    }
}

fn put_at(object: &mut Value, path: &str, value: Value) {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(f, r)| (f, Some(r)));
    let Some(map) = object.as_object_mut() else {
        return;
    };
    match rest {
        None => drop(map.insert(first.to_owned(), value)),
        Some(rest) => put_at(map.entry(first).or_insert_with(|| json!({})), rest, value),
    }
}
