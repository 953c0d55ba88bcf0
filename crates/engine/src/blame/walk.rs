//! Back through the history of a package, until each field is somebody's.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{
    CommitId, Conflict, Decision, Files, Machine, ObjectKey, ObjectName, PackagePath, Revision,
    Task, TreeId,
};
use package::kptfile::Kptfile;
use package::merge::{Earlier, Leaf, Versions, within};

use super::wrote::Wrote;
use crate::discover::approval;
use crate::git::Notes;
use crate::observe::old_files;
use crate::repos::OpenRepository;
use crate::transaction::kept_conflicts;
use crate::{Engine, Error, Result};

/// How many commits are looked at for a revision.
const LIMIT: usize = 2_000;

/// A field of the revision.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Its file.
    pub(super) file: PackagePath,
    /// Where in it.
    pub(super) leaf: Leaf,
}

/// Who wrote a field, or whose output is to be made again to find out.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// It is known.
    Wrote(Wrote),
    /// A layer of this output, in whose file the field's document stands at this place.
    Machine(Arc<Output>, usize),
}

/// What a machine made of an upstream package: a variant's *V*, or a clone that a person asked for.
#[derive(Debug, Clone)]
pub(super) struct Output {
    /// Its tree.
    pub(super) tree: TreeId,
    /// The variant; none of a person's clone.
    pub(super) variant: Option<ObjectKey>,
    /// The context keys that it stated.
    pub(super) context_keys: BTreeSet<String>,
}

impl Output {
    fn of(machine: &Machine) -> Self {
        let owner = &machine.owner;
        Self {
            tree: machine.v_tree,
            variant: Some(ObjectKey::new(owner.namespace.clone(), owner.name.clone())),
            context_keys: machine.context_keys.clone(),
        }
    }
}

/// A field on its way back: which it is, and where its document stands now.
#[derive(Debug, Clone, Copy)]
struct At {
    field: usize,
    document: usize,
}

/// The walk.
pub(super) struct BlameWalk<'e> {
    engine: &'e Engine,
    open: &'e OpenRepository,
    revision: &'e Revision,
    answers: Vec<Option<Answer>>,
}

fn failed(source: store::Error) -> Error {
    Error::Store {
        attempt: "read the history",
        source,
    }
}

impl<'e> BlameWalk<'e> {
    /// A walk over the history of this revision.
    pub(super) fn new(
        engine: &'e Engine,
        open: &'e OpenRepository,
        revision: &'e Revision,
    ) -> Self {
        Self {
            engine,
            open,
            revision,
            answers: Vec::new(),
        }
    }

    /// All fields of a package.
    pub(super) fn fields(&self, tree: TreeId) -> Result<Vec<Field>> {
        let files = self.open.snapshot(tree)?.files.clone();
        let package = Versions::new(&files, &files);
        let of = |file: &PackagePath| {
            let leaves = package.leaves(file);
            let file = file.clone();
            leaves.into_iter().map(move |leaf| Field {
                file: file.clone(),
                leaf,
            })
        };
        Ok(files.keys().flat_map(of).collect())
    }

    /// Who wrote these fields of a commit.
    pub(super) fn run(&mut self, start: CommitId, fields: &[Field]) -> Result<Vec<Answer>> {
        self.answers = vec![None; fields.len()];
        let all = fields.iter().enumerate();
        let all = all.map(|(field, known)| At {
            field,
            document: known.leaf.document,
        });
        let mut todo = vec![(start, all.collect::<Vec<_>>())];
        let mut steps = 0;
        while let Some((commit, open)) = todo.pop() {
            steps += 1;
            if !open.is_empty() && steps <= LIMIT {
                todo.extend(self.step(commit, open, fields)?);
            }
        }
        let unknown = || Answer::Wrote(Wrote::Unknown);
        Ok(self
            .answers
            .drain(..)
            .map(|answer| answer.unwrap_or_else(unknown))
            .collect())
    }

    /// One commit: answers for what it wrote, and where the rest comes from.
    fn step(
        &mut self,
        id: CommitId,
        at: Vec<At>,
        fields: &[Field],
    ) -> Result<Vec<(CommitId, Vec<At>)>> {
        let commit = self.open.repo.commit(id).map_err(failed)?;
        let dir = self.open.layout.dir(&self.revision.package);
        if approval(self.open, &dir, &commit.message).is_some()
            && let Some(draft) = commit.parents.get(1)
        {
            // What is approved is the draft, byte for byte.
            return Ok(vec![(*draft, at)]);
        }
        let notes = Notes::of(&commit.message);
        let Some(files) = self.files(id)? else {
            return Ok(Vec::new());
        };
        let parent = match commit.parents.first() {
            Some(parent) => self.open.repo.last_change(*parent, &dir).map_err(failed)?,
            None => None,
        };
        if let Some(machine) = &notes.machine {
            let conflicts = self.conflicts(&notes);
            let mut rest = self.machine(machine, &conflicts, &files, at, fields);
            let mut next = Vec::new();
            for before in [parent, machine.base].into_iter().flatten() {
                let (same, changed) = self.against(before, &files, rest, fields)?;
                next.push((before, same));
                rest = changed;
            }
            self.answer(&rest, &Wrote::Unknown);
            return Ok(next);
        }
        let task = notes.kpt.iter().find_map(|k| k.task.clone());
        if matches!(task, Some(Task::Clone { .. } | Task::CloneGit(_))) {
            let tree = self.open.tree_at(id, &self.revision.package)?;
            let clone = tree.map(|tree| {
                Arc::new(Output {
                    tree,
                    variant: None,
                    context_keys: BTreeSet::new(),
                })
            });
            for (at, clone) in at.iter().zip(clone.iter().cycle()) {
                self.put(at.field, Answer::Machine(Arc::clone(clone), at.document));
            }
            return Ok(Vec::new());
        }
        let before = match &task {
            Some(Task::Edit { source } | Task::Upgrade { local: source, .. }) => {
                self.recorded(source).or(parent)
            }
            _ => parent,
        };
        let person = Wrote::Person {
            commit: id,
            by: commit.author.name.clone(),
            subject: commit.message.lines().next().unwrap_or_default().to_owned(),
        };
        let Some(before) = before else {
            self.answer(&at, &person);
            return Ok(Vec::new());
        };
        let (same, mut changed) = self.against(before, &files, at, fields)?;
        if matches!(task, Some(Task::Upgrade { .. })) {
            changed = self.of_upstream(&files, changed, fields);
        }
        self.answer(&changed, &person);
        Ok(vec![(before, same)])
    }

    /// What an upgrade that a person asked for took of upstream, as its lock names it; the rest is the person's. What cannot be
    /// read any more tells nothing.
    fn of_upstream(&mut self, files: &Files, at: Vec<At>, fields: &[Field]) -> Vec<At> {
        let kptfile = Kptfile::of_files(files).ok();
        let lock = kptfile.and_then(|k| k.fields().upstream_lock.clone()?.git);
        let namespace = &self.revision.key.namespace;
        let upstream = lock.and_then(|lock| {
            let files = old_files(self.engine, namespace, &lock).ok()?;
            Some((lock, files))
        });
        let Some((lock, upstream)) = upstream else {
            return at;
        };
        let (own, rest) = split(&upstream, files, at, fields);
        let wrote = Wrote::Upstream {
            git_ref: lock.git_ref,
            repo: lock.repo,
            commit: lock.commit,
        };
        self.answer(&own, &wrote);
        rest
    }

    /// What a commit of the machine says: a decision of its merge, or its own output. The rest is somebody else's.
    fn machine(
        &mut self,
        machine: &Machine,
        conflicts: &[Conflict],
        files: &Files,
        at: Vec<At>,
        fields: &[Field],
    ) -> Vec<At> {
        // An output that git does not have any more tells nothing.
        let output = self.open.snapshot(machine.v_tree).ok();
        let empty = Files::new();
        let output = output.as_ref().map_or(&empty, |snapshot| &snapshot.files);
        let (own, others) = split(output, files, at, fields);
        let machine = Arc::new(Output::of(machine));
        for at in own {
            let answer = match decided(conflicts, fields, at.field, Decision::Upstream) {
                Some(wrote) => Answer::Wrote(wrote),
                None => Answer::Machine(Arc::clone(&machine), at.document),
            };
            self.put(at.field, answer);
        }
        let mut rest = Vec::new();
        for at in others {
            match decided(conflicts, fields, at.field, Decision::Local) {
                Some(wrote) => self.put(at.field, Answer::Wrote(wrote)),
                None => rest.push(at),
            }
        }
        rest
    }

    /// Which fields are as an earlier commit has them.
    fn against(
        &self,
        before: CommitId,
        files: &Files,
        at: Vec<At>,
        fields: &[Field],
    ) -> Result<(Vec<At>, Vec<At>)> {
        let old = self.files(before)?.unwrap_or_default();
        Ok(split(&old, files, at, fields))
    }

    fn files(&self, commit: CommitId) -> Result<Option<Files>> {
        let tree = self.open.tree_at(commit, &self.revision.package)?;
        let Some(tree) = tree else { return Ok(None) };
        Ok(Some(self.open.snapshot(tree)?.files.clone()))
    }

    /// The commit of a revision by its name.
    fn recorded(&self, name: &ObjectName) -> Option<CommitId> {
        let key = ObjectKey::new(self.revision.key.namespace.clone(), name.clone());
        self.engine
            .world(|w| w.revisions.get(&key))
            .map(|r| r.commit)
    }

    fn conflicts(&self, notes: &Notes) -> Vec<Conflict> {
        let kept = notes
            .kept_conflicts
            .and_then(|kept| kept_conflicts(self.open, kept).ok());
        kept.or_else(|| notes.conflicts.clone()).unwrap_or_default()
    }

    fn put(&mut self, field: usize, answer: Answer) {
        if let Some(place) = self.answers.get_mut(field) {
            place.get_or_insert(answer);
        }
    }

    fn answer(&mut self, at: &[At], wrote: &Wrote) {
        for at in at {
            self.put(at.field, Answer::Wrote(wrote.clone()));
        }
    }
}

/// The fields that are as they were before, where their documents stood then; and those that are not.
fn split(before: &Files, after: &Files, at: Vec<At>, fields: &[Field]) -> (Vec<At>, Vec<At>) {
    let (mut same, mut changed) = (Vec::new(), Vec::new());
    let versions = Versions::new(before, after);
    let mut file: Option<(&PackagePath, Vec<Earlier>)> = None;
    for at in at {
        let Some(field) = fields.get(at.field) else {
            continue;
        };
        if file.as_ref().is_none_or(|(known, _)| *known != &field.file) {
            file = Some((&field.file, versions.earlier(&field.file)));
        }
        let was = file.as_ref().and_then(|(_, all)| all.get(at.document));
        match was
            .filter(|was| !was.touches(&field.leaf.path))
            .and_then(|was| was.document)
        {
            Some(document) => same.push(At { document, ..at }),
            None => changed.push(at),
        }
    }
    (same, changed)
}

/// The decision of a merge about a field, if it met a conflict there and took this side.
fn decided(
    conflicts: &[Conflict],
    fields: &[Field],
    field: usize,
    side: Decision,
) -> Option<Wrote> {
    let field = fields.get(field)?;
    let leaf = &field.leaf;
    let here = |c: &&Conflict| {
        c.decision == side
            && c.derived_from.is_none()
            && c.file == field.file
            && named(&c.resource) == named(&leaf.resource)
            && within(&leaf.path, &c.path)
    };
    let conflict = conflicts.iter().find(here)?;
    Some(Wrote::Merge {
        conflict: conflict.id.clone(),
        decision: side,
    })
}

/// Group, kind and name: a resource may be moved to another namespace.
fn named(record: &str) -> (&str, &str, &str) {
    let mut parts = record.splitn(4, '/');
    let mut next = || parts.next().unwrap_or_default();
    let (group, kind, _, name) = (next(), next(), next(), next());
    (group, kind, name)
}
