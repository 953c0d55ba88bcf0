//! Wire types of every served API version, wire ↔ model, and the definitions of our kinds.
//!
//! Data enters here as JSON values and leaves as `model` types, all problems collected with
//! their field paths; nobody validates again later. This crate never asks a
//! question of the world.

mod bulk;
mod conditions;
mod convert;
mod definitions;
mod fields;
mod guard;
mod labels;
mod members;
mod meta;
mod names;
mod package;
mod pipeline;
mod record;
mod rendering;
mod repository;
mod resolutions;
mod resources;
mod revision;
mod revision_status;
mod rollout;
mod selector;
mod set;
mod shape;
mod sides;
mod sources;
mod status;
mod task;
mod template;
mod upstream;
mod variant;

pub use bulk::{
    BULK_LIMIT, BulkEntry, BulkOutcome, BulkResult, FLEET_GROUP, read_bulk, write_bulk,
};
pub use conditions::{merge_conditions, read_conditions};
pub use convert::{ConvertError, V1ALPHA1_SPEC, convert_set};
pub use definitions::{
    CRDS, EmbeddedCrd, RECORDS, SERVED, crd_texts, crds, embedded_crds, records_crd, served,
};
pub use fields::{object_at, object_of, str_at};
pub use meta::{read_key, read_meta, write_meta};
pub use names::revision_uid;
pub use package::write_package;
pub use pipeline::{read_pipeline, write_pipeline};
pub use record::{
    RECORD_FORMAT, RECORD_GROUP, RevisionRecord, UnreadRecord, read_record, write_record,
};
pub use rendering::{read_render_status, write_render_status, write_result_list};
pub use repository::read_repository;
pub use resolutions::{conflict_key, read_resolutions, write_resolution};
pub use resources::{
    BINARY_FILES, EXECUTABLE_FILES, OVERSIZED_FILES, ResourcesUpdate, UNREAD_FILES, UNSHOWN_DIGEST,
    read_resources, write_carried, write_left_out, write_resources,
};
pub use revision::{
    RevisionInput, read_revision, read_revision_input, read_revision_update, write_revision,
};
pub use revision_status::read_conflicts;
pub use set::read_set;
pub use sources::read_revision_set;
pub use status::{
    read_repository_status, read_set_status, read_variant_status, write_repository_status,
    write_set_status, write_variant_status,
};
pub use task::{read_task, write_task};
pub use upstream::{read_upstream, write_upstream};
pub use variant::{read_variant, write_variant_spec};

/// The group of our own custom resources.
pub const CONFIG_GROUP: &str = "config.porch.kpt.dev";
/// The group of package revisions.
pub const PACKAGE_GROUP: &str = "porch.kpt.dev";
/// The finalizer of variants (R106).
pub const VARIANT_FINALIZER: &str = "config.porch.kpt.dev/packagevariants";
/// The finalizer of repositories.
pub const REPOSITORY_FINALIZER: &str = "config.porch.kpt.dev/repository";
