//! What a Kptfile mirrors, as edits of its text.

use model::{Files, Revision};
use package::kptfile::{Edit, Kptfile};

use super::Input;
use crate::discover::chain;
use crate::{Error, Result};

/// The edits that bring a Kptfile in line with what a person says; those of fields that the person
/// left out, or that are as wanted, are none.
pub(super) fn edits(input: &Input, old: Option<&Revision>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some((labels, annotations)) = &input.package_metadata {
        if old.is_none_or(|o| o.package_labels != *labels) {
            match old {
                // On creation they are added to what the package brings along.
                None => edits.extend(
                    labels
                        .iter()
                        .map(|(k, v)| Edit::SetLabel(k.clone(), v.clone())),
                ),
                Some(_) => edits.push(Edit::SetLabels(labels.clone())),
            }
        }
        if old.is_none_or(|o| o.package_annotations != *annotations) {
            match old {
                None => edits.extend(
                    annotations
                        .iter()
                        .map(|(k, v)| Edit::SetAnnotation(k.clone(), v.clone())),
                ),
                Some(_) => edits.push(Edit::SetAnnotations(annotations.clone())),
            }
        }
    }
    let gates = &input.readiness_gates;
    match old {
        None => edits.extend(
            gates
                .iter()
                .map(|g| Edit::AddGate(g.condition_type.clone())),
        ),
        Some(old) if old.readiness_gates != *gates => edits.push(Edit::SetGates(
            gates.iter().map(|g| g.condition_type.clone()).collect(),
        )),
        Some(_) => {}
    }
    if let (Some(conditions), Some(old)) = (&input.conditions, old)
        && old.conditions != *conditions
    {
        edits.push(Edit::SetConditions(conditions.clone()));
    }
    edits
}

/// Applies edits to the Kptfile of a package.
pub(super) fn apply(files: &mut Files, edits: &[Edit]) -> Result<()> {
    if edits.is_empty() {
        return Ok(());
    }
    let failed = |message: String| Error::Contents {
        attempt: "edit the Kptfile",
        class: model::Class::Invalid,
        message,
    };
    let kptfile = Kptfile::of_files(files).map_err(|e| failed(chain(&e)))?;
    let edited = kptfile.edit(edits).map_err(|e| failed(chain(&e)))?;
    edited.put(files);
    Ok(())
}
