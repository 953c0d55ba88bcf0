//! Who may talk to the board: the one browser that was given the token, and no page of anybody else.
//!
//! Everybody on this machine can reach a port of it, and every page in a browser can send requests there. Nothing here
//! looks at what is asked for.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, Method, header};

/// How long the token of the printed address is good for.
pub(super) const OPEN_WITHIN: Duration = Duration::from_secs(60);
/// The header that every write carries.
pub(super) const WRITE_HEADER: &str = "x-offshoot-board";
/// The cookie's name.
const COOKIE: &str = "offshoot-board";

/// The secrets of one board, made when it starts and never written anywhere.
#[derive(Debug)]
pub(super) struct Guard {
    /// The host with its port, as a browser names it.
    authority: String,
    /// 128 random bits that all pages are below: cookies know no ports, but paths.
    path: String,
    /// What the cookie holds.
    session: String,
    /// What writes carry in a header; pages hold it.
    write: String,
    /// What the printed address carries in its fragment, and since when.
    token: Mutex<Option<(String, Instant)>>,
}

/// Random bytes in hexadecimal digits.
fn random<const BYTES: usize>() -> String {
    let bytes: [u8; BYTES] = rand::random();
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Whether two texts are equal, in a time that does not tell where they differ.
fn equal(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok();
    // Two values are one too many: each reader would pick its own.
    if all.next().is_some() {
        Some("")
    } else {
        first
    }
}

impl Guard {
    /// Secrets for a board that is reached under this host and port.
    pub(super) fn new(authority: String) -> Self {
        Self {
            authority,
            path: random::<16>(),
            session: random::<32>(),
            write: random::<32>(),
            token: Mutex::new(Some((random::<32>(), Instant::now()))),
        }
    }

    /// The address that opens the board, once.
    pub(super) fn address(&self) -> String {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let token = token.as_ref().map_or("", |(token, _)| token.as_str());
        format!("http://{}/#{token}", self.authority)
    }

    /// The path below which all pages are: `/` and 32 digits.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What the header of writes holds.
    pub(super) fn write_token(&self) -> &str {
        &self.write
    }

    /// Whether a request comes from a page of the board, or from nobody's page: host and origin are exact.
    pub(super) fn is_ours(&self, method: &Method, headers: &HeaderMap) -> bool {
        if value(headers, &header::HOST) != Some(self.authority.as_str()) {
            return false;
        }
        let own = format!("http://{}", self.authority);
        let origin = match value(headers, &header::ORIGIN) {
            Some(origin) => origin == own,
            // Browsers name the origin of every write.
            None => *method == Method::GET,
        };
        let site = HeaderName::from_static("sec-fetch-site");
        let site = value(headers, &site).is_none_or(|site| matches!(site, "same-origin" | "none"));
        origin && site
    }

    /// Whether a request carries the cookie.
    pub(super) fn is_inside(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|v| v.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split("; "));
        pairs.any(|pair| {
            pair.split_once('=')
                .is_some_and(|(name, value)| name == COOKIE && equal(value, &self.session))
        })
    }

    /// Whether a request carries the header of writes.
    pub(super) fn may_write(&self, headers: &HeaderMap) -> bool {
        let name = HeaderName::from_static(WRITE_HEADER);
        value(headers, &name).is_some_and(|token| equal(token, &self.write))
    }

    /// Takes the token, which is good once and for a minute; the cookie for it.
    pub(super) fn enter(&self, token: &str, now: Instant) -> Option<String> {
        let mut held = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let (good, since) = held.as_ref()?;
        if now.duration_since(*since) > OPEN_WITHIN {
            *held = None;
            return None;
        }
        if !equal(good, token) {
            return None;
        }
        *held = None;
        Some(format!(
            "{COOKIE}={}; Path=/{}/; HttpOnly; SameSite=Strict",
            self.session, self.path
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(guard: &Guard) -> String {
        guard.address().split_once('#').unwrap().1.to_owned()
    }

    #[test]
    fn a_token_opens_once_and_within_a_minute() {
        let guard = Guard::new("127.0.0.1:7".to_owned());
        let good = token(&guard);
        let now = Instant::now();
        assert_eq!(guard.enter("wrong", now), None);
        let cookie = guard.enter(&good, now).unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict") && cookie.contains(guard.path()));
        assert_eq!(guard.path().len(), 32);
        assert_eq!(guard.enter(&good, now), None, "it is good once");
        let late = Guard::new("127.0.0.1:7".to_owned());
        let good = token(&late);
        let after = Instant::now() + OPEN_WITHIN + Duration::from_secs(1);
        assert_eq!(late.enter(&good, after), None);
        assert_eq!(late.enter(&good, now), None, "late is never again");
    }

    #[test]
    fn two_boards_share_no_secret() {
        let [one, other] = [(); 2].map(|()| Guard::new("127.0.0.1:7".to_owned()));
        assert_ne!(one.path(), other.path());
        assert_ne!(one.write_token(), other.write_token());
        assert_ne!(one.address(), other.address());
    }

    #[test]
    fn host_and_origin_are_exact() {
        let guard = Guard::new("127.0.0.1:7".to_owned());
        let asked = |pairs: &[(&'static str, &str)], method: Method| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            guard.is_ours(&method, &headers)
        };
        let host = ("host", "127.0.0.1:7");
        let origin = ("origin", "http://127.0.0.1:7");
        assert!(asked(&[host], Method::GET));
        assert!(asked(&[host, origin], Method::POST));
        assert!(!asked(&[host], Method::POST), "a write names its origin");
        for wrong in ["127.0.0.1:8", "127.0.0.1", "localhost:7", "evil.example:7"] {
            assert!(!asked(&[("host", wrong)], Method::GET), "{wrong}");
            let foreign = format!("http://{wrong}");
            assert!(
                !asked(&[host, ("origin", &foreign)], Method::POST),
                "{wrong}"
            );
        }
        assert!(!asked(&[host, ("origin", "null")], Method::POST));
        assert!(!asked(
            &[host, ("origin", "https://127.0.0.1:7")],
            Method::POST
        ));
        assert!(!asked(&[host, host], Method::GET), "one host");
        assert!(!asked(
            &[host, ("sec-fetch-site", "same-site")],
            Method::GET
        ));
    }
}
