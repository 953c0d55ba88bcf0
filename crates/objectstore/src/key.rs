//! What names resources and objects in the store.

use std::sync::Arc;

/// Names a resource as `plural.group`, or `plural` alone in the core group.
pub type ResourceKey = Arc<str>;

/// Names an object within its resource: `namespace/name`, or `name` alone at cluster scope.
///
/// Lists are ordered by this text, as kube-apiserver's are (namespace `a-b` comes before `a`).
pub type Key = Arc<str>;

/// Where an object lives.
pub type ObjectRef = (ResourceKey, Key);
