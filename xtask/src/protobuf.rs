//! `cargo xtask protobuf MODULES`: writes the table of protobuf fields that the API server reads and writes built-in kinds by.
//!
//! `MODULES` is a directory that holds the Go modules `k8s.io/{api,apimachinery,apiextensions-apiserver,kube-aggregator}` of
//! one release, as the Go module cache does. Only facts are taken from their types: field numbers, names in JSON, and
//! whether a field is a pointer, a list or a map and is left out when it is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The table, below the root.
const TABLE: &str = "crates/apiserver/src/http/protobuf/fields.txt";

/// Packages: their short name, the module, the directory in it.
const PACKAGES: [(&str, &str, &str); 10] = [
    ("autoscaling.v1", "api", "autoscaling/v1"),
    ("core.v1", "api", "core/v1"),
    ("events.v1", "api", "events/v1"),
    ("coordination.v1", "api", "coordination/v1"),
    ("rbac.v1", "api", "rbac/v1"),
    ("authorization.v1", "api", "authorization/v1"),
    ("authentication.v1", "api", "authentication/v1"),
    ("meta.v1", "apimachinery", "pkg/apis/meta/v1"),
    (
        "apiextensions.v1",
        "apiextensions-apiserver",
        "pkg/apis/apiextensions/v1",
    ),
    (
        "apiregistration.v1",
        "kube-aggregator",
        "pkg/apis/apiregistration/v1",
    ),
];

/// Groups of kinds: the group, the package, the kinds; those with a `+` have lists.
const KINDS: [(&str, &str, &str); 10] = [
    ("autoscaling", "autoscaling.v1", "Scale"),
    (
        "",
        "core.v1",
        "ConfigMap+ Secret+ Namespace+ ServiceAccount+ Event+",
    ),
    ("events.k8s.io", "events.v1", "Event+"),
    ("coordination.k8s.io", "coordination.v1", "Lease+"),
    (
        "rbac.authorization.k8s.io",
        "rbac.v1",
        "Role+ ClusterRole+ RoleBinding+ ClusterRoleBinding+",
    ),
    (
        "authorization.k8s.io",
        "authorization.v1",
        "SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
    ),
    (
        "authentication.k8s.io",
        "authentication.v1",
        "SelfSubjectReview TokenReview TokenRequest",
    ),
    (
        "apiextensions.k8s.io",
        "apiextensions.v1",
        "CustomResourceDefinition+",
    ),
    (
        "apiregistration.k8s.io",
        "apiregistration.v1",
        "APIService+",
    ),
    (
        "meta.k8s.io",
        "meta.v1",
        "Status DeleteOptions PartialObjectMetadata+ APIGroupList APIGroup APIResourceList APIVersions",
    ),
];

/// Types that have a form of their own.
const SPECIAL: [(&str, &str); 8] = [
    ("meta.v1.Time", "time"),
    ("meta.v1.MicroTime", "microtime"),
    ("meta.v1.FieldsV1", "fields"),
    ("types.UID", "string"),
    ("apiextensions.v1.JSON", "json"),
    ("apiextensions.v1.JSONSchemaPropsOrBool", "orbool"),
    ("apiextensions.v1.JSONSchemaPropsOrArray", "orarray"),
    ("apiextensions.v1.JSONSchemaPropsOrStringArray", "orstrings"),
];

/// Named lists that are messages of their own.
const WRAPPED: [&str; 3] = [
    "authorization.v1.ExtraValue",
    "authentication.v1.ExtraValue",
    "meta.v1.Verbs",
];

/// A field: number, name, Go type, whether it is always shown.
type Field = (u32, String, String, bool);

/// Go's types of some packages.
#[derive(Default)]
struct Types {
    /// Type → its fields.
    structs: BTreeMap<String, Vec<Field>>,
    /// `type A B`.
    aliases: BTreeMap<String, String>,
}

/// Writes the table.
pub(crate) fn run(modules: &Path, version: &str) -> ExitCode {
    let mut types = Types::default();
    for (package, module, directory) in PACKAGES {
        let directory = modules.join(format!("{module}@{version}")).join(directory);
        if let Err(why) = types.read(package, &directory) {
            return crate::fail(&why);
        }
    }
    let text = types.table(version);
    let path = crate::root().join(TABLE);
    match std::fs::write(&path, &text) {
        Ok(()) => {
            crate::say(&format!("{TABLE}: {} lines", text.lines().count()));
            ExitCode::SUCCESS
        }
        Err(error) => crate::fail(&format!("write {}: {error}", path.display())),
    }
}

impl Types {
    fn read(&mut self, package: &str, directory: &Path) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("read {}: {error}", directory.display());
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let plain = name.ends_with(".go") && !name.ends_with("_test.go");
            if plain && !name.contains("generated") {
                files.push(path);
            }
        }
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(fail)?;
            self.parse(package, &text);
        }
        Ok(())
    }

    fn parse(&mut self, package: &str, text: &str) {
        let mut inside: Option<(String, Vec<Field>)> = None;
        for line in text.lines() {
            if let Some((name, mut fields)) = inside.take() {
                if line == "}" {
                    self.structs.insert(name, fields);
                    continue;
                }
                fields.extend(field(package, line));
                inside = Some((name, fields));
            } else if let Some(rest) = line.strip_prefix("type ") {
                let Some((name, what)) = rest.split_once(' ') else {
                    continue;
                };
                let name = format!("{package}.{name}");
                match what.trim() {
                    "struct {" => inside = Some((name, Vec::new())),
                    "struct{}" => drop(self.structs.insert(name, Vec::new())),
                    what if what.ends_with(['{', '(']) => {}
                    what => {
                        let what = what.split(" //").next().unwrap_or_default();
                        self.aliases.insert(name, qualified(package, what));
                    }
                }
            }
        }
    }

    /// The shape and the type of a field: `=` one value, `*` one that may be missing, `[` a list, `{` a map.
    fn shape(&self, go: &str) -> (char, String) {
        if go == "[]byte" {
            return ('=', "bytes".to_owned());
        }
        for (prefix, shape) in [("*", '*'), ("[]", '['), ("map[string]", '{')] {
            if let Some(inner) = go.strip_prefix(prefix) {
                return match self.shape(inner) {
                    ('=', kind) => (shape, kind),
                    // A map of named lists: the lists are messages.
                    (_, kind) => (shape, kind),
                };
            }
        }
        if let Some((_, special)) = SPECIAL.iter().find(|(name, _)| *name == go) {
            return ('=', (*special).to_owned());
        }
        if WRAPPED.contains(&go) {
            return ('=', "strings".to_owned());
        }
        match go {
            "string" | "bool" => ('=', go.to_owned()),
            "int32" | "int64" => ('=', "int".to_owned()),
            "float64" => ('=', "double".to_owned()),
            _ => match self.aliases.get(go) {
                Some(other) => self.shape(other),
                None => ('=', go.to_owned()),
            },
        }
    }

    fn table(&self, version: &str) -> String {
        let mut out = format!(
            "# Fields of built-in kinds in protobuf, Kubernetes {version}: `cargo xtask protobuf`. See http/protobuf/table.rs.\n"
        );
        let mut wanted = BTreeSet::new();
        for (group, package, kinds) in KINDS {
            for word in kinds.split(' ') {
                let kind = word.trim_end_matches('+');
                let lists = word.ends_with('+').then(|| format!("{kind}List"));
                for kind in std::iter::once(kind.to_owned()).chain(lists) {
                    let name = format!("{package}.{kind}");
                    out.push_str(&format!("kind {group}/{kind} {name}\n"));
                    wanted.insert(name);
                }
            }
        }
        let mut done = BTreeSet::new();
        while let Some(name) = wanted.pop_first() {
            if !done.insert(name.clone()) {
                continue;
            }
            out.push_str(&format!("message {name}\n"));
            for (number, json, go, always) in self.structs.get(&name).into_iter().flatten() {
                let (shape, kind) = self.shape(go);
                let always = if *always { "!" } else { "" };
                out.push_str(&format!("{number} {json} {shape}{kind}{always}\n"));
                if kind.contains('.') {
                    wanted.insert(kind);
                }
            }
        }
        out
    }
}

/// Reads a line of a struct: `Name Type` and tags, or an embedded type and tags.
fn field(package: &str, line: &str) -> Option<Field> {
    let (declared, tags) = line.trim().split_once('`')?;
    let tag = |name: &str| {
        let rest = tags.split_once(&format!("{name}:\""))?.1;
        rest.split_once('"').map(|(value, _)| value)
    };
    let (json, protobuf) = (tag("json")?, tag("protobuf")?);
    let number = protobuf.split(',').nth(1)?.parse().ok()?;
    let name = json.split(',').next()?;
    if name.is_empty() || name == "-" || declared.starts_with("//") {
        return None;
    }
    let go = declared.split_whitespace().last()?;
    let always = !json.contains("omitempty");
    Some((number, name.to_owned(), qualified(package, go), always))
}

/// Names a type with its package.
fn qualified(package: &str, go: &str) -> String {
    for prefix in ["*", "[]", "map[string]"] {
        if let Some(inner) = go.strip_prefix(prefix) {
            return format!("{prefix}{}", qualified(package, inner));
        }
    }
    match go {
        "string" | "bool" | "int32" | "int64" | "float64" | "byte" => go.to_owned(),
        _ => match go.split_once('.') {
            Some(("metav1", name)) => format!("meta.v1.{name}"),
            Some(("corev1" | "v1", name)) => format!("core.v1.{name}"),
            Some(_) => go.to_owned(),
            None => format!("{package}.{go}"),
        },
    }
}
