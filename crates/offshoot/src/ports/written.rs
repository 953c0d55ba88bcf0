//! Which objects say who wrote them (X6), and who named their Secret (X8): the same wherever they are stored.

use apiserver::{ResourceName, Setters, Writers};

use super::{SECRET_SET_BY, repositories, sets, variants};

/// Variants and sets say who wrote them last. `own` is the user that the program itself is.
pub(crate) fn writers(own: String) -> Writers {
    Writers {
        annotation: plan::set::WRITTEN_BY,
        resources: vec![named(variants()), named(sets())],
        own,
    }
}

/// Repositories say who named their Secret, or its address.
pub(crate) fn setters(own: String) -> Setters {
    Setters {
        annotation: SECRET_SET_BY,
        resource: named(repositories()),
        field: "/spec/git/secretRef/name",
        beside: &["/spec/git/repo"],
        own,
    }
}

fn named(resource: ResourceName) -> (String, String) {
    (resource.group, resource.plural)
}
