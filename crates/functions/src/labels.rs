//! Selectors over labels or annotations in their text form: `a=b,c!=d,e in (f,g),h,!i`.

use std::iter::Peekable;
use std::str::Chars;

/// What is asked of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Need {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

/// A selector: all of its needs must be met. The empty one selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Labels(Vec<(String, Need)>);

impl Labels {
    /// Reads a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("unable to parse requirement: {why} in {text:?}");
        let mut tokens = Tokens(text.chars().peekable());
        let mut needs = Vec::new();
        let mut next = tokens.next();
        while let Some(token) = next {
            needs.push(need(token, &mut tokens).map_err(wrong)?);
            next = match tokens.next().as_deref() {
                None => None,
                Some(",") => match tokens.next() {
                    None => return Err(wrong("nothing follows the last comma".to_owned())),
                    token => token,
                },
                Some(other) => return Err(wrong(format!("found {other:?}, expected a comma"))),
            };
        }
        Ok(Self(needs))
    }

    /// Whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether what stands under each key is as asked.
    pub(crate) fn matches<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.0.iter().all(|(key, need)| {
            let value = value(key);
            let held = |all: &[String]| value.is_some_and(|value| all.iter().any(|v| v == value));
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match need {
                Need::Exists => value.is_some(),
                Need::Absent => value.is_none(),
                Need::In(all) => held(all),
                Need::NotIn(all) => !held(all),
                Need::Above(than) => number().is_some_and(|value| value > *than),
                Need::Below(than) => number().is_some_and(|value| value < *than),
            }
        })
    }
}

/// One need, its first token read.
fn need(first: String, tokens: &mut Tokens<'_>) -> Result<(String, Need), String> {
    if first == "!" {
        return Ok((word(tokens.next(), "a key")?, Need::Absent));
    }
    let key = word(Some(first), "a key")?;
    let operator = match tokens.peek() {
        None => return Ok((key, Need::Exists)),
        Some(',') => return Ok((key, Need::Exists)),
        Some(_) => tokens.next().unwrap_or_default(),
    };
    let need = match operator.as_str() {
        "=" | "==" => Need::In(vec![tokens.value()]),
        "!=" => Need::NotIn(vec![tokens.value()]),
        "in" => Need::In(tokens.set()?),
        "notin" => Need::NotIn(tokens.set()?),
        ">" => Need::Above(tokens.number()?),
        "<" => Need::Below(tokens.number()?),
        other => return Err(format!("found {other:?}, expected an operator")),
    };
    Ok((key, need))
}

fn word(token: Option<String>, what: &str) -> Result<String, String> {
    match token {
        Some(token) if !token.starts_with(sign) => Ok(token),
        Some(token) => Err(format!("found {token:?}, expected {what}")),
        None => Err(format!("found the end, expected {what}")),
    }
}

fn sign(c: char) -> bool {
    "!=<>(),".contains(c)
}

struct Tokens<'t>(Peekable<Chars<'t>>);

impl Tokens<'_> {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.0.next_if(|c| c.is_whitespace()).is_some() {}
        self.0.peek().copied()
    }

    /// A word, or an operator of one or two signs.
    fn next(&mut self) -> Option<String> {
        let first = self.peek()?;
        let mut token = String::new();
        if sign(first) {
            token.extend(self.0.next());
            if "!=".contains(first) {
                token.extend(self.0.next_if_eq(&'='));
            }
            return Some(token);
        }
        while let Some(c) = self.0.next_if(|c| !c.is_whitespace() && !sign(*c)) {
            token.push(c);
        }
        Some(token)
    }

    /// A value, which may be empty.
    fn value(&mut self) -> String {
        match self.peek() {
            Some(c) if !sign(c) => self.next().unwrap_or_default(),
            _ => String::new(),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        let value = self.value();
        value.parse().map_err(|_| format!("{value:?} is no number"))
    }

    fn set(&mut self) -> Result<Vec<String>, String> {
        if self.next().as_deref() != Some("(") {
            return Err("expected \"(\" before a set".to_owned());
        }
        let mut all = vec![self.value()];
        loop {
            match self.next().as_deref() {
                Some(",") => all.push(self.value()),
                Some(")") => return Ok(all),
                _ => return Err("expected \",\" or \")\" in a set".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Labels;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let get = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        Labels::parse(selector).unwrap().matches(get)
    }

    #[test]
    fn every_operator_of_the_text_form_is_understood() {
        let web = &[("app", "web"), ("tier", "front"), ("n", "3"), ("e", "")][..];
        for selector in [
            "",
            "app=web",
            "app == web , tier=front",
            "app!=db",
            "zone!=a",
            "app in (web, db)",
            "app notin (db)",
            "zone notin (a,b)",
            "app",
            "!zone",
            "n>2,n<4",
            "e=",
            "e in (,x)",
        ] {
            assert!(selects(selector, web), "{selector}");
        }
        for selector in [
            "app=db",
            "app!=web",
            "zone=a",
            "app in (db)",
            "app notin (web)",
            "!app",
            "zone",
            "n>3",
            "app>1",
        ] {
            assert!(!selects(selector, web), "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "a=b,", "=b", "a b", "a in b", "a in (b", "!", "a>b", "a=b c",
        ] {
            let why = Labels::parse(text).unwrap_err();
            assert!(why.contains("unable to parse requirement"), "{text}: {why}");
        }
    }
}
