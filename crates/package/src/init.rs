//! A new package: what the `init` task makes.
//!
//! The files are kpt's, so that either tool finds what it expects. Nothing is rendered here.

use model::{File, Files, PackageName, PackagePath};
use yaml::Value;

/// What a new package says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InitSpec {
    /// `info.description`; left out if empty.
    pub description: String,
    /// `info.keywords`
    pub keywords: Vec<String>,
    /// `info.site`; left out if empty.
    pub site: String,
}

/// Makes a package: `Kptfile`, `README.md` and `package-context.yaml`.
///
/// The Kptfile's name and the README use the *full* package name, as kpt does.
pub fn init(package: &PackageName, spec: &InitSpec) -> Files {
    let files = [
        ("Kptfile", kptfile(package, spec)),
        ("README.md", readme(package, spec)),
        ("package-context.yaml", CONTEXT.to_owned()),
    ];
    let named = files.into_iter().filter_map(|(path, text)| {
        // These three literals obey the law of file paths.
        PackagePath::parse(path)
            .ok()
            .map(|path| (path, File::text(text)))
    });
    named.collect()
}

/// The name that the package context carries until a clone names it.
const CONTEXT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  name: example
";

fn kptfile(package: &PackageName, spec: &InitSpec) -> String {
    let mut text = format!(
        "apiVersion: kpt.dev/v1\n\
         kind: Kptfile\n\
         metadata:\n  \
           name: {}\n  \
           annotations:\n    \
             config.kubernetes.io/local-config: \"true\"\n",
        quote(package.as_str(), 4),
    );
    let mut info = String::new();
    if !spec.site.is_empty() {
        info.push_str(&format!("  site: {}\n", quote(&spec.site, 4)));
    }
    if !spec.description.is_empty() {
        info.push_str(&format!("  description: {}\n", quote(&spec.description, 4)));
    }
    if !spec.keywords.is_empty() {
        info.push_str("  keywords:\n");
        for word in &spec.keywords {
            info.push_str(&format!("    - {}\n", quote(word, 6)));
        }
    }
    if info.is_empty() {
        text.push_str("info: {}\n");
    } else {
        text.push_str("info:\n");
        text.push_str(&info);
    }
    text
}

/// A text as a scalar (Y2); the lines of a longer one stand `indent` columns deep.
fn quote(text: &str, indent: usize) -> String {
    let scalar = yaml::render(&Value::from(text));
    let mut lines = scalar.trim_end_matches('\n').split('\n');
    let mut quoted = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        quoted.push('\n');
        if !line.is_empty() {
            quoted.push_str(&" ".repeat(indent - 2));
            quoted.push_str(line);
        }
    }
    quoted
}

fn readme(package: &PackageName, spec: &InitSpec) -> String {
    let name = package.as_str();
    let description = &spec.description;
    format!(
        "# {name}\n\
         \n\
         ## Description\n\
         {description}\n\
         \n\
         ## Usage\n\
         \n\
         ### Fetch the package\n\
         `kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] {name}`\n\
         Details: https://kpt.dev/reference/cli/pkg/get/\n\
         \n\
         ### View package content\n\
         `kpt pkg tree {name}`\n\
         Details: https://kpt.dev/reference/cli/pkg/tree/\n\
         \n\
         ### Apply the package\n\
         ```\n\
         kpt live init {name}\n\
         kpt live apply {name} --reconcile-timeout=2m --output=table\n\
         ```\n\
         Details: https://kpt.dev/reference/cli/live/\n"
    )
}

#[cfg(test)]
mod tests;
