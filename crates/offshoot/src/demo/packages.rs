//! The upstream package of the story, from the examples directory.

/// The files of one revision: path and text.
pub(super) type Revision = &'static [(&'static str, &'static str)];

macro_rules! revision {
    ($revision:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../examples/packages/shop/", $revision, "/", $path)))),*]
    };
}

/// The web shop, first release.
pub(super) const SHOP_V1: Revision = revision!("v1":
    "Kptfile", "README.md", "configmap.yaml", "db/Kptfile", "db/service.yaml", "db/statefulset.yaml",
    "deployment.yaml", "ingress.yaml", "injection.yaml", "limits.yaml", "package-context.yaml",
    "rbac.yaml", "service.yaml", "serviceaccount.yaml", "setters.yaml",
);

/// The web shop, second release.
pub(super) const SHOP_V2: Revision = revision!("v2":
    "Kptfile", "README.md", "configmap.yaml", "db/Kptfile", "db/service.yaml", "db/statefulset.yaml",
    "deployment.yaml", "hpa.yaml", "ingress.yaml", "injection.yaml", "limits.yaml",
    "package-context.yaml", "rbac.yaml", "service.yaml", "serviceaccount.yaml", "setters.yaml",
);

pub(super) const SETS: &str =
    "/apis/config.porch.kpt.dev/v1alpha2/namespaces/default/packagevariantsets";
pub(super) const VARIANTS: &str =
    "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants";
pub(super) const EU: &str = "edge-eu.shop-eu.packagevariant-1";
pub(super) const US: &str = "edge-us.shop-us.packagevariant-1";
pub(super) const EU2: &str = "edge-eu.shop-eu.packagevariant-2";
pub(super) const US2: &str = "edge-us.shop-us.packagevariant-2";
