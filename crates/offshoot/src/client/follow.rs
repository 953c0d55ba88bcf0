//! What changes, as watches of several kinds tell it in one stream.

use std::pin::Pin;

use futures::stream::SelectAll;
use futures::{Stream, StreamExt as _};
use serde_json::Value;

use super::{Client, ResourcePath, collection};
use crate::exit::ExitFailure;

/// One change.
pub(crate) struct Change {
    /// Of which kind.
    pub(crate) kind: ResourcePath,
    /// Whether the object went.
    pub(crate) gone: bool,
    /// As it is, or was last.
    pub(crate) object: Value,
}

/// The changes of all kinds.
pub(crate) struct Changes {
    lines: Lines,
}

/// Lines of all watches.
type Lines = SelectAll<Pin<Box<dyn Stream<Item = Line> + Send>>>;

/// A line of a watch, or its end.
type Line = (ResourcePath, Result<Option<Vec<u8>>, ExitFailure>);

/// Follows each kind from its version on.
///
/// # Errors
/// The server's own message.
pub(crate) async fn open(
    client: &Client,
    namespace: &str,
    from: &[(ResourcePath, String)],
) -> Result<Changes, ExitFailure> {
    let mut lines: Lines = SelectAll::new();
    for (kind, version) in from {
        let kind = *kind;
        let query = [("watch", "true"), ("resourceVersion", version.as_str())];
        let frames = client.open(&collection(kind, namespace, &query)).await?;
        // The end of one watch is the end of all: what is missed is listed again.
        let end = futures::stream::once(async { Ok(None) });
        let split = split(frames).map(|line| line.map(Some)).chain(end);
        lines.push(Box::pin(split.map(move |line| (kind, line))));
    }
    Ok(Changes { lines })
}

/// Bytes as they come, as whole lines.
fn split(
    frames: impl Stream<Item = Result<bytes::Bytes, ExitFailure>> + Unpin,
) -> impl Stream<Item = Result<Vec<u8>, ExitFailure>> {
    let start = (frames, Vec::<u8>::new());
    futures::stream::unfold(start, |(mut frames, mut held)| async move {
        loop {
            if let Some(end) = held.iter().position(|b| *b == b'\n') {
                let rest = held.split_off(end + 1);
                return Some((Ok(held), (frames, rest)));
            }
            match frames.next().await? {
                Ok(bytes) => held.extend_from_slice(&bytes),
                Err(failure) => return Some((Err(failure), (frames, held))),
            }
        }
    })
}

impl Changes {
    /// The next change; `None` once a watch ended, or cannot go on from where it was.
    ///
    /// # Errors
    /// A watch broke off.
    pub(crate) async fn next(&mut self) -> Result<Option<Change>, ExitFailure> {
        while let Some((kind, line)) = self.lines.next().await {
            let Some(line) = line? else {
                return Ok(None);
            };
            let Ok(event) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            let gone = match api::str_at(&event, &["type"]) {
                Some("ADDED" | "MODIFIED") => false,
                Some("DELETED") => true,
                Some("BOOKMARK") => continue,
                // The version is too old: everything is listed anew.
                _ => return Ok(None),
            };
            if let Some(object) = event.get("object") {
                let object = object.clone();
                return Ok(Some(Change { kind, gone, object }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_whole_however_they_come() {
        let frames = ["a\nb", "c", "\n\nd\n", "e"].map(|text| Ok(bytes::Bytes::from(text)));
        let lines = split(futures::stream::iter(frames)).map(|line| line.unwrap());
        let lines: Vec<Vec<u8>> = lines.collect().await;
        assert_eq!(lines, [&b"a\n"[..], b"bc\n", b"\n", b"d\n"]);
    }
}
