//! Paths: how an edit or a lookup names a node.

use std::fmt;

/// One step from a node to a child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeStep {
    /// Into a mapping, by the text of the key.
    Key(String),
    /// Into a sequence, by position from 0.
    Index(usize),
}

impl From<&str> for NodeStep {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<String> for NodeStep {
    fn from(key: String) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for NodeStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A node's place, as steps from the root of its document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<NodeStep>);

impl Path {
    /// The root of a document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Leads through mapping keys only: `Path::keys(["metadata", "name"])`.
    pub fn keys<S: Into<String>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self(
            keys.into_iter()
                .map(|key| NodeStep::Key(key.into()))
                .collect(),
        )
    }

    /// The path one step further.
    #[must_use]
    pub fn join(&self, step: impl Into<NodeStep>) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Self(steps)
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[NodeStep] {
        &self.0
    }

    /// The path without its last step; `None` at the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, rest) = self.0.split_last()?;
        Some(Self(rest.to_vec()))
    }

    /// The last step; `None` at the root.
    #[must_use]
    pub fn last(&self) -> Option<&NodeStep> {
        self.0.last()
    }

    /// Whether `other` lies at or below this path.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl<S: Into<NodeStep>> FromIterator<S> for Path {
    fn from_iter<I: IntoIterator<Item = S>>(steps: I) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<NodeStep>> From<Vec<S>> for Path {
    fn from(steps: Vec<S>) -> Self {
        steps.into_iter().collect()
    }
}

/// `spec.containers[0].image`; keys with other characters than letters, digits, `-` and `_` are quoted.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                NodeStep::Index(index) => write!(f, "[{index}]")?,
                NodeStep::Key(key) => {
                    let simple = !key.is_empty()
                        && key
                            .chars()
                            .all(|c| c.is_alphanumeric() || c == '-' || c == '_');
                    match (simple, at) {
                        (true, 0) => f.write_str(key)?,
                        (true, _) => write!(f, ".{key}")?,
                        (false, _) => write!(f, "[{key:?}]")?,
                    }
                }
            }
        }
        Ok(())
    }
}
