//! `set-image`: name, tag or digest of container images.
//!
//! It never looks at init containers or at jobs, which the catalog's function leaves alone, too; `additionalImageFields`
//! name what else there is.

use std::rc::Rc;

use regex::Regex;
use yaml::owned::Value;

use crate::config::Config;
use crate::regexes;
use crate::report::{error, info};
use crate::{FunctionReport, Item};

/// The kinds whose containers are looked at, of whatever group, and where those are.
const KINDS: &[(&str, &[&str])] = &[
    ("Pod", &["spec"]),
    ("PodTemplate", &["template", "spec"]),
    ("DaemonSet", &["spec", "template", "spec"]),
    ("Deployment", &["spec", "template", "spec"]),
    ("ReplicaSet", &["spec", "template", "spec"]),
    ("StatefulSet", &["spec", "template", "spec"]),
];
/// What a ConfigMap may hold.
const KEYS: [&str; 4] = ["name", "newName", "newTag", "digest"];

struct Wanted {
    /// What an image must be: the name as a pattern, with any tag and digest behind it (M26).
    pattern: Rc<Regex>,
    new_name: String,
    new_tag: String,
    digest: String,
}

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let wanted = match Wanted::read(config) {
        Ok(wanted) => wanted,
        Err(message) => {
            let absent = config
                .is_absent()
                .then(|| info("`FunctionConfig` is not given"));
            let failure = format!("function is terminated: {message}");
            return FunctionReport::of(absent.into_iter().chain([error(message), error(failure)]));
        }
    };
    let mut count = 0;
    for item in items.iter_mut() {
        if let Some(path) = containers(item) {
            count += wanted.containers(item, &path);
        }
        for path in more_fields(config, item) {
            count += wanted.field(item.value_mut(), &path);
        }
    }
    FunctionReport::of([info(format!(
        "summary: updated a total of {count} image(s)"
    ))])
}

/// Where an item's containers are.
fn containers(item: &Item) -> Option<Vec<&'static str>> {
    let known = KINDS.iter().find(|(kind, _)| *kind == item.kind());
    known.map(|(_, path)| path.iter().copied().chain(["containers"]).collect())
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
    fn read(config: Config<'_>) -> Result<Self, String> {
        let source = if config.is_config_map() {
            config.get("data")
        } else {
            config.get("image")
        };
        let fields = source.filter(|_| config.is_config_map());
        let fields = fields.and_then(Value::as_map).into_iter();
        let mut keys = fields.flat_map(|map| map.iter().map(|(key, _)| key));
        if let Some(key) = keys.find(|key| !KEYS.contains(key)) {
            return Err(format!("ConfigMap has wrong field name {key}"));
        }
        let text = |key: &str| source.and_then(|s| s.get(key)?.text()).unwrap_or_default();
        let [name, new_name, new_tag, digest] = KEYS.map(text);
        if name.is_empty() {
            return Err("must specify `name`".to_owned());
        }
        if new_name.is_empty() && new_tag.is_empty() && digest.is_empty() {
            return Err("must specify one of `newName`, `newTag`, or `digest`".to_owned());
        }
        // As in the catalog's function nothing is put around the name: a `|` in it divides the whole pattern (M11).
        let tag = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?";
        let pattern = regexes::compile(&format!("^{name}{tag}$"));
        let pattern = pattern.map_err(|why| format!("`name` {name:?} is no pattern: {why}"))?;
        Ok(Self {
            pattern,
            new_name: new_name.to_owned(),
            new_tag: new_tag.to_owned(),
            digest: digest.to_owned(),
        })
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
            .is_some_and(|image| self.pattern.is_match(image))
    }

    /// Sets an image; 1 if that changed it.
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
        let new = format!("{name}{rest}");
        if new == old {
            return 0;
        }
        image.set_str(new);
        1
    }
}

/// An image's name, and its tag and digest with the signs before them. A colon before the last slash is that of a port.
fn split(image: &str) -> (&str, &str) {
    let digest = image.find('@').unwrap_or(image.len());
    let named = image.get(..digest).unwrap_or(image);
    let last = named.rfind('/').map_or(0, |slash| slash + 1);
    let tag = named.get(last..).and_then(|name| name.find(':'));
    let at = tag.map_or(digest, |colon| last + colon);
    image.split_at_checked(at).unwrap_or((image, ""))
}

#[cfg(test)]
mod tests {
    use yaml::owned::Value;

    use super::{run, split};
    use crate::config::Config;
    use crate::{FunctionReport, Item, wire};

    /// The image of a deployment's container, and what was reported.
    fn set(image: &str, data: &[(&str, &str)]) -> (String, FunctionReport) {
        let data = data.iter().map(|(key, text)| (*key, Value::string(*text)));
        let config = Value::map([
            ("apiVersion", Value::string("v1")),
            ("kind", Value::string("ConfigMap")),
            ("data", Value::map(data)),
        ]);
        let text = format!(
            "apiVersion: example.com/v1\nkind: Deployment\nspec: {{template: {{spec: {{containers: [{{image: {image:?}}}]}}}}}}\n"
        );
        let mut items = vec![Item::made(wire::parse_value(&text).unwrap())];
        let report = run(&mut items, Config(Some(&config)));
        let spec = items[0]
            .value
            .lookup(&["spec", "template", "spec", "containers"]);
        let first = &spec.and_then(Value::as_seq).unwrap().items()[0];
        (
            first.get("image").unwrap().text().unwrap().to_owned(),
            report,
        )
    }

    fn told(report: &FunctionReport) -> &str {
        &report.results[0].message
    }

    #[test]
    fn m26_a_name_is_a_pattern_that_the_whole_image_must_fit() {
        for (name, image, wanted) in [
            ("nginx", "nginx", "nginx:2"),
            ("nginx", "nginx:1.14", "nginx:2"),
            ("nginx", "nginx:1.14@sha256:ab", "nginx:2"),
            ("nginx", "nginx-exporter:1", "nginx-exporter:1"),
            ("nginx", "docker.io/nginx:1", "docker.io/nginx:1"),
            (
                ".*/nginx",
                "localhost:5000/a/nginx:1",
                "localhost:5000/a/nginx:2",
            ),
            (
                "reg.example.com/web",
                "reg-example.com/web:1",
                "reg-example.com/web:2",
            ),
            ("(nginx|redis)", "redis:1", "redis:2"),
            ("web-[0-9]+", "web-12@sha256:ab", "web-12:2"),
        ] {
            assert_eq!(
                set(image, &[("name", name), ("newTag", "2")]).0,
                wanted,
                "{name}"
            );
        }
    }

    #[test]
    fn what_stays_of_an_image_keeps_its_tag_and_its_digest() {
        let data = &[("name", "web"), ("newName", "shop/web")][..];
        for (image, wanted) in [
            ("web", "shop/web"),
            ("web:1", "shop/web:1"),
            ("web:1@sha256:ab", "shop/web:1@sha256:ab"),
        ] {
            assert_eq!(set(image, data).0, wanted);
        }
        assert_eq!(split("h:5000/a:1@sha256:ab"), ("h:5000/a", ":1@sha256:ab"));
        assert_eq!(split("h:5000/a"), ("h:5000/a", ""));
    }

    #[test]
    fn an_image_that_is_as_wanted_is_not_counted() {
        let (_, report) = set("web:2", &[("name", "web"), ("newTag", "2")]);
        assert_eq!(told(&report), "summary: updated a total of 0 image(s)");
    }

    #[test]
    fn a_configuration_that_cannot_be_meant_is_an_error() {
        for (data, why) in [
            (
                &[("name", "web"), ("tag", "2")][..],
                "ConfigMap has wrong field name tag",
            ),
            (
                &[("name", "we(b"), ("newTag", "2")],
                "`name` \"we(b\" is no pattern",
            ),
        ] {
            let (image, report) = set("web:1", data);
            assert!(
                report.failed() && told(&report).starts_with(why),
                "{report:?}"
            );
            assert_eq!(image, "web:1");
        }
    }
}
