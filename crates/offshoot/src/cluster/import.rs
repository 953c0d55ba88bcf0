//! Taking over from Porch (`--import-porch`), at the beginning of a term and before the first decision: what Porch kept beside
//! git, sets in their older version, and who counts as the writer of what nobody wrote since (X6). Porch's own objects stay
//! as they are.

use std::sync::Arc;

use apiserver::ResourceName;
use futures::{StreamExt as _, stream};
use objects::Failure;
use serde_json::{Value, json};

use super::remote::{Remote, is_unserved};
use crate::exit;
use crate::ports::Inherited;

/// How many objects are written at once.
const AT_ONCE: usize = 16;

/// The resource in which sets lie, by its definition.
const SETS: &str = "packagevariantsets.config.porch.kpt.dev";

/// The version in which sets are stored.
const STORED: &str = "v1alpha2";

/// The version in which earlier versions of Porch stored them, and that of variants.
const OLDER: &str = "v1alpha1";

/// How often an object is read anew that somebody wrote meanwhile.
const TRIES: usize = 8;

/// How changes are said: field by field, or merged into what is there.
const STEPS: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    /// The user that variants and sets are of which nobody wrote yet.
    pub(crate) writer: Option<String>,
}

/// Reads what Porch kept, moves sets to the version that is stored, and records the writer.
///
/// # Errors
/// The cluster cannot be asked, it refuses a change, or this account may not act as the writer.
pub(super) async fn run(
    remote: &Remote,
    import: &Import,
) -> Result<Arc<Inherited>, exit::ExitFailure> {
    if let Some(user) = &import.writer {
        may_act_as(remote, user).await?;
    }
    let inherited = inherited(remote).await?;
    tracing::info!(
        revisions = inherited.len(),
        "read what Porch kept of package revisions"
    );
    move_sets(remote).await?;
    if let Some(user) = &import.writer {
        record_writer(remote, user).await?;
    }
    Ok(Arc::new(inherited))
}

async fn inherited(remote: &Remote) -> Result<Inherited, exit::ExitFailure> {
    let resource = ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "packagerevs");
    match remote.list(&resource, "").await {
        Ok(listed) => Ok(Inherited::of(&listed.items)),
        Err(failure) if is_unserved(&failure) => {
            tracing::warn!(
                "there are no packagerevs.config.porch.kpt.dev: Porch kept nothing here (its database cache keeps metadata \
                 elsewhere); package revisions come from git alone, and variants adopt theirs by spec.adoptionPolicy"
            );
            Ok(Inherited::default())
        }
        Err(failure) => Err(exit::ExitFailure::of("read what Porch kept", &failure)),
    }
}

/// Rewrites sets that were stored in the older version, once.
async fn move_sets(remote: &Remote) -> Result<(), exit::ExitFailure> {
    let failed = |attempt: &str, failure: &Failure| exit::ExitFailure::of(attempt, failure);
    let definitions = ResourceName::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let definition = remote.get(&definitions, "", SETS).await;
    let definition = definition.map_err(|e| failed("read the definition of sets", &e))?;
    let stored = definition.as_ref().map(|d| &d["status"]["storedVersions"]);
    let stored = stored.and_then(Value::as_array).cloned();
    if !stored
        .unwrap_or_default()
        .iter()
        .any(|version| version == OLDER)
    {
        return Ok(());
    }
    let (sets, older) = (of_version(STORED), of_version(OLDER));
    let written = match remote.list(&older, "").await {
        Ok(listed) => listed.items,
        Err(failure) if is_unserved(&failure) => Vec::new(),
        Err(failure) => return Err(failed("list the sets of the older version", &failure)),
    };
    for set in &written {
        if let Some(patch) = converted(set)? {
            write(remote, &sets, set, (STEPS, &patch)).await?;
        }
    }
    let listed = remote.list(&sets, "").await;
    let listed = listed.map_err(|e| failed("list the sets", &e))?;
    for set in &listed.items {
        // Whatever is written is stored in the version of today, also where nothing changes.
        write(remote, &sets, set, (MERGE, &json!({}))).await?;
    }
    let place = ("", SETS, "status");
    let trimmed = json!({"status": {"storedVersions": [STORED]}});
    let done = remote.patch(&definitions, place, MERGE, &trimmed).await;
    done.map_err(|e| failed("say that no set is stored in the older version", &e))?;
    tracing::info!(
        sets = listed.items.len(),
        "sets are stored in {STORED} alone"
    );
    Ok(())
}

/// What a set of the older shape is in the version of today; nothing, if it has that shape already (A3).
fn converted(set: &Value) -> Result<Option<Value>, exit::ExitFailure> {
    let version = format!("{}/{STORED}", api::CONFIG_GROUP);
    let now = api::convert_set(set.clone(), &version).map_err(|error| {
        let (namespace, name) = place(set);
        exit::ExitFailure::of(
            &format!("move packagevariantset {namespace}/{name} to {STORED}"),
            &error,
        )
        .hint("mend the field, or remove the set, and start again")
    })?;
    // Whole fields, and not merged ones: nothing of the older shape may stay between those of the newer.
    let patch = json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": set["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/spec", "value": now["spec"]},
        {"op": "add", "path": "/metadata/annotations", "value": now["metadata"]["annotations"]},
    ]);
    Ok((now["spec"] != set["spec"]).then_some(patch))
}

/// Says of each variant and set that nobody wrote since who did (X6).
async fn record_writer(remote: &Remote, user: &str) -> Result<(), exit::ExitFailure> {
    let record = json!({"username": user, "groups": []}).to_string();
    for resource in [
        of_version(STORED),
        ResourceName::new(api::CONFIG_GROUP, OLDER, "packagevariants"),
    ] {
        let listed = remote.list(&resource, "").await;
        let attempt = format!("list the {}", resource.plural);
        let listed = listed.map_err(|e| exit::ExitFailure::of(&attempt, &e))?;
        let writes = listed.items.into_iter();
        let writes = writes.map(|object| sign(remote, &resource, object, &record));
        let mut writes = stream::iter(writes).buffer_unordered(AT_ONCE);
        while let Some(done) = writes.next().await {
            done?;
        }
    }
    Ok(())
}

/// Puts the record onto an object that has none. Whoever writes it meanwhile is its writer.
async fn sign(
    remote: &Remote,
    resource: &ResourceName,
    mut object: Value,
    record: &str,
) -> Result<(), exit::ExitFailure> {
    for _ in 0..TRIES {
        let annotations = object.pointer("/metadata/annotations");
        if annotations.is_some_and(|all| all.get(plan::set::WRITTEN_BY).is_some()) {
            return Ok(());
        }
        let patch = json!({"metadata": {
            "resourceVersion": object["metadata"]["resourceVersion"],
            "annotations": {plan::set::WRITTEN_BY: record},
        }});
        let (namespace, name) = place(&object);
        let attempt = || format!("write {} {namespace}/{name}", resource.plural);
        let place = (namespace, name, "");
        match remote.patch(resource, place, MERGE, &patch).await {
            Ok(_) => return Ok(()),
            Err(failure) if failure.code == 409 => {
                let now = remote.get(resource, namespace, name).await;
                match now.map_err(|e| exit::ExitFailure::of(&attempt(), &e))? {
                    Some(now) => object = now,
                    None => return Ok(()),
                }
            }
            Err(failure) if failure.code == 404 => return Ok(()),
            Err(failure) => return Err(exit::ExitFailure::of(&attempt(), &failure)),
        }
    }
    let (namespace, name) = place(&object);
    let what = format!(
        "{} {namespace}/{name} is written again and again",
        resource.plural
    );
    Err(exit::ExitFailure::new(what))
}

/// Whoever may not act as a user may not say that the user wrote something.
async fn may_act_as(remote: &Remote, user: &str) -> Result<(), exit::ExitFailure> {
    let reviews = ResourceName::new("authorization.k8s.io", "v1", "selfsubjectaccessreviews");
    let asked = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "impersonate", "resource": "users", "name": user}},
    });
    let said = remote.create(&reviews, "", &asked).await;
    let said = said.map_err(|e| exit::ExitFailure::of("ask whom this account may act as", &e))?;
    if said["status"]["allowed"] == true {
        return Ok(());
    }
    Err(exit::ExitFailure::new(format!("--writer {user}: this account may not impersonate that user"))
        .hint("grant it the verb impersonate on users with this name (chart: importPorch.writer), or leave --writer out"))
}

/// Writes one object; one that is gone is no failure.
async fn write(
    remote: &Remote,
    resource: &ResourceName,
    object: &Value,
    (media, patch): (&str, &Value),
) -> Result<(), exit::ExitFailure> {
    let (namespace, name) = place(object);
    match remote
        .patch(resource, (namespace, name, ""), media, patch)
        .await
    {
        Ok(_) => Ok(()),
        Err(failure) if failure.code == 404 => Ok(()),
        Err(failure) => {
            let attempt = format!("write {} {namespace}/{name}", resource.plural);
            Err(exit::ExitFailure::of(&attempt, &failure))
        }
    }
}

fn of_version(version: &str) -> ResourceName {
    ResourceName::new(api::CONFIG_GROUP, version, "packagevariantsets")
}

fn place(object: &Value) -> (&str, &str) {
    let text = |field| api::str_at(object, &["metadata", field]).unwrap_or_default();
    (text("namespace"), text("name"))
}
