//! Bodies as the Kubernetes libraries write them.

use serde_json::json;

use super::object;

/// A length-delimited field.
fn bytes(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, u8::try_from(inner.len()).expect("short")];
    out.extend_from_slice(inner);
    out
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [
        b"k8s\0".to_vec(),
        bytes(1, &meta),
        bytes(2, raw),
        bytes(3, b""),
        bytes(4, b""),
    ]
    .concat()
}

#[test]
fn a_config_map_reads_as_its_json() {
    let time = [bytes(8, b"")].concat();
    let meta = [
        bytes(1, b"a"),
        bytes(2, b""),
        bytes(3, b"ns"),
        vec![7 << 3, 0],
        time,
    ]
    .concat();
    let data = [bytes(1, b"k"), bytes(2, b"v")].concat();
    let binary = [bytes(1, b"b"), bytes(2, &[0, 1, 2])].concat();
    let raw = [bytes(1, &meta), bytes(2, &data), bytes(3, &binary)].concat();
    let read = object(&body("v1", "ConfigMap", &raw)).expect("readable");
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"},
        "data": {"k": "v"}, "binaryData": {"b": "AAEC"},
    });
    assert_eq!(read, expected);
}

#[test]
fn a_lease_keeps_its_microseconds() {
    let seconds = [1 << 3, 0x80, 0xc2, 0xaf, 0xf0, 0x05, 2 << 3, 0xe8, 0x07];
    let raw = bytes(
        2,
        &[bytes(1, b"me"), vec![2 << 3, 15], bytes(4, &seconds)].concat(),
    );
    let read = object(&body("coordination.k8s.io/v1", "Lease", &raw)).expect("readable");
    assert_eq!(
        read["spec"],
        json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000001Z"})
    );
}

#[test]
fn broken_bodies_are_refused() {
    let whole = body("v1", "ConfigMap", &bytes(1, &bytes(1, b"a")));
    for cut in 0..whole.len() {
        drop(object(whole.get(..cut).expect("shorter")));
    }
    assert!(object(b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").is_err());
    assert!(object(b"{}").is_err());
    assert!(object(&body("v1", "Pod", b"")).is_err());
}
