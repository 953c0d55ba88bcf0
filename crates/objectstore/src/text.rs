//! The bytes of an object in memory: as they are, or packed.
//!
//! Objects are mostly field names, ownership and reports, and objects of one resource resemble each other more than themselves:
//! each is packed beside a sample, the text of another one. What is on the disk and on the wire is never packed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};

use crate::key::ResourceKey;

/// Texts below this many bytes stay as they are: they gain little.
const PACKED_FROM: usize = 1 << 10;

/// Longer texts are no samples: what was packed beside one keeps it.
const SAMPLE_UP_TO: usize = 16 << 10;

/// How many texts a sample meets at least before another one takes its place: they stay few where no two texts resemble each other.
const RENEWED_AFTER: u32 = 64;

/// A text that may be packed.
#[derive(Debug, Clone)]
pub(super) enum Text {
    Plain(Bytes),
    /// An LZ4 block.
    Packed {
        block: Box<[u8]>,
        /// The length of the text.
        len: u32,
        /// What was known beforehand.
        sample: Arc<[u8]>,
    },
}

impl Text {
    /// The text.
    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Plain(bytes) => bytes.clone(),
            Self::Packed { block, len, sample } => {
                let text = decompress_with_dict(block, *len as usize, sample);
                // Packed in this process, so it unpacks; if it did not, it would read as nothing.
                text.unwrap_or_default().into()
            }
        }
    }

    /// Another text, packed like this one.
    pub(super) fn another(&self, text: Vec<u8>) -> Self {
        match self {
            Self::Plain(_) => Self::Plain(text.into()),
            Self::Packed { sample, .. } => pack(&text, sample).unwrap_or(Self::Plain(text.into())),
        }
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Packed { len, .. } => *len as usize,
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

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Text {}

/// Packs a text, if that saves at least half.
fn pack(text: &[u8], sample: &Arc<[u8]>) -> Option<Text> {
    let len = u32::try_from(text.len()).ok()?;
    let block = compress_with_dict(text, sample);
    (block.len() <= text.len() / 2).then(|| Text::Packed {
        block: block.into_boxed_slice(),
        len,
        sample: Arc::clone(sample),
    })
}

/// Packs the texts of one resource.
#[derive(Debug)]
pub(super) struct Packer {
    sample: Arc<[u8]>,
    /// How many texts met this sample.
    met: u32,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            sample: Arc::default(),
            met: RENEWED_AFTER,
        }
    }
}

impl Packer {
    /// Keeps a text, packed if that saves at least half. One that the sample tells little of may become the next sample.
    pub(super) fn keep(&mut self, text: Vec<u8>) -> Text {
        if text.len() < PACKED_FROM {
            return Text::Plain(text.into());
        }
        let packed = pack(&text, &self.sample);
        self.met = self.met.saturating_add(1);
        let little = packed.as_ref().is_none_or(|p| p.weight() > text.len() / 4);
        let renew = little && self.met > RENEWED_AFTER && text.len() <= SAMPLE_UP_TO;
        if renew {
            self.sample = Arc::from(text.as_slice());
            self.met = 0;
        }
        packed.unwrap_or_else(|| Text::Plain(text.into()))
    }
}

/// A packer for each resource.
#[derive(Debug, Default)]
pub(super) struct Packers(BTreeMap<ResourceKey, Packer>);

impl Packers {
    /// The packer of a resource.
    pub(super) fn of(&mut self, resource: &ResourceKey) -> &mut Packer {
        self.0.entry(resource.clone()).or_default()
    }
}

#[cfg(test)]
mod tests;
