//! A push without the `git` program: one look at the other side's refs, one request.
//!
//! The other side compares every ref with the value that we name, under its own locks, and moves
//! all or none. Objects travel in the very pack that was just made durable here; where that does
//! not hold everything that the other side lacks, the program packs what is missing.

use model::Class;

use crate::RefName;
use crate::disk::{Pushed, RawEdit, Who};
use crate::error::{Error, Result};
use crate::git::bounds::Cut;
use crate::git::disk::GitDisk;
use crate::git::http::{self, Ask, Failure};
use crate::git::pkt::{Advertisement, Report, encode_push};
use crate::git::remote::{Verdict, verdict};
use crate::lru::lock;

const RECEIVE: &str = "git-receive-pack";
const UPLOAD: &str = "git-upload-pack";

/// A pack without objects: a push that only moves refs still sends one.
const EMPTY: &[u8] = b"PACK\0\0\0\x02\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e";

impl GitDisk {
    fn ask_server(
        &self,
        path: String,
        service: &'static str,
        body: Option<Vec<u8>>,
        who: &Who,
    ) -> Result<hyper::body::Bytes, Failure> {
        let post = body.is_some();
        let failed = |cut: Cut, acted| Failure {
            class: Class::Unavailable,
            text: cut.text().to_owned(),
            acted,
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
        );
        let said = self.git.runtime.block_on(self.git.bounds.keep(ask));
        said.unwrap_or_else(|cut| Err(failed(cut, post)))
    }

    fn advertisement(
        &self,
        attempt: &'static str,
        service: &'static str,
        who: &Who,
    ) -> Result<Option<Advertisement>> {
        let path = format!("/info/refs?service={service}");
        let said = self.ask_server(path, service, None, who);
        let said = said.map_err(|f| self.git.error(attempt, f.class, &f.text))?;
        let read = Advertisement::parse(&said, service);
        if read.as_ref().is_some_and(|a| a.can("object-format=sha256")) {
            let what = "SHA-256 object ids".to_owned();
            return Err(Error::Format {
                url: self.git.url.clone(),
                what,
            });
        }
        Ok(read)
    }

    /// The other side's refs; `None` if it does not speak the smart protocol.
    pub(crate) fn look_directly(&self, who: &Who) -> Result<Option<Advertisement>> {
        self.advertisement("look at", UPLOAD, who)
    }

    /// One atomic push; `None` if the program has to do it.
    pub(crate) fn push_directly(&self, edits: &[RawEdit], who: &Who) -> Result<Option<Pushed>> {
        let Some(theirs) = self.advertisement("push to", RECEIVE, who)? else {
            return Ok(None);
        };
        if !theirs.can("atomic") {
            let text = "it does not support atomic pushes, without which a package could be half published";
            return Err(self.git.error("push to", Class::Invalid, text));
        }
        if !theirs.can("report-status") || !theirs.can("side-band-64k") || !theirs.can("ofs-delta")
        {
            return Ok(None);
        }
        let moved = |e: &&RawEdit| theirs.refs.get(&e.name).copied() != e.old;
        let stale: Vec<RefName> = edits.iter().filter(moved).map(|e| e.name.clone()).collect();
        if !stale.is_empty() {
            return Ok(Some(Pushed::Stale(stale)));
        }
        let can = [
            "report-status",
            "atomic",
            "ofs-delta",
            "side-band-64k",
            "agent=offshoot",
        ];
        let makes = edits.iter().any(|e| e.new.is_some());
        let fresh = lock(&self.fresh).take();
        let pack = makes.then(|| fresh.as_deref().unwrap_or(EMPTY));
        let body = encode_push(edits, &can, pack);
        match self.report(body, who)? {
            Some(report) if lacks_objects(&report) => {
                let pack = self.pack_for(edits, &theirs)?;
                let body = encode_push(edits, &can, Some(&pack));
                let report = self.report(body, who)?;
                report.map_or(Ok(Some(Pushed::Unheard)), |report| {
                    self.meaning(edits, &report)
                })
            }
            Some(report) => self.meaning(edits, &report),
            None => Ok(Some(Pushed::Unheard)),
        }
    }

    /// Sends a push; `None` if nobody knows what came of it.
    fn report(&self, body: Vec<u8>, who: &Who) -> Result<Option<Report>> {
        match self.ask_server(format!("/{RECEIVE}"), RECEIVE, Some(body), who) {
            Ok(said) => Ok(Some(Report::parse(&said)).filter(|r| r.complete)),
            Err(failure) if failure.acted => Ok(None),
            Err(failure) => Err(self.git.error("push to", failure.class, &failure.text)),
        }
    }

    fn meaning(&self, edits: &[RawEdit], report: &Report) -> Result<Option<Pushed>> {
        if let Some(Err(why)) = &report.unpacked {
            let text = format!("it could not take the objects: {why}");
            return Err(self.git.error("push to", Class::Unavailable, &text));
        }
        if report.refused.is_empty() {
            let all = report.moved == edits.len();
            return Ok(Some(if all { Pushed::Taken } else { Pushed::Unheard }));
        }
        let (mut stale, mut declined) = (Vec::new(), Vec::new());
        for (name, why) in &report.refused {
            let Ok(name) = RefName::parse(name) else {
                continue;
            };
            match verdict(why) {
                Verdict::Collateral => {}
                Verdict::Stale => stale.push(name),
                Verdict::Declined => declined.push((name, self.explain(why, &report.words))),
            }
        }
        let declined = Some(declined).filter(|d| !d.is_empty());
        Ok(Some(
            declined.map_or(Pushed::Stale(stale), Pushed::Declined),
        ))
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

    /// Everything that the other side lacks, packed by the program.
    fn pack_for(&self, edits: &[RawEdit], theirs: &Advertisement) -> Result<Vec<u8>> {
        let mut lines = String::new();
        for id in edits.iter().filter_map(|e| e.new) {
            lines.push_str(&format!("{id}\n"));
        }
        lines.push_str("--not\n");
        for id in theirs.refs.values() {
            if self.odb.kind(id)?.is_some() {
                lines.push_str(&format!("{id}\n"));
            }
        }
        self.git.pack_objects(lines.into_bytes())
    }
}

/// Whether the other side misses objects that we thought it had.
fn lacks_objects(report: &Report) -> bool {
    let unpacked = report.unpacked.as_ref();
    unpacked.is_some_and(Result::is_err)
        || report
            .refused
            .iter()
            .any(|(_, why)| why.contains("missing necessary objects"))
}

/// The pack that a push of these objects may send as it is.
pub(crate) type Fresh = std::sync::Mutex<Option<Vec<u8>>>;
