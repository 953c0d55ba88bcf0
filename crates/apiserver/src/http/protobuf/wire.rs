//! Bytes of protobuf: numbers of variable length, and fields with what they hold.

/// One field as it stands on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
    Skipped,
}

const SHORT: &str = "unexpected EOF";

/// Reads one field: its number, its value, and what follows.
pub(super) fn field(bytes: &[u8]) -> Result<(u64, Wire<'_>, &[u8]), String> {
    let (key, rest) = varint(bytes)?;
    let (wire, rest) = match key & 7 {
        0 => varint(rest).map(|(n, rest)| (Wire::Number(n), rest))?,
        1 => {
            let (eight, rest) = rest.split_first_chunk::<8>().ok_or(SHORT)?;
            (Wire::Fixed(u64::from_le_bytes(*eight)), rest)
        }
        5 => (Wire::Skipped, rest.get(4..).ok_or(SHORT)?),
        2 => {
            let (len, rest) = varint(rest)?;
            let len = usize::try_from(len).map_err(|_| SHORT)?;
            let (inner, rest) = rest.split_at_checked(len).ok_or(SHORT)?;
            (Wire::Bytes(inner), rest)
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok((key >> 3, wire, rest))
}

fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), String> {
    let mut value = 0_u64;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((value, bytes.get(i + 1..).unwrap_or_default()));
        }
    }
    Err(SHORT.to_owned())
}

/// Writes a number of variable length.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Writes a field that is a number.
pub(super) fn put_number(out: &mut Vec<u8>, number: u64, value: u64) {
    put_varint(out, number << 3);
    put_varint(out, value);
}

/// Writes a field of eight bytes.
pub(super) fn put_fixed(out: &mut Vec<u8>, number: u64, value: u64) {
    put_varint(out, number << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a field of any length.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
