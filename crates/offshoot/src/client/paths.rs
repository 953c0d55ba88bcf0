//! Paths of the API, with every part encoded.

/// A resource: the path of its group and version, and its plural.
pub type ResourcePath = (&'static str, &'static str);

/// Package revisions.
pub const PACKAGES: ResourcePath = ("/apis/porch.kpt.dev/v1alpha1", "packagerevisions");
/// Their files.
pub const RESOURCES: ResourcePath = ("/apis/porch.kpt.dev/v1alpha1", "packagerevisionresources");
/// Explanations.
pub const EXPLANATIONS: ResourcePath = ("/apis/fleet.offshoot.dev/v1alpha1", "explanations");
/// Plans.
pub const PLANS: ResourcePath = ("/apis/fleet.offshoot.dev/v1alpha1", "plans");
/// Changes of many package revisions at once.
pub const BULK: ResourcePath = ("/apis/fleet.offshoot.dev/v1alpha1", "bulkchanges");
/// Package variants.
pub const VARIANTS: ResourcePath = ("/apis/config.porch.kpt.dev/v1alpha1", "packagevariants");
/// Repositories.
pub const REPOSITORIES: ResourcePath = ("/apis/config.porch.kpt.dev/v1alpha1", "repositories");
/// Their sets.
pub const SETS: ResourcePath = ("/apis/config.porch.kpt.dev/v1alpha2", "packagevariantsets");
/// Secrets.
pub const SECRETS: ResourcePath = ("/api/v1", "secrets");

/// The path of one object.
pub fn object(kind: ResourcePath, namespace: &str, name: &str) -> String {
    let (root, plural) = kind;
    format!(
        "{root}/namespaces/{}/{plural}/{}",
        encode(namespace),
        encode(name)
    )
}

/// The path of a collection, in one namespace or (empty) all, with query parameters.
pub fn collection(kind: ResourcePath, namespace: &str, query: &[(&str, &str)]) -> String {
    let (root, plural) = kind;
    let mut path = if namespace.is_empty() {
        format!("{root}/{plural}")
    } else {
        format!("{root}/namespaces/{}/{plural}", encode(namespace))
    };
    for (i, (key, value)) in query
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .enumerate()
    {
        path.push(if i == 0 { '?' } else { '&' });
        path.push_str(key);
        path.push('=');
        path.push_str(&encode(value));
    }
    path
}

/// Percent-encodes what is no unreserved character.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(
            object(PACKAGES, "demo", "../x?y"),
            "/apis/porch.kpt.dev/v1alpha1/namespaces/demo/packagerevisions/..%2Fx%3Fy"
        );
        assert_eq!(
            collection(
                PACKAGES,
                "",
                &[("labelSelector", ""), ("fieldSelector", "a=b")]
            ),
            "/apis/porch.kpt.dev/v1alpha1/packagerevisions?fieldSelector=a%3Db"
        );
    }
}
