//! Bodies as the Kubernetes libraries write them: `golden.jsonl` was written by Go's encoders from objects of our own.

use base64::Engine as _;
use serde_json::{Value, json};

use super::table::tables;
use super::{body, frame, object};

fn golden() -> Vec<(Value, Vec<u8>)> {
    let lines = include_str!("golden.jsonl").lines();
    let pair = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let bytes = line["protobuf"].as_str().expect("base64");
        let bytes = base64::engine::general_purpose::STANDARD.decode(bytes);
        (line["json"].clone(), bytes.expect("base64"))
    };
    lines.map(pair).collect()
}

/// Without what JSON may leave out or not: nulls, and objects and lists that are empty.
fn bare(value: &Value) -> Value {
    let kept = |v: &Value| {
        !(v.is_null()
            || v.as_object().is_some_and(serde_json::Map::is_empty)
            || v.as_array().is_some_and(Vec::is_empty))
    };
    match value {
        Value::Object(map) => {
            let members = map.iter().map(|(k, v)| (k.clone(), bare(v)));
            Value::Object(members.filter(|(_, v)| kept(v)).collect())
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

#[test]
fn what_go_wrote_is_read_and_written_byte_for_byte() {
    let golden = golden();
    assert!(golden.len() > 25);
    for (value, bytes) in golden {
        let kind = &value["kind"];
        let read = object(&bytes).expect("readable");
        assert_eq!(bare(&read), bare(&value), "{kind}");
        let written = body(&value).expect("has a form");
        assert_eq!(
            String::from_utf8_lossy(&written),
            String::from_utf8_lossy(&bytes),
            "{kind}"
        );
        assert_eq!(written, bytes, "{kind}");
        assert_eq!(body(&read).expect("has a form"), bytes, "{kind} again");
    }
}

#[test]
fn every_kind_has_a_form() {
    let kinds: Vec<_> = tables().kinds().collect();
    assert!(kinds.len() > 35, "{kinds:?}");
    for (group, kind) in kinds {
        let version = match group {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        let empty = json!({"apiVersion": version, "kind": kind});
        let bytes = body(&empty).expect("has a form");
        let read = object(&bytes).expect("readable");
        assert_eq!(read["kind"], kind);
        assert_eq!(body(&read).expect("has a form"), bytes, "{kind}");
    }
    let widget = json!({"apiVersion": "shop.example.dev/v1", "kind": "Widget"});
    assert!(body(&widget).is_none());
}

#[test]
fn a_watch_event_is_framed_by_its_length() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}});
    let frame = frame("ADDED", &object).expect("has a form");
    let (length, event) = frame.split_first_chunk::<4>().expect("a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    let go = base64::engine::general_purpose::STANDARD.decode(WATCH_EVENT);
    assert_eq!(event, go.expect("base64"));
}

/// What Go's raw serializer makes of that event.
const WATCH_EVENT: &str =
    "CgVBRERFRBIxCi9rOHMACg8KAnYxEglDb25maWdNYXASFAoSCgFhEgAaACIAKgAyATc4AEIAGgAiAA==";

#[test]
fn broken_bodies_are_refused() {
    let (_, whole) = golden().swap_remove(0);
    for cut in 0..whole.len() {
        drop(object(whole.get(..cut).expect("shorter")));
    }
    for at in 0..whole.len() {
        let mut spoilt = whole.clone();
        *spoilt.get_mut(at).expect("in range") ^= 0xff;
        drop(object(&spoilt));
    }
    assert!(object(b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").is_err());
    assert!(object(b"{}").is_err());
    let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod";
    assert!(object(pod).is_err());
}

#[test]
fn a_message_in_itself_without_end_is_refused() {
    // not: {not: {not: …}} within a schema, deeper than anything real.
    let mut schema = Vec::new();
    for _ in 0..200 {
        let mut outer = vec![0xe2, 0x01];
        let mut length = schema.len();
        while length >= 0x80 {
            outer.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(&schema);
        schema = outer;
    }
    assert!(super::read::message(&schema, tables().schema, 0).is_err());
}
