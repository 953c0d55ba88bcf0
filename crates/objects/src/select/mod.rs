//! Label and field selectors: parsing in the words of the real server, and matching.

mod fields;
mod labels;

#[cfg(test)]
mod tests;

pub use fields::{FieldSelection, FieldTerm};
pub use labels::LabelSelection;
