//! A real server behind a URL, asked as the recordings' users: the runner itself is held against it.

use axum::response::Response;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Clients of another server.
pub(crate) struct Peer {
    pub(crate) kubeconfig: String,
    admin: Client,
    alice: Client,
    anonymous: Client,
}

impl Peer {
    /// The server of `OFFSHOOT_PEER`, a kubeconfig with the contexts admin, alice and anonymous; `OFFSHOOT_PEER_SERVER`
    /// is its URL if the file does not say. None if it is not set.
    pub(crate) async fn named() -> Option<Self> {
        let path = std::env::var_os("OFFSHOOT_PEER")?;
        let text = std::fs::read_to_string(path).expect("kube-apiserver's kubeconfig");
        let mut config = Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        if let Ok(url) = std::env::var("OFFSHOOT_PEER_SERVER") {
            for cluster in config
                .clusters
                .iter_mut()
                .filter_map(|c| c.cluster.as_mut())
            {
                cluster.server = Some(url.clone());
            }
        }
        Some(Self {
            kubeconfig: text,
            admin: client(&config, "admin").await,
            alice: client(&config, "alice").await,
            anonymous: client(&config, "anonymous").await,
        })
    }

    /// Sends a request as one of the recordings' users.
    pub(crate) async fn send(&self, request: Request<axum::body::Body>, user: &str) -> Response {
        let client = match user {
            "admin" => &self.admin,
            "alice" => &self.alice,
            _ => &self.anonymous,
        };
        let (mut parts, body) = request.into_parts();
        if !matches!(user, "admin" | "alice" | "anonymous") {
            let value = format!("Bearer user-{user}").parse().expect("a header");
            parts.headers.insert("authorization", value);
        }
        let body = axum::body::to_bytes(body, usize::MAX).await.expect("body");
        let request = Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
        let response = client.send(request).await.expect("an answer");
        response.map(axum::body::Body::new)
    }
}

async fn client(config: &Kubeconfig, context: &str) -> Client {
    let options = KubeConfigOptions {
        context: Some(context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let mut config = Config::from_custom_kubeconfig(config.clone(), &options)
        .await
        .expect("a context");
    config.read_timeout = None;
    // An answer is compared, not tried again: some are recorded that clients would repeat.
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}
