//! Static types and the signatures of the standard library, as cel-go's checker has them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The declared type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// A string.
    Text,
    /// Known only when it runs.
    Dyn,
}

/// A static type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Dyn,
    /// The element of an empty literal: fits everything.
    Free,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Meta(Box<Self>),
    /// A value that may not be there.
    Optional(Box<Self>),
    /// A map of which all fields are known.
    Object(Arc<BTreeMap<String, Self>>),
    /// A signature's variable, bound by the first argument that it meets.
    Param(char),
}

impl Type {
    pub(crate) fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    pub(crate) fn optional(of: Self) -> Self {
        Self::Optional(Box::new(of))
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Free)
    }

    /// Whether a value of one type may stand for the other; unknown types fit everything.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (a, b) if a.is_open() || b.is_open() => true,
            (Self::List(a), Self::List(b)) => a.fits(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.fits(c) && b.fits(d),
            (Self::Meta(_), Self::Meta(_)) => true,
            (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Null, Self::Timestamp | Self::Duration)
            | (Self::Timestamp | Self::Duration, Self::Null) => true,
            (a, b) => a == b,
        }
    }

    /// The more general of two types that fit each other.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Free, b) => b,
            (a, Self::Free) => a,
            (Self::Dyn, _) | (_, Self::Dyn) => Self::Dyn,
            (Self::List(a), Self::List(b)) => Self::list(a.join(*b)),
            (Self::Map(a, b), Self::Map(c, d)) => Self::map(a.join(*c), b.join(*d)),
            (Self::Optional(a), Self::Optional(b)) => Self::optional(a.join(*b)),
            (a, _) => a,
        }
    }
}

/// As cel-go's messages spell types.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "dyn",
            Self::Free => "_var0",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(of) => return write!(f, "list({of})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
            Self::Meta(of) => return write!(f, "type({of})"),
            Self::Optional(of) => return write!(f, "optional_type({of})"),
            Self::Object(_) => "object",
            Self::Param(name) => return write!(f, "{name}"),
        })
    }
}

/// One signature: parameters (the receiver first) and result.
pub(crate) type Signature = (Vec<Type>, Type);

/// The signatures of a function or operator; empty if there is none of that name.
pub(crate) fn signatures(name: &str, member: bool) -> Vec<Signature> {
    if member {
        return members(name);
    }
    let operators = operators(name);
    if operators.is_empty() {
        globals(name)
    } else {
        operators
    }
}

fn each(results: &[(Type, Type)]) -> Vec<Signature> {
    results
        .iter()
        .map(|(from, to)| (vec![from.clone()], to.clone()))
        .collect()
}

fn binary(of: &[Type], result: Option<&Type>) -> Vec<Signature> {
    of.iter()
        .map(|t| (vec![t.clone(), t.clone()], result.unwrap_or(t).clone()))
        .collect()
}

fn operators(name: &str) -> Vec<Signature> {
    use Type::{Bool, Bytes, Double, Duration, Int, Param, Text, Timestamp, Uint};
    let a = || Param('A');
    let list = || Type::list(Param('A'));
    let numbers = [Int, Uint, Double];
    match name {
        "_+_" => {
            let mut all = binary(&[Int, Uint, Double, Text, Bytes, list(), Duration], None);
            all.push((vec![Timestamp, Duration], Timestamp));
            all.push((vec![Duration, Timestamp], Timestamp));
            all
        }
        "_-_" => {
            let mut all = binary(&[Int, Uint, Double, Duration], None);
            all.push((vec![Timestamp, Timestamp], Duration));
            all.push((vec![Timestamp, Duration], Timestamp));
            all
        }
        "_*_" | "_/_" => binary(&numbers, None),
        "_%_" => binary(&[Int, Uint], None),
        "-_" => each(&[(Int, Int), (Double, Double)]),
        "!_" | "@not_strictly_false" => each(&[(Bool, Bool)]),
        "_&&_" | "_||_" => binary(&[Bool], None),
        "_==_" | "_!=_" => binary(&[a()], Some(&Bool)),
        "_<_" | "_<=_" | "_>_" | "_>=_" => binary(
            &[Bool, Int, Uint, Double, Text, Bytes, Timestamp, Duration],
            Some(&Bool),
        ),
        "@in" => vec![
            (vec![a(), list()], Bool),
            (vec![a(), Type::map(a(), Param('B'))], Bool),
        ],
        "_[_]" => vec![
            (vec![list(), Int], a()),
            (vec![Type::map(a(), Param('B')), a()], Param('B')),
        ],
        "_?_:_" => vec![(vec![Bool, a(), a()], a())],
        _ => Vec::new(),
    }
}

fn globals(name: &str) -> Vec<Signature> {
    use Type::{Bool, Bytes, Double, Duration, Int, Param, Text, Timestamp, Uint};
    let to = |result: Type, from: &[Type]| -> Vec<Signature> {
        from.iter()
            .map(|t| (vec![t.clone()], result.clone()))
            .collect()
    };
    match name {
        "size" => to(Int, &sized()),
        "matches" => vec![(vec![Text, Text], Bool)],
        "int" => to(Int, &[Int, Uint, Double, Text, Timestamp, Duration]),
        "uint" => to(Uint, &[Uint, Int, Double, Text]),
        "double" => to(Double, &[Double, Int, Uint, Text]),
        "string" => to(
            Text,
            &[Text, Bool, Int, Uint, Double, Bytes, Timestamp, Duration],
        ),
        "bytes" => to(Bytes, &[Bytes, Text]),
        "bool" => to(Bool, &[Bool, Text]),
        "timestamp" => to(Timestamp, &[Timestamp, Text, Int]),
        "duration" => to(Duration, &[Duration, Text, Int]),
        "dyn" => vec![(vec![Param('A')], Type::Dyn)],
        "type" => vec![(vec![Param('A')], Type::Meta(Box::new(Param('A'))))],
        _ => Vec::new(),
    }
}

fn sized() -> Vec<Type> {
    vec![
        Type::Text,
        Type::Bytes,
        Type::list(Type::Param('A')),
        Type::map(Type::Param('A'), Type::Param('B')),
    ]
}

fn members(name: &str) -> Vec<Signature> {
    use Type::{Bool, Duration, Int, Text, Timestamp};
    match name {
        "size" => sized().into_iter().map(|t| (vec![t], Int)).collect(),
        "contains" | "startsWith" | "endsWith" | "matches" => vec![(vec![Text, Text], Bool)],
        "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => vec![
            (vec![Timestamp], Int),
            (vec![Timestamp, Text], Int),
            (vec![Duration], Int),
        ],
        "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" => vec![(vec![Timestamp], Int), (vec![Timestamp, Text], Int)],
        _ => Vec::new(),
    }
}

/// The signatures that rules have beyond the standard library (the strings extension, Kubernetes' functions of lists, and values
/// that may not be there).
pub(crate) fn extended(name: &str, member: bool) -> Vec<Signature> {
    use Type::{Bool, Int, Param, Text};
    let texts = || Type::list(Text);
    let maybe = |name| Type::optional(Param(name));
    let list = || Type::list(Param('A'));
    let map = || Type::map(Param('A'), Param('B'));
    match (name, member) {
        ("hasValue", true) => vec![(vec![maybe('A')], Bool)],
        ("value", true) => vec![(vec![maybe('A')], Param('A'))],
        ("orValue", true) => vec![(vec![maybe('A'), Param('A')], Param('A'))],
        ("or", true) => vec![(vec![maybe('A'), maybe('A')], maybe('A'))],
        ("_[?_]" | "_[_]", false) => {
            let mut all = vec![
                (vec![Type::optional(list()), Int], maybe('A')),
                (vec![Type::optional(map()), Param('A')], maybe('B')),
            ];
            if name == "_[?_]" {
                all.push((vec![list(), Int], maybe('A')));
                all.push((vec![map(), Param('A')], maybe('B')));
            }
            all
        }
        ("isSorted", true) => vec![(vec![Type::list(Param('A'))], Bool)],
        ("sum" | "min" | "max", true) => vec![(vec![Type::list(Param('A'))], Param('A'))],
        ("charAt", true) => vec![(vec![Text, Int], Text)],
        ("indexOf" | "lastIndexOf", true) => {
            vec![(vec![Text, Text], Int), (vec![Text, Text, Int], Int)]
        }
        ("join", true) => vec![(vec![texts()], Text), (vec![texts(), Text], Text)],
        ("lowerAscii" | "upperAscii" | "trim" | "reverse", true) => vec![(vec![Text], Text)],
        ("replace", true) => {
            vec![
                (vec![Text, Text, Text], Text),
                (vec![Text, Text, Text, Int], Text),
            ]
        }
        ("split", true) => vec![
            (vec![Text, Text], texts()),
            (vec![Text, Text, Int], texts()),
        ],
        ("substring", true) => vec![(vec![Text, Int], Text), (vec![Text, Int, Int], Text)],
        _ => Vec::new(),
    }
}
