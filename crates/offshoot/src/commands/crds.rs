//! `offshoot crds`: the definitions that a cluster needs (A10).

/// All of them as one YAML stream.
pub(crate) fn text() -> String {
    api::crd_texts()
}
