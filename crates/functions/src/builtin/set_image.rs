//! `set-image`: name, tag or digest of container images.

use yaml::owned::Value;

use crate::config::Config;
use crate::report::{error, info};
use crate::{Item, Report};

/// The kinds whose containers are looked at, and where those are.
const KINDS: &[(&str, &str, &[&str])] = &[
    ("", "Pod", &["spec"]),
    ("", "PodTemplate", &["template", "spec"]),
    ("apps", "DaemonSet", &["spec", "template", "spec"]),
    ("apps", "Deployment", &["spec", "template", "spec"]),
    ("apps", "ReplicaSet", &["spec", "template", "spec"]),
    ("apps", "StatefulSet", &["spec", "template", "spec"]),
];

#[derive(Default)]
struct Wanted {
    name: String,
    new_name: String,
    new_tag: String,
    digest: String,
}

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> Report {
    let wanted = Wanted::read(config);
    if let Err(message) = wanted.check() {
        let absent = config
            .is_absent()
            .then(|| info("`FunctionConfig` is not given"));
        let failure = format!("function is terminated: {message}");
        return Report::of(absent.into_iter().chain([error(message), error(failure)]));
    }
    let mut count = 0;
    for item in items.iter_mut() {
        if let Some(path) = containers(item) {
            count += wanted.containers(item, &path);
        }
        for path in more_fields(config, item) {
            count += wanted.field(item.value_mut(), &path);
        }
    }
    Report::of([info(format!(
        "summary: updated a total of {count} image(s)"
    ))])
}

/// Where an item's containers are.
fn containers(item: &Item) -> Option<Vec<&'static str>> {
    let known = KINDS
        .iter()
        .find(|(group, kind, _)| *group == item.group() && *kind == item.kind());
    known.map(|(_, _, path)| path.iter().copied().chain(["containers"]).collect())
}

/// `additionalImageFields` that fit an item, as paths; `[]` behind a step enters a list.
fn more_fields(config: Config<'_>, item: &Item) -> Vec<Vec<String>> {
    let fields = config.get("additionalImageFields").and_then(Value::as_seq);
    let fits = |field: &&Value| {
        let text = |key: &str| field.get(key).and_then(Value::text).unwrap_or_default();
        let same = |wanted: &str, have: &str| wanted.is_empty() || wanted == have;
        same(text("group"), item.group())
            && same(text("version"), item.version())
            && same(text("kind"), item.kind())
    };
    let fields = fields
        .map(|seq| seq.items())
        .unwrap_or_default()
        .iter()
        .filter(fits);
    fields
        .filter_map(|field| field.get("path")?.text())
        .map(|path| path.split('/').map(str::to_owned).collect())
        .collect()
}

impl Wanted {
    fn read(config: Config<'_>) -> Self {
        let source = if config.is_config_map() {
            config.get("data")
        } else {
            config.get("image")
        };
        let text = |key: &str| {
            source
                .and_then(|s| s.get(key)?.text())
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            name: text("name"),
            new_name: text("newName"),
            new_tag: text("newTag"),
            digest: text("digest"),
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.name.is_empty() {
            return Err("must specify `name`");
        }
        if self.new_name.is_empty() && self.new_tag.is_empty() && self.digest.is_empty() {
            return Err("must specify one of `newName`, `newTag`, or `digest`");
        }
        Ok(())
    }

    fn containers(&self, item: &mut Item, path: &[&str]) -> usize {
        let matches = |container: &Value| {
            container
                .get("image")
                .is_some_and(|image| self.matches(image))
        };
        let seen = item.value.lookup(path).and_then(Value::as_seq);
        if !seen.is_some_and(|seq| seq.items().iter().any(matches)) {
            return 0;
        }
        let seq = item
            .value_mut()
            .lookup_mut(path)
            .and_then(Value::as_seq_mut);
        let containers = seq
            .map(|seq| seq.items_mut().iter_mut())
            .into_iter()
            .flatten();
        containers
            .filter_map(|container| container.get_mut("image"))
            .map(|image| self.set(image))
            .sum()
    }

    fn field(&self, value: &mut Value, path: &[String]) -> usize {
        if value.as_seq().is_some() {
            let items = value.as_seq_mut().map(|seq| seq.items_mut().iter_mut());
            return items
                .into_iter()
                .flatten()
                .map(|item| self.field(item, path))
                .sum();
        }
        let Some((key, rest)) = path.split_first() else {
            return self.set(value);
        };
        let key = key.strip_suffix("[]").unwrap_or(key);
        value
            .get_mut(key)
            .map_or(0, |child| self.field(child, rest))
    }

    fn matches(&self, image: &Value) -> bool {
        image
            .text()
            .is_some_and(|image| split(image).0 == self.name)
    }

    fn set(&self, image: &mut Value) -> usize {
        if !self.matches(image) {
            return 0;
        }
        let old = image.text().unwrap_or_default().to_owned();
        let (name, rest) = split(&old);
        let name = if self.new_name.is_empty() {
            name
        } else {
            &self.new_name
        };
        let rest = match (self.digest.as_str(), self.new_tag.as_str()) {
            ("", "") => rest.to_owned(),
            ("", tag) => format!(":{tag}"),
            (digest, _) => format!("@{digest}"),
        };
        image.set_str(format!("{name}{rest}"));
        1
    }
}

/// An image's name, and its tag or digest with the sign before it.
fn split(image: &str) -> (&str, &str) {
    let at = image.find('@').or_else(|| {
        let last = image.rfind('/').map_or(0, |slash| slash + 1);
        image.get(last..)?.find(':').map(|colon| last + colon)
    });
    at.and_then(|at| image.split_at_checked(at))
        .unwrap_or((image, ""))
}
