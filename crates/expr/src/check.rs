//! The type check: every name declared, every call with a signature that fits, one type of
//! element per literal. All errors are collected, with positions.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use crate::types::{Signature, Type, extended, signatures};

/// A problem at the node of this id.
pub(crate) struct Finding {
    pub(crate) id: u64,
    pub(crate) message: String,
}

/// Checks expressions against the variables that are declared.
pub(crate) struct Checker<'a> {
    variables: &'a BTreeMap<String, Type>,
    scopes: Vec<(String, Type)>,
    extended: bool,
    pub(crate) findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(variables: &'a BTreeMap<String, Type>) -> Self {
        Self {
            variables,
            scopes: Vec::new(),
            extended: false,
            findings: Vec::new(),
        }
    }

    /// Knows the functions of rules too.
    pub(crate) fn extended(mut self) -> Self {
        self.extended = true;
        self
    }

    /// The static type of an expression.
    pub(crate) fn check(&mut self, node: &IdedExpr) -> Type {
        match &node.expr {
            Expr::Unspecified => Type::Dyn,
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.name(node.id, name),
            Expr::Select(select) => self.select(node, &select.operand, &select.field, select.test),
            Expr::Call(call) => self.call(node.id, call),
            Expr::List(list) => {
                let mut of = Type::Free;
                for (at, element) in list.elements.iter().enumerate() {
                    of = self.element(of, element, list.optional_indices.contains(&at));
                }
                Type::list(of)
            }
            Expr::Map(map) => self.map(&map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(message) => {
                self.undeclared(node.id, &message.type_name);
                Type::Dyn
            }
        }
    }

    fn error(&mut self, id: u64, message: String) -> Type {
        self.findings.push(Finding { id, message });
        Type::Dyn
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Type {
        self.error(
            id,
            format!("undeclared reference to '{name}' (in container '')"),
        )
    }

    fn name(&mut self, id: u64, name: &str) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        let scoped = self.scopes.iter().rev().find(|(n, _)| n == name);
        if let Some((_, t)) = scoped {
            return t.clone();
        }
        if let Some(t) = self.variables.get(name) {
            return t.clone();
        }
        let of = match name {
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "bool" => Type::Bool,
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "type" => Type::Meta(Box::new(Type::Dyn)),
            _ => return self.undeclared(id, name),
        };
        Type::Meta(Box::new(of))
    }

    fn select(&mut self, node: &IdedExpr, operand: &IdedExpr, field: &str, test: bool) -> Type {
        let of = match self.check(operand) {
            Type::Optional(inner) => Type::optional(self.field(node.id, *inner, field)),
            t => self.field(node.id, t, field),
        };
        if test { Type::Bool } else { of }
    }

    /// The type of a field of a value of this type.
    fn field(&mut self, id: u64, of: Type, field: &str) -> Type {
        match of {
            Type::Map(_, value) => *value,
            Type::Object(fields) => match fields.get(field) {
                Some(of) => of.clone(),
                None => self.error(id, format!("undefined field '{field}'")),
            },
            t if t.is_open() => Type::Dyn,
            t => self.error(id, format!("type '{t}' does not support field selection")),
        }
    }

    /// An element of a literal; one that may be left out is a value that may not be there.
    fn element(&mut self, of: Type, element: &IdedExpr, optional: bool) -> Type {
        let t = match self.check(element) {
            Type::Optional(inner) if optional => *inner,
            t => t,
        };
        if of.fits(&t) {
            return of.join(t);
        }
        self.error(element.id, format!("expected type '{of}' but found '{t}'"));
        of
    }

    fn map(&mut self, entries: &[cel::common::ast::IdedEntryExpr]) -> Type {
        let (mut key, mut value) = (Type::Free, Type::Free);
        for entry in entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                key = self.element(key, &entry.key, false);
                value = self.element(value, &entry.value, entry.optional);
            }
        }
        Type::map(key, value)
    }

    /// What signatures do not tell of values that may not be there: fields, and the functions that make such values.
    fn optional(&mut self, id: u64, call: &CallExpr) -> Option<Type> {
        let of_library = |checker: &Self, target: &IdedExpr| {
            let own = |name: &str| {
                checker.variables.contains_key(name)
                    || checker.scopes.iter().any(|(n, _)| n == name)
            };
            matches!(&target.expr, Expr::Ident(name) if name == "optional" && !own(name))
        };
        let target = call.target.as_deref();
        match (call.func_name.as_str(), target, call.args.as_slice()) {
            _ if !self.extended => None,
            ("_?._", None, [operand, name]) => {
                let Expr::Literal(LiteralValue::String(field)) = &name.expr else {
                    return None;
                };
                let of = match self.check(operand) {
                    Type::Optional(inner) => *inner,
                    t => t,
                };
                Some(Type::optional(self.field(id, of, field.inner())))
            }
            ("none", Some(target), []) if of_library(self, target) => {
                Some(Type::optional(Type::Free))
            }
            ("of" | "ofNonZeroValue", Some(target), [value]) if of_library(self, target) => {
                Some(Type::optional(self.check(value)))
            }
            _ => None,
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Type {
        if let Some(of) = self.optional(id, call) {
            return of;
        }
        let receiver = call.target.as_deref();
        let arguments: Vec<Type> = receiver
            .into_iter()
            .chain(&call.args)
            .map(|argument| self.check(argument))
            .collect();
        let mut known = signatures(&call.func_name, receiver.is_some());
        if self.extended {
            known.extend(extended(&call.func_name, receiver.is_some()));
        }
        if known.is_empty() {
            return self.undeclared(id, &call.func_name);
        }
        match resolve(&known, &arguments) {
            Some(t) => t,
            None => {
                let applied = applied(receiver.is_some(), &arguments);
                let name = &call.func_name;
                self.error(
                    id,
                    format!("found no matching overload for '{name}' applied to '{applied}'"),
                )
            }
        }
    }

    fn comprehension(&mut self, c: &ComprehensionExpr) -> Type {
        let range = self.check(&c.iter_range);
        let item = match range {
            Type::List(of) => *of,
            Type::Map(key, _) => *key,
            t if t.is_open() => Type::Dyn,
            t => self.error(
                c.iter_range.id,
                format!("expression of type '{t}' cannot be range of a comprehension (must be list, map, or dynamic)"),
            ),
        };
        let start = self.check(&c.accu_init);
        self.scopes.push((c.accu_var.clone(), start.clone()));
        self.scopes.push((c.iter_var.clone(), item));
        self.check(&c.loop_cond);
        let step = self.check(&c.loop_step);
        self.scopes.pop();
        self.scopes.pop();
        let total = if start.fits(&step) {
            start.join(step)
        } else {
            Type::Dyn
        };
        self.scopes.push((c.accu_var.clone(), total));
        let result = self.check(&c.result);
        self.scopes.pop();
        result
    }
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::Text,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// The result of a call: the one result of all signatures that fit, unknown if they differ.
fn resolve(known: &[Signature], arguments: &[Type]) -> Option<Type> {
    let mut result: Option<Type> = None;
    for (parameters, returns) in known {
        if parameters.len() != arguments.len() {
            continue;
        }
        let mut bound = BTreeMap::new();
        let fits = parameters
            .iter()
            .zip(arguments)
            .all(|(parameter, argument)| bind(parameter, argument, &mut bound));
        if !fits {
            continue;
        }
        let t = substitute(returns, &bound);
        result = Some(match result {
            None => t,
            Some(before) if before == t => t,
            Some(_) => Type::Dyn,
        });
    }
    result
}

/// Whether an argument fits a parameter, given what its variables are bound to already.
fn bind(parameter: &Type, argument: &Type, bound: &mut BTreeMap<char, Type>) -> bool {
    match (parameter, argument) {
        (Type::Param(name), _) => match bound.remove(name) {
            None => {
                bound.insert(*name, argument.clone());
                true
            }
            Some(before) => {
                let fits = before.fits(argument);
                let joined = if fits {
                    before.join(argument.clone())
                } else {
                    before
                };
                bound.insert(*name, joined);
                fits
            }
        },
        (_, t) if t.is_open() => true,
        (Type::List(p), Type::List(a)) | (Type::Optional(p), Type::Optional(a)) => {
            bind(p, a, bound)
        }
        (Type::Map(p, q), Type::Map(a, b)) => bind(p, a, bound) && bind(q, b, bound),
        (p, a) => p.fits(a),
    }
}

fn substitute(t: &Type, bound: &BTreeMap<char, Type>) -> Type {
    match t {
        Type::Param(name) => bound.get(name).cloned().unwrap_or(Type::Dyn),
        Type::List(of) => Type::list(substitute(of, bound)),
        Type::Map(key, value) => Type::map(substitute(key, bound), substitute(value, bound)),
        Type::Meta(of) => Type::Meta(Box::new(substitute(of, bound))),
        Type::Optional(of) => Type::optional(substitute(of, bound)),
        other => other.clone(),
    }
}

fn applied(member: bool, arguments: &[Type]) -> String {
    let join = |types: &[Type]| {
        types
            .iter()
            .map(Type::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (member, arguments.split_first()) {
        (true, Some((receiver, rest))) => format!("{receiver}.({})", join(rest)),
        _ => format!("({})", join(arguments)),
    }
}
