//! A render's outcome at rest: thousands of records hold one each, and nearly all of its texts repeat.
//!
//! Every text is written once, and results name texts by number. Equal outcomes have equal bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{FunctionResult, FunctionResultItem, RenderStatus, ResourceRef, Severity, plain};

/// The outcome of a render in a small form; cloning it is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedRenderStatus {
    error: Option<Arc<str>>,
    steps: Arc<[u8]>,
}

impl PackedRenderStatus {
    /// Whether every step succeeded.
    pub fn succeeded(&self) -> bool {
        self.error.is_none()
    }

    /// Why it failed, in one line; empty if it did not.
    pub fn cause(&self) -> String {
        self.error.as_deref().map(plain).unwrap_or_default()
    }

    /// All of it.
    pub fn unpack(&self) -> RenderStatus {
        RenderStatus {
            steps: Unpack::of(&self.steps).steps().unwrap_or_default(),
            error: self.error.as_deref().map(str::to_owned),
        }
    }
}

impl From<&RenderStatus> for PackedRenderStatus {
    fn from(status: &RenderStatus) -> Self {
        let mut pack = Pack::default();
        pack.list(&status.steps, Pack::step);
        Self {
            error: status.error.as_deref().map(Into::into),
            steps: pack.finish().into(),
        }
    }
}

impl fmt::Debug for PackedRenderStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpack().fmt(f)
    }
}

/// Writes numbers (seven bits to a byte, the lowest first), and texts as the numbers that they have.
#[derive(Default)]
struct Pack<'s> {
    numbers: BTreeMap<&'s str, u64>,
    texts: Vec<&'s str>,
    body: Vec<u8>,
}

impl<'s> Pack<'s> {
    fn finish(self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, self.texts.len() as u64);
        for text in self.texts {
            number(&mut out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&self.body);
        out
    }

    fn number(&mut self, value: u64) {
        number(&mut self.body, value);
    }

    fn text(&mut self, text: &'s str) {
        let known = self.numbers.get(text).copied();
        let at = known.unwrap_or_else(|| {
            let at = self.texts.len() as u64;
            self.numbers.insert(text, at);
            self.texts.push(text);
            at
        });
        self.number(at);
    }

    fn option<T: ?Sized>(&mut self, value: Option<&'s T>, write: impl FnOnce(&mut Self, &'s T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn list<T>(&mut self, items: &'s [T], write: impl Fn(&mut Self, &'s T)) {
        self.number(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }

    fn step(&mut self, step: &'s FunctionResult) {
        self.text(&step.name);
        self.option(step.image.as_deref(), Self::text);
        self.option(step.exec.as_deref(), Self::text);
        self.number(u64::from(step.validator));
        self.text(&step.stderr);
        self.number(u64::from(step.exit_code.cast_unsigned()));
        self.list(&step.results, Self::item);
    }

    fn item(&mut self, item: &'s FunctionResultItem) {
        self.text(&item.message);
        self.number(match item.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Info => 2,
        });
        self.option(item.resource.as_ref(), |pack, resource: &ResourceRef| {
            pack.text(&resource.api_version);
            pack.text(&resource.kind);
            pack.text(&resource.namespace);
            pack.text(&resource.name);
        });
        for text in [&item.field, &item.current, &item.proposed] {
            self.option(text.as_deref(), Self::text);
        }
        self.option(item.file.as_ref(), |pack, (path, index)| {
            pack.text(path);
            pack.number(index.map_or(0, |index| u64::from(index) + 1));
        });
        self.list(&item.tags, |pack, (key, value)| {
            pack.text(key);
            pack.text(value);
        });
    }
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

/// Reads what [`Pack`] wrote. Nothing else writes it; what were damaged would read as nothing.
struct Unpack<'b> {
    texts: Vec<&'b str>,
    rest: &'b [u8],
}

impl<'b> Unpack<'b> {
    fn of(bytes: &'b [u8]) -> Self {
        let mut all = Self {
            texts: Vec::new(),
            rest: bytes,
        };
        let count = all.number().unwrap_or_default();
        for _ in 0..count {
            let Some(text) = all.take() else { break };
            all.texts.push(text);
        }
        all
    }

    fn take(&mut self) -> Option<&'b str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.number()? != 0)
    }

    fn text(&mut self) -> Option<String> {
        let at = usize::try_from(self.number()?).ok()?;
        self.texts.get(at).map(|text| (*text).to_owned())
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? {
            return read(self).map(Some);
        }
        Some(None)
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn steps(mut self) -> Option<Vec<FunctionResult>> {
        self.list(Self::step)
    }

    fn step(&mut self) -> Option<FunctionResult> {
        Some(FunctionResult {
            name: self.text()?,
            image: self.option(Self::text)?,
            exec: self.option(Self::text)?,
            validator: self.flag()?,
            stderr: self.text()?,
            exit_code: u32::try_from(self.number()?).ok()?.cast_signed(),
            results: self.list(Self::item)?,
        })
    }

    fn item(&mut self) -> Option<FunctionResultItem> {
        Some(FunctionResultItem {
            message: self.text()?,
            severity: match self.number()? {
                0 => Severity::Error,
                1 => Severity::Warning,
                _ => Severity::Info,
            },
            resource: self.option(Self::resource)?,
            field: self.option(Self::text)?,
            current: self.option(Self::text)?,
            proposed: self.option(Self::text)?,
            file: self.option(|unpack| {
                let path = unpack.text()?;
                let index = unpack.number()?.checked_sub(1);
                Some((path, index.and_then(|index| u32::try_from(index).ok())))
            })?,
            tags: self.list(|unpack| Some((unpack.text()?, unpack.text()?)))?,
        })
    }

    fn resource(&mut self) -> Option<ResourceRef> {
        Some(ResourceRef {
            api_version: self.text()?,
            kind: self.text()?,
            namespace: self.text()?,
            name: self.text()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, full: bool) -> FunctionResultItem {
        let some = |text: &str| full.then(|| text.to_owned());
        FunctionResultItem {
            message: text.to_owned(),
            severity: if full {
                Severity::Error
            } else {
                Severity::Info
            },
            resource: full.then(|| ResourceRef {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                namespace: String::new(),
                name: "größe".to_owned(),
            }),
            field: some("spec.replicas"),
            current: some("1"),
            proposed: some("2"),
            file: full.then(|| ("a/b.yaml".to_owned(), text.is_empty().then_some(u32::MAX))),
            tags: vec![("k".to_owned(), "v".to_owned()); usize::from(full)],
        }
    }

    #[test]
    fn what_is_packed_reads_back_and_is_small() {
        let step = |code, results| FunctionResult {
            name: "set-labels".to_owned(),
            image: Some("ghcr.io/example/set-labels:v1".to_owned()),
            exec: None,
            validator: code == 0,
            stderr: "x".repeat(300),
            exit_code: code,
            results,
        };
        let items: Vec<_> = (0..40).map(|i| item("the same text", i % 2 == 0)).collect();
        for status in [
            RenderStatus::default(),
            RenderStatus {
                steps: vec![step(0, vec![item("", true)]), step(-1, items)],
                error: Some("pkg.render: pkg .: it\nfailed".to_owned()),
            },
        ] {
            let packed = PackedRenderStatus::from(&status);
            assert_eq!(packed.unpack(), status);
            assert_eq!(packed.succeeded(), status.succeeded());
            assert_eq!(packed.cause(), status.cause());
            assert!(packed.steps.len() < 1_400, "{}", packed.steps.len());
            assert_eq!(packed, PackedRenderStatus::from(&packed.unpack()));
        }
    }
}
