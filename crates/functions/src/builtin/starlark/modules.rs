//! What a script can `load`: pure modules only. Nothing here reads a file, a clock or the network.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use regex::Regex;
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension};
use starlark::eval::FileLoader;
use starlark::starlark_module;
use starlark::syntax::AstLoad;
use starlark::values::{Heap, Value};

use super::bounds::Script;
use super::bridge::Told;
use crate::wire;

/// What is there without a `load`.
pub(super) fn globals() -> Globals {
    GlobalsBuilder::extended_by(&[
        LibraryExtension::StructType,
        LibraryExtension::Print,
        LibraryExtension::SetType,
    ])
    .build()
}

/// The modules by the path that a script loads them from.
pub(super) struct Loader(BTreeMap<&'static str, FrozenModule>);

impl Loader {
    pub(super) fn new() -> Result<Self, String> {
        let build = |name: &str, members: fn(&mut GlobalsBuilder)| {
            let mut builder = GlobalsBuilder::new();
            builder.namespace(name, members);
            FrozenModule::from_globals(&builder.build()).map_err(|error| format!("{error:?}"))
        };
        Ok(Self(BTreeMap::from([
            ("krmfn.star", build("krmfn", krmfn)?),
            ("re.star", build("re", re)?),
            ("encoding/json.star", build("json", json)?),
            ("encoding/yaml.star", build("yaml", yaml)?),
            ("encoding/base64.star", build("base64", base64)?),
        ])))
    }
}

impl Loader {
    /// Whether what a script loads is there; if not, in the catalog's words (M11), and what there is.
    pub(super) fn check(&self, script: &Script, load: &AstLoad<'_>) -> Result<(), Told> {
        let path = load.module_id;
        let names = load.symbols.values();
        let module = self.0.get(path);
        let there = |wanted: &str| {
            module.is_some_and(|module| module.names().any(|name| name.as_str() == wanted))
        };
        let Some(name) = names.into_iter().find(|name| !there(name)) else {
            return Ok(());
        };
        let known: Vec<&str> = self.0.keys().copied().collect();
        let begin = load.span.resolve_span().begin;
        Err(Told {
            message: format!("load: name {name} not found in module {path}"),
            place: Some(format!(
                "{}: there are {}",
                script.place(begin),
                known.join(", ")
            )),
        })
    }
}

impl FileLoader for Loader {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        let missing = || {
            let why = format!("load: there is no module {path:?}");
            starlark::Error::new_other(std::io::Error::other(why))
        };
        self.0.get(path).cloned().ok_or_else(missing)
    }
}

fn wrong(why: impl std::fmt::Display) -> starlark::Error {
    starlark::Error::new_value(std::io::Error::other(why.to_string()))
}

fn text_at<'v>(value: Value<'v>, path: &[&str], heap: Heap<'v>) -> Option<String> {
    let mut at = value;
    for key in path {
        at = at.at(heap.alloc(*key), heap).ok()?;
    }
    at.unpack_str().map(str::to_owned)
}

#[starlark_module]
fn krmfn(builder: &mut GlobalsBuilder) {
    fn match_gvk<'v>(
        resource: Value<'v>,
        api_version: &str,
        kind: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        Ok(
            text_at(resource, &["apiVersion"], heap).as_deref() == Some(api_version)
                && text_at(resource, &["kind"], heap).as_deref() == Some(kind),
        )
    }

    fn match_name<'v>(resource: Value<'v>, name: &str, heap: Heap<'v>) -> starlark::Result<bool> {
        Ok(text_at(resource, &["metadata", "name"], heap).as_deref() == Some(name))
    }

    fn match_namespace<'v>(
        resource: Value<'v>,
        namespace: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        Ok(text_at(resource, &["metadata", "namespace"], heap).as_deref() == Some(namespace))
    }
}

/// A pattern within bounds: the engine is linear, its program is limited.
fn pattern(text: &str) -> starlark::Result<Regex> {
    regex::RegexBuilder::new(text)
        .size_limit(1 << 20)
        .build()
        .map_err(wrong)
}

#[starlark_module]
fn re(builder: &mut GlobalsBuilder) {
    fn sub(pattern: &str, repl: &str, text: &str) -> starlark::Result<String> {
        Ok(self::pattern(pattern)?.replace_all(text, repl).into_owned())
    }

    fn findall(pattern: &str, text: &str) -> starlark::Result<Vec<String>> {
        let pattern = self::pattern(pattern)?;
        Ok(pattern
            .find_iter(text)
            .map(|found| found.as_str().to_owned())
            .collect())
    }

    fn split(pattern: &str, text: &str) -> starlark::Result<Vec<String>> {
        Ok(self::pattern(pattern)?
            .split(text)
            .map(str::to_owned)
            .collect())
    }

    fn r#match(pattern: &str, text: &str) -> starlark::Result<bool> {
        let pattern = self::pattern(pattern)?;
        Ok(pattern.find(text).is_some_and(|found| found.start() == 0))
    }

    fn search(pattern: &str, text: &str) -> starlark::Result<bool> {
        Ok(self::pattern(pattern)?.is_match(text))
    }
}

#[starlark_module]
fn json(builder: &mut GlobalsBuilder) {
    fn encode(value: Value) -> starlark::Result<String> {
        value.to_json().map_err(wrong)
    }

    fn decode<'v>(text: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let json: serde_json::Value = serde_json::from_str(text).map_err(wrong)?;
        Ok(heap.alloc(json))
    }
}

#[starlark_module]
fn yaml(builder: &mut GlobalsBuilder) {
    fn dumps(value: Value) -> starlark::Result<String> {
        let json = value.to_json_value().map_err(wrong)?;
        Ok(::yaml::owned::to_text(&::yaml::owned::Value::from_json(
            &json,
        )))
    }

    fn loads<'v>(text: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let value = wire::parse_value(text).ok_or_else(|| wrong("this is no YAML"))?;
        Ok(heap.alloc(value.to_json()))
    }
}

#[starlark_module]
fn base64(builder: &mut GlobalsBuilder) {
    fn encode(text: &str) -> starlark::Result<String> {
        Ok(STANDARD.encode(text))
    }

    fn decode(text: &str) -> starlark::Result<String> {
        let bytes = STANDARD.decode(text).map_err(wrong)?;
        String::from_utf8(bytes).map_err(wrong)
    }
}
