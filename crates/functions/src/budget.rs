//! What a function may put into a package (X9): where a text may stand in itself, a few bytes make gigabytes.

use std::cell::Cell;

use yaml::owned::{Data, Value};

/// The longest value that is put, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;
/// What all values that are put may be together, in bytes.
const PUT: usize = 32 << 20;
/// What a value costs beside its text: a small one is larger in memory than it is written.
const VALUE: usize = 128;

/// The bytes of what a call has put, up to now.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    put: Cell<usize>,
}

impl Budget {
    /// Counts a text that is put.
    ///
    /// # Errors
    /// The call has put too much.
    pub(crate) fn text(&self, bytes: usize) -> Result<(), String> {
        self.put.set(self.put.get().saturating_add(bytes));
        if self.put.get() > PUT {
            return Err(format!(
                "all values that are put are longer than {PUT} bytes"
            ));
        }
        Ok(())
    }

    /// Counts a value that is put, with all that is below it: an alias for what it stands for, as it is written in the end.
    ///
    /// # Errors
    /// The call has put too much.
    pub(crate) fn value(&self, value: &Value) -> Result<(), String> {
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            let text = match value.data() {
                Data::Scalar(scalar) => scalar.text.len(),
                Data::Map(map) => {
                    stack.extend(map.iter().map(|(_, below)| below));
                    map.iter().map(|(key, _)| key.len()).sum()
                }
                Data::Seq(seq) => {
                    stack.extend(seq.items());
                    0
                }
                Data::Alias(_) => 0,
            };
            self.text(text.saturating_add(VALUE))?;
        }
        Ok(())
    }
}

/// What is said of a value that would be too long.
pub(crate) fn too_long() -> String {
    format!("a value would be longer than {LONGEST} bytes")
}
