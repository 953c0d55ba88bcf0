//! What a run leaves in a Kptfile, taken off before a merge (V8).

use model::Files;

use crate::kptfile::{Edit, EditError, Kptfile, path};

/// The files without run-time conditions, render status and `offshoot.dev/` gates in their Kptfile:
/// these are no local edits and no upstream changes. What the author wrote stays.
///
/// `kinds` names further condition types that are ours (those of injection points). A package
/// without a readable Kptfile is returned as it is: the merge will say so.
pub fn without_runtime(files: &Files, kinds: &[String]) -> Result<Files, EditError> {
    let Ok(kptfile) = Kptfile::of_files(files) else {
        return Ok(files.clone());
    };
    let fields = kptfile.fields();
    let ours = |kind: &str| kind.starts_with("offshoot.dev/");
    let mut edits = vec![Edit::SetRenderStatus(None)];
    for condition in &fields.conditions {
        let kind = condition.kind.as_str();
        if kind == "Rendered" || ours(kind) || kinds.iter().any(|known| known == kind) {
            edits.push(Edit::RemoveCondition(kind.to_owned()));
        }
    }
    for gate in &fields.info.readiness_gates {
        if ours(&gate.condition_type) {
            edits.push(Edit::RemoveGate(gate.condition_type.clone()));
        }
    }
    let mut stripped = files.clone();
    if files.contains_key(&path()) {
        kptfile.edit(&edits)?.put(&mut stripped);
    }
    Ok(stripped)
}
