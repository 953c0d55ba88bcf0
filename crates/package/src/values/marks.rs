//! Who a resource is: the `kpt-merge` comment, else its name.

use yaml::{Node, Value};

use super::compare::{same, value};
use crate::schema::split_api_version;

/// The annotation that clones write beside the comment.
pub(crate) const IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";

/// The word that begins the comment.
pub(crate) const MERGE_COMMENT: &str = "kpt-merge:";

/// A resource's identity in its file: the version does not count, so that a bump pairs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ResourceIdentity {
    /// The API group; empty for core, and for documents that are no resource.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if it has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ResourceIdentity {
    /// Whether this says anything: a values file or a bare list has no identity of its own.
    pub fn is_resource(&self) -> bool {
        !self.kind.is_empty() || !self.name.is_empty()
    }

    /// How records name it: `group/Kind/namespace/name`; empty for what is no resource.
    pub fn record(&self) -> String {
        if !self.is_resource() {
            return String::new();
        }
        format!(
            "{}/{}/{}/{}",
            self.group, self.kind, self.namespace, self.name
        )
    }
}

/// The identity of a document.
pub fn identity(root: Node<'_>) -> ResourceIdentity {
    let text = |node: Option<Node<'_>>| {
        let target = node
            .filter(|node| !node.is_null())
            .and_then(|node| node.target().ok());
        target
            .and_then(|node| node.scalar())
            .unwrap_or_default()
            .to_owned()
    };
    let metadata = root.get("metadata");
    let (namespace, name) = merge_comment(root).unwrap_or_else(|| {
        let field = |key: &str| text(metadata.and_then(|m| m.get(key)));
        (field("namespace"), field("name"))
    });
    let api_version = text(root.get("apiVersion"));
    ResourceIdentity {
        group: split_api_version(&api_version).0.to_owned(),
        kind: text(root.get("kind")),
        namespace,
        name,
    }
}

/// Namespace and name that a `# kpt-merge: ns/name` comment at `metadata:` gives.
pub(crate) fn merge_comment(root: Node<'_>) -> Option<(String, String)> {
    let line = root.get("metadata")?.comments().line?.text;
    let rest = line
        .trim_start_matches('#')
        .trim_start()
        .strip_prefix(MERGE_COMMENT)?;
    let (namespace, name) = rest.trim().split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// A document's text without what a clone writes into it: the comment and the annotation.
///
/// Used to tell whether a person changed anything: identity marks are no local edits (M10).
pub(crate) fn unmarked(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with(IDENTIFIER) {
            // An `annotations:` that held nothing else goes with it.
            continue;
        }
        let bare = match line.find("# kpt-merge:") {
            Some(at) => line.get(..at).unwrap_or(line).trim_end(),
            None => line,
        };
        lines.push(bare);
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut kept = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1);
        let childless =
            next.is_none_or(|next| next.trim().is_empty() || indent(next) <= indent(line));
        if line.trim() == "annotations:" && childless {
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// Whether two resources mean the same but for the annotation that clones write.
pub(crate) fn same_but_marks(a: Node<'_>, b: Node<'_>) -> bool {
    same(a, b)
        || match (value(a), value(b)) {
            (Some(mut a), Some(mut b)) => {
                unmark(&mut a);
                unmark(&mut b);
                a == b
            }
            _ => false,
        }
}

/// Takes the annotation off, and the annotations with it where it was the only one.
fn unmark(resource: &mut Value) {
    let Some(metadata) = field(resource, "metadata") else {
        return;
    };
    if let Some(Value::Map(all)) = field(metadata, "annotations") {
        all.retain(|(name, _)| name != IDENTIFIER);
    }
    if let Value::Map(fields) = metadata {
        let empty = |value: &Value| value.as_map().is_some_and(<[_]>::is_empty);
        fields.retain(|(name, value)| name != "annotations" || !empty(value));
    }
}

fn field<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    let Value::Map(fields) = value else {
        return None;
    };
    let found = fields.iter_mut().find(|(key, _)| key == name);
    found.map(|(_, value)| value)
}

/// Whether a resource's values are never shown: a Secret, or a list that holds one.
pub(crate) fn is_secret(root: Node<'_>) -> bool {
    let id = identity(root);
    let core = id.group.is_empty() && id.kind == "Secret";
    core || (id.kind.ends_with("List") && root.source().contains("Secret"))
}
