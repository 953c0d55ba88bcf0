//! The built-in functions, one file each. Each behaves like the catalog's function of its name
//! (packages-and-functions.md §5.2, decisions.md M11), but loses no comment.

pub(crate) mod apply_setters;
pub(crate) mod search_replace;
pub(crate) mod set_annotations;
pub(crate) mod set_labels;
pub(crate) mod set_namespace;
