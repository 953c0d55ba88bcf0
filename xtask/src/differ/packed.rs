//! What a body in protobuf holds, without the types that say what its fields mean: fields by number, each a list of what stands there.
//!
//! Lengths come before what they measure, and a version of the store has as many digits as it has: two bodies that say the same are
//! compared field by field, as JSON is. What is a text and what a message is told by how it looks, alike at both servers.

use serde_json::{Map, Value};

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// The fields of a body; `None` if it is none.
pub(super) fn value(body: &[u8]) -> Option<Value> {
    message(body.strip_prefix(MAGIC)?)
}

/// Where a body names its kind.
const KIND: &str = "/1/0/2/0";
/// Where the name of an item of a list stands in it.
const NAME: &str = "/1/0/1/0";

/// Takes out of a list what is not wanted, by the list's kind and the item's name.
pub(super) fn keep(body: &mut Value, wanted: impl Fn(&str, &str) -> bool) {
    let kind = body.pointer(KIND).and_then(Value::as_str);
    let Some(kind) = kind.filter(|kind| kind.ends_with("List")) else {
        return;
    };
    let kind = kind.to_owned();
    if let Some(Value::Array(items)) = body.pointer_mut("/2/0/2") {
        items.retain(|item| {
            let name = item.pointer(NAME).and_then(Value::as_str);
            name.is_none_or(|name| wanted(&kind, name))
        });
    }
}

/// Whether two numbers are seconds of nearly the same moment.
pub(super) fn moments(ours: &Value, peer: &Value) -> bool {
    const EARLIEST: u64 = 1_500_000_000;
    match (ours.as_u64(), peer.as_u64()) {
        (Some(o), Some(p)) => o > EARLIEST && p > EARLIEST && o.abs_diff(p) < 60,
        _ => false,
    }
}

/// Whether both are versions of the store, by their looks.
pub(super) fn versions(ours: &str, peer: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(ours) && digits(peer)
}

fn message(mut rest: &[u8]) -> Option<Value> {
    let mut fields = Map::new();
    while !rest.is_empty() {
        let (tag, after) = number(rest)?;
        if tag < 8 {
            return None;
        }
        let (value, after) = match tag & 7 {
            0 => number(after).map(|(number, after)| (number.into(), after))?,
            1 => part(after, 8).map(|(bytes, after)| (bytes.to_vec().into(), after))?,
            2 => {
                let (length, after) = number(after)?;
                let (bytes, after) = part(after, length)?;
                (told(bytes), after)
            }
            5 => part(after, 4).map(|(bytes, after)| (bytes.to_vec().into(), after))?,
            _ => return None,
        };
        rest = after;
        let all = fields.entry((tag >> 3).to_string());
        if let Value::Array(all) = all.or_insert_with(|| Value::Array(Vec::new())) {
            all.push(value);
        }
    }
    Some(Value::Object(fields))
}

/// Bytes with a length before them: a text, a message, or whatever they are.
fn told(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).ok();
    let plain = text.filter(|text| !text.chars().any(char::is_control));
    match (plain, text) {
        (Some(plain), _) => plain.into(),
        (None, text) => message(bytes).unwrap_or_else(|| match text {
            Some(text) => text.into(),
            None => bytes.to_vec().into(),
        }),
    }
}

fn part(bytes: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(length).ok()?)
}

/// A number, seven bits in each byte.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut out = 0_u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        out |= u64::from(byte & 0x7f).checked_shl(u32::try_from(at).ok()? * 7)?;
        if byte & 0x80 == 0 {
            return Some((out, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A list of one object with this version.
    fn list(name: &str, version: &str) -> Vec<u8> {
        let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
        let metadata = [
            field(0x0a, name.as_bytes()),
            field(0x32, version.as_bytes()),
        ]
        .concat();
        let item = field(0x0a, &metadata);
        let types = [field(0x0a, b"v1"), field(0x12, b"ConfigMapList")].concat();
        let raw = [field(0x0a, b""), field(0x12, &item)].concat();
        [MAGIC.to_vec(), field(0x0a, &types), field(0x12, &raw)].concat()
    }

    #[test]
    fn fields_are_told_by_number_whatever_their_lengths() {
        let told = value(&list("a", "998")).unwrap();
        let item = json!({"1": [{"1": ["a"], "6": ["998"]}]});
        let raw = json!([{"1": [""], "2": [item]}]);
        assert_eq!(told["2"], raw);
        let other = value(&list("a", "1002")).unwrap();
        let place = "/2/0/2/0/1/0/6/0";
        let at = |value: &Value| {
            value
                .pointer(place)
                .and_then(Value::as_str)
                .unwrap()
                .to_owned()
        };
        assert!(versions(&at(&told), &at(&other)));
        assert!(!versions("a1", "12"));
    }

    #[test]
    fn what_is_cut_off_or_no_body_is_none() {
        let whole = list("a", "998");
        assert_eq!(value(&whole[..whole.len() - 1]), None);
        assert_eq!(value(b"{}"), None);
    }

    #[test]
    fn items_are_left_out_by_kind_and_name() {
        let mut told = value(&list("default", "1")).unwrap();
        keep(&mut told, |kind, _| kind != "ServiceAccountList");
        assert_eq!(told["2"][0]["2"].as_array().map(Vec::len), Some(1));
        keep(&mut told, |kind, name| {
            (kind, name) != ("ConfigMapList", "default")
        });
        assert_eq!(told["2"][0]["2"].as_array().map(Vec::len), Some(0));
    }

    #[test]
    fn only_late_seconds_are_moments() {
        assert!(moments(&json!(1_700_000_000), &json!(1_700_000_002)));
        assert!(!moments(&json!(1_700_000_000), &json!(1_700_000_100)));
        assert!(!moments(&json!(3), &json!(4)));
    }
}
