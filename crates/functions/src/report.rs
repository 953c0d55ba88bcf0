//! What a function reports.

use model::{FunctionResultItem, Severity};

use crate::Item;

/// The results of one run, and what it would have printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionReport {
    /// In the order reported.
    pub results: Vec<FunctionResultItem>,
    /// What goes to the error stream.
    pub stderr: String,
    /// Whether it failed although no result is an error.
    pub refused: bool,
}

impl FunctionReport {
    /// A report of these results.
    pub(crate) fn of(results: impl IntoIterator<Item = FunctionResultItem>) -> Self {
        Self {
            results: results.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A failure with one message.
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self::of([error(message)])
    }

    /// Whether any result is an error: the step then fails (M20).
    pub fn failed(&self) -> bool {
        self.refused
            || self
                .results
                .iter()
                .any(|result| result.severity == Severity::Error)
    }
}

/// A result without a place.
pub fn result(severity: Severity, message: impl Into<String>) -> FunctionResultItem {
    FunctionResultItem {
        message: message.into(),
        severity,
        resource: None,
        field: None,
        current: None,
        proposed: None,
        file: None,
        tags: Vec::new(),
    }
}

pub(crate) fn info(message: impl Into<String>) -> FunctionResultItem {
    result(Severity::Info, message)
}

pub(crate) fn warning(message: impl Into<String>) -> FunctionResultItem {
    result(Severity::Warning, message)
}

pub(crate) fn error(message: impl Into<String>) -> FunctionResultItem {
    result(Severity::Error, message)
}

/// A result about a field of a resource in a file, as the older functions report it: without the resource.
pub(crate) fn at_field(item: &Item, field: &str, message: impl Into<String>) -> FunctionResultItem {
    FunctionResultItem {
        field: Some(field.to_owned()),
        ..at_file(item, message)
    }
}

/// A result about a resource's file.
pub(crate) fn at_file(item: &Item, message: impl Into<String>) -> FunctionResultItem {
    let file = item.path.as_ref().map(|path| (path.clone(), None));
    FunctionResultItem {
        file,
        ..info(message)
    }
}
