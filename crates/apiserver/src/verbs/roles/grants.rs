//! What a write of a role or binding may grant: nothing that the writer does not hold.
//!
//! The verbs `escalate` (on roles) and `bind` (on roles that a binding names) lift this, as in the real server
//! (`pkg/registry/rbac/*/policybased`).

use objects::write::{meta, metadata_mut};
use objects::{Failure, Reason};
use serde_json::Value;

use crate::access::Attributes;
use crate::authz::{Authorizer, Cover, GROUP, Roles, Rule, STEPS, quoted};
use crate::verbs::{Core, RequestTarget, Whose};

impl Core {
    /// Refuses a write of a role or binding that would grant more than its writer holds.
    ///
    /// # Errors
    /// 403 naming what is not held; 404 of the role that a binding names.
    pub(crate) async fn check_grant(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Failure> {
        if target.resource.group != GROUP || whose.user.is_master() {
            return Ok(());
        }
        let grant = Grant {
            authorizer: self.authorizer.as_ref(),
            roles: &self.roles,
            target,
            whose,
            name: meta(new, "name"),
        };
        match target.resource.kind.as_str() {
            "Role" | "ClusterRole" => grant.role(old, new).await,
            "RoleBinding" | "ClusterRoleBinding" => grant.binding(old, new).await,
            _ => Ok(()),
        }
    }

    /// What somebody is told of an object that breaks a rule: what they may not grant comes first.
    pub(crate) async fn granted(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        (old, new): (Option<&Value>, &Value),
        refused: Failure,
    ) -> Failure {
        let asks = refused.code == 422 && target.resource.group == GROUP;
        match asks {
            true => match self.check_grant(target, whose, old, new).await {
                Err(escalates) => escalates,
                Ok(()) => refused,
            },
            false => refused,
        }
    }
}

/// Whether nothing changes but what the garbage collector needs to let an object go. All else is a grant: a label may make others
/// gather the rules.
fn is_collectors(old: &Value, new: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        if let Some(metadata) = metadata_mut(&mut value) {
            for field in [
                "ownerReferences",
                "finalizers",
                "managedFields",
                "resourceVersion",
            ] {
                metadata.remove(field);
            }
        }
        value
    };
    bare(old) == bare(new)
}

struct Grant<'a> {
    authorizer: &'a dyn Authorizer,
    roles: &'a Roles,
    target: &'a RequestTarget,
    whose: &'a Whose,
    name: &'a str,
}

impl Grant<'_> {
    async fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let asked = Attributes {
            user: &self.whose.user,
            verb,
            group: GROUP,
            resource,
            subresource: "",
            namespace: &self.target.namespace,
            name,
            path: "",
        };
        self.authorizer.allows(&asked).await
    }

    fn refuse(&self, why: &str) -> Failure {
        let resource = &self.target.resource;
        Failure::forbidden(&resource.group, &resource.plural, self.name, why)
    }

    async fn role(&self, old: Option<&Value>, new: &Value) -> Result<(), Failure> {
        let gathers = |role: &Value| role.get("aggregationRule").is_some_and(|v| !v.is_null());
        let rules = Rule::of_role(new);
        if old.is_some_and(|old| is_collectors(old, new))
            || self
                .may("escalate", &self.target.resource.plural, self.name)
                .await
        {
            return Ok(());
        }
        if gathers(new) || old.is_some_and(gathers) {
            let everything = [
                Rule {
                    verbs: vec!["*".to_owned()],
                    groups: vec!["*".to_owned()],
                    resources: vec!["*".to_owned()],
                    ..Rule::default()
                },
                Rule {
                    verbs: vec!["*".to_owned()],
                    urls: vec!["*".to_owned()],
                    ..Rule::default()
                },
            ];
            if self.not_held(&everything).is_some() {
                let why = "must have cluster-admin privileges to use an aggregationRule";
                return Err(self.refuse(why));
            }
        }
        match self.not_held(&rules) {
            Some(why) => Err(self.refuse(&why)),
            None => Ok(()),
        }
    }

    async fn binding(&self, old: Option<&Value>, new: &Value) -> Result<(), Failure> {
        if old.is_some_and(|old| is_collectors(old, new)) {
            return Ok(());
        }
        let text = |pointer: &str| {
            new.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, name) = (text("/roleRef/kind"), text("/roleRef/name"));
        if !matches!(kind, "Role" | "ClusterRole") {
            let why = format!("unsupported role reference kind: {kind:?}");
            return Err(Failure::new(500, Reason::Unknown, why));
        }
        let plural = if kind == "Role" {
            "roles"
        } else {
            "clusterroles"
        };
        if self.may("bind", plural, name).await {
            return Ok(());
        }
        let rules = self.roles.role(kind, name, &self.target.namespace);
        let rules = rules.ok_or_else(|| Failure::not_found(GROUP, plural, name))?;
        match self.not_held(&rules) {
            Some(why) => Err(self.refuse(&why)),
            None => Ok(()),
        }
    }

    /// Says which of the rules the writer does not hold; `None` if all are held.
    fn not_held(&self, rules: &[Rule]) -> Option<String> {
        let user = &self.whose.user;
        let held = self.roles.held(user, &self.target.namespace);
        let missing = Cover::of(&held.rules).missing(rules);
        if missing.is_empty() {
            return None;
        }
        let who = format!("user {:?} (groups={})", user.name, quoted(&user.groups));
        let mut why = if missing.lines.is_empty() {
            format!(
                "{who} is attempting to grant RBAC permissions that take more than {STEPS} steps to compare with \
                 those currently held: write them as several roles"
            )
        } else {
            format!(
                "{who} is attempting to grant RBAC permissions not currently held:\n{}{}",
                missing.lines.join("\n"),
                if missing.more || missing.unknown {
                    "\nand more"
                } else {
                    ""
                }
            )
        };
        if !held.errors.is_empty() {
            why += &format!("; resolution errors: [{}]", held.errors.join(", "));
        }
        Some(why)
    }
}
