//! The authorizer: an index that follows the store.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use async_trait::async_trait;
use objectstore::{Event, EventKind, Object, ResourceKey, Store, Watch};

use super::index::Index;
use super::{Authorizer, HeldRules};
use crate::access::{AccessDecision, Attributes, User};

/// The resources that are followed: plural, whether they are roles (or bindings), whether of the cluster.
const FOLLOWED: [(&str, bool, bool); 4] = [
    ("clusterroles", true, true),
    ("roles", true, false),
    ("clusterrolebindings", false, true),
    ("rolebindings", false, false),
];

struct Followed {
    roles: bool,
    cluster: bool,
    key: ResourceKey,
    /// `None` once events were missed: everything is read again.
    watch: Option<Watch>,
}

#[derive(Default)]
struct Inner {
    index: Index,
    followed: Vec<Followed>,
}

/// Role-based access control from the store's roles and bindings.
///
/// A decision sees every write that was acknowledged before it: what is new in the store's rings is taken into
/// the index first. Members of `system:masters` may do everything, and nothing is looked up for them.
pub(crate) struct Rbac {
    store: Store,
    inner: RwLock<Inner>,
}

impl std::fmt::Debug for Rbac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rbac").finish_non_exhaustive()
    }
}

impl Rbac {
    /// Follows the roles and bindings of a store.
    #[must_use]
    pub(crate) fn new(store: Store) -> Self {
        let follow = |(plural, roles, cluster): (&str, bool, bool)| Followed {
            roles,
            cluster,
            key: format!("{plural}.{}", super::GROUP).into(),
            watch: None,
        };
        let inner = Inner {
            index: Index::default(),
            followed: FOLLOWED.into_iter().map(follow).collect(),
        };
        Self {
            store,
            inner: RwLock::new(inner),
        }
    }

    /// The index with everything that was written up to now.
    fn current(&self) -> RwLockReadGuard<'_, Inner> {
        let read = || self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let inner = read();
        let fresh = |f: &Followed| f.watch.as_ref().is_some_and(|w| !w.pending());
        if inner.followed.iter().all(fresh) {
            return inner;
        }
        drop(inner);
        // Whoever comes here second finds nothing left to catch up with.
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let Inner { index, followed } = &mut *inner;
        for one in followed {
            one.catch_up(&self.store, index);
        }
        drop(inner);
        read()
    }

    /// The rules that hold for a user in a namespace (empty: in the whole cluster).
    pub(super) fn held(&self, user: &User, namespace: &str) -> HeldRules {
        self.current().index.held(user, namespace)
    }

    /// The rules of a role that a binding in `namespace` names; `None` if it is not there.
    pub(super) fn role(&self, kind: &str, name: &str, namespace: &str) -> Option<Vec<super::Rule>> {
        let inner = self.current();
        inner
            .index
            .rules_of(kind, name, namespace)
            .map(<[super::Rule]>::to_vec)
    }
}

impl Followed {
    fn catch_up(&mut self, store: &Store, index: &mut Index) {
        loop {
            let Some(watch) = &mut self.watch else {
                index.forget(self.roles, self.cluster);
                let listing = store.list(&self.key, "");
                for (_, object) in &listing.objects {
                    self.take(index, object, true);
                }
                // A version that is forgotten already is listed again.
                self.watch = store.watch(&self.key, listing.rv).ok();
                continue;
            };
            match watch.ready() {
                Ok(events) if events.is_empty() => return,
                Ok(events) => {
                    for Event { kind, object, .. } in events {
                        self.take(index, &object, kind != EventKind::Deleted);
                    }
                }
                Err(_) => self.watch = None,
            }
        }
    }

    fn take(&self, index: &mut Index, object: &Object, there: bool) {
        let at = (object.fields.namespace.clone(), object.fields.name.clone());
        let value = there.then(|| object.value());
        if self.roles {
            index.role(at, value.as_ref());
        } else {
            index.binding(at, value.as_ref());
        }
    }
}

#[async_trait]
impl Authorizer for Rbac {
    async fn decide(&self, request: &Attributes<'_>) -> AccessDecision {
        if request.user.is_master() {
            return AccessDecision::allowed();
        }
        self.current().index.decide(request)
    }
}
