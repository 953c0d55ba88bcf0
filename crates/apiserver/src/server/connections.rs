//! Sockets: TLS, HTTP 1 and 2, and the limits that hold before a request is read.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::gather::Gather;
use super::meter::{Answer, Meter};
use crate::authn::{Certificates, Chain};
use crate::connections::{Connections, Ended, Entry, Lasting, Link, OpenConnection};
use crate::limits::Limits;

/// How long a connection that is closed for another one may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(50);

/// The same where nobody waits for its place.
const LEISURE: Duration = Duration::from_secs(1);

/// How long accepting rests when the system has no room for another connection.
const REST: Duration = Duration::from_millis(50);

/// How many idle connections go then.
const MANY: usize = 8;

/// How connections are served.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) acceptor: TlsAcceptor,
    pub(super) certificates: Certificates,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) connections: Connections,
    /// Whether the cluster around the server judges certificates.
    pub(super) judged_by_host: bool,
}

/// Accepts connections until the server stops, and waits for those that are open.
pub(super) async fn accept(
    listener: TcpListener,
    serving: Serving,
    mut stopped: watch::Receiver<bool>,
) {
    let mut tasks = JoinSet::new();
    let mut told = None;
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, from)) => {
                    if let Some(open) = enter(&serving.connections, from.ip()).await {
                        let router = serving.router.clone().layer(axum::Extension(from));
                        let serving = Serving { router, ..serving.clone() };
                        tasks.spawn(connection(socket, open, serving, stopped.clone()));
                    }
                }
                Err(error) => not_accepted(&error, &serving.connections, &mut told).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// A place for a connection, if there is one or comes one soon.
async fn enter(connections: &Connections, address: IpAddr) -> Option<OpenConnection> {
    for _ in 0..3 {
        match connections.enter(address) {
            Entry::In(open) => return Some(open),
            Entry::Wait => connections.left().await,
            Entry::Full => break,
        }
    }
    connections.ended(Ended::Refused);
    None
}

/// Goes on after a connection could not be accepted: at once where it was the client's fault. Where the system has no
/// room, idle connections go and accepting rests a moment instead of spinning.
async fn not_accepted(
    error: &std::io::Error,
    connections: &Connections,
    told: &mut Option<Instant>,
) {
    let full = Errno::from_io_error(error).is_some_and(|errno| {
        [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].contains(&errno)
    });
    if full {
        connections.make_room(MANY);
    }
    if told.is_none_or(|at| at.elapsed() > Duration::from_secs(10)) {
        *told = Some(Instant::now());
        tracing::warn!(%error, "a connection cannot be accepted");
    }
    let aborted = [Errno::CONNABORTED, Errno::CONNRESET, Errno::INTR];
    if !Errno::from_io_error(error).is_some_and(|errno| aborted.contains(&errno)) {
        tokio::time::sleep(REST).await;
    }
}

/// Agrees on TLS, in time.
async fn greet(socket: TcpStream, link: &Link, serving: &Serving) -> Option<TlsStream<TcpStream>> {
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "set nodelay");
    }
    let accepting = serving.acceptor.accept(socket);
    let ended = tokio::select! {
        accepted = tokio::time::timeout(serving.limits.headers, accepting) => match accepted {
            Ok(Ok(stream)) => {
                link.greeted();
                return Some(stream);
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "agree on TLS");
                return None;
            }
            Err(_) => Ended::Handshake,
        },
        ended = over(link, &serving.limits) => ended,
    };
    serving.connections.ended(ended);
    None
}

/// Waits until a connection has no right to stay.
async fn over(link: &Link, limits: &Limits) -> Ended {
    let mut told = pin!(link.told());
    let mut sleep = pin!(tokio::time::sleep_until(Instant::now()));
    // Whatever the connection does has it look again: headers that begin make the time shorter.
    std::future::poll_fn(|cx| {
        loop {
            match link.over(limits) {
                Ok(ended) => return Poll::Ready(ended),
                Err(at) if at < sleep.deadline() || sleep.is_elapsed() => sleep.as_mut().reset(at),
                Err(_) => {}
            }
            if told.as_mut().poll(cx).is_ready() {
                told.set(link.told());
            } else if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // Its time would run between requests, too.
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        // A peer that is gone without a word holds its streams no longer than this.
        .keep_alive_interval(Some(Duration::from_secs(30)));
    builder
}

async fn connection(
    socket: TcpStream,
    open: OpenConnection,
    serving: Serving,
    mut stopped: watch::Receiver<bool>,
) {
    let link = Arc::clone(&open.link);
    let Some(stream) = greet(socket, &link, &serving).await else {
        return;
    };
    let (_, tls) = stream.get_ref();
    let two = tls.alpn_protocol() == Some(b"h2");
    let chain = tls.peer_certificates();
    let router = match chain {
        Some(chain) if serving.judged_by_host => {
            let chain = chain.iter().map(|one| one.clone().into_owned()).collect();
            serving
                .router
                .layer(axum::Extension(Chain(Arc::new(chain))))
        }
        Some(chain) => match serving.certificates.judge(chain) {
            Some(peer) => serving.router.layer(axum::Extension(peer)),
            None => serving.router,
        },
        None => serving.router,
    };
    let service = Counted {
        inner: TowerToHyperService::new(router),
        link: Arc::clone(&link),
        connections: serving.connections.clone(),
    };
    let stream = Gather::new(Meter::new(stream, Arc::clone(&link), !two));
    let builder = builder(&serving.limits);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut goodbye = None;
    let ended = loop {
        tokio::select! {
            biased;
            ended = served.as_mut() => break ended,
            _ = stopped.changed() => {
                served.as_mut().graceful_shutdown();
                // Watches do not end by themselves: give plain requests a moment, then hang up.
                match tokio::time::timeout(Duration::from_secs(1), served.as_mut()).await {
                    Ok(ended) => break ended,
                    Err(_) => return,
                }
            }
            ended = outlived(&link, &serving.limits, goodbye) => {
                if goodbye.is_some() {
                    return;
                }
                // A request that crosses this on the way is answered, or the client told that it was not begun.
                link.closes();
                served.as_mut().graceful_shutdown();
                serving.connections.ended(ended);
                goodbye = Some(if ended == Ended::Room { GOODBYE } else { LEISURE });
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
    drop(open);
}

/// Waits so long, and then until a connection has no right to stay.
async fn outlived(link: &Link, limits: &Limits, first: Option<Duration>) -> Ended {
    if let Some(first) = first {
        tokio::time::sleep(first).await;
    }
    over(link, limits).await
}

/// A service whose requests count on their connection.
struct Counted {
    inner: TowerToHyperService<Router>,
    link: Arc<Link>,
    connections: Connections,
}

impl Service<Request<Incoming>> for Counted {
    type Response = Response<Answer<Body>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let flight = self.connections.begin(&self.link);
        request.extensions_mut().insert(flight.request());
        request
            .extensions_mut()
            .insert(ConnectInfo(self.link.address()));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let response = answer.await?;
            flight.answered(response.extensions().get::<Lasting>().is_some());
            Ok(response.map(|body| Answer { body, flight }))
        })
    }
}
