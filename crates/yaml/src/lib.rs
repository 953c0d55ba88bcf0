//! A YAML text as a value that remembers every byte; edits are values applied to spans.
mod decode;
mod edit;
mod error;
mod limits;
mod node;
mod number;
pub mod owned;
mod parse;
mod path;
mod quote;
mod scalar;
mod stream;
mod tree;
mod value;
mod write;

pub use decode::first_document_json;
pub use edit::{Comment, Comments, Edit, Fragment, Place};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use node::{Entry, Node};
pub use path::{Path, Step};
pub use scalar::{Reader, Scalar};
pub use stream::{Document, Stream};
pub use tree::{Kind, Style};
pub use value::Value;
pub use write::render;
