//! Conversations with a remote: a look at its refs, a fetch, an atomic push with a lease per ref.
//!
//! Refs are moved by us, never by git: a look says where they are, objects are fetched by id, and
//! one transaction of ours moves what changed. What failed is classified by what git says, never by
//! guessing at what it meant: where nothing certain is said, the answer is "unheard".

use std::collections::BTreeSet;

use gix::ObjectId;
use model::Class;

use crate::RefName;
use crate::disk::{Moved, PushStep, Pushed, RawEdit, RawRefs, Turn, Upstream, Who};
use crate::error::{Error, Missing, Result};
use crate::git::bounds::Cut;
use crate::git::disk::GitDisk;
use crate::git::transport::{Git, Mute, Said};
use crate::refname::mirrored;

impl GitDisk {
    /// The remote's refs, as far as we mirror them; tags not followed.
    pub(crate) fn look(&self, who: &Who) -> Result<RawRefs> {
        if self.place.direct
            && let Some(mut theirs) = self.look_directly(who)?
        {
            theirs.refs.retain(|name, _| mirrored(name));
            return Ok(theirs.refs);
        }
        let args = ["ls-remote", "--quiet", self.git.url.as_str()].map(str::to_owned);
        let said = self.ask("look at", &args, None, who)?;
        if said.out.lines().count() > self.git.bounds.refs.0 {
            return Err(self.too_many_refs("look at"));
        }
        let parse = |line: &str| {
            let (hex, name) = line.split_once('\t')?;
            if hex.len() != 40 {
                return None;
            }
            let name = RefName::parse(name).ok().filter(mirrored)?;
            Some((name, ObjectId::from_hex(hex.as_bytes()).ok()?))
        };
        if said
            .out
            .lines()
            .any(|l| l.split('\t').next().is_some_and(|hex| hex.len() == 64))
        {
            let what = "SHA-256 object ids".to_owned();
            return Err(Error::Format {
                url: self.git.url.clone(),
                what,
            });
        }
        Ok(said.out.lines().filter_map(parse).collect())
    }

    fn too_many_refs(&self, attempt: &'static str) -> Error {
        let text = self.git.bounds.too_many_refs();
        self.git.error(attempt, Class::Limit, &text)
    }

    fn ask(
        &self,
        attempt: &'static str,
        args: &[String],
        input: Option<Vec<u8>>,
        who: &Who,
    ) -> Result<Said> {
        self.understood(attempt, args, self.git.there(args, input, who))
    }

    /// What a command said, or why it said nothing that helps.
    fn understood(
        &self,
        attempt: &'static str,
        args: &[String],
        said: Result<Said, Mute>,
    ) -> Result<Said> {
        match said {
            Ok(said) if said.fine => Ok(said),
            Ok(said) if said.is_out_of_memory() => match args.first() {
                Some(first) if first == "ls-remote" => Err(self.too_many_refs(attempt)),
                _ => {
                    let text = "git needs more than 2 GiB of memory for the objects that it sends; \
                                take out of it what is that large";
                    Err(self.git.error(attempt, Class::Limit, text))
                }
            },
            Ok(said) => {
                let class = classify(&said.err).unwrap_or(Class::Unavailable);
                Err(self.said(attempt, class, &said.err))
            }
            Err(Mute::Start(error)) => Err(error),
            Err(Mute::Cut(cut)) => Err(self.git.error(attempt, Class::Unavailable, cut.text())),
            Err(Mute::Much) => Err(self.too_many_refs(attempt)),
        }
    }

    /// The failure of a remote that git told of.
    fn said(&self, attempt: &'static str, class: Class, err: &str) -> Error {
        let (missing, text) = essence(err);
        self.git.missing(missing, attempt, class, text)
    }

    fn bring_objects(&self, refs: &RawRefs, who: &Who) -> Result<()> {
        let mut missing = BTreeSet::new();
        for id in refs.values() {
            if !missing.contains(id) && self.odb.header(id)?.is_none() {
                missing.insert(*id);
            }
        }
        let Some(first) = missing.first().copied() else {
            return Ok(());
        };
        let lines: String = missing.iter().map(|id| format!("{id}\n")).collect();
        let args = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--stdin",
            &self.git.url,
        ]
        .map(str::to_owned);
        self.fetch_objects(&args, &lines, who)?;
        self.odb.note_pack(&first)
    }

    /// Runs a fetch once there is a place for it: with little memory, as the most need, and with more, one of all at a time, where that
    /// does not do.
    fn fetch_objects(&self, args: &[String], lines: &str, who: &Who) -> Result<()> {
        let Git { bounds, url, .. } = &self.git;
        let cut = |cut: Cut| self.git.error("fetch from", Class::Unavailable, cut.text());
        let busy = || Error::Busy { url: url.clone() };
        let input = || Some(lines.as_bytes().to_vec());
        let tenant = who.tenant();
        let wait = bounds.fetches.take(&tenant, url);
        let place = self.git.runtime.block_on(bounds.keep(wait)).map_err(cut)?;
        let _place = place.ok_or_else(busy)?;
        let mut said = self.git.there(args, input(), who);
        if matches!(&said, Ok(said) if said.is_out_of_memory()) {
            let wait = bounds.keep(bounds.fetches.large());
            let _large = self.git.runtime.block_on(wait).map_err(|_| busy())?;
            said = self.git.large().there(args, input(), who);
        }
        let done = self.understood("fetch from", args, said).map(drop);
        if done.is_err() {
            super::pack::sweep_broken_off(&self.place.git_dir.join("objects"));
        }
        done
    }

    fn moved_refs(&self, theirs: &RawRefs) -> Result<Vec<RawEdit>> {
        let mut ours = self.refs.list()?;
        let mut broken = self.refs.broken();
        broken.retain(|name, _| mirrored(name));
        if !broken.is_empty() {
            // Of a mirror nothing is lost: the remote says what stands there.
            self.refs.rewrite_broken(&broken, theirs)?;
            ours = self.refs.list()?;
        }
        let mut edits = Vec::new();
        for (name, old) in ours.iter().filter(|(name, _)| mirrored(name)) {
            if !theirs.contains_key(name) {
                edits.push(RawEdit {
                    name: name.clone(),
                    old: Some(*old),
                    new: None,
                });
            }
        }
        for (name, new) in theirs {
            let old = ours.get(name).copied();
            if old != Some(*new) {
                edits.push(RawEdit {
                    name: name.clone(),
                    old,
                    new: Some(*new),
                });
            }
        }
        Ok(edits)
    }
}

impl Upstream for GitDisk {
    fn push(&self, step: &PushStep<'_>, who: &Who) -> Result<Pushed> {
        if self.place.direct
            && let Some(pushed) = self.push_directly(step, who)?
        {
            return Ok(pushed);
        }
        // Git itself compares the refs that move.
        if !step.beside.is_empty() {
            let stale = step.stale(&self.look(who)?);
            if !stale.is_empty() {
                return Ok(Pushed::Stale(stale));
            }
        }
        let edits = step.edits;
        let mut args: Vec<String> = ["push", "--porcelain", "--atomic", "--no-progress"]
            .map(str::to_owned)
            .into();
        let hex = |id: &Option<ObjectId>| id.map(|id| id.to_string()).unwrap_or_default();
        args.extend(
            edits
                .iter()
                .map(|e| format!("--force-with-lease={}:{}", e.name, hex(&e.old))),
        );
        args.push(self.git.url.clone());
        args.extend(edits.iter().map(|e| format!("{}:{}", hex(&e.new), e.name)));
        match self.git.there(&args, None, who) {
            Ok(said) => self.meant(edits, &said),
            Err(Mute::Cut(_) | Mute::Much) => Ok(Pushed::Unheard),
            Err(Mute::Start(error)) => Err(error),
        }
    }

    fn turn(&self, who: &Who) -> Turn {
        let turn = self.git.bounds.turn(&self.git.url, who);
        Box::pin(async move { Ok(Box::new(turn.await?) as Box<dyn Send>) })
    }

    fn fetch(&self, who: &Who) -> Result<()> {
        const TRIES: usize = 3;
        for left in (0..TRIES).rev() {
            let theirs = self.look(who)?;
            match self.bring_objects(&theirs, who) {
                Ok(()) => {}
                // A ref moved between the look and the fetch: its old value is not handed out.
                Err(Error::Remote { text, .. }) if left > 0 && text.contains("not our ref") => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            let (mut gone, mut come): (Vec<_>, Vec<_>) = self
                .moved_refs(&theirs)?
                .into_iter()
                .partition(|e| e.new.is_none());
            // First what goes, as it may be in the way of what comes.
            for edits in [&mut gone, &mut come] {
                if !edits.is_empty()
                    && let (Moved::Stale(names), _) = self.refs.apply(edits, &mut || Ok(()))?
                {
                    tracing::warn!(?names, "somebody else writes to our mirror");
                }
            }
            self.refs.durable()?;
            return Ok(());
        }
        Ok(())
    }
}

impl GitDisk {
    /// What git says of a push. If it does not say of every ref what became of it, it says nothing.
    fn meant(&self, edits: &[RawEdit], said: &Said) -> Result<Pushed> {
        let mut stale = Vec::new();
        let mut declined = Vec::new();
        let mut collateral = false;
        let mut taken = BTreeSet::new();
        for line in said.out.lines() {
            let Some((flag, refs, text)) = porcelain(line) else {
                continue;
            };
            let name = refs
                .rsplit_once(':')
                .and_then(|(_, name)| RefName::parse(name).ok());
            let Some(name) = name else { continue };
            match verdict(text) {
                _ if flag != "!" => drop(taken.insert(name)),
                Verdict::Collateral => collateral = true,
                Verdict::Stale => stale.push(name),
                Verdict::Declined => declined.push((name, text.to_owned())),
                Verdict::Unknown => return Ok(Pushed::Unheard),
            }
        }
        let refused = !declined.is_empty() || !stale.is_empty() || collateral;
        if said.fine && !refused && edits.iter().all(|e| taken.contains(&e.name)) {
            return Ok(Pushed::Taken);
        }
        // All or nothing was asked for, and neither is what it says.
        if said.fine || !taken.is_empty() {
            return Ok(Pushed::Unheard);
        }
        if said.err.contains("does not support --atomic") {
            let text = "it does not support atomic pushes, without which a package could be half published";
            return Err(self.git.error("push to", Class::Invalid, text));
        }
        if !declined.is_empty() {
            return Ok(Pushed::Declined(explain(declined, &said.err)));
        }
        if !stale.is_empty() || collateral {
            return Ok(Pushed::Stale(stale));
        }
        match classify(&said.err) {
            // Said before anything was sent.
            Some(class) => Err(self.said("push to", class, &said.err)),
            None => Ok(Pushed::Unheard),
        }
    }
}

pub(crate) enum Verdict {
    Stale,
    Declined,
    Collateral,
    Unknown,
}

/// A line about one ref: a flag, from where to where, and what became of it.
fn porcelain(line: &str) -> Option<(&str, &str, &str)> {
    let (flag, rest) = line.split_once('\t').filter(|(flag, _)| flag.len() == 1)?;
    let (refs, text) = rest.split_once('\t')?;
    Some((flag, refs, text))
}

/// What git says about one ref of a push.
pub(crate) fn verdict(text: &str) -> Verdict {
    const COLLATERAL: [&str; 3] = [
        "atomic push fail",
        "atomic transaction failed",
        "transaction failed",
    ];
    const STALE: [&str; 8] = [
        "stale info",
        "fetch first",
        "incorrect old value",
        "failed to lock",
        "cannot lock ref",
        "failed to update ref",
        "already exists",
        "reference not found",
    ];
    let any = |list: &[&str]| list.iter().any(|part| text.contains(part));
    if any(&["failed to report status"]) {
        Verdict::Unknown
    } else if any(&STALE) {
        Verdict::Stale
    } else if any(&COLLATERAL) {
        Verdict::Collateral
    } else {
        Verdict::Declined
    }
}

/// Adds what the remote's hooks said.
fn explain(declined: Vec<(RefName, String)>, err: &str) -> Vec<(RefName, String)> {
    let remote: Vec<&str> = err
        .lines()
        .filter_map(|l| l.strip_prefix("remote:"))
        .map(str::trim)
        .collect();
    let more = remote
        .into_iter()
        .filter(|l| !l.is_empty())
        .take(5)
        .collect::<Vec<_>>()
        .join("; ");
    let add = |text: String| {
        if more.is_empty() {
            text
        } else {
            format!("{text}: {more}")
        }
    };
    declined
        .into_iter()
        .map(|(name, text)| (name, add(text)))
        .collect()
}

/// The class of a failure that git reports before anything is sent; `None` if it may have been.
fn classify(err: &str) -> Option<Class> {
    let has = |parts: &[&str]| parts.iter().any(|part| err.contains(part));
    if has(&[
        "could not read Username",
        "could not read Password",
        "Authentication failed",
    ]) || has(&["returned error: 401", "returned error: 403"])
    {
        return Some(Class::Denied);
    }
    if has(&["returned error: 404"]) || (err.contains("repository '") && err.contains("not found"))
    {
        return Some(Class::NotFound);
    }
    if has(&["mismatched algorithms", "unknown object format"]) {
        return Some(Class::Invalid);
    }
    has(&["unable to access"]).then_some(Class::Unavailable)
}

/// What git's words come to. What the other side answered is not repeated: whoever may name an address must not
/// read with our eyes what is served there.
fn essence(err: &str) -> (Option<Missing>, String) {
    const LOGIN: [&str; 2] = ["terminal prompts disabled", "Authentication failed"];
    const KNOWN: [(&str, &str); 9] = [
        (
            "not our ref",
            "it lists an object that it does not hand out (not our ref)",
        ),
        ("No space left on device", "no space is left on this device"),
        ("mismatched algorithms", "it uses another object format"),
        ("unknown object format", "it uses another object format"),
        ("early EOF", "the connection was lost"),
        ("hung up unexpectedly", "the connection was lost"),
        ("unexpected disconnect", "the connection was lost"),
        ("' not found", "there is no such repository"),
        (
            "is this a git repository?",
            "it does not answer as a git server does",
        ),
    ];
    // The words of the program's HTTP client, or the status of the answer.
    let reached = err.lines().find_map(|line| {
        let (_, said) = line.split_once("unable to access '")?;
        said.split_once("': ").map(|(_, said)| said.trim())
    });
    if let Some(said) = reached {
        return (None, said.chars().take(400).collect());
    }
    if LOGIN.iter().any(|part| err.contains(part)) {
        let said = "it asks for credentials and none were accepted";
        return (Some(Missing::Login), said.to_owned());
    }
    let known = KNOWN.iter().find(|(part, _)| err.contains(part));
    let said = known.map_or("git could not read its answer", |(_, said)| said);
    (None, said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_answered_is_not_repeated() {
        for (err, told) in [
            (
                "remote: internal secret\nfatal: unable to access 'http://h/x/': The requested URL returned error: 500\n",
                "The requested URL returned error: 500",
            ),
            (
                "fatal: invalid server response; got 'root:x:0:0'\n",
                "git could not read its answer",
            ),
            (
                "fatal: protocol error: bad line length character: root\n",
                "git could not read its answer",
            ),
            (
                "remote: secret\nfatal: http://h/x/info/refs not valid: is this a git repository?\n",
                "it does not answer as a git server does",
            ),
            (
                "fatal: could not read Username for 'http://h': terminal prompts disabled\n",
                "it asks for credentials and none were accepted",
            ),
            (
                "fatal: remote error: upload-pack: not our ref 1234\n",
                "it lists an object that it does not hand out (not our ref)",
            ),
        ] {
            assert_eq!(essence(err).1, told);
        }
    }
}
