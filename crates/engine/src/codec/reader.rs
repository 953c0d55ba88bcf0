//! Reading JSON objects field by field, with errors that name the field.

use serde_json::{Map, Value};

use super::CodecError;

type Result<T> = std::result::Result<T, CodecError>;

/// One JSON object.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonFields<'a>(&'a Map<String, Value>);

/// A whole text as an object of a format not newer than `known`.
pub(super) fn parse(text: &str, known: u64) -> Result<Value> {
    let value: Value = serde_json::from_str(text).map_err(|e| CodecError::Json(e.to_string()))?;
    let fields = JsonFields::of(&value, "format")?;
    match fields.0.get("format").and_then(Value::as_u64) {
        Some(format) if format > known => Err(CodecError::Newer(format)),
        Some(_) => Ok(value),
        None => Err(wrong("format")),
    }
}

/// The error for a field.
pub(super) fn wrong(field: &str) -> CodecError {
    CodecError::Field(field.to_owned())
}

impl<'a> JsonFields<'a> {
    /// The fields of an object that stands in `field`.
    pub(super) fn of(value: &'a Value, field: &str) -> Result<Self> {
        value.as_object().map(Self).ok_or_else(|| wrong(field))
    }

    /// A field's value, if it is there and not null.
    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|v| !v.is_null())
    }

    /// An object that must be there.
    pub(super) fn object(self, field: &str) -> Result<Self> {
        Self::of(self.get(field).ok_or_else(|| wrong(field))?, field)
    }

    /// A text that must be there.
    pub(super) fn text(self, field: &str) -> Result<&'a str> {
        self.opt_text(field)?.ok_or_else(|| wrong(field))
    }

    /// A text that may be absent.
    pub(super) fn opt_text(self, field: &str) -> Result<Option<&'a str>> {
        match self.get(field) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| wrong(field)),
        }
    }

    /// A text, empty if absent.
    pub(super) fn string(self, field: &str) -> Result<String> {
        Ok(self.opt_text(field)?.unwrap_or_default().to_owned())
    }

    /// A number, 0 if absent.
    pub(super) fn int(self, field: &str) -> Result<i64> {
        match self.get(field) {
            None => Ok(0),
            Some(value) => value.as_i64().ok_or_else(|| wrong(field)),
        }
    }

    /// Whether it is there and true.
    pub(super) fn flag(self, field: &str) -> bool {
        self.get(field).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A text that must be there, by its own law.
    pub(super) fn parsed<T>(self, field: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        parse(self.text(field)?).ok_or_else(|| wrong(field))
    }

    /// A text that may be absent, by its own law.
    pub(super) fn opt_parsed<T>(
        self,
        field: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.opt_text(field)? {
            None => Ok(None),
            Some(text) => parse(text).map(Some).ok_or_else(|| wrong(field)),
        }
    }

    /// A list, empty if absent, each element by the given reading.
    pub(super) fn list<T>(
        self,
        field: &str,
        read: impl Fn(&'a Value) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self.get(field) {
            None => Ok(Vec::new()),
            Some(value) => {
                let list = value.as_array().ok_or_else(|| wrong(field))?;
                list.iter().map(read).collect()
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(self, field: &str) -> Result<Vec<String>> {
        self.list(field, |v| {
            v.as_str().map(str::to_owned).ok_or_else(|| wrong(field))
        })
    }

    /// A map of texts, empty if absent.
    pub(super) fn map(self, field: &str) -> Result<model::Pairs> {
        let Some(value) = self.get(field) else {
            return Ok(model::Pairs::new());
        };
        let object = value.as_object().ok_or_else(|| wrong(field))?;
        object
            .iter()
            .map(|(k, v)| match v.as_str() {
                Some(text) => Ok((k.clone(), text.to_owned())),
                None => Err(wrong(field)),
            })
            .collect()
    }
}
