//! Injection points: resources of a package that ask for configuration from the cluster.

use model::{Files, PackagePath};
use yaml::owned::Value;

use super::MutateError;
use super::open::OpenFiles;
use crate::documents::Parsed;

/// The annotation that makes a resource an injection point; `required` or `optional`.
const INJECTION: &str = "kpt.dev/config-injection";
/// What the types of injection points' conditions begin with (R83).
pub(crate) const CONDITION_PREFIX: &str = "config.injection.";

/// The annotation that names what was injected (R93, V7).
pub(crate) const INJECTED_NAME: &str = "kpt.dev/injected-resource-name";
/// The same under the name that existing packages read (V7).
pub const INJECTED: &str = "kpt.dev/injected-resource";

/// A resource that asks for configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InjectionPoint {
    /// Its file.
    pub file: PackagePath,
    /// Its position among the file's documents.
    pub index: usize,
    /// Its API group; empty for the core group.
    pub group: String,
    /// Its API version.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Its name in the package.
    pub name: String,
    /// Its namespace in the package, if it has one.
    pub namespace: Option<String>,
    /// Whether approval waits for it.
    pub required: bool,
}

impl InjectionPoint {
    /// The type of its condition: `config.injection.{Kind}.{name}` (R83).
    pub fn condition_type(&self) -> String {
        format!("{CONDITION_PREFIX}{}.{}", self.kind, self.name)
    }

    /// `group/version/kind`, the key of [`model::Injection::found`]; the core group is empty.
    pub fn gvk(&self) -> String {
        format!("{}/{}/{}", self.group, self.version, self.kind)
    }

    /// The field that is injected: `data` of a ConfigMap, `spec` of anything else (R92).
    pub fn field(&self) -> &'static str {
        if self.group.is_empty() && self.kind == "ConfigMap" {
            "data"
        } else {
            "spec"
        }
    }
}

/// All injection points of a package and its subpackages, by file and position (R80).
///
/// # Errors
/// Two points of one kind and name, an unknown annotation value, or a file that names the annotation and cannot
/// be read.
pub fn injection_points(files: &Files) -> Result<Vec<InjectionPoint>, MutateError> {
    points_of(files, &Parsed::default())
}

/// The same of a package of which something was parsed already.
pub(crate) fn points_of(
    files: &Files,
    parsed: &Parsed,
) -> Result<Vec<InjectionPoint>, MutateError> {
    find(&mut OpenFiles::new(files, parsed))
}

pub(super) fn find(opened: &mut OpenFiles<'_>) -> Result<Vec<InjectionPoint>, MutateError> {
    let mut points: Vec<InjectionPoint> = Vec::new();
    let mut errors = Vec::new();
    let mut paths = opened.paths();
    paths.sort();
    for file in paths.into_iter().filter(is_resource_file) {
        if !opened.mentions(&file, INJECTION) {
            continue;
        }
        for (index, value) in opened.documents(&file)?.iter().enumerate() {
            let Some(wish) = value.lookup(&["metadata", "annotations", INJECTION]) else {
                continue;
            };
            let wish = wish.text().unwrap_or_default();
            let point = point(&file, index, value, wish == "required");
            if wish != "required" && wish != "optional" {
                let (kind, name) = (&point.kind, &point.name);
                errors.push(format!(
                    "{file}: {kind}/{name} has invalid {INJECTION:?} annotation value of {wish:?}"
                ));
            }
            let kind = point.condition_type();
            if let Some(other) = points
                .iter()
                .rev()
                .find(|other| other.condition_type() == kind)
            {
                errors.push(format!(
                    "duplicate injection conditionType {kind:?} ({} and {file})",
                    other.file
                ));
            }
            points.push(point);
        }
    }
    if errors.is_empty() {
        Ok(points)
    } else {
        Err(MutateError::InjectionPoints(errors.join(", ")))
    }
}

fn is_resource_file(path: &PackagePath) -> bool {
    let name = path.file_name();
    name == "Kptfile" || name.ends_with(".yaml") || name.ends_with(".yml")
}

fn point(file: &PackagePath, index: usize, value: &Value, required: bool) -> InjectionPoint {
    let text = |path: &[&str]| {
        value
            .lookup(path)
            .and_then(Value::text)
            .unwrap_or_default()
            .to_owned()
    };
    let api_version = text(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let namespace = text(&["metadata", "namespace"]);
    InjectionPoint {
        file: file.clone(),
        index,
        group: group.to_owned(),
        version: version.to_owned(),
        kind: text(&["kind"]),
        name: text(&["metadata", "name"]),
        namespace: (!namespace.is_empty()).then_some(namespace),
        required,
    }
}
