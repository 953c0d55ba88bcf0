//! The part of kubectl's JSONPath that printer columns and selectable fields use.
//!
//! `.a.b`, `['a']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, `..a` and filters like `[?(@.type=="Ready")]`. Nothing is
//! ever an error while searching: what is not there is not found.

use serde_json::Value;

/// Longest accepted path.
const MAX_LENGTH: usize = 2_048;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<JsonPathStep>,
}

#[derive(Debug, Clone, PartialEq)]
enum JsonPathStep {
    Field(String),
    Every,
    Deep,
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    Filter(Box<Filter>),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    test: Option<(Test, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Test {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl JsonPath {
    /// Parses a path that starts with `.` or `[`; braces around it are taken off.
    ///
    /// # Errors
    /// What cannot be understood, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("longer than {MAX_LENGTH} characters"));
        }
        let inner = text
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .unwrap_or(text);
        let mut rest = inner.strip_prefix('$').unwrap_or(inner);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            rest = step(rest, &mut steps)?;
        }
        Ok(Self { steps })
    }

    /// All values that the path leads to, in order.
    #[must_use]
    pub fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![root];
        for step in &self.steps {
            found = found
                .into_iter()
                .flat_map(|value| take(step, value))
                .collect();
        }
        found
    }
}

fn step<'a>(text: &'a str, steps: &mut Vec<JsonPathStep>) -> Result<&'a str, String> {
    if let Some(rest) = text.strip_prefix("..") {
        steps.push(JsonPathStep::Deep);
        return if rest.starts_with('[') {
            Ok(rest)
        } else {
            field(rest, steps)
        };
    }
    if let Some(rest) = text.strip_prefix('.') {
        return if rest.is_empty() || rest.starts_with('[') {
            Ok(rest)
        } else {
            field(rest, steps)
        };
    }
    if let Some(rest) = text.strip_prefix('[') {
        let end = closing(rest).ok_or_else(|| "unterminated array".to_owned())?;
        let (inner, after) = rest.split_at(end);
        bracket(inner.trim(), steps)?;
        return Ok(after.strip_prefix(']').unwrap_or(after));
    }
    Err(format!(
        "unrecognized character in action: {:?}",
        text.chars().next().unwrap_or(' ')
    ))
}

fn field<'a>(text: &'a str, steps: &mut Vec<JsonPathStep>) -> Result<&'a str, String> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '.' | '[' => {
                end = at;
                break;
            }
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            c => name.push(c),
        }
    }
    if name.is_empty() {
        return Err("empty field name".to_owned());
    }
    steps.push(if name == "*" {
        JsonPathStep::Every
    } else {
        JsonPathStep::Field(name)
    });
    Ok(text.get(end..).unwrap_or_default())
}

/// The position of the bracket that closes, skipping quoted texts and inner brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str, steps: &mut Vec<JsonPathStep>) -> Result<(), String> {
    if let Some(body) = inner.strip_prefix("?(").and_then(|t| t.strip_suffix(')')) {
        steps.push(JsonPathStep::Filter(Box::new(filter(body)?)));
        return Ok(());
    }
    if inner == "*" {
        steps.push(JsonPathStep::Every);
        return Ok(());
    }
    if let Some(name) = unquote(inner) {
        steps.push(JsonPathStep::Field(name));
        return Ok(());
    }
    let number = |text: &str| -> Result<Option<i64>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| format!("invalid array index {inner}"))
    };
    if let Some((from, to)) = inner.split_once(':') {
        steps.push(JsonPathStep::Slice(number(from)?, number(to)?));
        return Ok(());
    }
    let index = number(inner)?.ok_or_else(|| "invalid array index".to_owned())?;
    steps.push(JsonPathStep::Index(index));
    Ok(())
}

fn unquote(text: &str) -> Option<String> {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return Some(inner.replace(&format!("\\{quote}"), &quote.to_string()));
        }
    }
    None
}

fn filter(body: &str) -> Result<Filter, String> {
    let tests = [
        ("==", Test::Equal),
        ("!=", Test::NotEqual),
        ("<=", Test::LessEqual),
        (">=", Test::GreaterEqual),
        ("<", Test::Less),
        (">", Test::Greater),
    ];
    let mut quote = None;
    for (at, c) in body.char_indices() {
        match quote {
            Some(q) if q == c => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {
                let rest = body.get(at..).unwrap_or_default();
                if let Some((sign, test)) = tests.iter().find(|(sign, _)| rest.starts_with(sign)) {
                    let right = rest.get(sign.len()..).unwrap_or_default();
                    let left = operand(body.get(..at).unwrap_or_default())?;
                    return Ok(Filter {
                        left,
                        test: Some((*test, operand(right)?)),
                    });
                }
            }
        }
    }
    Ok(Filter {
        left: operand(body)?,
        test: None,
    })
}

fn operand(text: &str) -> Result<Operand, String> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return Ok(Operand::Path(JsonPath::parse(path)?));
    }
    if let Some(text) = unquote(text) {
        return Ok(Operand::Literal(Value::from(text)));
    }
    serde_json::from_str(text)
        .map(Operand::Literal)
        .map_err(|_| format!("unrecognized identifier {text}"))
}

fn take<'a>(step: &JsonPathStep, value: &'a Value) -> Vec<&'a Value> {
    match step {
        JsonPathStep::Field(name) => value.get(name).into_iter().collect(),
        JsonPathStep::Every => children(value),
        JsonPathStep::Deep => {
            let mut all = vec![value];
            let mut next = 0;
            while let Some(value) = all.get(next).copied() {
                all.extend(children(value));
                next += 1;
            }
            all
        }
        JsonPathStep::Index(index) => {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            place(*index, items.len())
                .and_then(|i| items.get(i))
                .into_iter()
                .collect()
        }
        JsonPathStep::Slice(from, to) => {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            let from = place(from.unwrap_or(0), items.len()).unwrap_or(items.len());
            let to = to.map_or(items.len(), |t| {
                place(t, items.len()).unwrap_or(items.len())
            });
            items
                .get(from..to.max(from))
                .unwrap_or_default()
                .iter()
                .collect()
        }
        JsonPathStep::Filter(filter) => children(value)
            .into_iter()
            .filter(|item| holds(filter, item))
            .collect(),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn place(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { length + index } else { index };
    usize::try_from(index)
        .ok()
        .filter(|i| i64::try_from(*i).is_ok_and(|i| i <= length))
}

fn holds(filter: &Filter, item: &Value) -> bool {
    let resolve = |operand: &Operand| -> Option<Value> {
        match operand {
            Operand::Literal(value) => Some(value.clone()),
            Operand::Path(path) => path.find(item).first().map(|v| (*v).clone()),
        }
    };
    let left = resolve(&filter.left);
    let Some((test, right)) = &filter.test else {
        return left.is_some();
    };
    let (Some(left), Some(right)) = (left, resolve(right)) else {
        return false;
    };
    let order = match (&left, &right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    };
    match test {
        Test::Equal => left == right,
        Test::NotEqual => left != right,
        Test::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Test::LessEqual => order.is_some_and(std::cmp::Ordering::is_le),
        Test::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Test::GreaterEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}
