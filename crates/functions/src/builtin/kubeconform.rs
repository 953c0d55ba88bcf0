//! `kubeconform`: checks every resource against its schema.
//!
//! Schemas come from texts that the caller read (`--schemas DIR`); nothing is fetched. A kind without a schema is
//! not checked, as in the catalog's function, but the error stream says so.

mod check;
mod schemas;

use std::collections::BTreeSet;

use model::{FunctionResultItem, Severity};
use yaml::owned::Value;

pub use schemas::{SchemaError, Schemas};

use crate::config::Config;
use crate::report::result;
use crate::{FunctionReport, Item};

/// More errors than this of one resource are not listed.
const ERRORS: usize = 100;

pub(crate) fn run(
    items: &mut Vec<Item>,
    config: Config<'_>,
    schemas: Option<&Schemas>,
) -> FunctionReport {
    let Some(schemas) = schemas else {
        return FunctionReport::failure(
            "there are no schemas to check against: start with --schemas=DIR, a directory that holds Kubernetes' \
             OpenAPI document, definitions of custom resources or JSON schemas",
        );
    };
    let options = Options::read(config);
    let mut report = FunctionReport::default();
    if options.located {
        report.stderr.push_str(
            "schema_location is not used: nothing is fetched, schemas come from --schemas\n",
        );
    }
    let mut unknown = BTreeSet::new();
    for item in items.iter() {
        if options.skips(item) {
            continue;
        }
        match schemas.find(item.group(), item.version(), item.kind()) {
            Some(schema) => {
                let mut errors = check::errors(schema, &item.value.to_json(), options.strict);
                errors.truncate(ERRORS);
                let results = errors.into_iter().map(|error| told(item, error));
                report.results.extend(results);
            }
            None if options.ignore_missing => {}
            None => drop(unknown.insert(format!("{} {}", item.api_version(), item.kind()))),
        }
    }
    for kind in unknown {
        report.stderr.push_str(&format!(
            "{kind}: there is no schema, so it is not checked\n"
        ));
    }
    report
}

fn told(item: &Item, (path, message): (String, String)) -> FunctionResultItem {
    FunctionResultItem {
        resource: Some(item.reference()),
        field: Some(path),
        file: item.path.as_ref().map(|path| (path.clone(), item.index)),
        ..result(Severity::Error, message)
    }
}

#[derive(Default)]
struct Options {
    strict: bool,
    ignore_missing: bool,
    located: bool,
    skip: Vec<String>,
}

impl Options {
    /// Keys stand in the configuration itself or below `data`.
    fn read(config: Config<'_>) -> Self {
        let text = |key: &str| {
            let own = config
                .get(key)
                .and_then(Value::text)
                .filter(|text| !text.is_empty());
            own.or_else(|| config.data(key)).unwrap_or_default()
        };
        let flag = |key: &str| text(key).eq_ignore_ascii_case("true") || text(key) == "1";
        let skip = text("skip_kinds").split(',').map(str::trim);
        Self {
            strict: flag("strict"),
            ignore_missing: flag("ignore_missing_schemas"),
            located: !text("schema_location").is_empty()
                || !text("additional_schema_locations").is_empty(),
            skip: skip
                .filter(|kind| !kind.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Kinds are named as `Kind` or `group/version/Kind`.
    fn skips(&self, item: &Item) -> bool {
        let full = format!("{}/{}", item.api_version(), item.kind());
        self.skip
            .iter()
            .any(|skip| skip == item.kind() || *skip == full)
    }
}

#[cfg(test)]
mod tests;
