//! `apply-setters`: fields that carry a `# kpt-set: ${name}` comment take the setter's value.

use std::sync::Arc;

use yaml::Style;
use yaml::owned::{Scalar, Value};

use crate::budget::Budget;
use crate::config::Config;
use crate::goquote::{list, quote};
use crate::report::{at_field, info};
use crate::setters::{Values, clean, current_values, pattern, placeholders, resolved, substitute};
use crate::walk::{Visit, walk};
use crate::{FunctionReport, Item};

type Setters = Vec<(String, String)>;

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    apply(items, &config.data_pairs())
}

/// Applies setters to all resources.
fn apply(items: &mut [Item], setters: &Setters) -> FunctionReport {
    let mut results = Vec::new();
    let values = resolved(setters);
    let budget = Budget::default();
    for item in items.iter_mut() {
        let mut visit = Apply {
            setters,
            values: &values,
            budget: &budget,
            found: Vec::new(),
        };
        let stands = item.meta_stands();
        let outcome = stands.and_then(|()| walk(item.value_mut(), &mut visit));
        results.extend(visit.found.iter().map(|(field, value)| {
            at_field(item, field, format!("set field value to {}", quote(value)))
        }));
        if let Err(message) = outcome {
            let failure = FunctionReport::failure(format!("failed to apply setters: {message}"));
            return FunctionReport {
                stderr: message,
                ..failure
            };
        }
    }
    if results.is_empty() {
        results.push(info("no matches for input setter(s)"));
    }
    FunctionReport::of(results)
}

struct Apply<'s> {
    setters: &'s Setters,
    /// What they stand for in a text.
    values: &'s Values,
    budget: &'s Budget,
    /// The fields that were set, and to what.
    found: Vec<(String, String)>,
}

impl Apply<'_> {
    /// The pattern of a setter comment that names at least one of the setters.
    fn pattern(&self, value: &Value) -> Option<String> {
        let pattern = pattern(value.comment())?;
        let named = |(name, _): &(String, String)| pattern.contains(&format!("${{{name}}}"));
        self.setters.iter().any(named).then(|| pattern.to_owned())
    }

    fn given(&self, name: &str) -> Option<&(String, String)> {
        self.setters.iter().find(|(setter, _)| setter == name)
    }
}

impl Visit for Apply<'_> {
    fn list(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        let Some(pattern) = self.pattern(value) else {
            return Ok(());
        };
        if placeholders(&pattern).len() != 1
            || !pattern.starts_with("${")
            || !pattern.ends_with('}')
        {
            return Err(format!(
                "invalid setter pattern for array node: {}",
                quote(&pattern)
            ));
        }
        let text = self
            .given(clean(&pattern))
            .map_or("", |(_, text)| text)
            .to_owned();
        let items = if text.is_empty() {
            Vec::new()
        } else {
            let items = parse_array(&text)?;
            items.iter().try_for_each(|item| self.budget.value(item))?;
            items
        };
        if let Some(seq) = value.as_seq_mut() {
            let same = seq.items().len() == items.len()
                && seq
                    .items()
                    .iter()
                    .zip(&items)
                    .all(|(old, new)| old.same(new));
            if !same {
                *seq.items_mut() = items;
            }
        }
        self.found.push((path.to_owned(), text));
        Ok(())
    }

    fn scalar(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        let Some(pattern) = self.pattern(value) else {
            return Ok(());
        };
        let Some(current) = value.as_scalar() else {
            return Ok(());
        };
        let all_given = placeholders(&pattern)
            .iter()
            .all(|name| self.given(clean(name)).is_some());
        let derived = if all_given {
            Vec::new()
        } else {
            current_values(&pattern, &current.text)
        };
        let of = |name: &str| self.values.get(name);
        let mut names = placeholders(&pattern).into_iter().map(clean);
        if let Some(Err(why)) = names.find_map(|name| of(name).filter(|value| value.is_err())) {
            return Err(why.clone());
        }
        let given = substitute(&pattern, |name| of(name)?.as_deref().ok())?;
        let text = substitute(&given, |name| {
            let derived = derived.iter().find(|(setter, _)| setter == name);
            derived.map(|(_, text)| text.as_str())
        })?;
        self.budget.text(text.len())?;
        let unresolved = placeholders(&text);
        if !unresolved.is_empty() {
            return Err(format!(
                "values for setters {} must be provided",
                list(unresolved)
            ));
        }
        let style = if text.is_empty() {
            Style::DoubleQuoted
        } else {
            current.style
        };
        if *current.text != *text {
            let new = Scalar {
                text: Arc::from(text.as_str()),
                style,
                tag: None,
            };
            value.replace(Value::scalar(new));
        }
        self.found.push((path.to_owned(), text));
        Ok(())
    }
}

fn parse_array(text: &str) -> Result<Vec<Value>, String> {
    let wrong = || {
        format!(
            "input to array setter must be an array of values, but found {}",
            quote(text)
        )
    };
    let value = crate::wire::parse_value(text).ok_or_else(wrong)?;
    value
        .as_seq()
        .map(|seq| seq.items().to_vec())
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use yaml::owned::Value;

    use super::run;
    use crate::config::Config;
    use crate::{Item, wire};

    /// The field `a: CURRENT # kpt-set: PATTERN` after the function ran, or why it failed.
    fn set(current: &str, pattern: &str, data: &[(&str, &str)]) -> String {
        let data = data.iter().map(|(key, text)| (*key, Value::string(*text)));
        let config = Value::map([
            ("apiVersion", Value::string("v1")),
            ("kind", Value::string("ConfigMap")),
            ("data", Value::map(data)),
        ]);
        let text = format!("kind: A\na: {current} # kpt-set: {pattern}\n");
        let mut items = vec![Item::made(wire::parse_value(&text).unwrap())];
        let report = run(&mut items, Config(Some(&config)));
        if report.failed() {
            return report.results[0].message.clone();
        }
        items[0].value.get("a").unwrap().text().unwrap().to_owned()
    }

    #[test]
    fn a_value_may_name_other_setters_whatever_their_order() {
        let (host, domain) = (("host", "${name}.${domain}"), ("domain", "example.com"));
        let name = ("name", "shop");
        for data in [
            [host, domain, name],
            [name, domain, host],
            [domain, host, name],
        ] {
            assert_eq!(
                set("old", "https://${host}/", &data),
                "https://shop.example.com/"
            );
        }
        // What is read off the field counts for values, too.
        assert_eq!(
            set("x-eu", "${a}-${region}", &[("a", "${region}")]),
            "eu-eu"
        );
        assert_eq!(
            set("old", "${host}", &[host, domain]),
            "failed to apply setters: values for setters [${name}] must be provided"
        );
    }

    /// A comment may name a setter ten thousand times.
    #[test]
    fn x9_what_setters_put_is_bounded() {
        let value = "n".repeat(8_000);
        let data = [("a", value.as_str())];
        let why = set("old", &"${a}".repeat(200), &data);
        assert!(
            why.ends_with("a value would be longer than 1048576 bytes"),
            "{why}"
        );
        // What is read off the field is put, too.
        let read = format!("{}-y", "b".repeat(100_000));
        let named = "${b}".repeat(20);
        let why = set(&read, "${b}-${c}", &[("c", &named)]);
        assert!(why.ends_with("a value would be longer than 1048576 bytes"));
        // Each element of a list is a value, however short its text is.
        let list = format!("[{}]", ["a"; 300_000].join(","));
        let config = Value::map([("data", Value::map([("a", Value::string(list.as_str()))]))]);
        let mut items = vec![Item::made(
            wire::parse_value("kind: A\nx: # kpt-set: ${a}\n- b\n").unwrap(),
        )];
        let report = run(&mut items, Config(Some(&config)));
        let why = &report.results.last().unwrap().message;
        assert!(
            why.ends_with("all values that are put are longer than 33554432 bytes"),
            "{why}"
        );
    }

    #[test]
    fn setters_that_name_one_another_end() {
        for data in [
            &[("a", "x${a}")][..],
            &[("a", "${b}"), ("b", "${c}"), ("c", "${a}")],
        ] {
            let why = set("old", "${a}", data);
            let begins = "failed to apply setters: the value of setter \"a\" leads back to itself";
            assert!(why.starts_with(begins), "{why}");
            let unused = [data, &[("z", "new")]].concat();
            assert_eq!(set("old", "${z}", &unused), "new");
        }
        let names: Vec<String> = (0..40).map(|at| format!("s{at}")).collect();
        let texts: Vec<String> = (1..41).map(|at| format!("${{s{at}}}${{s{at}}}")).collect();
        let pairs = names.iter().zip(&texts);
        let mut data: Vec<(&str, &str)> = pairs.map(|(n, t)| (n.as_str(), t.as_str())).collect();
        data.push(("s40", "long"));
        let why = set("old", "${s0}", &data);
        assert!(why.contains("is longer than"), "{why}");
    }
}
