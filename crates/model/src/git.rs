//! Ids of git objects: newtypes that do not know their width.
//!
//! Only `store` makes sense of them; everybody else compares and prints them.

use std::fmt;

const MAX: usize = 32;

/// The bytes of an object id, up to 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bytes {
    bytes: [u8; MAX],
    len: u8,
}

impl Bytes {
    fn new(from: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX];
        bytes.get_mut(..from.len())?.copy_from_slice(from);
        Some(Self {
            bytes,
            len: u8::try_from(from.len()).ok()?,
        })
    }

    fn parse(hex: &str) -> Option<Self> {
        if hex.is_empty() || !hex.len().is_multiple_of(2) || !hex.is_ascii() {
            return None;
        }
        let bytes: Option<Vec<u8>> = (0..hex.len())
            .step_by(2)
            .map(|i| {
                hex.get(i..i + 2)
                    .and_then(|h| u8::from_str_radix(h, 16).ok())
            })
            .collect();
        Self::new(&bytes?)
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice()
            .iter()
            .try_for_each(|b| write!(f, "{b:02x}"))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Bytes);

        impl $name {
            /// From raw bytes; `None` beyond 32 bytes.
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                Bytes::new(bytes).map(Self)
            }

            /// From hex digits; `None` if they are none.
            pub fn parse(hex: &str) -> Option<Self> {
                Bytes::parse(hex).map(Self)
            }

            /// The raw bytes.
            pub fn as_slice(&self) -> &[u8] {
                self.0.as_slice()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id!(
    /// A commit.
    CommitId
);
id!(
    /// A directory.
    TreeId
);
id!(
    /// A file's content.
    BlobId
);
