//! The parts of a long answer, each made when it is sent: a list of thousands of packed objects is never whole in memory.

use std::sync::Arc;

use bytes::Bytes;
use objectstore::Object;

/// One part.
#[derive(Debug)]
pub(super) enum Piece {
    /// What is written already.
    Text(Bytes),
    /// A stored object.
    Object(Arc<Object>),
    /// A stored object without its `apiVersion` and `kind`, as lists of built-in kinds show it.
    Body(Arc<Object>),
}

impl Piece {
    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Object(object) => object.text_len(),
            Self::Body(object) => object.body_len(),
        }
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> Bytes {
        match self {
            Self::Text(text) => text.clone(),
            Self::Object(object) => object.bytes(),
            Self::Body(object) => object.body(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use objectstore::NewObject;

    #[test]
    fn the_length_of_a_piece_is_known_before_its_bytes_are() {
        let long = "many words of one text ".repeat(200);
        for text in ["short", &long] {
            let value =
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "text": text});
            let object = Arc::new(NewObject::new(&value).unwrap().seal(7));
            for piece in [
                Piece::Text(object.bytes()),
                Piece::Object(Arc::clone(&object)),
                Piece::Body(object),
            ] {
                assert_eq!(piece.len(), piece.bytes().len());
                assert!(piece.bytes().ends_with(b"\"}"));
            }
        }
    }
}
