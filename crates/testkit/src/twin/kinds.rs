//! The kinds of others in the twin: what is served, selected and injected.

use std::sync::Arc;

use engine::ports::{Gvk, ObjectContent, ObjectSummary};
use model::{Namespace, ObjectKey, Pairs, UpstreamSource};

use super::{Thing, Twin, table};

fn revision_set_kind() -> Gvk {
    Gvk::of("config.porch.kpt.dev/v1alpha1", "PackageRevisionSet")
}

impl Twin {
    /// Serves a kind.
    pub fn serve(&self, kind: &Gvk) {
        self.state().objects.entry(kind.clone()).or_default();
    }

    /// Serves a kind whose objects lie in no namespace.
    pub fn serve_at_cluster_scope(&self, kind: &Gvk) {
        self.state().scoped.insert(kind.clone());
        self.serve(kind);
    }

    /// Labels a namespace, or takes the label off.
    pub fn label_namespace(&self, namespace: &Namespace, label: &str, value: Option<&str>) {
        let state = &mut *self.state();
        self.wrote();
        let labels = state.namespaces.entry(namespace.clone()).or_default();
        match value {
            Some(value) => labels.insert(label.to_owned(), value.to_owned()),
            None => labels.remove(label),
        };
    }

    /// Removes a kind with all its objects, as the end of its definition does: nobody is told of each of them.
    pub fn unserve(&self, kind: &Gvk) {
        self.wrote();
        self.state().objects.remove(kind);
    }

    /// Makes or changes any object; its kind is served from then on.
    pub fn put_object(
        &self,
        kind: &Gvk,
        object: &ObjectKey,
        labels: &[(&str, &str)],
        data: Option<&str>,
        spec: Option<&str>,
    ) {
        let state = &mut *self.state();
        self.wrote();
        let labels: Pairs = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let namespace = match state.scoped.contains(kind) {
            true => String::new(),
            false => object.namespace.to_string(),
        };
        let table = state.objects.entry(kind.clone()).or_default();
        table::apply(table, &mut state.version, object.clone(), |_| Thing {
            summary: ObjectSummary {
                key: object.clone(),
                version: String::new(),
                object: Arc::new(plan::set::SelectedObject {
                    name: object.name.to_string(),
                    namespace: namespace.clone(),
                    labels: labels.clone(),
                    annotations: Pairs::new(),
                }),
            },
            content: ObjectContent {
                version: String::new(),
                data: data.map(Into::into),
                spec: spec.map(Into::into),
                labels,
            },
        });
    }

    /// Makes or changes a `PackageRevisionSet`.
    pub fn put_revision_set(&self, object: &ObjectKey, sources: Vec<UpstreamSource>) {
        let spec = format!("{sources:?}");
        self.state().revision_sets.insert(object.clone(), sources);
        self.put_object(&revision_set_kind(), object, &[], None, Some(&spec));
    }

    /// Removes a `PackageRevisionSet`.
    pub fn delete_revision_set(&self, object: &ObjectKey) {
        self.state().revision_sets.remove(object);
        self.delete_object(&revision_set_kind(), object);
    }

    /// Removes any object.
    pub fn delete_object(&self, kind: &Gvk, object: &ObjectKey) {
        let state = &mut *self.state();
        self.wrote();
        if let Some(table) = state.objects.get_mut(kind) {
            table.remove(object, &mut state.version);
        }
    }

    /// As [`Twin::list_late_records`], of other objects: those of them that were there.
    pub fn list_late_objects(&self, kind: &Gvk, was_there: impl Fn(&ObjectKey) -> bool) {
        if let Some(table) = self.state().objects.get_mut(kind) {
            let mut past = table.all();
            past.retain(|thing| was_there(&thing.summary.key));
            table.list_late(past);
        }
    }
}
