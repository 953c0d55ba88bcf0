//! Which namespaces may have lost their account since the events were read last.

use objectstore::{Event, EventKind, Gone, Watch};

/// Where the events of namespaces and of their accounts were read up to.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) namespaces: Watch,
    pub(crate) accounts: Watch,
}

impl Followed {
    pub(crate) fn news(&mut self) -> Result<Vec<String>, Gone> {
        let mut names = Vec::new();
        if !self.namespaces.pending() && !self.accounts.pending() {
            return Ok(names);
        }
        loop {
            let (came, went) = (self.namespaces.ready()?, self.accounts.ready()?);
            if came.is_empty() && went.is_empty() {
                return Ok(names);
            }
            let new = |e: &Event| e.kind == EventKind::Added;
            let came = came.into_iter().filter(new);
            names.extend(came.map(|e| e.object.fields.name.clone()));
            let lost =
                |e: &Event| e.kind == EventKind::Deleted && e.object.fields.name == "default";
            let went = went.into_iter().filter(lost);
            names.extend(went.map(|e| e.object.fields.namespace.clone()));
        }
    }
}
