//! Labels and annotations that variants give to their revisions: what no object may carry is said beforehand.

use model::Problem;

use crate::fields::FieldReader;

/// Checks `labels` and `annotations` as they are written.
pub(crate) fn check_labels(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) {
    for (key, value) in fields.strings("labels") {
        if let Err(what) = model::label(&key, &value) {
            problems.push(problem(&fields.field("labels"), &what));
        }
    }
    for key in fields.strings("annotations").keys() {
        if let Err(what) = model::label_key(key) {
            problems.push(problem(&fields.field("annotations"), &what));
        }
    }
}

fn problem(field: &str, what: &str) -> Problem {
    Problem::new(field, format!("{field}: {what}"))
}
