//! Making inputs of inputs: cut, doubled, swapped, spliced, nested, and sprinkled with what parsers stumble over.

use super::LONGEST;

/// Pseudo-random numbers (xorshift); the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below another; 0 below 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Pieces that parsers stumble over.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\n  ",
    b"\n    ",
    b"\n- ",
    b"  ",
    b"- ",
    b"? ",
    b": ",
    b":",
    b", ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"#",
    b" # c\n",
    b"# kpt-set: ${a}",
    b"# kpt-set: x-${a}-${b}\n",
    b"${",
    b"&a ",
    b"*a",
    b"!!str ",
    b"!x ",
    b"|\n",
    b">-\n",
    b"|2+\n",
    b"'",
    b"\"",
    b"\\",
    b"\\u",
    b"\t",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"<<: *a\n",
    b"null",
    b"~",
    b"true",
    b"on",
    b"0777",
    b"1e400",
    b"-9223372036854775809",
    b"18446744073709551616",
    b".nan",
    b"0x",
    b"apiVersion: v1\n",
    b"kind: List\n",
    b"kind: ConfigMap\n",
    b"metadata:\n  name: x\n",
    b"items:\n",
    b"name: a\n",
    b"\0\0\n",
    b"=",
    b"**",
    b".*",
    b"(",
    b")",
    b"[^",
    b"(a*)*",
    b"$1",
    b"${x}",
    b"a.b[0].c",
    b"\xf0\x9f\x98\x80",
];

/// A new input.
pub(crate) fn mutated(pool: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut input = pool
        .get(numbers.below(pool.len()))
        .cloned()
        .unwrap_or_default();
    for _ in 0..=numbers.below(6) {
        change(&mut input, pool, numbers);
        if input.len() > LONGEST {
            input.truncate(LONGEST);
        }
    }
    input
}

fn change(input: &mut Vec<u8>, pool: &[Vec<u8>], numbers: &mut Numbers) {
    let at = numbers.below(input.len() + 1);
    let to = (at + 1 + numbers.below(24)).min(input.len());
    match numbers.below(10) {
        0 => drop(input.drain(at.min(to)..to)),
        1 => {
            let part = input.get(at..to).unwrap_or_default().to_vec();
            splice(input, at, &part);
        }
        2..=4 => {
            let piece = PIECES
                .get(numbers.below(PIECES.len()))
                .copied()
                .unwrap_or_default();
            splice(input, at, piece);
        }
        5 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << numbers.below(8);
            }
        }
        6 => lines(input, numbers),
        7 => {
            let other = pool
                .get(numbers.below(pool.len()))
                .map(Vec::as_slice)
                .unwrap_or_default();
            let from = numbers.below(other.len() + 1);
            let part = other.get(from..(from + numbers.below(200)).min(other.len()));
            let part = part.unwrap_or_default().to_vec();
            splice(input, at, &part);
        }
        8 => indent(input, numbers),
        _ => {
            let piece = PIECES
                .get(numbers.below(PIECES.len()))
                .copied()
                .unwrap_or_default();
            let many = piece.repeat(1 << numbers.below(9));
            splice(input, at, &many);
        }
    }
}

fn splice(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    let at = at.min(input.len());
    input.splice(at..at, part.iter().copied());
}

/// Swaps, doubles or drops a line.
fn lines(input: &mut Vec<u8>, numbers: &mut Numbers) {
    let mut lines: Vec<Vec<u8>> = input
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if lines.is_empty() {
        return;
    }
    let (a, b) = (numbers.below(lines.len()), numbers.below(lines.len()));
    match numbers.below(3) {
        0 => lines.swap(a, b),
        1 => {
            let line = lines.get(a).cloned().unwrap_or_default();
            lines.insert(b, line);
        }
        _ => drop(lines.remove(a)),
    }
    *input = lines.concat();
}

/// Moves some lines in or out.
fn indent(input: &mut Vec<u8>, numbers: &mut Numbers) {
    let count = input.split(|byte| *byte == b'\n').count();
    let (from, length, inwards) = (
        numbers.below(count),
        numbers.below(6),
        numbers.below(2) == 0,
    );
    let lines = input
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .map(|(at, line)| {
            let chosen = at >= from && at <= from + length;
            match (chosen, inwards) {
                (false, _) => line.to_vec(),
                (true, true) => [b"  ", line].concat(),
                (true, false) => line.strip_prefix(b"  ").unwrap_or(line).to_vec(),
            }
        });
    *input = lines.collect::<Vec<_>>().concat();
}
