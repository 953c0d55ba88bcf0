//! The canonical encoding of a draft's inputs, hashed (decisions.md V21).
