//! What a side of a merge holds, as its texts alone say: values, comments and the ways to its nodes.

use std::collections::{BTreeMap, BTreeSet};

use model::Files;

use super::reading::{self, Remark, is_yaml};

/// Something that does not hold: its kind, and what it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Which rule.
    pub rule: &'static str,
    /// Where and what.
    pub what: String,
}

/// The texts of one side.
pub(super) struct Side {
    /// Each value at its place, with how often.
    pub(super) values: Counts,
    /// The same without the names of elements.
    pub(super) loose: Counts,
    /// Where each comment stands.
    pub(super) comments: BTreeMap<String, Vec<Remark>>,
    nodes: BTreeSet<String>,
}

/// How often each value stands at each place.
pub(super) type Counts = BTreeMap<(String, String), usize>;

impl Side {
    /// Whether a node of this way is there.
    pub(super) fn has(&self, node: &str) -> bool {
        self.nodes.contains(node)
    }

    /// Whether a resource is there, as the way to a node names it.
    pub(super) fn has_resource(&self, resource: &str) -> bool {
        self.nodes.iter().any(|node| node.starts_with(resource))
    }

    /// Reads a side; what cannot be read is a fault.
    pub(super) fn of(files: &Files, faults: &mut Vec<Fault>) -> Self {
        let mut side = Self {
            values: Counts::new(),
            loose: Counts::new(),
            comments: BTreeMap::new(),
            nodes: BTreeSet::new(),
        };
        for (path, file) in files {
            let text = file.as_text().unwrap_or_default();
            if !is_yaml(path.as_str()) {
                for line in text.lines() {
                    let line = (String::new(), line.to_owned());
                    *side.values.entry(line.clone()).or_default() += 1;
                    *side.loose.entry(line).or_default() += 1;
                }
                continue;
            }
            let Some(values) = reading::values(text) else {
                let what = format!("{path} is refused by the other reader:\n{text}");
                faults.push(Fault {
                    rule: "readable",
                    what,
                });
                continue;
            };
            for (at, value) in values {
                for line in parts(&value) {
                    *side.loose.entry((generic(&at), line.clone())).or_default() += 1;
                    *side.values.entry((at.clone(), line)).or_default() += 1;
                }
            }
            side.nodes.extend(reading::nodes(text));
            for (comment, places) in reading::comments(text) {
                side.comments.entry(comment).or_default().extend(places);
            }
        }
        side
    }
}

/// A text of several lines counts line by line: such texts merge by lines.
fn parts(value: &str) -> Vec<String> {
    if value.contains('\n') {
        value.lines().map(str::to_owned).collect()
    } else {
        vec![value.to_owned()]
    }
}

/// A place without the names of elements.
pub(super) fn generic(at: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in at.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    out
}
