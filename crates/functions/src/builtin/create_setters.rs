//! `create-setters`: puts setter comments at the fields that hold the given values.

use yaml::owned::Value;

use crate::budget::{Budget, LONGEST, too_long};
use crate::config::Config;
use crate::goquote::{list, quote};
use crate::report::at_field;
use crate::walk::{Visit, walk};
use crate::{FunctionReport, Item};

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let results = Setters::configure(config).and_then(|setters| {
        let results = setters.create(items)?;
        if results.is_empty() {
            return Err("no matches for the input list of setters".to_owned());
        }
        Ok(results)
    });
    match results {
        Ok(results) => FunctionReport::of(results),
        Err(message) => {
            let text = format!("failed to create setters: {message}");
            FunctionReport {
                stderr: message,
                ..FunctionReport::failure(text)
            }
        }
    }
}

struct Setters {
    /// Value and name, longest value first.
    scalars: Vec<(String, String)>,
    /// Sorted values and name.
    arrays: Vec<(Vec<String>, String)>,
}

impl Setters {
    fn configure(config: Config<'_>) -> Result<Self, String> {
        let pairs = config.data_pairs();
        if pairs.is_empty() {
            return Err("config map cannot be empty".to_owned());
        }
        let mut setters = Self {
            scalars: Vec::new(),
            arrays: Vec::new(),
        };
        for (name, text) in pairs {
            let value = crate::wire::parse_value(&text).ok_or("parsing error")?;
            if let Some(values) = value.as_seq().map(|_| texts(&value)) {
                setters.arrays.push((values, name));
            } else if value.as_scalar().is_some() {
                setters.scalars.push((text, name));
            }
        }
        setters
            .scalars
            .sort_by(|a, b| (b.0.len(), &a.0, &a.1).cmp(&(a.0.len(), &b.0, &b.1)));
        setters.arrays.sort();
        Ok(setters)
    }

    fn create(&self, items: &mut [Item]) -> Result<Vec<model::FunctionResultItem>, String> {
        let mut results = Vec::new();
        let budget = Budget::default();
        for item in items.iter_mut() {
            item.meta_stands()?;
            let mut visit = Create {
                setters: self,
                budget: &budget,
                found: Vec::new(),
            };
            walk(item.value_mut(), &mut visit)?;
            results.extend(visit.found.into_iter().map(|(field, comment, value)| {
                let (comment, value) = (quote(&comment), quote(&value));
                at_field(
                    item,
                    &field,
                    format!("Added line comment {comment} for field with value {value}"),
                )
            }));
        }
        Ok(results)
    }

    /// The text with values replaced by their setters, from left to right, the longest value first.
    ///
    /// # Errors
    /// It would be longer than one value may be: a name may be much longer than its value.
    fn pattern(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = self
                .scalars
                .iter()
                .find(|(value, _)| rest.starts_with(value.as_str()));
            let length = match found {
                Some((value, name)) => {
                    out.push_str(&format!("${{{name}}}"));
                    value.len()
                }
                None => {
                    out.push(c);
                    c.len_utf8()
                }
            };
            if out.len() > LONGEST {
                return Err(too_long());
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(out)
    }
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_seq().map(|seq| seq.items()).unwrap_or_default();
    let mut texts: Vec<String> = items
        .iter()
        .map(|item| item.text().unwrap_or_default().to_owned())
        .collect();
    texts.sort();
    texts
}

struct Create<'s> {
    setters: &'s Setters,
    budget: &'s Budget,
    /// Field, comment and value.
    found: Vec<(String, String, String)>,
}

impl Visit for Create<'_> {
    fn list(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        let values = texts(value);
        if let Some((_, name)) = self
            .setters
            .arrays
            .iter()
            .find(|(wanted, _)| *wanted == values)
        {
            let comment = format!("kpt-set: ${{{name}}}");
            self.budget.text(comment.len())?;
            value.set_comment(Some(format!("# {comment}").into()));
            self.found.push((path.to_owned(), comment, list(values)));
        }
        Ok(())
    }

    fn scalar(&mut self, value: &mut Value, path: &str) -> Result<(), String> {
        let Some(text) = value.text().filter(|text| !text.contains('\n')) else {
            return Ok(());
        };
        let (text, pattern) = (text.to_owned(), self.setters.pattern(text)?);
        if pattern != text {
            self.budget.text(pattern.len())?;
            let comment = format!("kpt-set: {pattern}");
            value.set_comment(Some(format!("# {comment}").into()));
            self.found.push((path.to_owned(), comment, text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use yaml::owned::Value;

    use super::run;
    use crate::config::Config;
    use crate::{Item, wire};

    /// The message after a setter of this name was created for every `a` of these fields.
    fn created(name: &str, fields: &str) -> String {
        let config = Value::map([("data", Value::map([(name.to_owned(), Value::string("a"))]))]);
        let mut items = vec![Item::made(
            wire::parse_value(&format!("kind: B\n{fields}")).unwrap(),
        )];
        run(&mut items, Config(Some(&config))).results[0]
            .message
            .clone()
    }

    /// A name is longer than the value for which it stands.
    #[test]
    fn x9_what_comments_hold_is_bounded() {
        let name = "n".repeat(900);
        let why = created(&name, &format!("x: {}\n", "a".repeat(4_000)));
        assert_eq!(
            why,
            "failed to create setters: a value would be longer than 1048576 bytes"
        );
        let fields: String = (0..50)
            .map(|n| format!("x{n}: {}\n", "a".repeat(1_000)))
            .collect();
        let why = created(&name, &fields);
        let wanted =
            "failed to create setters: all values that are put are longer than 33554432 bytes";
        assert_eq!(why, wanted);
        assert!(created("n", "x: a-a\n").contains("kpt-set: ${n}-${n}"));
    }
}
