//! What of a set waits for a person, as text: by what it waits for, each variant named (F6).

use std::fmt::Write as _;
use std::sync::Arc;

use model::{ObjectName, Standing};

use super::observed::{Existing, Observed};
use crate::variant::origin;

/// How many variants a line names.
const NAMED: usize = 20;

/// What waits for a person, one kind of it a line, with the way out; nothing where nothing waits.
pub fn waits(o: &Observed) -> String {
    let set = &o.set.key().name;
    let uid = o.set.meta().uid.as_ref();
    let owned = |v: &&Arc<Existing>| uid.is_some_and(|uid| v.meta.is_owned_by(uid));
    let ours: Vec<&Arc<Existing>> = o.variants.iter().filter(owned).collect();
    let mut text = String::new();
    for (standing, what) in ASKED {
        let mut here: Vec<&Existing> = ours
            .iter()
            .filter(|v| v.standing == standing)
            .map(|v| &***v)
            .collect();
        here.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        let Some(first) = here.first() else {
            continue;
        };
        if text.is_empty() {
            text.push_str("waits for a person:\n");
        }
        // Writing to a String cannot fail.
        _ = writeln!(text, "- {} {what}: {}", here.len(), named(standing, &here));
        _ = writeln!(text, "  hint: {}", way_out(standing, set, &first.key.name));
    }
    text
}

/// What a person is asked for, and how that is said of many.
const ASKED: [(Standing, &str); 6] = [
    (Standing::Failed, "failed"),
    (Standing::Conflicts, "with conflicts to decide"),
    (Standing::Gates, "with gates that are not true"),
    (Standing::Draft, "with a draft to propose"),
    (Standing::Proposed, "with a proposal to approve"),
    (Standing::DeletionProposed, "with a deletion to approve"),
];

fn named(standing: Standing, all: &[&Existing]) -> String {
    let one = |v: &&Existing| match standing {
        Standing::Failed => format!("{} ({})", v.key.name, v.ready.1),
        _ => v.key.name.to_string(),
    };
    let mut names: Vec<String> = all.iter().take(NAMED).map(one).collect();
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

fn way_out(standing: Standing, set: &ObjectName, first: &ObjectName) -> String {
    let all = format!("-l {}={}", origin::SET, origin::value(set.as_str()));
    match standing {
        Standing::Draft => format!("offshoot rpkg propose {all}"),
        Standing::Proposed => format!("offshoot rpkg approve {all}"),
        Standing::DeletionProposed => {
            // Without the lifecycle, drafts would be deleted as well.
            let all = format!("{all} --field-selector spec.lifecycle=DeletionProposed");
            format!(
                "offshoot rpkg del {all} carries them out, with reject instead of del the packages stay"
            )
        }
        Standing::Conflicts => {
            format!(
                "offshoot why pvar/{first} lists them, offshoot rpkg diff {all} shows what would change"
            )
        }
        _ => format!("offshoot why pvar/{first}"),
    }
}
