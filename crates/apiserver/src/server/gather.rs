//! What is answered at one moment leaves in one piece.
//!
//! HTTP 2 flushes as soon as one stream has a frame. With many watches on a connection, each event would be a system
//! call, a TLS record and a wake of the client for every one of them; so a flush lets whatever else is ready run first,
//! once, and then sends all that has come together. It never waits for anything.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are held back at most; what is larger passes through.
const MOST: usize = 16 << 10;

/// A stream whose small writes are gathered until it is flushed.
#[derive(Debug)]
pub(super) struct Gather<S> {
    stream: S,
    held: BytesMut,
    /// Whether the others were let go first since something is held.
    yielded: bool,
}

impl<S: AsyncWrite + Unpin> Gather<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            held: BytesMut::new(),
            yielded: false,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        while !self.held.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.held))?;
            if sent == 0 {
                return Poll::Ready(Err(Error::from(ErrorKind::WriteZero)));
            }
            self.held.advance(sent);
        }
        // An idle connection keeps no room.
        self.held = BytesMut::new();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gather<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize>> {
        if self.held.len() + data.len() > MOST {
            ready!(self.poll_send(cx))?;
            return Pin::new(&mut self.stream).poll_write(cx, data);
        }
        self.held.extend_from_slice(data);
        Poll::Ready(Ok(data.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum::<usize>();
        if self.held.len() + length > MOST {
            ready!(self.poll_send(cx))?;
            return Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        }
        for slice in slices {
            self.held.extend_from_slice(slice);
        }
        Poll::Ready(Ok(length))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.held.is_empty() && !std::mem::replace(&mut self.yielded, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.poll_send(cx))?;
        self.yielded = false;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gather<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Notes each write; takes so many bytes at most, and nothing every other time.
    #[derive(Debug, Default)]
    struct Wire {
        writes: Vec<Vec<u8>>,
        most: Option<usize>,
        busy: bool,
        flushed: usize,
    }

    impl AsyncWrite for Wire {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<Result<usize>> {
            if self.most.is_some() {
                self.busy = !self.busy;
                if self.busy {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            let taken = data.len().min(self.most.unwrap_or(usize::MAX));
            self.writes.push(data[..taken].to_vec());
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            self.flushed += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_is_written_before_the_flush_leaves_in_one_piece() {
        let mut gather = Gather::new(Wire::default());
        for part in ["one ", "two ", "three"] {
            gather.write_all(part.as_bytes()).await.unwrap();
        }
        assert!(gather.stream.writes.is_empty());
        gather.flush().await.unwrap();
        assert_eq!(gather.stream.writes, [b"one two three".to_vec()]);
        assert_eq!((gather.stream.flushed, gather.held.capacity()), (1, 0));
    }

    #[tokio::test]
    async fn a_flush_lets_others_go_first_once() {
        let mut gather = Gather::new(Wire::default());
        gather.write_all(b"held").await.unwrap();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut gather).poll_flush(&mut cx).is_pending());
        gather.write_all(b" too").await.unwrap();
        assert!(Pin::new(&mut gather).poll_flush(&mut cx).is_ready());
        assert_eq!(gather.stream.writes, [b"held too".to_vec()]);
        // Nothing held: nobody is let go first.
        assert!(Pin::new(&mut gather).poll_flush(&mut cx).is_ready());
    }

    #[tokio::test]
    async fn nothing_is_lost_or_turned_round_on_a_slow_wire() {
        let mut gather = Gather::new(Wire {
            most: Some(1_000),
            ..Wire::default()
        });
        let mut sent = Vec::new();
        for (i, length) in [10, MOST - 11, 300, 3 * MOST, 0, 7, MOST, MOST + 1]
            .into_iter()
            .enumerate()
        {
            let part = vec![u8::try_from(i).unwrap(); length];
            gather.write_all(&part).await.unwrap();
            sent.extend(part);
            if i == 4 {
                gather.flush().await.unwrap();
            }
        }
        gather.write_all(b"end").await.unwrap();
        sent.extend(b"end");
        gather.shutdown().await.unwrap();
        assert!(gather.stream.writes.concat() == sent);
    }
}
