//! Which hosts may be contacted, or be told a credential.

use std::fmt;

use crate::error::{Error, Result};

/// A list of hosts: `git.example.com` at any port, `git.example.com:8443` at that one, `*.example.com` for all names
/// below.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    below: bool,
    name: String,
    port: Option<u16>,
}

impl Hosts {
    /// Reads a list, parted by commas or blanks. An empty one holds no host.
    ///
    /// # Errors
    /// The first entry that is no host.
    pub fn parse(list: &str) -> std::result::Result<Self, String> {
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        let entries = entries.filter(|entry| !entry.is_empty());
        let read = |entry: &str| Entry::parse(entry).ok_or_else(|| entry.to_owned());
        entries
            .map(read)
            .collect::<std::result::Result<_, _>>()
            .map(Self)
    }

    /// Whether the host of an `http://` or `https://` URL is in the list.
    pub fn hold(&self, url: &str) -> bool {
        let Some((name, port)) = host_and_port(url) else {
            return false;
        };
        self.0.iter().any(|entry| {
            let named = match entry.below {
                true => name
                    .strip_suffix(&entry.name)
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
                false => name == entry.name,
            };
            named && entry.port.is_none_or(|wanted| wanted == port)
        })
    }

    /// Refuses a URL whose host is not in the list.
    pub(crate) fn check(&self, url: &str) -> Result<()> {
        if self.hold(url) {
            return Ok(());
        }
        Err(Error::Outside {
            url: redact(url),
            why: format!("this server contacts no other hosts than {self} (--git-hosts)"),
        })
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, entry) in self.0.iter().enumerate() {
            let before = if at == 0 { "" } else { ", " };
            let star = if entry.below { "*." } else { "" };
            write!(f, "{before}{star}{}", entry.name)?;
            if let Some(port) = entry.port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = authority(rest)?;
        Some(Self {
            below,
            name: name.to_ascii_lowercase(),
            port,
        })
    }
}

/// The host of a URL in lower case, and the port that is spoken to.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (usual, rest) = match url.strip_prefix("https://") {
        Some(rest) => (443, rest),
        None => (80, url.strip_prefix("http://")?),
    };
    let (name, port) = authority(rest.split('/').next()?)?;
    Some((name.to_ascii_lowercase(), port.unwrap_or(usual)))
}

/// Name and port of `NAME[:PORT]`, of which all readers of URLs make the same: letters, digits, dots, hyphens and
/// underscores, an IPv4 address in four decimal numbers, or an IPv6 address in brackets; the port without leading zeros.
pub(crate) fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']')?;
            let fine = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
            (inside.contains(':') && inside.chars().all(fine)).then_some(())?;
            let port = match after {
                "" => None,
                after => Some(after.strip_prefix(':')?),
            };
            (text.get(..inside.len() + 2)?, port)
        }
        None => {
            let (name, port) = match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            };
            let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            (!name.is_empty() && name.chars().all(fine) && !is_short(name)).then_some(())?;
            (name, port)
        }
    };
    let number = |port: &str| {
        let digits = port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0');
        digits.then(|| port.parse().ok()).flatten()
    };
    match port {
        None => Some((name, None)),
        Some(port) => Some((name, Some(number(port)?))),
    }
}

/// Whether a name is an address otherwise than in four decimal numbers, such as `127.1` or `0x7f.0.0.1`: systems read these, and two
/// ways to write one address would pass for two hosts.
fn is_short(name: &str) -> bool {
    let last = name.rsplit('.').find(|label| !label.is_empty());
    let number = |label: &str| {
        let digits = label.bytes().all(|b| b.is_ascii_digit());
        digits || label.starts_with("0x") || label.starts_with("0X")
    };
    last.is_some_and(number) && name.parse::<std::net::Ipv4Addr>().is_err()
}

/// The URL without what may be a secret: user information, and what follows a query or a fragment.
pub(crate) fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let user = rest.get(..host_end).and_then(|host| host.rfind('@'));
    let shown = rest.get(user.unwrap_or_default()..).unwrap_or_default();
    let before = if user.is_some() { "***" } else { "" };
    match shown.find(['?', '#']).and_then(|at| shown.get(..=at)) {
        Some(shown) => format!("{scheme}://{before}{shown}***"),
        None => format!("{scheme}://{before}{shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        for (url, shown) in [
            ("https://git.test/a.git", "https://git.test/a.git"),
            (
                "https://u:pass@git.test/a.git",
                "https://***@git.test/a.git",
            ),
            (
                "https://git.test/a.git?token=secret",
                "https://git.test/a.git?***",
            ),
            (
                "https://git.test/a.git#secret",
                "https://git.test/a.git#***",
            ),
            (
                "https://u:pa?ss@git.test/a?b=c",
                "https://***@git.test/a?***",
            ),
            (
                "https://u:pass@git.test/a?b=c",
                "https://***@git.test/a?***",
            ),
            ("git.test", "git.test"),
        ] {
            assert_eq!(redact(url), shown);
        }
    }

    #[test]
    fn a_host_is_held_by_name_and_port() {
        let hosts =
            Hosts::parse("git.example.com, other.test:8443\n*.below.test [::1]:80").unwrap();
        for url in [
            "https://git.example.com/a.git",
            "http://GIT.example.com:3000/a.git",
            "https://other.test:8443",
            "https://a.below.test/x",
            "https://a.b.below.test/x",
            "http://[::1]/x",
        ] {
            assert!(hosts.hold(url), "{url}");
        }
        assert!(
            Hosts::parse("127.0.0.1")
                .unwrap()
                .hold("http://127.0.0.1:1/x")
        );
        for url in [
            "https://example.com/a.git",
            "https://git.example.com.evil.test/",
            "https://evil-git.example.com/",
            "https://other.test/",
            "https://below.test/",
            "https://.below.test/",
            "https://evilbelow.test/",
            "https://evil.test\\.below.test/",
            "https://evil.test%2f.below.test/",
            "https://evil.test@git.example.com/",
            "https://git.example.com:1:2/",
            "https://[::1]:81/",
            "ssh://git.example.com/",
            "file:///git.example.com/",
        ] {
            assert!(!hosts.hold(url), "{url}");
        }
        assert!(!Hosts::parse(" ,").unwrap().hold("https://a.test/"));
        assert_eq!(
            hosts.to_string(),
            "git.example.com, other.test:8443, *.below.test, [::1]:80"
        );
    }

    #[test]
    fn what_is_no_host_is_named() {
        for wrong in [
            "https://a.test",
            "a.test/path",
            "a*.test",
            "user@a.test",
            "a:b",
            "[x]",
            "*.",
            "a.test:080",
            "127.1",
            "127.0.0.01",
            "0x7f.0.0.1",
            "2130706433",
            "a.0x1",
        ] {
            assert_eq!(
                Hosts::parse(&format!("fine.test,{wrong}")),
                Err(wrong.to_owned())
            );
        }
    }
}
