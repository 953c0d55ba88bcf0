//! What a check of the repository finds.

/// Something to tidy: where, and what.
pub(crate) struct Finding {
    /// The file, relative to the root, with a line where there is one.
    pub(crate) place: String,
    /// What is wrong and what to do.
    pub(crate) what: String,
}

impl Finding {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
        }
    }
}
