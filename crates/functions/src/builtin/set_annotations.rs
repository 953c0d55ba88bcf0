//! `set-annotations`: annotations on resources and on the templates of their pods.

use yaml::owned::Value;

use crate::config::{Config, sorted_pairs};
use crate::report::{at_field, info};
use crate::{FunctionReport, Item};

/// A place for annotations: which kinds have it, and whether it is made where it is missing.
struct AnnotationPlace {
    group: String,
    version: String,
    kind: String,
    path: Vec<String>,
    create: bool,
}

/// Where annotations stand by default: group, version, kind, path.
const PLACES: &[(&str, &str, &str, &str)] = &[
    ("", "", "", "metadata/annotations"),
    (
        "",
        "v1",
        "ReplicationController",
        "spec/template/metadata/annotations",
    ),
    ("", "", "Deployment", "spec/template/metadata/annotations"),
    ("", "", "ReplicaSet", "spec/template/metadata/annotations"),
    ("", "", "DaemonSet", "spec/template/metadata/annotations"),
    ("", "", "StatefulSet", "spec/template/metadata/annotations"),
    ("batch", "", "Job", "spec/template/metadata/annotations"),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/metadata/annotations",
    ),
    (
        "batch",
        "",
        "CronJob",
        "spec/jobTemplate/spec/template/metadata/annotations",
    ),
];

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let (wanted, places) = match configure(config) {
        Ok(configured) => configured,
        Err(message) => {
            let message = format!("failed to configure function: {message}");
            let stderr = format!("[error]: {message}");
            return FunctionReport {
                stderr,
                ..FunctionReport::failure(message)
            };
        }
    };
    let json: serde_json::Map<_, _> = wanted
        .iter()
        .map(|(key, text)| (key.clone(), text.as_str().into()))
        .collect();
    let json = escape_html(&serde_json::Value::Object(json).to_string());
    let message = format!("set annotations: {json}");
    if let Err(why) = items.iter().try_for_each(Item::is_named) {
        return FunctionReport::failure(format!("failed to run function: {why}"));
    }
    let mut results = Vec::new();
    for item in items.iter_mut() {
        for place in &places {
            if place.fits(item) && set(item.value_mut(), &place.path, &wanted, place.create) {
                let mut result = at_field(item, &place.path.join("."), &*message);
                if let Some((_, index)) = &mut result.file {
                    *index = item.index;
                }
                if !results.contains(&result) {
                    results.push(result);
                }
            }
        }
    }
    // By file, position and field, as the catalog's function lists them.
    results.sort_by(|a, b| (&a.file, &a.field).cmp(&(&b.file, &b.field)));
    if results.is_empty() {
        results.push(info("no annotations applied"));
    }
    FunctionReport::of(results)
}

type Configured = (Vec<(String, String)>, Vec<AnnotationPlace>);

fn configure(config: Config<'_>) -> Result<Configured, String> {
    let mut places: Vec<AnnotationPlace> = PLACES
        .iter()
        .map(|(group, version, kind, path)| AnnotationPlace {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            kind: (*kind).to_owned(),
            path: path.split('/').map(str::to_owned).collect(),
            create: true,
        })
        .collect();
    let wanted = if config.is_config_map() {
        config.get("data").map(sorted_pairs)
    } else if is_own_kind(config) {
        let more = config
            .get("additionalAnnotationFields")
            .and_then(Value::as_seq);
        places.extend(
            more.iter()
                .flat_map(|seq| seq.items())
                .map(AnnotationPlace::read),
        );
        config.get("annotations").map(sorted_pairs)
    } else {
        return Err("`functionConfig` must be a `ConfigMap` or `SetAnnotations`".to_owned());
    };
    match wanted {
        Some(wanted) if !wanted.is_empty() => Ok((wanted, places)),
        _ => Err("input annotation list cannot be empty".to_owned()),
    }
}

/// `SetAnnotations`, also under its older name.
fn is_own_kind(config: Config<'_>) -> bool {
    ["SetAnnotations", "SetAnnotationConfig"]
        .iter()
        .any(|kind| config.is("fn.kpt.dev/v1alpha1", kind))
}

impl AnnotationPlace {
    fn read(value: &Value) -> Self {
        let text = |key: &str| {
            value
                .get(key)
                .and_then(Value::text)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            path: text("path").split('/').map(str::to_owned).collect(),
            create: text("create") == "true",
        }
    }

    fn fits(&self, item: &Item) -> bool {
        let fits = |want: &str, have: &str| want.is_empty() || want == have;
        fits(&self.group, item.group())
            && fits(&self.version, item.version())
            && fits(&self.kind, item.kind())
    }
}

/// Sets the annotations at a path, into every element of lists on the way; whether there was a place.
fn set(value: &mut Value, path: &[String], wanted: &[(String, String)], create: bool) -> bool {
    if value.as_seq().is_some() {
        let items = value.as_seq_mut().map(|seq| seq.items_mut().iter_mut());
        let mut any = false;
        for item in items.into_iter().flatten() {
            any |= set(item, path, wanted, create);
        }
        return any;
    }
    let Some((key, rest)) = path.split_first() else {
        return value
            .ensure_map(&[])
            .map(|map| crate::item::set_strings(map, wanted, true))
            .is_some();
    };
    let key = key.strip_suffix("[]").unwrap_or(key);
    let missing = value.get(key).is_none_or(Value::is_null);
    if missing && (!create || value.ensure_map(&[key]).is_none()) {
        return false;
    }
    value
        .get_mut(key)
        .is_some_and(|child| set(child, rest, wanted, create))
}

/// Go's JSON encoder escapes what could end a script.
fn escape_html(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
