//! How large a value is.

use super::{Data, Value};

impl Value {
    /// About the bytes of its text, and how many values it is made of. What an alias stands for is not counted.
    pub fn weight(&self) -> (u64, u64) {
        let (mut bytes, mut values) = (0, 0);
        let mut stack = vec![self];
        while let Some(value) = stack.pop() {
            values += 1;
            bytes += 1 + value.comment().map_or(0, str::len) as u64;
            if value.is_alias() {
                continue;
            }
            match value.data() {
                Data::Scalar(scalar) => bytes += scalar.text.len() as u64,
                Data::Map(map) => {
                    for (key, below) in map.iter() {
                        bytes += key.len() as u64 + 1;
                        stack.push(below);
                    }
                }
                Data::Seq(seq) => stack.extend(seq.items()),
                Data::Alias(_) => {}
            }
        }
        (bytes, values)
    }
}
