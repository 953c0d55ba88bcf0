//! Label selectors.

use std::collections::BTreeSet;

use model::{LabelSelector, Problem, Requirement, SelectorOperator};

use crate::fields::FieldReader;

/// Reads a label selector; what is wrong with it is put to the problems, as kube-apiserver words it.
pub(crate) fn read_selector(
    fields: &FieldReader<'_>,
    problems: &mut Vec<Problem>,
) -> LabelSelector {
    let mut requirements = Vec::new();
    for entry in fields.list("matchExpressions") {
        let operator = match entry.text("operator") {
            Some("In") => Some(SelectorOperator::In),
            Some("NotIn") => Some(SelectorOperator::NotIn),
            Some("Exists") => Some(SelectorOperator::Exists),
            Some("DoesNotExist") => Some(SelectorOperator::DoesNotExist),
            other => {
                let field = entry.field("operator");
                let what = format!(
                    "{field}: {:?} is not a valid label selector operator",
                    other.unwrap_or_default()
                );
                problems.push(Problem::new(&field, what));
                None
            }
        };
        let values: BTreeSet<String> = entry.texts("values").into_iter().collect();
        let key = entry.owned("key").unwrap_or_default();
        let listed = matches!(
            operator,
            Some(SelectorOperator::In | SelectorOperator::NotIn)
        );
        let wrong = match operator {
            _ if key.is_empty() => Some(("key", "must not be empty")),
            Some(_) if listed && values.is_empty() => Some((
                "values",
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            Some(_) if !listed && !values.is_empty() => Some((
                "values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            _ => None,
        };
        if let Some((part, what)) = wrong {
            let field = entry.field(part);
            problems.push(Problem::new(&field, format!("{field}: {what}")));
        }
        requirements.extend(operator.map(|operator| Requirement {
            key,
            operator,
            values,
        }));
    }
    LabelSelector {
        match_labels: fields.strings("matchLabels"),
        requirements,
    }
}
