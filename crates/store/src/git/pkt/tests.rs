//! The wire's lines, as servers write them.

use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_line(&mut out, text.as_bytes());
    out
}

fn parse(bytes: &[u8], service: &'static str) -> Result<Advertisement, Unread> {
    // However it comes in pieces.
    let whole = parse_in(bytes, service, bytes.len().max(1));
    for piece in [1, 7] {
        assert_eq!(parse_in(bytes, service, piece), whole);
    }
    whole
}

fn parse_in(bytes: &[u8], service: &'static str, piece: usize) -> Result<Advertisement, Unread> {
    let mut read = Advertised::new(service, (100, 10_000));
    for piece in bytes.chunks(piece) {
        assert!(read.take(piece));
    }
    read.end()
}

#[test]
fn an_advertisement_is_read() {
    let (a, b) = ("1".repeat(40), "2".repeat(40));
    let mut bytes = line("# service=git-upload-pack\n");
    bytes.extend(b"0000");
    bytes.extend(line(&format!(
        "{a} HEAD\0multi_ack atomic object-format=sha1\n"
    )));
    bytes.extend(line(&format!("{a} refs/heads/main\n")));
    bytes.extend(line(&format!("{b} refs/tags/v1\n")));
    bytes.extend(line(&format!("{a} refs/tags/v1^{{}}\n")));
    bytes.extend(b"0000");
    let read = parse(&bytes, "git-upload-pack").unwrap();
    let names: Vec<&str> = read.refs.keys().map(RefName::as_str).collect();
    assert_eq!(names, ["refs/heads/main", "refs/tags/v1"]);
    assert_eq!(
        read.refs.values().last().unwrap().to_string(),
        b,
        "tags are not followed"
    );
    assert!(read.can("atomic") && !read.can("report-status"));
    let foreign = Err(Unread::Foreign);
    assert_eq!(parse(&bytes, "git-receive-pack"), foreign);
    let html = b"<html>who are you?</html>";
    assert_eq!(parse(html, "git-upload-pack"), foreign);
    // One that breaks off is none: what it does not tell of is not gone.
    let start = line("# service=git-upload-pack\n").len();
    for end in start..bytes.len() {
        assert_eq!(parse(&bytes[..end], "git-upload-pack"), Err(Unread::Cut));
    }
}

#[test]
fn an_empty_repository_is_read() {
    let mut bytes = line("# service=git-receive-pack\n");
    bytes.extend(b"0000");
    let zero = "0".repeat(40);
    bytes.extend(line(&format!(
        "{zero} capabilities^{{}}\0report-status atomic\n"
    )));
    bytes.extend(b"0000");
    let read = parse(&bytes, "git-receive-pack").unwrap();
    assert!(read.refs.is_empty() && read.can("atomic"));
    let nothing = [&*line("# service=git-upload-pack\n"), b"00000000"].concat();
    let read = parse(&nothing, "git-upload-pack").unwrap();
    assert_eq!(read, Advertisement::default());
}

#[test]
fn a_report_is_read() {
    let mut inner = line("unpack ok\n");
    inner.extend(line("ok refs/heads/a\n"));
    inner.extend(line("ng refs/heads/b hook declined\n"));
    inner.extend(b"0000");
    let mut bytes = line("\u{2}bad names\n");
    // Split anywhere: side bands know no lines.
    for part in inner.chunks(7) {
        let mut band = vec![1];
        band.extend(part);
        push_line(&mut bytes, &band);
    }
    let cut = PushReport::parse(&bytes[..bytes.len() - 5]);
    assert!(!cut.complete, "a report that ends early is no answer");
    bytes.extend(b"0000");
    let read = PushReport::parse(&bytes);
    assert_eq!(read.unpacked, Some(Ok(())));
    assert_eq!(
        read.refused,
        [("refs/heads/b".to_owned(), "hook declined".to_owned())]
    );
    assert_eq!(
        (read.moved.len(), read.complete, read.words.as_str()),
        (1, true, "bad names\n")
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_fail(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(PushReport::parse(&raw));
        drop(parse(&raw, "git-upload-pack"));
        let mut framed = line("# service=git-upload-pack\n");
        push_line(&mut framed, &raw);
        drop(parse(&framed, "git-upload-pack"));
    }
}
