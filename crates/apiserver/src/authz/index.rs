//! Roles and bindings, found by subject.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{HeldRules, Rule};
use crate::access::{AccessDecision, Attributes, User, accounts};

/// The bytes of the rules of one user that are gathered for a question; a decision looks at all of them.
const HELD: usize = 32 << 20;

/// Namespace and name; the namespace is empty for what holds in the whole cluster.
type At = (String, String);

/// Whom a binding can name. Service accounts are users with a long name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    User(String),
    Group(String),
}

/// A subject of a binding: who it is, and how it is told.
#[derive(Debug)]
struct Subject {
    holder: Holder,
    told: String,
}

#[derive(Debug)]
struct Binding {
    /// `Role` or `ClusterRole`.
    kind: String,
    role: String,
    subjects: Vec<Subject>,
    told: String,
}

/// All roles and bindings at one moment.
#[derive(Debug, Default)]
pub(super) struct Index {
    roles: BTreeMap<At, Vec<Rule>>,
    bindings: BTreeMap<At, Binding>,
    held: BTreeMap<Holder, BTreeSet<At>>,
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn subject(value: &Value, namespace: &str) -> Option<Subject> {
    let (kind, name) = (text(value, "/kind"), text(value, "/name"));
    let own = text(value, "/namespace");
    let home = if own.is_empty() { namespace } else { own };
    let (holder, told) = match kind {
        "User" => (Holder::User(name.to_owned()), name.to_owned()),
        "Group" => (Holder::Group(name.to_owned()), name.to_owned()),
        "ServiceAccount" if !home.is_empty() => (
            Holder::User(accounts::name(home, name)),
            format!("{name}/{home}"),
        ),
        _ => return None,
    };
    let told = format!("{kind} {told:?}");
    Some(Subject { holder, told })
}

impl Index {
    /// Takes in a role as it is now, or takes it out.
    pub(super) fn role(&mut self, at: At, role: Option<&Value>) {
        match role {
            Some(role) => drop(self.roles.insert(at, Rule::of_role(role))),
            None => drop(self.roles.remove(&at)),
        }
    }

    /// Takes in a binding as it is now, or takes it out.
    pub(super) fn binding(&mut self, at: At, binding: Option<&Value>) {
        if let Some(before) = self.bindings.remove(&at) {
            for subject in before.subjects {
                if let Some(set) = self.held.get_mut(&subject.holder) {
                    set.remove(&at);
                    if set.is_empty() {
                        self.held.remove(&subject.holder);
                    }
                }
            }
        }
        let Some(binding) = binding else { return };
        let (namespace, name) = &at;
        let listed = binding.get("subjects").and_then(Value::as_array);
        let subjects: Vec<Subject> = listed
            .into_iter()
            .flatten()
            .filter_map(|s| subject(s, namespace))
            .collect();
        for subject in &subjects {
            let held = self.held.entry(subject.holder.clone()).or_default();
            held.insert(at.clone());
        }
        let (kind, role) = (
            text(binding, "/roleRef/kind"),
            text(binding, "/roleRef/name"),
        );
        let whose = if namespace.is_empty() {
            format!("ClusterRoleBinding {name:?}")
        } else {
            format!("RoleBinding {:?}", format!("{name}/{namespace}"))
        };
        let entry = Binding {
            kind: kind.to_owned(),
            role: role.to_owned(),
            subjects,
            told: format!("{whose} of {kind} {role:?}"),
        };
        self.bindings.insert(at, entry);
    }

    /// Forgets all roles, or all bindings, of the cluster or of namespaces.
    pub(super) fn forget(&mut self, roles: bool, cluster: bool) {
        let all = if roles {
            self.roles.keys().cloned().collect::<Vec<_>>()
        } else {
            self.bindings.keys().cloned().collect()
        };
        for at in all.into_iter().filter(|at| at.0.is_empty() == cluster) {
            if roles {
                self.role(at, None);
            } else {
                self.binding(at, None);
            }
        }
    }

    /// The rules of a role that a binding in `namespace` names.
    pub(super) fn rules_of(&self, kind: &str, name: &str, namespace: &str) -> Option<&[Rule]> {
        let home = if kind == "Role" { namespace } else { "" };
        let found = self.roles.get(&(home.to_owned(), name.to_owned()));
        found.map(Vec::as_slice)
    }

    /// Visits what holds for a user in a namespace (empty: cluster-wide only) until `visit` answers `true`.
    fn visit<'a>(
        &'a self,
        user: &User,
        namespace: &str,
        errors: &mut Vec<String>,
        mut visit: impl FnMut(&'a Binding, &'a Subject, &'a [Rule]) -> bool,
    ) {
        let groups = user.groups.iter().map(|g| Holder::Group(g.clone()));
        let holders: BTreeSet<Holder> = groups.chain([Holder::User(user.name.clone())]).collect();
        let mut homes = vec![""];
        homes.extend((!namespace.is_empty()).then_some(namespace));
        for home in homes {
            let first = (home.to_owned(), String::new());
            let named: BTreeSet<&At> = holders
                .iter()
                .filter_map(|holder| self.held.get(holder))
                .flat_map(|set| set.range(first.clone()..).take_while(|at| at.0 == home))
                .collect();
            for binding in named.into_iter().filter_map(|at| self.bindings.get(at)) {
                let mut subjects = binding.subjects.iter();
                let Some(subject) = subjects.find(|s| holders.contains(&s.holder)) else {
                    continue;
                };
                match self.rules_of(&binding.kind, &binding.role, home) {
                    Some(rules) if visit(binding, subject, rules) => return,
                    Some(_) => {}
                    None => errors.push(format!(
                        "{}.{} {:?} not found",
                        binding.kind.to_lowercase(),
                        super::GROUP,
                        binding.role
                    )),
                }
            }
        }
    }

    /// Decides a request.
    pub(super) fn decide(&self, request: &Attributes<'_>) -> AccessDecision {
        let mut errors = Vec::new();
        let mut by = None;
        self.visit(
            request.user,
            request.namespace,
            &mut errors,
            |binding, subject, rules| {
                let allowed = rules.iter().any(|rule| rule.allows(request));
                if allowed {
                    by = Some((binding, subject));
                }
                allowed
            },
        );
        match by {
            Some((binding, subject)) => AccessDecision {
                allowed: true,
                reason: format!("RBAC: allowed by {} to {}", binding.told, subject.told),
            },
            None => AccessDecision {
                allowed: false,
                reason: told(&errors),
            },
        }
    }

    /// The rules that hold for a user in a namespace, up to [`HELD`].
    pub(super) fn held(&self, user: &User, namespace: &str) -> HeldRules {
        let mut held = HeldRules::default();
        let mut bytes = 0;
        self.visit(user, namespace, &mut held.errors, |_, _, rules| {
            for rule in rules {
                bytes += rule.bytes();
                if bytes > HELD {
                    held.cut = true;
                    return true;
                }
                held.rules.push(rule.clone());
            }
            false
        });
        if held.cut {
            held.errors
                .push(format!("rules beyond {HELD} bytes were not looked at"));
        }
        held
    }
}

/// Errors in the words of refusals; empty for none.
fn told(errors: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for error in errors {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    }
    match once.as_slice() {
        [] => String::new(),
        [one] => format!("RBAC: {one}"),
        many => format!("RBAC: [{}]", many.join(", ")),
    }
}
