//! `-v`: what was asked of the server and what it answered, on standard error, in kubectl's levels.
//!
//! Credentials are never written, nor is anything of a Secret.

use std::time::Instant;

use http::{HeaderMap, Method, Request, Response};

use crate::cli::remote::Connect;

/// Levels: from which on what is written.
const LINES: u8 = 6;
const HEADERS: u8 = 7;
const BODIES: u8 = 8;

/// How much is written.
#[derive(Debug)]
pub(super) struct Log {
    level: u8,
    cuts: bool,
    server: String,
}

/// One request that is under way.
pub(super) struct Asked<'a> {
    log: &'a Log,
    line: String,
    secret: bool,
    since: Instant,
}

impl Log {
    /// As the flags say, for the server of this connection.
    pub(super) fn new(flags: &Connect, config: &kube::Config) -> Self {
        let server = config.cluster_url.to_string();
        Self {
            level: flags.v,
            cuts: flags.truncate_output,
            server: server.trim_end_matches('/').to_owned(),
        }
    }

    /// Notes that this request is sent.
    pub(super) fn asks(&self, request: &Request<Vec<u8>>) -> Asked<'_> {
        let asked = self.begin(request.method(), &request.uri().to_string());
        asked.headers("Request", request.headers());
        if self.level >= BODIES && !request.body().is_empty() {
            asked.say(&format!("Request Body: {}", asked.shown(request.body())));
        }
        asked
    }

    /// Notes that a GET of this path is sent, whose answer comes piece by piece.
    pub(super) fn reads(&self, path: &str) -> Asked<'_> {
        self.begin(&Method::GET, path)
    }

    fn begin(&self, method: &Method, path: &str) -> Asked<'_> {
        let place = path.split('?').next().unwrap_or(path);
        let mut parts = place.split('/');
        Asked {
            log: self,
            line: format!("{method} {}{path}", self.server),
            secret: parts.any(|part| matches!(part, "secrets" | "token" | "backup")),
            since: Instant::now(),
        }
    }

    /// The beginning of a text, as the level has it.
    fn cut(&self, text: &str) -> String {
        let most = match self.level {
            ..=BODIES => 1024,
            9 => 10240,
            _ => usize::MAX,
        };
        if !self.cuts || text.len() <= most {
            return text.to_owned();
        }
        let end = text.floor_char_boundary(most);
        format!("{} [truncated {} chars]", &text[..end], text.len() - end)
    }
}

impl Asked<'_> {
    /// Notes status and headers of the answer.
    pub(super) fn answered<B>(&self, answer: &Response<B>) {
        if self.log.level >= LINES {
            let took = self.since.elapsed().as_millis();
            let status = answer.status();
            self.say(&format!("{} {status} in {took} milliseconds", self.line));
        }
        self.headers("Response", answer.headers());
    }

    /// Notes the answer's body.
    pub(super) fn body(&self, bytes: &[u8]) {
        if self.log.level >= BODIES {
            self.say(&format!("Response Body: {}", self.shown(bytes)));
        }
    }

    fn headers(&self, of: &str, headers: &HeaderMap) {
        if self.log.level < HEADERS {
            return;
        }
        self.say(&format!("{of} Headers:"));
        for (name, value) in headers {
            let hidden = matches!(name.as_str(), "authorization" | "set-cookie" | "cookie");
            let shown = String::from_utf8_lossy(value.as_bytes());
            let shown = if hidden { "<masked>" } else { &shown };
            self.say(&format!("    {name}: {shown}"));
        }
    }

    fn shown(&self, bytes: &[u8]) -> String {
        if self.secret {
            return format!("<{} bytes that may hold secrets>", bytes.len());
        }
        self.log.cut(&String::from_utf8_lossy(bytes))
    }

    fn say(&self, line: &str) {
        crate::say::say(line);
    }
}

#[cfg(test)]
mod tests;
