//! Who asks for a use case.

/// Who asks, and whether it is only a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user: the author of what is committed (A9).
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// For whom a service acts: the `offshoot-for:` trailer; empty for nobody.
    pub acting_for: String,
    /// Do everything but write.
    pub dry_run: bool,
}

impl Caller {
    /// A person.
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            user: name.into(),
            groups: Vec::new(),
            acting_for: String::new(),
            dry_run: false,
        }
    }

    /// Whether it is this program, at work for a variant.
    pub(crate) fn is_ours(&self) -> bool {
        !self.acting_for.is_empty()
    }

    /// The same caller as a member of these groups.
    #[must_use]
    pub fn of_groups(mut self, groups: &[String]) -> Self {
        self.groups = groups.to_vec();
        self
    }

    /// The same caller, asking only.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}
