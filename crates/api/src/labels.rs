//! Labels and annotations that variants give to their revisions: what no object may carry is said beforehand.

use model::Problem;

use crate::fields::FieldReader;

/// Checks `labels` and `annotations` as they are written.
pub(crate) fn check_labels(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) {
    for (key, value) in fields.strings("labels") {
        let checked = model::label(&key, &value).and_then(|()| anybodys(&key));
        if let Err(what) = checked {
            problems.push(problem(&fields.field("labels"), &what));
        }
    }
    for key in fields.strings("annotations").keys() {
        let checked = model::label_key(key).and_then(|()| anybodys(key));
        if let Err(what) = checked {
            problems.push(problem(&fields.field("annotations"), &what));
        }
    }
}

/// What revisions carry by the server's own word is given to none by a variant.
fn anybodys(key: &str) -> Result<(), String> {
    match model::marks::is_servers(key) {
        true => Err(format!("{key} is set by the server alone")),
        false => Ok(()),
    }
}

fn problem(field: &str, what: &str) -> Problem {
    Problem::new(field, format!("{field}: {what}"))
}
