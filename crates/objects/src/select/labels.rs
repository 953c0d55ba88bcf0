//! Label selectors: `app=shop,tier in (web,api),!old` (`k8s.io/apimachinery/pkg/labels`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::names;
use crate::schema::quote;
use crate::status::Failure;

/// One requirement on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Need {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Missing(String),
    Greater(String, i64),
    Less(String, i64),
}

/// A parsed label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelection {
    needs: Vec<Need>,
}

impl LabelSelection {
    /// Parses a label selector.
    ///
    /// # Errors
    /// 400, saying what was not understood.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let mut parser = Parser {
            words: words(text),
            at: 0,
        };
        parser.all().map_err(Failure::bad_request)
    }

    /// Whether nothing is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Whether a value fits.
    #[must_use]
    pub fn matches_value(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.matches(|key| labels.and_then(|l| l.get(key)).and_then(Value::as_str))
    }

    /// Whether an object fits whose labels are found so.
    #[must_use]
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let number = |key: &str| label(key).and_then(|v| v.parse::<i64>().ok());
        self.needs.iter().all(|need| match need {
            Need::In(key, values) => label(key).is_some_and(|v| values.contains(v)),
            Need::NotIn(key, values) => !label(key).is_some_and(|v| values.contains(v)),
            Need::Exists(key) => label(key).is_some(),
            Need::Missing(key) => label(key).is_none(),
            Need::Greater(key, than) => number(key).is_some_and(|v| v > *than),
            Need::Less(key, than) => number(key).is_some_and(|v| v < *than),
        })
    }
}

/// A word of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    /// `!`, `=`, `==`, `!=`, `<`, `>`, `(`, `)` or `,`.
    Sign(&'static str),
    /// A key, a value, or `in` and `notin`, which are operators only between a key and its values.
    Name(String),
    End,
}

impl Word {
    /// As messages show it.
    fn shown(&self) -> &str {
        match self {
            Self::Sign(sign) => sign,
            Self::Name(name) => name,
            Self::End => "",
        }
    }

    /// Whether a requirement may end here.
    fn ends(&self) -> bool {
        matches!(self, Self::End | Self::Sign(","))
    }
}

/// Takes a text apart; the last word is the end.
fn words(text: &str) -> Vec<Word> {
    const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "<", ">", "(", ")", ","];
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            out.push(Word::End);
            return out;
        }
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let length = match sign {
            Some(sign) => sign.len(),
            None => {
                let ends = |c: char| " \t\r\n=!(),<>".contains(c);
                rest.find(ends).unwrap_or(rest.len())
            }
        };
        let (word, more) = rest.split_at(length);
        out.push(sign.map_or_else(|| Word::Name(word.to_owned()), Word::Sign));
        rest = more;
    }
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Word {
        self.words.get(self.at).unwrap_or(&Word::End)
    }

    fn next(&mut self) -> Word {
        let word = self.peek().clone();
        self.at += 1;
        word
    }

    fn all(&mut self) -> Result<LabelSelection, String> {
        let mut needs = Vec::new();
        loop {
            match self.peek() {
                Word::Name(_) | Word::Sign("!") => {
                    let need = self.need();
                    needs.push(need.map_err(|why| format!("unable to parse requirement: {why}"))?);
                }
                Word::End => return Ok(LabelSelection { needs }),
                other => {
                    let shown = other.shown();
                    return Err(format!(
                        "found '{shown}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            match self.next() {
                Word::End => return Ok(LabelSelection { needs }),
                Word::Sign(",") => {
                    let next = self.peek();
                    if !matches!(next, Word::Name(_) | Word::Sign("!")) {
                        let shown = next.shown();
                        return Err(format!("found '{shown}', expected: identifier after ','"));
                    }
                }
                other => {
                    let shown = other.shown();
                    return Err(format!("found '{shown}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    fn need(&mut self) -> Result<Need, String> {
        let mut first = self.next();
        let missing = first == Word::Sign("!");
        if missing {
            first = self.next();
        }
        let Word::Name(key) = first else {
            return Err(format!("found '{}', expected: identifier", first.shown()));
        };
        let problems = names::qualified_name(&key);
        if !problems.is_empty() {
            let why = problems.join("; ");
            return Err(format!("<nil>: Invalid value: {}: {why}", quote(&key)));
        }
        if missing {
            return Ok(Need::Missing(key));
        }
        if self.peek().ends() {
            return Ok(Need::Exists(key));
        }
        let operator = self.next();
        match operator.shown() {
            "in" => Ok(Need::In(key.clone(), self.list(&key)?)),
            "notin" => Ok(Need::NotIn(key.clone(), self.list(&key)?)),
            "=" | "==" => Ok(Need::In(
                key.clone(),
                checked(&key, [self.exact()?].into())?,
            )),
            "!=" => Ok(Need::NotIn(
                key.clone(),
                checked(&key, [self.exact()?].into())?,
            )),
            ">" => Ok(Need::Greater(key.clone(), self.bound(&key)?)),
            "<" => Ok(Need::Less(key.clone(), self.bound(&key)?)),
            other => Err(format!(
                "found '{other}', expected: in, notin, =, ==, !=, gt, lt"
            )),
        }
    }

    /// The one value behind a sign; nothing is the empty value.
    fn exact(&mut self) -> Result<String, String> {
        if self.peek().ends() {
            return Ok(String::new());
        }
        match self.next() {
            Word::Name(value) => Ok(value),
            other => Err(format!("found '{}', expected: identifier", other.shown())),
        }
    }

    fn bound(&mut self, key: &str) -> Result<i64, String> {
        let value = self.exact()?;
        let bound = value.parse().map_err(|_| {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            format!("values[0]: Invalid value: {}: {why}", quote(&value))
        });
        let checked = checked(key, [value].into());
        match (bound, checked) {
            (Ok(bound), Ok(_)) => Ok(bound),
            (Err(one), Ok(_)) | (Ok(_), Err(one)) => Err(one),
            (Err(one), Err(other)) => Err(format!("[{one}, {other}]")),
        }
    }

    /// Values in parentheses; what is left out between commas is the empty value.
    fn list(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if open != Word::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.shown()));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Word::Sign(")") => {
                self.next();
                values.insert(String::new());
                return Ok(values);
            }
            Word::Name(_) | Word::Sign(",") => {}
            other => {
                let shown = other.shown();
                return Err(format!("found '{shown}', expected: ',', ')' or identifier"));
            }
        }
        loop {
            match self.next() {
                Word::Name(value) => {
                    values.insert(value);
                    match self.next() {
                        Word::Sign(")") => return checked(key, values),
                        // The comma is read again where nothing follows it.
                        Word::Sign(",") => self.at -= 1,
                        other => {
                            let shown = other.shown();
                            return Err(format!("found '{shown}', expected: ',' or ')'"));
                        }
                    }
                }
                Word::Sign(",") => {
                    if values.is_empty() || *self.peek() == Word::Sign(",") {
                        values.insert(String::new());
                    }
                    if *self.peek() == Word::Sign(")") {
                        self.next();
                        values.insert(String::new());
                        return checked(key, values);
                    }
                }
                other => {
                    let shown = other.shown();
                    return Err(format!("found '{shown}', expected: ',', or identifier"));
                }
            }
        }
    }
}

/// Values that labels can have, or what is wrong with each of them.
fn checked(key: &str, values: BTreeSet<String>) -> Result<BTreeSet<String>, String> {
    let wrong = values.iter().enumerate().filter_map(|(at, value)| {
        let problems = names::label_value(value);
        let why = problems.join("; ");
        let text = format!(
            "values[{at}][{key}]: Invalid value: {}: {why}",
            quote(value)
        );
        (!problems.is_empty()).then_some(text)
    });
    let wrong: Vec<String> = wrong.take(100).collect();
    match wrong.as_slice() {
        [] => Ok(values),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
