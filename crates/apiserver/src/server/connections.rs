//! Connections: TLS, HTTP 1 and 2, and the limits that hold before a request is read.

use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::gather::Gather;
use crate::authn::Certificates;
use crate::limits::Limits;

/// How connections are served.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) acceptor: TlsAcceptor,
    pub(super) certificates: Certificates,
    pub(super) router: Router,
    pub(super) limits: Limits,
}

/// Accepts connections until the server stops, and waits for those that are open.
pub(super) async fn accept(
    listener: TcpListener,
    serving: Serving,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, from)) => {
                    connections.spawn(connection(socket, from, serving.clone(), stopped.clone()));
                }
                Err(error) => {
                    // Out of descriptors, most likely: wait instead of spinning.
                    tracing::warn!(%error, "accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    while connections.join_next().await.is_some() {}
}

async fn connection(
    socket: TcpStream,
    from: std::net::SocketAddr,
    serving: Serving,
    mut stopped: watch::Receiver<bool>,
) {
    let limits = serving.limits;
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "set nodelay");
    }
    let Ok(Ok(stream)) =
        tokio::time::timeout(limits.headers, serving.acceptor.accept(socket)).await
    else {
        return;
    };
    let chain = stream.get_ref().1.peer_certificates();
    let peer = chain.and_then(|chain| serving.certificates.judge(chain));
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(limits.header_bytes);
    builder
        .http2()
        .timer(hyper_util::rt::TokioTimer::new())
        .max_concurrent_streams(250)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        // A peer that is gone without a word holds its streams no longer than this.
        .keep_alive_interval(Some(Duration::from_secs(30)));
    let router = serving.router.layer(axum::Extension(from));
    let router = match peer {
        Some(peer) => router.layer(axum::Extension(peer)),
        None => router,
    };
    let service = TowerToHyperService::new(router);
    let serving = builder.serve_connection(TokioIo::new(Gather::new(stream)), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        _ = stopped.changed() => {
            serving.as_mut().graceful_shutdown();
            // Watches do not end by themselves: give plain requests a moment, then hang up.
            match tokio::time::timeout(Duration::from_secs(1), serving.as_mut()).await {
                Ok(ended) => ended,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
