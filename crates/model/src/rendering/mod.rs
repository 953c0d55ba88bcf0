//! What rendering a package's pipeline reported (M12).

mod packed;

pub use packed::PackedRenderStatus;

/// How bad a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The step fails.
    Error,
    /// Worth a look.
    Warning,
    /// For information.
    Info,
}

impl Severity {
    /// The wire form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// The resource that a result speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ResourceRef {
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `namespace`; empty if none.
    pub namespace: String,
    /// `name`
    pub name: String,
}

/// One result of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionResultItem {
    /// What it says.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// The resource it speaks of.
    pub resource: Option<ResourceRef>,
    /// The field's path.
    pub field: Option<String>,
    /// The field's current value, as JSON text.
    pub current: Option<String>,
    /// The value that the function proposes, as JSON text.
    pub proposed: Option<String>,
    /// The file and the index of the document in it.
    pub file: Option<(String, Option<u32>)>,
    /// Free tags.
    pub tags: Vec<(String, String)>,
}

/// What one step of the pipeline reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionResult {
    /// The function's name in the pipeline; empty if it has none.
    pub name: String,
    /// Its image, as written in the Kptfile.
    pub image: Option<String>,
    /// Its command.
    pub exec: Option<String>,
    /// Whether it is a validator.
    pub validator: bool,
    /// What it printed apart from the resources.
    pub stderr: String,
    /// 0, or how it failed.
    pub exit_code: i32,
    /// What it reported.
    pub results: Vec<FunctionResultItem>,
}

/// The outcome of a render.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderStatus {
    /// One entry for each step that ran, in order.
    pub steps: Vec<FunctionResult>,
    /// Why the render failed; `None` if it did not.
    pub error: Option<String>,
}

impl RenderStatus {
    /// Whether every step succeeded.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    /// Why it failed, in one line; empty if it did not.
    pub fn cause(&self) -> String {
        self.error.as_deref().map(plain).unwrap_or_default()
    }
}

/// What a render says of its failure, for a place that shows one line: Porch's trace (`pkg.render: pkg .:`) wraps the
/// cause, which tables and events would cut off. A subpackage is named.
fn plain(error: &str) -> String {
    let lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    let line = line.replacen("pipeline.run: ", "", 1);
    let Some(rest) = line.strip_prefix("pkg.render: pkg ") else {
        return line;
    };
    match rest.strip_prefix(".: ") {
        Some(cause) => cause.to_owned(),
        None => format!("in package {rest}"),
    }
}
