//! Which part of an object a request writes, and by what means.

use super::Rules;

/// Which part of the object a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but status, where status is written apart.
    Main,
    /// Status alone.
    Status,
    /// The wanted count, through the scale subresource.
    Scale,
    /// Everything but status, through the subresource that ends namespaces.
    Finalize,
}

impl Part {
    /// The part that a subresource writes.
    #[must_use]
    pub fn of(subresource: &str, rules: Rules<'_>) -> Self {
        let built_in = rules.resource.built_in.is_some();
        match subresource {
            "status" if rules.version.status => Self::Status,
            "scale" if rules.version.scale.is_some() => Self::Scale,
            "finalize" if built_in => Self::Finalize,
            _ => Self::Main,
        }
    }

    /// The subresource, as managed fields name it.
    #[must_use]
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
        }
    }
}

/// How the new state came about; decides a few wordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// A whole object was sent to be made.
    Post,
    /// A whole object was sent to be as it says, or to be made if it is not there.
    Put,
    /// A patch was computed.
    Patch,
    /// An apply was computed; it has taken care of managed fields.
    Apply,
}
