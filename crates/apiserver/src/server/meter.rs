//! What a connection's bytes tell about it: that the headers of a request have begun, and that a client takes its answer.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connections::{Flight, Link};

/// A stream whose connection is told what its bytes mean.
#[derive(Debug)]
pub(super) struct Meter<S> {
    stream: S,
    link: Arc<Link>,
    /// Whether bytes that come between requests begin one: in HTTP 2 they may be pings.
    heads: bool,
    /// Whether the client did not take what was sent last.
    held: bool,
}

impl<S> Meter<S> {
    pub(super) fn new(stream: S, link: Arc<Link>, heads: bool) -> Self {
        Self {
            stream,
            link,
            heads,
            held: false,
        }
    }

    /// A slow client that takes some of its answer is at work; what goes out without waiting says nothing.
    fn sent(&mut self, polled: Poll<Result<usize>>) -> Poll<Result<usize>> {
        match &polled {
            Poll::Pending => self.held = true,
            Poll::Ready(Ok(1..)) if std::mem::replace(&mut self.held, false) => self.link.moved(),
            Poll::Ready(_) => {}
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Meter<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        if self.heads && into.filled().len() > before {
            self.link.head_begins();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Meter<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, data);
        self.sent(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.sent(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// An answer's body: its request is under way until it is dropped.
pub(super) struct Answer<B> {
    pub(super) body: B,
    pub(super) flight: Flight,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, B::Error>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.flight.moved();
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
