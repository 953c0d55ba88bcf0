//! `packagerevisionresources`: the files of package revisions. No watch (A6).

use std::collections::BTreeMap;

use apiserver::ResourceName;
use apiserver::gateway::{Call, CallAnswer, Refusal, RefusalClass, Verb};
use engine::usecase::{Preconditions, Save, Shown};
use model::{Files, ObjectKey, PackagePath};
use objects::select::FieldTerm;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::refusal::{invalid, refusal};
use super::{PackageGateway, caller, key, unsupported};

pub(super) async fn handle(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    match call.verb {
        Verb::Get => get(gateway, &call).await,
        Verb::List => list(gateway, &call).await,
        Verb::Update | Verb::Patch => save(gateway, &call).await,
        verb => Err(unsupported(verb, &call.resource)),
    }
}

async fn read(gateway: &PackageGateway, call: &Call, key: &ObjectKey) -> Result<Value, Refusal> {
    let found = gateway.engine.resources_within(key).await;
    let shown = found.map_err(|e| refusal(call, &e))?;
    let mut object = api::write_resources(&shown.revision, &shown.files);
    api::write_left_out(&mut object, &shown.left_out);
    api::write_carried(&mut object, &shown.carried);
    if let Some(digest) = unshown(&object, &shown) {
        object["metadata"]["annotations"][api::UNSHOWN_DIGEST] = digest.into();
    }
    Ok(object)
}

/// Stands for all that an object of files does not show; `None` where it shows everything.
fn unshown(object: &Value, shown: &Shown) -> Option<String> {
    let binary = api::str_at(object, &["metadata", "annotations", api::BINARY_FILES]);
    let binary: Vec<String> = serde_json::from_str(binary.unwrap_or("[]")).unwrap_or_default();
    let mut all: BTreeMap<String, String> = shown
        .ids
        .iter()
        .map(|(path, (mode, id))| (path.clone(), format!("{mode:o} {id}")))
        .collect();
    for path in binary {
        let file = PackagePath::parse(&path).ok()?;
        let file = shown.files.get(&file)?;
        let id = file.id()?;
        all.insert(path, format!("{:?} {id}", file.mode()));
    }
    if all.is_empty() {
        return None;
    }
    let hash = Sha256::digest(json!(all).to_string());
    Some(hash.iter().map(|b| format!("{b:02x}")).collect())
}

/// A revision of which no file can be shown, as its package is beyond a limit: it says so, and hides no other one.
async fn beyond(
    gateway: &PackageGateway,
    call: &Call,
    key: &ObjectKey,
    why: String,
) -> Result<Value, Refusal> {
    let revision = gateway.engine.revision(key).await;
    let revision = revision.map_err(|e| refusal(call, &e))?;
    let mut object = api::write_resources(&revision, &Files::new());
    let all = PackagePath::parse("*").map(|all| (all, why));
    api::write_left_out(&mut object, &all.into_iter().collect());
    Ok(object)
}

async fn get(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let object = read(gateway, call, &key(call)?).await?;
    Ok(CallAnswer {
        object,
        ..CallAnswer::default()
    })
}

/// The revisions that a list of revisions would give, each with its files.
async fn list(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let resource = ResourceName::new(api::PACKAGE_GROUP, "v1alpha1", "packagerevisions");
    let list = gateway
        .handle
        .list(&resource, &call.namespace, &call.options.label_selector)
        .await;
    let list = list.map_err(|f| Refusal::new(RefusalClass::BadRequest, f.message))?;
    let mut items = Vec::new();
    for revision in list
        .items
        .iter()
        .filter(|r| wanted(r, &call.options.field_selector))
    {
        if let Some(key) = api::read_key(revision) {
            match read(gateway, call, &key).await {
                Ok(item) => items.push(item),
                // It went meanwhile.
                Err(gone) if gone.class == RefusalClass::NotFound && went(gateway, &key).await => {}
                Err(over) if over.class == RefusalClass::Limit => {
                    items.push(beyond(gateway, call, &key, over.message).await?);
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }
    let object = api::object_of([
        ("apiVersion", "porch.kpt.dev/v1alpha1".into()),
        ("kind", "PackageRevisionResourcesList".into()),
        (
            "metadata",
            json!({ "resourceVersion": list.rv.to_string() }),
        ),
        ("items", Value::Array(items)),
    ]);
    Ok(CallAnswer {
        object,
        ..CallAnswer::default()
    })
}

/// Whether the record itself is gone: a repository that cannot be read is another matter (A7).
async fn went(gateway: &PackageGateway, key: &ObjectKey) -> bool {
    let now = gateway.engine.revision(key).await;
    now.is_err_and(|error| error.class() == model::Class::NotFound)
}

/// Whether all terms of a field selector hold; the server has refused selectors of other fields.
pub(super) fn wanted(object: &Value, selector: &str) -> bool {
    let holds = |term: &FieldTerm| {
        let found = match term.text_in(object) {
            // A number that is left out is none (A4a).
            absent if absent.is_empty() && term.field == "spec.revision" => "0".to_owned(),
            found => found,
        };
        (found == term.value) != term.negated
    };
    FieldTerm::all(selector).is_ok_and(|terms| terms.iter().all(holds))
}

async fn save(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let sent = call.new.as_ref().unwrap_or(&Value::Null);
    let update = api::read_resources(sent).map_err(|problems| invalid(call, &problems))?;
    let preconditions = Preconditions {
        uid: api::read_meta(sent).uid,
        version: Some(update.resource_version).filter(|v| !v.is_empty()),
    };
    let key = key(call)?;
    let save = Save {
        texts: update.files,
        remove: update.remove,
    };
    let saved = gateway
        .engine
        .save(&caller(call), &key, &preconditions, save)
        .await;
    let made = saved.map_err(|e| refusal(call, &e))?;
    let mut object = match &made.files {
        Some(files) => {
            let mut object = api::write_resources(&made.revision, files);
            api::write_left_out(&mut object, &made.left_out);
            object
        }
        None => read(gateway, call, &key).await?,
    };
    if let Some(render) = &made.render {
        object["status"]["renderStatus"] = api::write_render_status(render);
    }
    Ok(CallAnswer {
        object,
        status: None,
        warnings: made.warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_must_hold() {
        let object = json!({ "spec": { "packageName": "a", "revision": 1 } });
        assert!(wanted(&object, ""));
        assert!(wanted(&object, "spec.packageName=a,spec.revision==1"));
        assert!(!wanted(&object, "spec.packageName=a,spec.revision=2"));
        assert!(wanted(&object, "spec.packageName!=b"));
        assert!(!wanted(&object, "spec.revision=0"));
        let draft = json!({ "spec": { "packageName": "a" } });
        assert!(wanted(&draft, "spec.revision=0"));
    }
}
