//! The class of what an open revision changes, as a plan has it, for revisions that are there already (F1).
//!
//! It is computed here, from what the server shows of the revision and of what is published.

use model::{Files, RepositoryName, TreeId};
use package::changes::{self, Changes, HashKey, Inputs, WantedUpstream};
use serde_json::{Map, Value, json};

use super::alike::{self, Stated};
use super::contents::{Contents, contents, may_hide};
use crate::client::Client;
use crate::exit::ExitFailure;
use crate::planning;

/// A revision that is to be put into a class, and what it is compared with.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Unclassified {
    /// Its name.
    pub(in crate::commands) name: String,
    /// What it holds, as the server says.
    pub(in crate::commands) tree: String,
    /// Whether it is to be deleted: what that changes is that all of it goes.
    pub(in crate::commands) deletion: bool,
    /// Which target it is of.
    pub(in crate::commands) stated: Stated,
    /// What is published, and its tree.
    pub(in crate::commands) base: Option<(String, String)>,
    /// The upstream that it follows: repository, package and tree.
    pub(in crate::commands) upstream: Option<(String, String, String)>,
}

/// What a revision changes.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Classified {
    /// The id of its class.
    pub(in crate::commands) id: String,
    /// What the revision states about itself.
    pub(in crate::commands) inputs: Inputs,
    /// The change, with that revision as its example.
    pub(in crate::commands) class: ClassOfOpen,
}

impl Classified {
    /// The class, and what the revision states for its inputs, as an approval says it.
    pub(in crate::commands) fn seen(&self) -> Value {
        let names = self.class.changes.inputs().into_iter();
        let value = |name: String| {
            let value = self.inputs.value(&name)?.to_owned();
            Some((name, Value::from(value)))
        };
        let inputs: Map<String, Value> = names.filter_map(value).collect();
        json!({ "id": self.id, "inputs": inputs })
    }
}

/// A class, as its first member showed it.
#[derive(Debug, Clone)]
pub(in crate::commands) struct ClassOfOpen {
    first: String,
    changes: Changes,
    before: Files,
    after: Files,
}

impl ClassOfOpen {
    /// As a plan's document has it, with the inputs of its members.
    pub(in crate::commands) fn told(&self, id: &str, inputs: &[&Inputs]) -> Value {
        let files = (&self.before, &self.after);
        planning::of_changes(id, &self.first, &self.changes, files, inputs)
    }
}

/// Fetches a revision and what is published, and puts the difference into a class. Hashes of Secrets in it are made with a key.
///
/// # Errors
/// The server's own message; or it changes what is not shown, so that nobody here can tell its class.
pub(in crate::commands) async fn classify(
    client: &Client,
    open: &Unclassified,
    key: HashKey,
) -> Result<Classified, ExitFailure> {
    let (before, after) = sides(client, open).await?;
    let from = wanted(open)?;
    let inputs = match (&before, open.deletion) {
        // What goes states what its target is.
        (Some(before), true) => alike::inputs(&client.namespace, &open.stated, None, before),
        (before, _) => alike::inputs(&client.namespace, &open.stated, before.as_ref(), &after),
    };
    let before = changes::aside(&before.unwrap_or_default());
    let after = changes::aside(&after);
    let found = changes::changes(&before, &after, &inputs).keyed(key);
    Ok(Classified {
        id: found.id(&from).to_string(),
        inputs,
        class: ClassOfOpen {
            first: open.name.clone(),
            changes: found,
            before: changes::differing(&before, &after),
            after: changes::differing(&after, &before),
        },
    })
}

/// What a revision is compared with, and what it holds: of one that is to be deleted, what goes, and nothing.
async fn sides(
    client: &Client,
    open: &Unclassified,
) -> Result<(Option<Files>, Files), ExitFailure> {
    let own = contents(client, &open.name).await?;
    let (before, after) = match (&open.base, open.deletion) {
        (_, true) => (Some(own), Contents::none()),
        (Some((base, _)), false) => (Some(contents(client, base).await?), own),
        (None, false) => (None, own),
    };
    let none = Contents::none();
    let both = [before.as_ref().unwrap_or(&none), &after];
    // What stays as it is changes no class.
    if !both.iter().all(|side| side.same_unshown(&after)) {
        return Err(ExitFailure::new(
            "links, or files that are binary or too large to be shown, are not the same in it: a plan compares them",
        ));
    }
    let tree = Some(open.tree.as_str());
    let trees = match (&open.base, open.deletion) {
        (_, true) => [tree, None],
        (base, false) => [base.as_ref().map(|(_, tree)| tree.as_str()), tree],
    };
    if may_hide(both, trees) {
        return Err(ExitFailure::new("what it changes is not shown"));
    }
    Ok((before.map(|before| before.files), after.files))
}

/// What it is to follow; what no upstream is known of changes by itself.
fn wanted(open: &Unclassified) -> Result<WantedUpstream, ExitFailure> {
    let named = |e: model::NameError| ExitFailure::of("read the package's place", &e);
    let own = || {
        let tree = open.tree.clone();
        (
            open.stated.repository.clone(),
            open.stated.package.clone(),
            tree,
        )
    };
    let (repository, package, tree) = open.upstream.clone().unwrap_or_else(own);
    Ok(WantedUpstream {
        repository: RepositoryName::parse(&repository).map_err(named)?,
        package: model::PackageName::parse(&package).map_err(named)?,
        tree: TreeId::parse(&tree).ok_or_else(|| ExitFailure::new("its upstream names no tree"))?,
    })
}
