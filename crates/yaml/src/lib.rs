//! A YAML text as a value that remembers every byte; edits are values applied to spans.
//!
//! A [`Stream`] is a whole file: its text and the documents in it. [`Document`] and [`Node`] are handles that read it: what a
//! node is, where it stands, what it means to a [`Reader`], which comments belong to it. [`Stream::apply`] takes a list of
//! [`Edit`]s and gives another stream; bytes that nobody asked to change are copied, and every result is parsed again and
//! compared with what was asked before it is returned.
//!
//! ```
//! use yaml::{Edit, Limits, Path, Stream};
//!
//! let stream = Stream::parse("metadata:\n  name: web # do not rename\n", &Limits::default())?;
//! let edit = Edit::set(Path::keys(["metadata", "labels", "app"]), "web");
//! let stream = stream.apply(0, &[edit])?;
//! assert_eq!(stream.text(), "metadata:\n  name: web # do not rename\n  labels:\n    app: web\n");
//! # Ok::<(), yaml::Error>(())
//! ```
//!
//! This crate depends on none of ours and never reformats what it was not asked to touch. Sources of its rules:
//! decisions V5, M1, M6, M14, M20, Y1 to Y3, and the recorded answers in `vectors/yaml-edit` and `vectors/yaml-scalars`.

mod decode;
mod document;
mod edit;
mod error;
mod keys;
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
pub use document::Document;
pub use edit::{Attached, Attachments, Comment, CommentPlace, Comments, Edit, Fragment};
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use node::{Entry, Node};
pub use path::{NodeStep, Path};
pub use scalar::{Reader, Scalar};
pub use stream::Stream;
pub use tree::{NodeKind, Style};
pub use value::Value;
pub use write::render;
