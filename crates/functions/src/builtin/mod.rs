//! The built-in functions, one file each. Each behaves like the catalog's function of its name
//! (M11), but loses no comment.

#![expect(
    clippy::ptr_arg,
    reason = "all built-ins have one signature; some add or drop resources"
)]

pub(crate) mod apply_replacements;
pub(crate) mod apply_setters;
pub(crate) mod create_setters;
pub(crate) mod delete_annotations;
pub(crate) mod ensure_name_substring;
pub(crate) mod gen_pkg_context;
pub(crate) mod kubeconform;
pub(crate) mod list_setters;
pub(crate) mod remove_local_config;
pub(crate) mod search_replace;
pub(crate) mod set_annotations;
pub(crate) mod set_enforcement_action;
pub(crate) mod set_image;
pub(crate) mod set_labels;
pub(crate) mod set_namespace;
pub(crate) mod set_project_id;
pub(crate) mod starlark;
pub(crate) mod upsert_resource;

#[cfg(test)]
mod tests;
