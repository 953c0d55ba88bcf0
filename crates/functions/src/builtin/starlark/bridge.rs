//! Between documents and the script's values: JSON on the way in, JSON on the way out.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use starlark::codemap::FileSpanRef;
use starlark::environment::Module;
use starlark::eval::{BeforeStmtFuncDyn, Evaluator};
use starlark::values::Value;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::{Error, ErrorKind, PrintHandler};
use yaml::owned;

use super::bounds::Script;
use super::words;
use crate::{Item, wire};

/// The most text that a script may print.
const PRINTED: usize = 64 << 10;

/// The ResourceList as the script sees it.
pub(super) fn input(items: &[Item], config: Option<&owned::Value>) -> Json {
    wire::list_of(items, config).to_json()
}

/// The items of the list that the script left; what it did not touch is the very document that went in.
pub(super) fn output(given: &[Item], list: &Json) -> Result<Vec<Item>, String> {
    let list = owned::Value::from_json(list);
    let list = wire::reply_of(&list, given).map_err(|error| error.to_string())?;
    Ok(list.items)
}

/// Whether every whole number of the items fits the catalog's interpreter, which hands on signed 64 bits (M11).
pub(super) fn in_range(list: &Json) -> Result<(), String> {
    let items = list.get("items").and_then(Json::as_array);
    items
        .into_iter()
        .flatten()
        .try_for_each(|item| fits(item, 0))
}

/// The whole numbers that the resources write as floats, such as `2.0`.
pub(super) fn whole_floats(list: &Json) -> BTreeSet<i64> {
    fn gather(value: &Json, found: &mut BTreeSet<i64>) {
        match value {
            Json::Number(number) => found.extend(whole(number)),
            Json::Array(items) => items.iter().for_each(|item| gather(item, found)),
            Json::Object(fields) => fields.values().for_each(|field| gather(field, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    gather(list, &mut found);
    found
}

/// Writes a whole float that the script made as a whole number, as the catalog's function does: `replicas: 2.0` is no
/// number of replicas. What a resource already wrote as a float stays one.
pub(super) fn make_whole(value: &mut Json, given: &BTreeSet<i64>) {
    match value {
        Json::Number(number) => {
            if let Some(whole) = whole(number).filter(|whole| !given.contains(whole)) {
                *number = whole.into();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| make_whole(item, given)),
        Json::Object(fields) => fields
            .values_mut()
            .for_each(|field| make_whole(field, given)),
        _ => {}
    }
}

/// A float without a fraction that every reader of numbers can hold.
fn whole(number: &serde_json::Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let plain = float.fract() == 0.0 && float.abs() <= EXACT;
    // Whole and within 2^53: nothing is cut off.
    plain.then_some(float as i64)
}

fn fits(value: &Json, depth: usize) -> Result<(), String> {
    match value {
        Json::Number(number) if number.as_i64().is_none() && number.is_u64() => {
            let place = "unmarshaling starlark value: ".repeat(depth + 1);
            Err(format!(
                "{place}{number} out of range (want value in signed 64-bit range)"
            ))
        }
        Json::Array(items) => items.iter().try_for_each(|item| fits(item, depth + 1)),
        Json::Object(fields) => fields.values().try_for_each(|field| fits(field, depth + 1)),
        _ => Ok(()),
    }
}

/// `ctx`: the list, an empty environment (nothing of this process is shown) and no schema.
pub(super) fn context<'v>(module: &Module<'v>, input: &Json) -> Value<'v> {
    let heap = module.heap();
    let list = heap.alloc(input.clone());
    // Held by the module, since values move when the heap is swept.
    module.set_extra_value(list);
    let none = || AllocDict(BTreeMap::<String, String>::new());
    heap.alloc(AllocStruct([
        ("resource_list", list),
        ("environment", heap.alloc(none())),
        ("open_api", heap.alloc(none())),
    ]))
}

/// The list as the script left it.
pub(super) fn resource_list(module: &Module<'_>) -> Result<Json, String> {
    let list = module.extra_value().ok_or("the resource list is gone")?;
    list.to_json_value()
        .map_err(|error| format!("the script left a value that is no resource: {error:#}"))
}

/// Why a script failed.
#[derive(Debug)]
pub(super) struct Told {
    /// For people, and for whoever compares it with what the catalog's function says.
    pub(super) message: String,
    /// The same with its place, where the catalog's function names none.
    pub(super) place: Option<String>,
}

impl From<String> for Told {
    fn from(message: String) -> Self {
        Self {
            message,
            place: None,
        }
    }
}

/// An error with its place in the script; one that the script raised itself stands for itself.
pub(super) fn told(script: &Script, error: &Error) -> Told {
    let text = error.without_diagnostic().to_string();
    let text = text.trim();
    if matches!(error.kind(), ErrorKind::Fail(_)) {
        let said = match text {
            "fail:" => "fail: ".to_owned(),
            text if text.starts_with("fail:") => text.to_owned(),
            text => format!("fail: {text}"),
        };
        return said.into();
    }
    let Some(span) = error.span() else {
        return text.to_owned().into();
    };
    match words::at_run_time(text, span.source_span()) {
        Some(message) => Told {
            place: Some(script.told(span.resolve_span().begin, &message)),
            message,
        },
        None => {
            let (message, at) = words::of_syntax(text, span);
            script.told(at, &message).into()
        }
    }
}

/// Ends a script as soon as a statement begins with too much on the heap: values can double with each statement.
pub(super) struct Weigh;

impl<'e> BeforeStmtFuncDyn<'e> for Weigh {
    fn call<'v>(
        &mut self,
        _span: FileSpanRef<'_>,
        _continued: bool,
        evaluator: &mut Evaluator<'v, '_, 'e>,
    ) -> starlark::Result<()> {
        let limit = super::MEMORY;
        if evaluator.heap().allocated_bytes() > limit {
            let why = format!(
                "the script exceeded its limit of {} MiB of memory",
                limit >> 20
            );
            return Err(Error::new_other(std::io::Error::other(why)));
        }
        Ok(())
    }
}

/// What the script printed.
#[derive(Default)]
pub(super) struct Printer(RefCell<String>);

impl Printer {
    pub(super) fn text(&self) -> String {
        self.0.borrow().clone()
    }
}

impl PrintHandler for Printer {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let mut all = self.0.borrow_mut();
        if all.len() + text.len() <= PRINTED {
            all.push_str(text);
            all.push('\n');
        }
        Ok(())
    }
}
