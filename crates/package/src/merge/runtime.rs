//! What a run leaves in a Kptfile: no edit of anybody's, in no merge (V8).

use model::Files;

use crate::kptfile::{Edit, EditError, Kptfile, path};
use crate::mutate::CONDITION_PREFIX;

/// Whether a condition is one that a run leaves: the render's, ours, an injection point's.
fn is_runtime(kind: &str) -> bool {
    kind == "Rendered" || is_ours(kind) || kind.starts_with(CONDITION_PREFIX)
}

fn is_ours(kind: &str) -> bool {
    kind.starts_with("offshoot.dev/")
}

/// The edits that take off what runs left: the render's report, such conditions, and our gates.
fn off(kptfile: &Kptfile, is_left: impl Fn(&str) -> bool) -> Vec<Edit> {
    let fields = kptfile.fields();
    let conditions = fields.conditions.iter().map(|c| &c.kind);
    let gates = fields
        .info
        .readiness_gates
        .iter()
        .map(|g| &g.condition_type);
    let mut edits = vec![Edit::SetRenderStatus(None)];
    edits.extend(
        conditions
            .filter(|kind| is_left(kind))
            .map(|kind| Edit::RemoveCondition(kind.clone())),
    );
    edits.extend(
        gates
            .filter(|kind| is_ours(kind))
            .map(|kind| Edit::RemoveGate(kind.clone())),
    );
    edits
}

/// The Kptfile of another side, with what runs left in the local one in place of what they left in it: so that a
/// merge has nothing to compare there, and the local report stays.
pub(super) fn run_as(side: &Kptfile, local: &Kptfile) -> Result<Kptfile, EditError> {
    // First everything off, then local's on: a report of the side's own run would differ from local's and look like an edit.
    let mut edits = off(side, is_runtime);
    let fields = local.fields();
    edits.extend(
        fields
            .render_status
            .clone()
            .map(|status| Edit::SetRenderStatus(Some(status))),
    );
    let conditions = fields.conditions.iter().filter(|c| is_runtime(&c.kind));
    edits.extend(conditions.cloned().map(Edit::SetCondition));
    let gates = fields
        .info
        .readiness_gates
        .iter()
        .map(|g| &g.condition_type);
    edits.extend(
        gates
            .filter(|kind| is_ours(kind))
            .cloned()
            .map(Edit::AddGate),
    );
    side.edit(&edits)
}

/// The text of a Kptfile without what runs left in it; `None` where it cannot be read.
pub(super) fn without_runs(text: &str) -> Option<String> {
    let kptfile = Kptfile::parse(text).ok()?;
    kptfile.edit_text(&off(&kptfile, is_runtime)).ok()
}

/// The files without run-time conditions, render status and `offshoot.dev/` gates in their Kptfile:
/// these are no local edits and no upstream changes. What the author wrote stays.
///
/// `kinds` names further condition types that are ours (those of injection points). A package
/// without a readable Kptfile is returned as it is: the merge will say so.
pub(crate) fn without_runtime(files: &Files, kinds: &[String]) -> Result<Files, EditError> {
    let Ok(kptfile) = Kptfile::of_files(files) else {
        return Ok(files.clone());
    };
    let named = |kind: &str| kinds.iter().any(|known| known == kind);
    let edits = off(&kptfile, |kind| {
        kind == "Rendered" || is_ours(kind) || named(kind)
    });
    let mut stripped = files.clone();
    if files.contains_key(&path()) {
        kptfile.edit_into(&edits, &mut stripped)?;
    }
    Ok(stripped)
}
