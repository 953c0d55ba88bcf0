//! The kubeconfig of the embedded server: the one place where credentials stand.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a client needs.
#[derive(Clone)]
pub(crate) struct Access {
    /// `https://127.0.0.1:6443`
    pub(crate) server: String,
    /// The certificate authority, PEM.
    pub(crate) authority: String,
    /// The administrator's bearer token.
    pub(crate) token: String,
}

/// The kubeconfig's text; its context is in namespace `default`.
pub(crate) fn text(access: &Access) -> String {
    let authority = STANDARD.encode(&access.authority);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: offshoot
  cluster:
    server: {}
    certificate-authority-data: {authority}
users:
- name: offshoot-admin
  user:
    token: {}
contexts:
- name: offshoot
  context:
    cluster: offshoot
    user: offshoot-admin
    namespace: default
current-context: offshoot
",
        access.server, access.token
    )
}
