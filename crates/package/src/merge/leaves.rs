//! The fields of a file, and which of them two versions of it differ in: what `blame` asks of each version (F5).
//!
//! Documents pair by kind and name, then by kind and place in the file: a function that moves a resource to another
//! namespace makes no new one of it. Lists pair as in a merge.

use model::{Files, PackagePath};
use yaml::{Limits, Node, NodeKind, Stream};

use super::diff::Comparison;
use super::known::Known;
use super::pairs;
use super::schemas::Schemas;
use super::sides::{Sides, is_documents};
use super::three::{Slot, Three};
use crate::place::{FieldPath, PathStep};
use crate::schema::Schema;
use crate::values::{ResourceIdentity, identity, undecidable};

/// A field that holds a value of its own: a scalar, or a list whose elements nothing names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Which document of the file it is in.
    pub document: usize,
    /// `group/NodeKind/namespace/name`; empty for what is no resource.
    pub resource: String,
    /// Its path, as conflicts name it; empty for a whole file that is not read field by field.
    pub path: String,
}

/// What a file's document was in an earlier version of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Which document it was; `None` if there was none.
    pub document: Option<usize>,
    /// The paths that differ; the empty one if all of it does.
    pub differs: Vec<String>,
}

impl Earlier {
    /// Whether a field differs from what it was.
    pub fn touches(&self, path: &str) -> bool {
        self.document.is_none()
            || self
                .differs
                .iter()
                .any(|other| within(path, other) || within(other, path))
    }
}

/// Whether a path is another one, or lies below it.
pub fn within(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    above.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Two versions of a package, compared file by file: what CRDs say of lists is read once for all files.
#[derive(Debug)]
pub struct Versions<'f> {
    before: &'f Files,
    after: &'f Files,
    schemas: Schemas<'f>,
}

impl<'f> Versions<'f> {
    /// An earlier version and a later one.
    pub fn new(before: &'f Files, after: &'f Files) -> Self {
        let schemas = Schemas::new(Sides {
            base: before,
            local: before,
            upstream: after,
        });
        Self {
            before,
            after,
            schemas,
        }
    }

    /// All fields of a file of the later version, in the order in which they are written; a file that is no YAML has one,
    /// itself.
    pub fn leaves(&self, path: &PackagePath) -> Vec<Leaf> {
        let Some(stream) = stream(self.after, path) else {
            return vec![Leaf {
                document: 0,
                resource: String::new(),
                path: String::new(),
            }];
        };
        let mut out = Vec::new();
        for (document, root) in stream.documents().map(|d| d.root()).enumerate() {
            let collect = Collect {
                document,
                resource: identity(root).record(),
                out: &mut out,
            };
            let known = Known::of(self.schema(path, root));
            collect.node(&FieldPath::default(), root, known);
        }
        out
    }

    /// What each document of a file was in the earlier version, in the order of the later one.
    pub fn earlier(&self, path: &PackagePath) -> Vec<Earlier> {
        let new = stream(self.after, path);
        let count = new.as_ref().map_or(1, |stream| stream.documents().count());
        let all = |document, differs: &[&str]| Earlier {
            document,
            differs: differs.iter().map(|path| (*path).to_owned()).collect(),
        };
        if self.before.get(path) == self.after.get(path) {
            return (0..count).map(|at| all(Some(at), &[])).collect();
        }
        let (Some(new), Some(old)) = (new, stream(self.before, path)) else {
            return vec![all(None, &[""]); count];
        };
        let (olds, news): (Vec<Node<'_>>, Vec<Node<'_>>) = (
            old.documents().map(|d| d.root()).collect(),
            new.documents().map(|d| d.root()).collect(),
        );
        let pairs = matched(&olds, &news);
        let one = |(at, root): (usize, &Node<'_>)| {
            let found = pairs.get(at).copied().flatten();
            let Some((index, was)) = found.and_then(|index| Some((index, *olds.get(index)?)))
            else {
                return all(None, &[""]);
            };
            let mut differences = Vec::new();
            let mut walk = Comparison::new(path, String::new(), &mut differences);
            let known = Known::of(self.schema(path, *root));
            walk.node(&FieldPath::default(), Some(was), Some(*root), known);
            Earlier {
                document: Some(index),
                differs: differences.into_iter().map(|d| d.path).collect(),
            }
        };
        news.iter().enumerate().map(one).collect()
    }

    fn schema(&self, path: &PackagePath, root: Node<'_>) -> Schema<'_> {
        match path.file_name() == crate::kptfile::FILE_NAME {
            true => Schema::kptfile(),
            false => self.schemas.of(root),
        }
    }
}

fn stream(files: &Files, path: &PackagePath) -> Option<Stream> {
    if !is_documents(path) {
        return None;
    }
    let stream = Stream::parse(files.get(path)?.as_text()?, &Limits::default()).ok()?;
    let whole = stream.documents().any(|d| undecidable(d.root()));
    (!whole).then_some(stream)
}

/// Which old document each new one was: of the same kind and name, else the next of its kind that nothing else is.
fn matched(olds: &[Node<'_>], news: &[Node<'_>]) -> Vec<Option<usize>> {
    let of = |nodes: &[Node<'_>]| -> Vec<ResourceIdentity> {
        nodes.iter().map(|n| identity(*n)).collect()
    };
    let (olds, news) = (of(olds), of(news));
    let mut free: Vec<bool> = vec![true; olds.len()];
    let mut take = |alike: &dyn Fn(&ResourceIdentity) -> bool| -> Option<usize> {
        let at = olds
            .iter()
            .zip(&free)
            .position(|(old, free)| *free && alike(old))?;
        if let Some(free) = free.get_mut(at) {
            *free = false;
        }
        Some(at)
    };
    let kind =
        |a: &ResourceIdentity, b: &ResourceIdentity| (&a.group, &a.kind) == (&b.group, &b.kind);
    let mut pairs: Vec<Option<usize>> = Vec::new();
    // All sure pairs are made before any guess: a document that only resembles an old one would take it from its namesake.
    for new in &news {
        pairs.push(take(&|old| old == new));
    }
    for (new, pair) in news.iter().zip(&mut pairs) {
        *pair = pair.or_else(|| take(&|old| kind(old, new) && old.name == new.name));
    }
    for (new, pair) in news.iter().zip(&mut pairs) {
        *pair = pair.or_else(|| take(&|old| kind(old, new)));
    }
    pairs
}

struct Collect<'o> {
    document: usize,
    resource: String,
    out: &'o mut Vec<Leaf>,
}

impl Collect<'_> {
    fn node(mut self, at: &FieldPath, node: Node<'_>, known: Known<'_>) {
        self.walk(at, node, known);
    }

    fn walk(&mut self, at: &FieldPath, node: Node<'_>, known: Known<'_>) {
        match node.kind() {
            NodeKind::Mapping if node.entries().next().is_some() => {
                for entry in node.entries() {
                    if let Some(key) = entry.key.key_text() {
                        self.walk(&at.field(key), entry.value, known.field(key));
                    }
                }
            }
            NodeKind::Sequence if self.elements(at, node, known) => {}
            _ => self.out.push(Leaf {
                document: self.document,
                resource: self.resource.clone(),
                path: at.to_string(),
            }),
        }
    }

    /// Goes into a list whose elements have names; says whether they have.
    fn elements(&mut self, at: &FieldPath, node: Node<'_>, known: Known<'_>) -> bool {
        let three = Three {
            base: Some(node),
            local: Some(node),
            upstream: Some(node),
        };
        // A position is no name: the list is one value then.
        let named = |slots: &Vec<Slot>| {
            !slots.is_empty()
                && slots
                    .iter()
                    .all(|slot| !matches!(slot.step, PathStep::Index(_)))
        };
        let Some(slots) = pairs::slots(three, known.list).filter(named) else {
            return false;
        };
        for slot in slots {
            if let Some(element) = slot.local.and_then(|index| node.at(index)) {
                self.walk(&at.join(slot.step), element, Known::of(known.schema));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use model::File;

    use super::*;

    fn leaves(files: &Files, path: &PackagePath) -> Vec<Leaf> {
        Versions::new(files, files).leaves(path)
    }

    fn earlier(before: &Files, after: &Files, path: &PackagePath) -> Vec<Earlier> {
        Versions::new(before, after).earlier(path)
    }

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: a}\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n      - {name: web, image: web:1, args: [x, y]}\n";

    fn files(text: &str) -> Files {
        [(path(), File::text(text))].into_iter().collect()
    }

    fn path() -> PackagePath {
        PackagePath::parse("deployment.yaml").unwrap()
    }

    #[test]
    fn every_field_has_the_path_that_a_conflict_would_have() {
        let all = leaves(&files(DEPLOYMENT), &path());
        let paths: Vec<&str> = all.iter().map(|leaf| leaf.path.as_str()).collect();
        let container = "spec.template.spec.containers[name=web]";
        assert_eq!(
            paths,
            [
                "apiVersion",
                "kind",
                "metadata.name",
                "metadata.namespace",
                "spec.replicas",
                &format!("{container}.name"),
                &format!("{container}.image"),
                &format!("{container}.args"),
            ]
        );
        assert_eq!(all[0].resource, "apps/Deployment/a/web");
    }

    #[test]
    fn a_resource_that_moves_to_another_namespace_is_the_same_resource() {
        let after = DEPLOYMENT
            .replace("namespace: a", "namespace: b")
            .replace("web:1", "web:2");
        let was = earlier(&files(DEPLOYMENT), &files(&after), &path());
        assert_eq!(was.len(), 1);
        assert_eq!(was[0].document, Some(0));
        for (path, touched) in [
            ("metadata.namespace", true),
            ("metadata.name", false),
            ("spec.template.spec.containers[name=web].image", true),
            ("spec.template.spec.containers[name=web].args", false),
            ("spec.template", true),
            ("spec.replicas", false),
        ] {
            assert_eq!(was[0].touches(path), touched, "{path}: {was:?}");
        }
    }

    #[test]
    fn documents_are_found_again_wherever_they_stand() {
        let cm =
            |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        let before = format!("{}---\n{DEPLOYMENT}", cm("a"));
        let after = format!("{DEPLOYMENT}---\n{}---\n{}", cm("new"), cm("a"));
        let was = earlier(&files(&before), &files(&after), &path());
        let documents: Vec<Option<usize>> = was.iter().map(|w| w.document).collect();
        assert_eq!(documents, [Some(1), None, Some(0)]);
        assert!(
            was[0].differs.is_empty() && was[2].differs.is_empty(),
            "{was:?}"
        );
        assert!(was[1].touches("kind"));
    }

    #[test]
    fn what_is_no_yaml_is_one_field() {
        let one = leaves(&files("a: [\n"), &path());
        assert_eq!((one.len(), one[0].path.as_str()), (1, ""));
        assert!(earlier(&files("a: [\n"), &files("b: [\n"), &path())[0].touches(""));
        assert!(!earlier(&files("a: [\n"), &files("a: [\n"), &path())[0].touches(""));
        assert!(earlier(&Files::new(), &files(DEPLOYMENT), &path())[0].touches("kind"));
    }
}
