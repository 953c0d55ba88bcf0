//! Reading a Kptfile's document into [`KptfileFields`], all problems at once (M18).
//!
//! Lenient where Kubernetes tooling leaves traces: fields that nobody knows are kept in the text and
//! warned about. Strict about types: a map where a text is wanted would be lost in silence.

use std::collections::BTreeSet;

use model::{
    CommitId, Condition, Function, FunctionResult, FunctionResultItem, GitLock, GitUpstream,
    Pipeline, Problem, ReadinessGate, RenderStatus, ResourceRef, Selector, Severity, Status,
};
use yaml::{Node, NodeKind};

use super::fields::{Info, Inventory, KptfileFields, KptfileUpstream, UpstreamLock};
use super::write::TOP;

/// Gathers problems and warnings while a document is read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    /// What Kubernetes tooling leaves in objects: known here, but no field of kpt's.
    pub(super) traces: Vec<Problem>,
    /// Leaves the report of the last render unread.
    pub(super) without_render: bool,
}

/// Fields that Kubernetes tooling leaves behind (M18).
const TRACES: [&str; 2] = ["creationTimestamp", "lastTransitionTime"];

/// One map of the document with the path that leads to it.
struct Map<'a> {
    node: Option<Node<'a>>,
    path: String,
}

impl<'a> Map<'a> {
    fn at(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// A field's value; `null` is as good as nothing.
    fn get(&self, key: &str) -> Option<Node<'a>> {
        self.node?.effective(key).filter(|value| !value.is_null())
    }

    fn is_there(&self) -> bool {
        self.node.is_some()
    }
}

impl Reader {
    pub(super) fn fields(&mut self, root: Node<'_>) -> KptfileFields {
        let top = Map {
            node: Some(root),
            path: String::new(),
        };
        self.known(&top, &TOP);
        let meta = self.map(&top, "metadata");
        self.known(
            &meta,
            &[
                "name",
                "namespace",
                "labels",
                "annotations",
                "creationTimestamp",
            ],
        );
        let status = self.map(&top, "status");
        self.known(&status, &["conditions", "renderStatus"]);
        KptfileFields {
            name: self.text(&meta, "name").unwrap_or_default(),
            namespace: self.text(&meta, "namespace"),
            labels: self.texts(&meta, "labels").into_iter().collect(),
            annotations: self.texts(&meta, "annotations").into_iter().collect(),
            upstream: self.upstream(&top),
            upstream_lock: self.lock(&top),
            info: self.info(&top),
            pipeline: self.pipeline(&top),
            inventory: self.inventory(&top),
            conditions: self.conditions(&status),
            render_status: self.render_status(&status),
        }
    }

    fn upstream(&mut self, top: &Map<'_>) -> Option<KptfileUpstream> {
        let map = self.map(top, "upstream");
        self.known(&map, &["type", "git", "updateStrategy"]);
        let git = self.map(&map, "git");
        self.known(&git, &["repo", "directory", "ref"]);
        map.is_there().then(|| KptfileUpstream {
            kind: self.text(&map, "type").unwrap_or_default(),
            git: git.is_there().then(|| GitUpstream {
                repo: self.text(&git, "repo").unwrap_or_default(),
                directory: self.text(&git, "directory").unwrap_or_default(),
                git_ref: self.text(&git, "ref").unwrap_or_default(),
            }),
            update_strategy: self.text(&map, "updateStrategy"),
        })
    }

    fn lock(&mut self, top: &Map<'_>) -> Option<UpstreamLock> {
        let map = self.map(top, "upstreamLock");
        self.known(&map, &["type", "git", "generic"]);
        let git = self.map(&map, "git");
        self.known(&git, &["repo", "directory", "ref", "commit"]);
        map.is_there().then(|| UpstreamLock {
            kind: self.text(&map, "type").unwrap_or_default(),
            git: git.is_there().then(|| GitLock {
                repo: self.text(&git, "repo").unwrap_or_default(),
                directory: self.text(&git, "directory").unwrap_or_default(),
                git_ref: self.text(&git, "ref").unwrap_or_default(),
                commit: self
                    .text(&git, "commit")
                    .and_then(|hex| CommitId::parse(&hex)),
            }),
        })
    }

    fn info(&mut self, top: &Map<'_>) -> Info {
        let map = self.map(top, "info");
        self.known(
            &map,
            &[
                "site",
                "emails",
                "license",
                "licenseFile",
                "description",
                "keywords",
                "man",
                "readinessGates",
            ],
        );
        let mut text = |key: &str| self.text(&map, key).unwrap_or_default();
        let mut info = Info {
            site: text("site"),
            license: text("license"),
            license_file: text("licenseFile"),
            description: text("description"),
            man: text("man"),
            ..Info::default()
        };
        info.emails = self.words(&map, "emails");
        info.keywords = self.words(&map, "keywords");
        for gate in self.maps(&map, "readinessGates") {
            self.known(&gate, &["conditionType"]);
            let condition_type = self.text(&gate, "conditionType").unwrap_or_default();
            info.readiness_gates.push(ReadinessGate { condition_type });
        }
        info
    }

    fn pipeline(&mut self, top: &Map<'_>) -> Pipeline {
        let map = self.map(top, "pipeline");
        self.known(&map, &["mutators", "validators"]);
        Pipeline {
            mutators: self.functions(&map, "mutators"),
            validators: self.functions(&map, "validators"),
        }
    }

    fn functions(&mut self, pipeline: &Map<'_>, list: &str) -> Vec<Function> {
        let maps = self.maps(pipeline, list);
        maps.iter().map(|map| self.function(map)).collect()
    }

    fn function(&mut self, map: &Map<'_>) -> Function {
        self.known(
            map,
            &[
                "image",
                "exec",
                "configPath",
                "configMap",
                "name",
                "tag",
                "selectors",
                "exclude",
            ],
        );
        let mut given = |key: &str| self.text(map, key).filter(|text| !text.is_empty());
        Function {
            image: given("image"),
            tag: given("tag"),
            exec: given("exec"),
            config_path: given("configPath"),
            name: given("name").unwrap_or_default(),
            config_map: self.texts(map, "configMap"),
            selectors: self.selectors(map, "selectors"),
            exclude: self.selectors(map, "exclude"),
        }
    }

    fn selectors(&mut self, function: &Map<'_>, list: &str) -> Vec<Selector> {
        let maps = self.maps(function, list);
        let read = |map: &Map<'_>, reader: &mut Self| {
            let known = [
                "apiVersion",
                "kind",
                "name",
                "namespace",
                "labels",
                "annotations",
            ];
            reader.only(map, &known);
            Selector {
                api_version: reader.text(map, "apiVersion"),
                kind: reader.text(map, "kind"),
                name: reader.text(map, "name"),
                namespace: reader.text(map, "namespace"),
                labels: reader.texts(map, "labels").into_iter().collect(),
                annotations: reader.texts(map, "annotations").into_iter().collect(),
            }
        };
        maps.iter().map(|map| read(map, self)).collect()
    }

    fn inventory(&mut self, top: &Map<'_>) -> Option<Inventory> {
        let map = self.map(top, "inventory");
        self.known(
            &map,
            &["namespace", "name", "inventoryID", "labels", "annotations"],
        );
        map.is_there().then(|| Inventory {
            namespace: self.text(&map, "namespace").unwrap_or_default(),
            name: self.text(&map, "name").unwrap_or_default(),
            id: self.text(&map, "inventoryID").unwrap_or_default(),
            labels: self.texts(&map, "labels").into_iter().collect(),
            annotations: self.texts(&map, "annotations").into_iter().collect(),
        })
    }

    fn conditions(&mut self, status: &Map<'_>) -> Vec<Condition> {
        let maps = self.maps(status, "conditions");
        let read = |map: &Map<'_>, reader: &mut Self| {
            reader.known(
                map,
                &["type", "status", "reason", "message", "lastTransitionTime"],
            );
            let mut text = |key: &str| reader.text(map, key).unwrap_or_default();
            let status = Status::parse(&text("status"));
            Condition::new(text("type"), status, text("reason"), text("message"))
        };
        maps.iter().map(|map| read(map, self)).collect()
    }

    fn render_status(&mut self, status: &Map<'_>) -> Option<RenderStatus> {
        let map = self.map(status, "renderStatus");
        if self.without_render || !map.is_there() {
            return None;
        }
        self.known(&map, &["mutationSteps", "validationSteps", "errorSummary"]);
        let mut steps = Vec::new();
        for (list, validator) in [("mutationSteps", false), ("validationSteps", true)] {
            for step in self.maps(&map, list) {
                steps.push(self.step(&step, validator));
            }
        }
        Some(RenderStatus {
            steps,
            error: self.text(&map, "errorSummary"),
        })
    }

    fn step(&mut self, map: &Map<'_>, validator: bool) -> FunctionResult {
        let code = self
            .text(map, "exitCode")
            .and_then(|code| code.parse().ok());
        let results = self.maps(map, "results");
        FunctionResult {
            name: self.text(map, "name").unwrap_or_default(),
            image: self.text(map, "image"),
            exec: self.text(map, "exec"),
            validator,
            stderr: self.text(map, "stderr").unwrap_or_default(),
            exit_code: code.unwrap_or(0),
            results: results.iter().map(|item| self.result(item)).collect(),
        }
    }

    fn result(&mut self, map: &Map<'_>) -> FunctionResultItem {
        let severity = match self.text(map, "severity").as_deref() {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            _ => Severity::Info,
        };
        let resource = self.map(map, "resourceRef");
        let field = self.map(map, "field");
        let file = self.map(map, "file");
        let json = |key: &str| {
            let value = field.get(key)?.to_json(yaml::Reader::V3).ok()?;
            Some(value.to_string())
        };
        let (current, proposed) = (json("currentValue"), json("proposedValue"));
        FunctionResultItem {
            message: self.text(map, "message").unwrap_or_default(),
            severity,
            resource: resource.is_there().then(|| ResourceRef {
                api_version: self.text(&resource, "apiVersion").unwrap_or_default(),
                kind: self.text(&resource, "kind").unwrap_or_default(),
                namespace: self.text(&resource, "namespace").unwrap_or_default(),
                name: self.text(&resource, "name").unwrap_or_default(),
            }),
            field: self.text(&field, "path"),
            current,
            proposed,
            file: self.text(&file, "path").map(|path| {
                let index = self
                    .text(&file, "index")
                    .and_then(|index| index.parse().ok());
                (path, index)
            }),
            tags: self.texts(map, "tags"),
        }
    }

    // The shapes that everything above is made of.

    fn map<'a>(&mut self, parent: &Map<'a>, key: &str) -> Map<'a> {
        let path = parent.at(key);
        let node = parent.get(key);
        Map {
            node: node.filter(|node| self.is(*node, NodeKind::Mapping, || path.clone())),
            path,
        }
    }

    fn maps<'a>(&mut self, parent: &Map<'a>, key: &str) -> Vec<Map<'a>> {
        let path = parent.at(key);
        let list = parent
            .get(key)
            .filter(|node| self.is(*node, NodeKind::Sequence, || path.clone()));
        let items = list.into_iter().flat_map(|list| list.items());
        let items = items.enumerate().filter(|(_, item)| !item.is_null());
        let maps = items.filter_map(|(at, item)| {
            let path = format!("{path}[{at}]");
            let is_map = self.is(item, NodeKind::Mapping, || path.clone());
            is_map.then_some(Map {
                node: Some(item),
                path,
            })
        });
        maps.collect()
    }

    /// The text of a scalar, whatever it resolves to: kpt's decoder reads `3` as `"3"`.
    fn text(&mut self, parent: &Map<'_>, key: &str) -> Option<String> {
        let node = parent.get(key)?;
        self.scalar(node, || parent.at(key))
    }

    fn words(&mut self, parent: &Map<'_>, key: &str) -> Vec<String> {
        let path = || parent.at(key);
        let list = parent
            .get(key)
            .filter(|node| self.is(*node, NodeKind::Sequence, path));
        let items = list.into_iter().flat_map(|list| list.items());
        items.filter_map(|item| self.scalar(item, path)).collect()
    }

    /// A map of texts, in the order written; merge keys are followed.
    fn texts(&mut self, parent: &Map<'_>, key: &str) -> Vec<(String, String)> {
        let path = || parent.at(key);
        let Some(map) = parent
            .get(key)
            .filter(|node| self.is(*node, NodeKind::Mapping, path))
        else {
            return Vec::new();
        };
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let mut list = Vec::new();
        let mut open = vec![map];
        while let Some(map) = open.pop() {
            for entry in map.entries() {
                let Some(name) = entry.key.key_text() else {
                    continue;
                };
                if entry.is_merge() {
                    open.push(entry.value);
                } else if known.insert(name) {
                    let text = if entry.value.is_null() {
                        Some(String::new())
                    } else {
                        self.scalar(entry.value, || format!("{}.{name}", path()))
                    };
                    list.extend(text.map(|text| (name.to_owned(), text)));
                }
            }
        }
        list
    }

    fn scalar(&mut self, node: Node<'_>, path: impl FnOnce() -> String) -> Option<String> {
        let target = node.target().ok()?;
        if !self.is(target, NodeKind::Scalar, path) {
            return None;
        }
        target.scalar().map(str::to_owned)
    }

    /// Whether a node is of a kind. Its path is put together only where it is not: most are.
    fn is(&mut self, node: Node<'_>, kind: NodeKind, path: impl FnOnce() -> String) -> bool {
        let found = node
            .target()
            .map_or(NodeKind::Alias, |target| target.kind());
        if found == kind {
            return true;
        }
        let word = |kind| match kind {
            NodeKind::Mapping => "a map",
            NodeKind::Sequence => "a list",
            NodeKind::Scalar => "a scalar",
            NodeKind::Alias => "an unknown alias",
        };
        let (line, found, kind, path) = (node.line(), word(found), word(kind), path());
        let what = format!("line {line}: `{path}` is {found}, but must be {kind}");
        self.problems.push(Problem::new(path, what));
        false
    }

    /// As [`Reader::known`], where what is not understood would change what the rest means: a
    /// selector without the one condition that somebody wrote selects everything (M18).
    fn only(&mut self, map: &Map<'_>, known: &[&str]) {
        let before = self.warnings.len();
        self.known(map, known);
        for mut unknown in self.warnings.split_off(before) {
            unknown.what = unknown.what.replace(
                "is not a field of a Kptfile; it is kept",
                "is not a field of a selector: it would select too much",
            );
            self.problems.push(unknown);
        }
    }

    /// Warns about fields that nobody reads, and refuses keys that stand twice (Y3).
    fn known(&mut self, map: &Map<'_>, known: &[&str]) {
        let Some(node) = map.node else { return };
        for key in node.duplicate_keys() {
            let path = map.at(key.key_text().unwrap_or_default());
            let line = key.line();
            let what = format!("line {line}: key `{path}` is defined twice");
            self.problems.push(Problem::new(path, what));
        }
        for entry in node.entries() {
            let Some(name) = entry.key.key_text() else {
                continue;
            };
            let trace = TRACES.contains(&name);
            if entry.is_merge() || (known.contains(&name) && !trace) {
                continue;
            }
            let path = map.at(name);
            let line = entry.key.line();
            let others = known.iter().copied().filter(|other| *other != name);
            let meant = model::nearest(name, others);
            let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)"));
            let what = format!(
                "line {line}: field `{path}` is not a field of a Kptfile; it is kept{}",
                meant.unwrap_or_default()
            );
            let found = if trace && known.contains(&name) {
                &mut self.traces
            } else {
                &mut self.warnings
            };
            found.push(Problem::new(path, what));
        }
    }
}
