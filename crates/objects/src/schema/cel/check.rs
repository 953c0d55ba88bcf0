//! CEL rules when a CRD is written: syntax, types, words and estimated cost.

use expr::{Rule as Program, Wanted};
use serde_json::Value;

use super::{Stack, TOTAL_BUDGET, deep, shapes};
use crate::schema::error::FieldError;
use crate::schema::node::{Additional, ListType, Node, Type};
use crate::schema::render::{child, index, key};
use crate::schema::rules::Rule;

/// What all rules of a schema may be long: to read a kilobyte takes about ten milliseconds.
const MAX_RULES: usize = 256 << 10;
/// What the patterns of all rules of a schema may weigh.
const MAX_PATTERNS: u64 = 5 * expr::MAX_PATTERNS;

/// The largest number of elements that a value of the node can have, where that can be known.
fn bound(node: &Node) -> u64 {
    const UNBOUNDED: u64 = 1_048_576;
    let own = match node.types.first() {
        Some(Type::Array) => node.limits.max_items.unwrap_or(UNBOUNDED),
        Some(Type::Object) if node.additional.is_some() => {
            node.limits.max_properties.unwrap_or(UNBOUNDED)
        }
        _ => 1,
    };
    let below =
        node.properties
            .values()
            .chain(node.items.as_deref())
            .chain(match &node.additional {
                Some(Additional::Schema(below)) => Some(below.as_ref()),
                _ => None,
            });
    below.map(bound).max().unwrap_or(1).max(own)
}

/// Sums up what all rules of a schema may cost.
#[derive(Debug, Default)]
struct Bill {
    total: u64,
    /// Rules that are too dear by themselves.
    dear: Vec<String>,
}

/// Checks the rules of a schema when its CRD is written.
pub(crate) fn check(root: &Node, base: &str, stack: Stack, errors: &mut Vec<FieldError>) {
    if !root.has_rules() {
        return;
    }
    let found = deep(stack, || {
        let mut checker = Checker {
            errors: Vec::new(),
            bill: Bill::default(),
            length: 0,
            weight: 0,
        };
        checker.node(
            root,
            base,
            &At {
                object: true,
                times: 1,
                uncorrelated: None,
            },
        );
        checker.settle(base);
        checker.errors
    });
    match found {
        Some(found) => errors.extend(found),
        None => errors.push(FieldError::forbidden(
            base,
            "validation rules could not be compiled",
        )),
    }
}

/// Where a node stands: whether it is a whole object, how often it can occur, and within which place its former value is not known.
struct At {
    object: bool,
    times: u64,
    uncorrelated: Option<String>,
}

struct Checker {
    errors: Vec<FieldError>,
    bill: Bill,
    /// The bytes of the rules that were read, with the places of the values that each speaks of.
    length: usize,
    /// What their patterns weigh.
    weight: u64,
}

impl Checker {
    /// Whether a rule may still be read; the first that may not is told.
    fn affords(&mut self, rule: &Rule, node: &Node, path: &str) -> bool {
        let before = self.length;
        let texts = rule.rule.len() + rule.message_expression.as_ref().map_or(0, String::len);
        self.length = before.saturating_add(texts).saturating_add(node.places());
        if self.length <= MAX_RULES {
            return true;
        }
        if before <= MAX_RULES {
            let text = format!(
                "all rules of a schema, each with the fields that it can name, may be {MAX_RULES} bytes long, and with this one \
                 they are longer"
            );
            self.errors.push(FieldError::forbidden(path, text));
        }
        false
    }

    /// Notes what the patterns of a rule weigh; the first that goes beyond is told.
    fn weigh(&mut self, program: &Program, path: &str) {
        let before = self.weight;
        self.weight = before.saturating_add(program.weight());
        if self.weight > MAX_PATTERNS && before <= MAX_PATTERNS {
            let text = format!(
                "the patterns of all rules of a schema may weigh {MAX_PATTERNS}, and with those of this one they weigh more"
            );
            self.errors.push(FieldError::forbidden(path, text));
        }
    }

    fn node(&mut self, node: &Node, path: &str, at: &At) {
        for (i, rule) in node.rules.iter().enumerate() {
            let path = index(&child(path, "x-kubernetes-validations"), i);
            self.rule(rule, node, &path, at);
        }
        let whole = |lost: bool| {
            let here = || lost.then(|| path.to_owned());
            at.uncorrelated.clone().or_else(here)
        };
        let base = child(path, "properties");
        for (name, below) in &node.properties {
            let at = At {
                object: below.embedded,
                times: at.times,
                uncorrelated: whole(node.atomic_map),
            };
            self.node(below, &key(&base, name), &at);
        }
        if let Some(below) = &node.items {
            let many = node.limits.max_items.unwrap_or(1_048_576);
            let at = At {
                object: below.embedded,
                times: at.times.saturating_mul(many),
                uncorrelated: whole(!matches!(node.list_type, ListType::Map(_))),
            };
            self.node(below, &child(path, "items"), &at);
        }
        if let Some(Additional::Schema(below)) = &node.additional {
            let many = node.limits.max_properties.unwrap_or(1_048_576);
            let at = At {
                object: below.embedded,
                times: at.times.saturating_mul(many),
                uncorrelated: whole(false),
            };
            self.node(below, &child(path, "additionalProperties"), &at);
        }
    }

    fn rule(&mut self, rule: &Rule, node: &Node, path: &str, at: &At) {
        let here = child(path, "rule");
        if !self.affords(rule, node, &here) {
            return;
        }
        self.message(rule, node, path);
        let compiled = rule.compiled(node, at.object);
        if rule.optional_old_self && !compiled.transition {
            let text = "may not be set if oldSelf is not used in rule";
            let at = child(path, "optionalOldSelf");
            self.errors.push(FieldError::invalid(&at, true, text));
        }
        match &compiled.rule {
            Err(error) => {
                let text = match error.stage {
                    expr::Stage::Result => error.message.clone(),
                    _ => format!("compilation failed: {error}"),
                };
                self.errors
                    .push(FieldError::invalid_raw(&here, dump(rule), text));
            }
            Ok(program) => {
                self.weigh(program, &here);
                if let Some(place) = at.uncorrelated.as_ref().filter(|_| compiled.transition) {
                    let text = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"
                    );
                    self.errors
                        .push(FieldError::invalid(&here, rule.rule.as_str(), text));
                }
                let elements = usize::try_from(bound(node)).unwrap_or(usize::MAX);
                let cost = program.cost(elements).saturating_mul(at.times);
                self.bill.total = self.bill.total.saturating_add(cost);
                if cost > TOTAL_BUDGET {
                    self.errors.push(FieldError::forbidden(
                        &here,
                        exceeds("estimated rule cost", cost, TOTAL_BUDGET),
                    ));
                    self.bill.dear.push(here);
                }
            }
        }
    }

    /// Reads the expression of a rule's text.
    fn message(&mut self, rule: &Rule, node: &Node, path: &str) {
        let Some(text) = &rule.message_expression else {
            return;
        };
        let at = child(path, "messageExpression");
        let shapes = shapes(rule, node, false);
        let variables = [("self", &shapes[0]), ("oldSelf", &shapes[1])];
        if let Err(error) = Program::compile(text, &variables, Wanted::Text) {
            let told = match error.stage {
                expr::Stage::Result => error.message,
                _ => format!("messageExpression compilation failed: {error}"),
            };
            self.errors
                .push(FieldError::invalid_raw(&at, dump(rule), told));
        }
    }

    fn settle(&mut self, base: &str) {
        const SCHEMA_BUDGET: u64 = 100_000_000;
        if self.bill.total <= SCHEMA_BUDGET {
            return;
        }
        for rule in std::mem::take(&mut self.bill.dear) {
            let text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            self.errors.push(FieldError::forbidden(&rule, text));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.errors.push(FieldError::forbidden(
            base,
            exceeds(name, self.bill.total, SCHEMA_BUDGET),
        ));
    }
}

fn exceeds(name: &str, cost: u64, budget: u64) -> String {
    let times = cost as f64 / budget as f64;
    let factor = if times > 100.0 {
        "more than 100x".to_owned()
    } else if times < 1.5 {
        format!("{times:.6}x")
    } else {
        format!("{times:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// A rule as the real server's inner form prints.
fn dump(rule: &Rule) -> String {
    let text = |value: &Option<String>| Value::from(value.clone().unwrap_or_default());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        Value::from(rule.rule.as_str()),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason
            .as_ref()
            .map_or(Value::Null, |r| Value::from(r.as_str())),
        text(&rule.field_path),
        if rule.optional_old_self {
            "true"
        } else {
            "null"
        },
    )
}
