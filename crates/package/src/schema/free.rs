//! The names by which the API calls maps whose entries stand for themselves, for places of which no schema is known.

use super::Entries;

/// Every field of Kubernetes' OpenAPI documents with `additionalProperties` of scalars, those of kustomize, and `tags`.
static FREE: &[&str] = &[
    "allocatable",
    "allocatedResources",
    "annotations",
    "attributes",
    "binaryData",
    "capacity",
    "commonAnnotations",
    "commonLabels",
    "data",
    "default",
    "defaultRequest",
    "extra",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "max",
    "maxLimitRequestRatio",
    "min",
    "nodeSelector",
    "options",
    "parameters",
    "podFixed",
    "requests",
    "selector",
    "stringData",
    "tags",
    "used",
    "volumeAttributes",
];

/// What a field's name says of its entries.
pub(super) fn by_name(name: &str) -> Entries {
    match FREE.binary_search(&name) {
        Ok(_) => Entries::Scalars,
        Err(_) => Entries::Parts,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_sorted() {
        assert!(super::FREE.is_sorted());
    }
}
