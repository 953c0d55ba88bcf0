//! Why a render does not go on.

/// Why a step cannot be asked for.
pub(super) enum Blocked {
    /// The package is wrong; no step is noted.
    Before(String),
    /// The step fails before it runs.
    Step(String),
}

/// The message of the `Rendered` condition, with the package that failed.
pub(super) fn wrap(package: &str, why: &str, pipeline: bool) -> String {
    let place = if package.is_empty() {
        ".".to_owned()
    } else {
        format!("./{package}")
    };
    let within = if pipeline { "\n\tpipeline.run: " } else { " " };
    format!("pkg.render: pkg {place}:{within}{why}")
}
