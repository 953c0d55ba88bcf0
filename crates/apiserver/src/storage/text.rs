//! The bytes of an object in memory: as they are, or packed where they are many.
//!
//! Large objects are mostly field names, ownership and reports, which pack to less than half; small ones are read often and
//! gain little. What is on the disk and on the wire is never packed.

use bytes::Bytes;

/// Texts below this many bytes stay as they are.
const PACKED_FROM: usize = 4 << 10;

/// A text that may be packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    Plain(Bytes),
    /// An LZ4 block.
    Packed {
        block: Box<[u8]>,
        /// The length of the text.
        len: u32,
    },
}

impl Text {
    /// Keeps a text, packed if that saves at least half.
    pub(super) fn of(text: Vec<u8>) -> Self {
        let len = u32::try_from(text.len()).ok();
        let len = len.filter(|_| text.len() >= PACKED_FROM);
        if let Some(len) = len {
            let block = lz4_flex::block::compress(&text);
            if block.len() <= text.len() / 2 {
                let block = block.into_boxed_slice();
                return Self::Packed { block, len };
            }
        }
        Self::Plain(text.into())
    }

    /// The text.
    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Plain(bytes) => bytes.clone(),
            Self::Packed { block, len } => {
                let text = lz4_flex::block::decompress(block, *len as usize);
                // Made by `of` in this process, so it unpacks; if it did not, it would read as nothing.
                text.unwrap_or_default().into()
            }
        }
    }

    /// The bytes of memory that it takes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Packed { block, .. } => block.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKED_FROM, Text};

    #[test]
    fn what_is_large_and_repeats_is_packed_and_reads_back() {
        let long = "{\"name\":\"a\"},".repeat(PACKED_FROM);
        let noise: Vec<u8> = (0..PACKED_FROM as u64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0])
            .collect();
        let short = long.as_bytes()[..PACKED_FROM - 1].to_vec();
        for (text, packed) in [
            (long.into_bytes(), true),
            (noise, false),
            (short, false),
            (Vec::new(), false),
        ] {
            let kept = Text::of(text.clone());
            assert_eq!(matches!(kept, Text::Packed { .. }), packed);
            assert!(!packed || kept.weight() < text.len() / 2);
            assert_eq!(kept.bytes(), text);
        }
    }
}
