//! JSON patch (RFC 6902), within what one request may cost.
//!
//! A patch of two kilobytes can double an object twenty times, or shift a long list ten thousand times. What operations copy,
//! visit and nest is counted before it is done; the object that is patched is never left half changed.

use json_patch::PatchOperation;
use json_patch::jsonptr::Pointer;
use serde_json::Value;

use super::{MAX_DEPTH, PatchError, go_kind};

/// More operations than this in one JSON patch are refused, as by kube-apiserver.
pub(crate) const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON all `copy` operations of a patch add at most: kube-apiserver's limit.
pub(crate) const MAX_COPIED: usize = 3 << 20;

/// How many values all operations of a patch look at or shift at most.
const MAX_VISITED: usize = 1 << 26;

/// Applies a JSON patch.
///
/// # Errors
/// See [`PatchError`]; `doc` is untouched then.
pub(crate) fn json_patch(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    if patch.is_null() {
        return Ok(doc.clone());
    }
    let Some(operations) = patch.as_array() else {
        let found = go_kind(patch);
        let text = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        );
        return Err(PatchError::Unreadable(text));
    };
    if let Some(odd) = operations.iter().find(|o| !o.is_object() && !o.is_null()) {
        let found = go_kind(odd);
        let text = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type handlers.jsonPatchOp"
        );
        return Err(PatchError::Unreadable(text));
    }
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let text = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        );
        return Err(PatchError::TooLarge(text));
    }
    let unfit = |error: String| PatchError::Unfit(error);
    let mut patch = patch.clone();
    for operation in patch.as_array_mut().into_iter().flatten() {
        // Go's reader takes a missing value for null.
        let wants = matches!(operation["op"].as_str(), Some("add" | "replace" | "test"));
        if let Some(operation) = operation.as_object_mut().filter(|_| wants) {
            operation.entry("value").or_insert(Value::Null);
        }
    }
    let operations: json_patch::Patch =
        serde_json::from_value(patch).map_err(|e| unfit(e.to_string()))?;
    let mut out = doc.clone();
    let mut spent = Spent::default();
    for operation in &operations.0 {
        spent.charge(&out, operation).map_err(unfit)?;
        misses_the_root(operation).map_err(unfit)?;
        let added = replaces_nothing(&out, operation).or_else(|| copies_nothing(&out, operation));
        let operation = added.as_ref().unwrap_or(operation);
        if !finds_nothing(&out, operation) && !replaces_the_root_by_no_document(operation) {
            let one = std::slice::from_ref(operation);
            json_patch::patch_unsafe(&mut out, one).map_err(|e| unfit(e.to_string()))?;
        }
    }
    Ok(out)
}

/// A `replace` of a key that its map has not is an `add` to the real server's library.
fn replaces_nothing(doc: &Value, operation: &PatchOperation) -> Option<PatchOperation> {
    let PatchOperation::Replace(replace) = operation else {
        return None;
    };
    let parent = replace.path.parent()?;
    doc.pointer(parent.as_str())?.as_object()?;
    let missing = doc.pointer(replace.path.as_str()).is_none();
    missing.then(|| {
        PatchOperation::Add(json_patch::AddOperation {
            path: replace.path.clone(),
            value: replace.value.clone(),
        })
    })
}

/// A `copy` of a key that its map has not adds null, says the real server's library.
fn copies_nothing(doc: &Value, operation: &PatchOperation) -> Option<PatchOperation> {
    let PatchOperation::Copy(copy) = operation else {
        return None;
    };
    let parent = doc.pointer(copy.from.parent()?.as_str())?;
    let missing = parent.is_object() && doc.pointer(copy.from.as_str()).is_none();
    missing.then(|| {
        PatchOperation::Add(json_patch::AddOperation {
            path: copy.path.clone(),
            value: Value::Null,
        })
    })
}

/// A `replace` of the whole document by something that is none does nothing, says the real server's library.
fn replaces_the_root_by_no_document(operation: &PatchOperation) -> bool {
    let PatchOperation::Replace(op) = operation else {
        return false;
    };
    op.path.is_root() && !op.value.is_object() && !op.value.is_array()
}

/// To the real server's library the whole document can be tested and replaced, and nothing else.
fn misses_the_root(operation: &PatchOperation) -> Result<(), String> {
    let fits = match operation {
        PatchOperation::Test(_) | PatchOperation::Replace(_) => true,
        PatchOperation::Add(op) => !op.path.is_root(),
        PatchOperation::Remove(op) => !op.path.is_root(),
        PatchOperation::Move(op) => !op.path.is_root() && !op.from.is_root(),
        PatchOperation::Copy(op) => !op.path.is_root() && !op.from.is_root(),
    };
    match fits {
        true => Ok(()),
        false => Err("the whole document cannot be written so".to_owned()),
    }
}

/// What the operations of one patch have cost so far.
#[derive(Debug, Default)]
struct Spent {
    copied: usize,
    visited: usize,
}

impl Spent {
    /// Counts an operation before it is done.
    fn charge(&mut self, doc: &Value, operation: &PatchOperation) -> Result<(), String> {
        match operation {
            PatchOperation::Test(_) => Ok(()),
            PatchOperation::Remove(op) => self.shift(doc, &op.path),
            PatchOperation::Replace(op) => nests(&op.path, Size::of(&op.value)),
            PatchOperation::Add(op) => {
                nests(&op.path, Size::of(&op.value))?;
                self.shift(doc, &op.path)
            }
            PatchOperation::Move(op) => {
                self.shift(doc, &op.from)?;
                self.shift(doc, &op.path)?;
                let size = Size::of(doc.pointer(op.from.as_str()).unwrap_or(&Value::Null));
                self.visit(size.values)?;
                nests(&op.path, size)
            }
            PatchOperation::Copy(op) => {
                self.shift(doc, &op.path)?;
                let size = Size::of(doc.pointer(op.from.as_str()).unwrap_or(&Value::Null));
                self.visit(size.values)?;
                self.copied = self.copied.saturating_add(size.bytes);
                if self.copied > MAX_COPIED {
                    return Err(format!(
                        "its copies add more than {MAX_COPIED} bytes to the object"
                    ));
                }
                nests(&op.path, size)
            }
        }
    }

    /// An item that comes or goes moves those behind it.
    fn shift(&mut self, doc: &Value, path: &Pointer) -> Result<(), String> {
        let parent = path
            .as_str()
            .rsplit_once('/')
            .and_then(|(above, _)| doc.pointer(above));
        self.visit(parent.and_then(Value::as_array).map_or(0, Vec::len))
    }

    fn visit(&mut self, values: usize) -> Result<(), String> {
        self.visited = self.visited.saturating_add(values);
        if self.visited > MAX_VISITED {
            return Err("its operations shift too many items of lists".to_owned());
        }
        Ok(())
    }
}

/// Refuses what would nest too deeply at its place, before anything that recurses meets it.
fn nests(path: &Pointer, size: Size) -> Result<(), String> {
    if path.count() + size.depth > MAX_DEPTH {
        return Err("the result is nested too deeply".to_owned());
    }
    Ok(())
}

/// How large a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    /// Bytes of its JSON without white space.
    bytes: usize,
    /// Itself and everything in it.
    values: usize,
    /// How many lists and objects lie in one another.
    depth: usize,
}

impl Size {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::leaf(4),
            Value::Bool(flag) => Self::leaf(if *flag { 4 } else { 5 }),
            Value::Number(number) => Self::leaf(number.to_string().len()),
            Value::String(text) => Self::leaf(quoted(text)),
            Value::Array(items) => Self::around(items.iter().map(|item| (0, item))),
            Value::Object(map) => {
                Self::around(map.iter().map(|(name, item)| (quoted(name) + 1, item)))
            }
        }
    }

    fn leaf(bytes: usize) -> Self {
        Self {
            bytes,
            values: 1,
            depth: 0,
        }
    }

    /// A list or an object of items, each with the length of what names it.
    fn around<'a>(items: impl Iterator<Item = (usize, &'a Value)>) -> Self {
        let (mut whole, mut count) = (Self::leaf(2), 0_usize);
        for (named, item) in items {
            let item = Self::of(item);
            whole.bytes += named + item.bytes;
            whole.values += item.values;
            whole.depth = whole.depth.max(item.depth);
            count += 1;
        }
        whole.bytes += count.saturating_sub(1);
        whole.depth += 1;
        whole
    }
}

/// The length of a text in JSON.
fn quoted(text: &str) -> usize {
    let longer = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0x00..=0x1f => 5,
        _ => 0,
    };
    2 + text.len() + text.bytes().map(longer).sum::<usize>()
}

/// Whether an operation tests for null where a member is missing: the real server's library takes that for equal, and
/// kube-rs counts on it before it adds the first finalizer.
fn finds_nothing(doc: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let path = test.path.as_str();
    let parent = path
        .rsplit_once('/')
        .and_then(|(above, _)| doc.pointer(above));
    test.value.is_null() && doc.pointer(path).is_none() && parent.is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unfit(doc: &Value, patch: &Value) -> bool {
        matches!(json_patch(doc, patch), Err(PatchError::Unfit(_)))
    }

    #[test]
    fn a_size_is_that_of_the_json() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!({"a": [1, -2.5, true, false, null], "b\"\\\n\u{1}ü": {"c": "d\t"}}),
        ] {
            assert_eq!(Size::of(&value).bytes, value.to_string().len(), "{value}");
        }
        assert_eq!(Size::of(&json!({"a": [[1]], "b": 2})).depth, 3);
        assert_eq!(Size::of(&json!({"a": [[1]], "b": 2})).values, 5);
    }

    /// What 22 operations would make of it are four gigabytes.
    #[test]
    fn copies_add_no_more_than_their_limit() {
        let doc = json!({"data": {"a": "x".repeat(1_000)}});
        let mut patch = vec![json!({"op": "copy", "from": "/data", "path": "/data/b"})];
        for n in 0..21 {
            let path = format!("/data/c{n}");
            patch.push(json!({"op": "copy", "from": "/data", "path": path}));
        }
        assert!(unfit(&doc, &patch.into()));
    }

    #[test]
    fn copies_up_to_their_limit_are_done() {
        let each = MAX_COPIED / 4;
        let doc = json!({"a": "x".repeat(each - 2)});
        let copies = |count: usize| {
            let one = |n| json!({"op": "copy", "from": "/a", "path": format!("/b{n}")});
            Value::Array((0..count).map(one).collect())
        };
        let done = json_patch(&doc, &copies(4)).unwrap();
        assert_eq!(done.as_object().unwrap().len(), 5);
        assert!(unfit(&doc, &copies(5)));
        // A copy that is taken out again has been made all the same.
        let mut more = copies(4);
        let list = more.as_array_mut().unwrap();
        list.push(json!({"op": "remove", "path": "/b0"}));
        list.push(json!({"op": "copy", "from": "/b1", "path": "/b0"}));
        assert!(unfit(&doc, &more));
    }

    #[test]
    fn operations_have_a_limit() {
        let doc = json!({"a": 1});
        let tests =
            |count| Value::Array(vec![json!({"op": "test", "path": "/a", "value": 1}); count]);
        assert_eq!(json_patch(&doc, &tests(MAX_OPERATIONS)).unwrap(), doc);
        let Err(PatchError::TooLarge(text)) = json_patch(&doc, &tests(MAX_OPERATIONS + 1)) else {
            panic!("not refused");
        };
        assert_eq!(
            text,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
    }

    #[test]
    fn no_operation_nests_beyond_the_limit() {
        let doc = json!({"a": {}});
        // Each copy into itself doubles the nesting; the whole would be thousands of levels in a hundred kilobytes.
        let mut path = "/a".to_owned();
        let mut patch = Vec::new();
        for _ in 0..12 {
            let into = format!("{path}/a");
            patch.push(json!({"op": "copy", "from": "/a", "path": into}));
            path = format!("{path}{path}");
        }
        assert!(unfit(&doc, &patch.into()));
        let deep = |levels: usize| format!("/a{}", "/b".repeat(levels));
        let step = |n| json!({"op": "add", "path": deep(n + 1), "value": {}});
        let patch = |levels: usize| Value::Array((0..levels).map(step).collect());
        assert!(json_patch(&doc, &patch(100)).is_ok());
        assert!(unfit(&doc, &patch(200)));
    }

    #[test]
    fn long_lists_are_not_shifted_without_end() {
        let doc = json!({"list": vec![0; 20_000]});
        let first = json!({"op": "add", "path": "/list/0", "value": 1});
        assert!(unfit(&doc, &vec![first.clone(); 10_000].into()));
        assert!(json_patch(&doc, &vec![first; 100].into()).is_ok());
    }
}
