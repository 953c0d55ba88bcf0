//! Field ownership: `metadata.managedFields` and server-side apply.
