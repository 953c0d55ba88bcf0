//! A push without the `git` program: one look at the other side's refs, one request.
//!
//! The other side compares every ref with the value that we name, under its own locks, and moves
//! all or none. What it lacks is found out from the refs that it tells of; where that is very much, the
//! program packs it.

use model::Class;

use crate::RefName;
use crate::disk::{PushStep, Pushed, RawEdit, Who};
use crate::error::{Error, Result};
use crate::git::bounds::Cut;
use crate::git::disk::GitDisk;
use crate::git::http::{self, Ask, Hear, NoAnswer};
use crate::git::pack;
use crate::git::pkt::{Advertised, Advertisement, PushReport, Unread, encode_push};
use crate::git::remote::{Verdict, verdict};

const RECEIVE: &str = "git-receive-pack";
const UPLOAD: &str = "git-upload-pack";

impl GitDisk {
    fn ask_server(
        &self,
        path: String,
        service: &'static str,
        body: Option<Vec<u8>>,
        who: &Who,
        hear: &mut Hear<'_>,
    ) -> Result<(), NoAnswer> {
        let post = body.is_some();
        let failed = |cut: Cut, acted| NoAnswer {
            class: Class::Unavailable,
            text: cut.text().to_owned(),
            missing: None,
            acted,
            broke: false,
        };
        if self.git.bounds.are_over() {
            return Err(failed(Cut::Ended, false));
        }
        let ask = http::ask(
            Ask {
                url: &self.git.url,
                path,
                service,
                body,
            },
            who,
            self.git.bounds.silence,
            hear,
        );
        let said = self.git.runtime.block_on(self.git.bounds.keep(ask));
        said.unwrap_or_else(|cut| Err(failed(cut, post)))
    }

    fn unanswered(&self, attempt: &'static str, failure: NoAnswer) -> Error {
        let NoAnswer {
            missing,
            class,
            text,
            ..
        } = failure;
        self.git.missing(missing, attempt, class, text)
    }

    /// What the other side advertises, heard to its end; `None` if it does not speak the smart protocol.
    fn listen(&self, service: &'static str, who: &Who) -> Result<Option<Advertisement>, NoAnswer> {
        let path = format!("/info/refs?service={service}");
        let bounds = &self.git.bounds;
        let mut read = Advertised::new(service, bounds.refs);
        self.ask_server(path, service, None, who, &mut |bytes| {
            let within = read.take(bytes);
            within.then_some(()).ok_or_else(|| NoAnswer {
                class: Class::Limit,
                text: bounds.too_many_refs(),
                missing: None,
                acted: false,
                broke: false,
            })
        })?;
        match read.end() {
            Ok(read) => Ok(Some(read)),
            Err(Unread::Foreign) => Ok(None),
            Err(Unread::Cut) => Err(NoAnswer {
                class: Class::Unavailable,
                text: "the list of its refs breaks off".to_owned(),
                missing: None,
                acted: false,
                broke: true,
            }),
        }
    }

    fn advertisement(
        &self,
        attempt: &'static str,
        service: &'static str,
        who: &Who,
    ) -> Result<Option<Advertisement>> {
        let said = match self.listen(service, who) {
            // A proxy that ends a connection while it is used: nothing was asked to be done.
            Err(failure) if failure.broke => self.listen(service, who),
            said => said,
        };
        let read = said.map_err(|failure| self.unanswered(attempt, failure))?;
        let Some(read) = read else {
            return Ok(None);
        };
        if read.can("object-format=sha256") {
            let what = "SHA-256 object ids".to_owned();
            return Err(Error::Format {
                url: self.git.url.clone(),
                what,
            });
        }
        Ok(Some(read))
    }

    /// The other side's refs; `None` if it does not speak the smart protocol.
    pub(crate) fn look_directly(&self, who: &Who) -> Result<Option<Advertisement>> {
        self.advertisement("look at", UPLOAD, who)
    }

    /// One atomic push; `None` if the program has to do it.
    pub(crate) fn push_directly(&self, step: &PushStep<'_>, who: &Who) -> Result<Option<Pushed>> {
        const TRIES: usize = 2;
        let can = [
            "report-status",
            "atomic",
            "ofs-delta",
            "side-band-64k",
            "agent=offshoot",
        ];
        for _ in 0..TRIES {
            let Some(theirs) = self.advertisement("push to", RECEIVE, who)? else {
                return Ok(None);
            };
            if !theirs.can("atomic") {
                let text = "it does not support atomic pushes, without which a package could be half published";
                return Err(self.git.error("push to", Class::Invalid, text));
            }
            if !can.iter().take(4).all(|what| theirs.can(what)) {
                return Ok(None);
            }
            // Told from what it advertises, a stale push costs no pack; what moves after that the server's own locks find out.
            let stale = step.stale(&theirs.refs);
            if !stale.is_empty() {
                return Ok(Some(Pushed::Stale(stale)));
            }
            let pack = match step.lacking {
                lacking if step.makes() => match lacking(&theirs.refs)? {
                    Some(objects) => Some(pack::encode(&objects)?.pack),
                    None => return Ok(None),
                },
                _ => None,
            };
            let body = encode_push(step.edits, &can, pack.as_deref());
            match self.report(body, who)? {
                // A ref went away after it was told of, and took what it led to with it.
                Some(report) if report.lacks_objects() => {}
                Some(report) => return self.meaning(step.edits, &report).map(Some),
                None => return Ok(Some(Pushed::Unheard)),
            }
        }
        let text = "it lacks objects that its own refs lead to, as git fsck there will tell";
        Err(self.git.error("push to", Class::Unavailable, text))
    }

    /// Sends a push; `None` if nobody knows what came of it.
    fn report(&self, body: Vec<u8>, who: &Who) -> Result<Option<PushReport>> {
        const MOST: usize = 16 << 20;
        let mut said = Vec::new();
        let heard = self.ask_server(
            format!("/{RECEIVE}"),
            RECEIVE,
            Some(body),
            who,
            &mut |bytes| {
                said.extend_from_slice(bytes);
                let within = said.len() <= MOST;
                within.then_some(()).ok_or_else(|| NoAnswer {
                    class: Class::Limit,
                    text: "its answer to a push does not end".to_owned(),
                    missing: None,
                    acted: true,
                    broke: false,
                })
            },
        );
        match heard {
            Ok(()) => Ok(Some(PushReport::parse(&said)).filter(|r| r.complete)),
            Err(failure) if failure.acted => Ok(None),
            Err(failure) => Err(self.unanswered("push to", failure)),
        }
    }

    /// What a report means. One that does not say of every ref what became of it says nothing.
    fn meaning(&self, edits: &[RawEdit], report: &PushReport) -> Result<Pushed> {
        let taken = |e: &RawEdit| report.moved.contains(e.name.as_str());
        if edits.iter().all(taken) && report.refused.is_empty() {
            return Ok(Pushed::Taken);
        }
        let refused = |e: &RawEdit| report.refused.iter().any(|(n, _)| n == e.name.as_str());
        if !report.moved.is_empty() || !edits.iter().all(refused) {
            return Ok(Pushed::Unheard);
        }
        if let Some(Err(why)) = &report.unpacked {
            let text = format!("it could not take the objects: {why}");
            return Err(self.git.error("push to", Class::Unavailable, &text));
        }
        let (mut stale, mut declined) = (Vec::new(), Vec::new());
        for (name, why) in &report.refused {
            let Ok(name) = RefName::parse(name) else {
                continue;
            };
            match verdict(why) {
                Verdict::Collateral => {}
                Verdict::Unknown => return Ok(Pushed::Unheard),
                Verdict::Stale => stale.push(name),
                Verdict::Declined => declined.push((name, self.explain(why, &report.words))),
            }
        }
        let declined = Some(declined).filter(|d| !d.is_empty());
        Ok(declined.map_or(Pushed::Stale(stale), Pushed::Declined))
    }

    fn explain(&self, why: &str, words: &str) -> String {
        let lines = words.lines().map(str::trim).filter(|l| !l.is_empty());
        let words = lines.take(5).collect::<Vec<_>>().join("; ");
        if words.is_empty() {
            why.to_owned()
        } else {
            format!("{why}: {words}")
        }
    }
}

impl PushReport {
    /// Whether nothing was taken as the other side misses objects.
    fn lacks_objects(&self) -> bool {
        let missing = |(_, why): &(String, String)| why.contains("missing necessary objects");
        self.moved.is_empty() && self.refused.iter().any(missing)
    }
}
