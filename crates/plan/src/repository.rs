//! Who writes where registrations of several namespaces overlap (V25).
//!
//! A repository may be registered in many namespaces. Packages that are deployed have one namespace that they belong
//! to: a namespace that registers the same place later reads it, and its drafts, deletions and approvals would be
//! somebody else's. All this compares pairs of registrations, so that a third one takes nothing from two that agreed
//! to share.

use std::net::IpAddr;

use model::{ObjectKey, Uid};

/// What is known about one registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The namespace and name of its `Repository`.
    pub key: ObjectKey,
    /// RFC 3339 creation time: the oldest that may push writes.
    pub created: String,
    /// Decides between registrations of one second.
    pub uid: Option<Uid>,
    /// The branch that packages are published on.
    pub branch: String,
    /// The directory that packages lie below; empty for all.
    pub directory: String,
    /// Whether packages in it are deployed.
    pub deployment: bool,
    /// Whether its namespace lets others write, too: `offshoot.dev/shared: "true"`.
    pub shared: bool,
    /// Whether it could push at all: it is served, stays, and leads to a repository that can be written.
    pub able: bool,
    /// Whether it has credentials of its own. Where one registration of a place has some, those without have no right to
    /// push there.
    pub credentials: bool,
}

/// Why a repository cannot be used: the reason of its condition `Ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadyReason {
    /// Nothing of what follows: Porch's word for all of them.
    Error,
    /// Its branch was there, and is not made anew.
    BranchGone,
    /// Its Secret is there, or it names none, and the remote accepts no credentials of ours.
    CredentialsRefused,
    /// Its branch is not there, and is not to be made.
    NoBranch,
    /// There is no git repository at its address.
    NoRepository,
    /// It lies on this machine where no repository may be opened.
    OutsideAllowed,
    /// There was a repository at its address, and none is made where one was.
    RepositoryGone,
    /// The Secret that it names is not there.
    SecretNotFound,
}

impl UnreadyReason {
    const ALL: [Self; 8] = [
        Self::Error,
        Self::BranchGone,
        Self::CredentialsRefused,
        Self::NoBranch,
        Self::NoRepository,
        Self::OutsideAllowed,
        Self::RepositoryGone,
        Self::SecretNotFound,
    ];

    /// The word of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::BranchGone => "BranchGone",
            Self::CredentialsRefused => "CredentialsRefused",
            Self::NoBranch => "NoBranch",
            Self::NoRepository => "NoRepository",
            Self::OutsideAllowed => "OutsideAllowed",
            Self::RepositoryGone => "RepositoryGone",
            Self::SecretNotFound => "SecretNotFound",
        }
    }

    /// Reads the word; `None` for one that is not known here.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// Says on a `Repository`, as annotation or label, that its namespace lets others write to the same place.
pub const SHARED: &str = "offshoot.dev/shared";

/// The registration that writes instead of this one, if there is one. `others` are registrations of the same URL, in any
/// order, this one among them or not.
pub fn writer_instead<'a>(
    mine: &Registration,
    others: &'a [Registration],
) -> Option<&'a Registration> {
    let credentials = mine.credentials || others.iter().any(|o| o.credentials);
    let may_push = |r: &Registration| r.able && (r.credentials || !credentials);
    let mut all: Vec<&Registration> = others.iter().filter(|o| o.key != mine.key).collect();
    all.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let mut writers: Vec<&Registration> = Vec::new();
    let before = all.iter().filter(|o| rank(o) < rank(mine));
    for other in before.filter(|o| may_push(o)) {
        // One that has to leave it to an older one itself keeps nobody from writing.
        if !writers.iter().any(|w| contested(w, other)) {
            writers.push(other);
        }
    }
    if !may_push(mine) {
        let after = all.iter().filter(|o| rank(o) > rank(mine));
        writers.extend(after.filter(|o| may_push(o)));
    }
    writers.into_iter().find(|w| contested(w, mine))
}

fn rank(of: &Registration) -> (&str, Option<&Uid>, &ObjectKey) {
    (&of.created, of.uid.as_ref(), &of.key)
}

/// Whether only one of two may write: their packages can be the same ones, are deployed, and at least one side does not
/// share.
fn contested(a: &Registration, b: &Registration) -> bool {
    a.key.namespace != b.key.namespace
        && a.branch == b.branch
        && nested(&a.directory, &b.directory)
        && (a.deployment || b.deployment)
        && !(a.shared && b.shared)
}

/// Whether one of two directories lies in the other, or is it.
pub fn nested(a: &str, b: &str) -> bool {
    inside(a, b) || inside(b, a)
}

/// Whether a directory lies in another, or is it.
pub fn inside(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_matches('/'), b.trim_matches('/'));
    let rest = a.strip_prefix(b);
    b.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One form for all ways to write the address of one repository, as far as its text tells: without scheme where that only
/// says how it is reached, with the host in small letters, without default port and the dot at its end, this machine under one
/// name; the path in small letters, which most servers take for the same, without needless escapes, `.git`, doubled slashes and
/// dots. It is compared, never opened: that two names lead to one host, no text tells.
pub fn place(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme == "file" {
        return format!("file:///{}", clean(rest));
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.to_ascii_lowercase();
    let port = match scheme {
        "http" => ":80",
        _ => ":443",
    };
    let host = host.strip_suffix(port).unwrap_or(&host);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let name = host_name(name.trim_end_matches('.'));
    let path = clean(&unescaped(path).to_ascii_lowercase());
    let path = path.strip_suffix(".git").unwrap_or(&path);
    format!("{name}:{port}/{path}")
}

/// One form for all ways to write an address of the network, and for those that lead to this machine whatever it is called.
fn host_name(name: &str) -> String {
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let address = match bare {
        Some(six) => six.parse().map(IpAddr::V6).ok(),
        None => name.parse().map(IpAddr::V4).ok(),
    };
    // The other family's form of one address.
    let address = address.map(|address| address.to_canonical());
    let here = |address: &IpAddr| address.is_loopback() || address.is_unspecified();
    match address {
        _ if name == "localhost" || name.ends_with(".localhost") => HERE.to_owned(),
        Some(address) if here(&address) => HERE.to_owned(),
        Some(IpAddr::V6(six)) => format!("[{six}]"),
        Some(IpAddr::V4(four)) => four.to_string(),
        None => name.to_owned(),
    }
}

/// This machine.
const HERE: &str = "127.0.0.1";

/// A path without the escapes of characters that need none.
fn unescaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let code = after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let plain = |code: &u8| code.is_ascii_alphanumeric() || b"-._~/".contains(code);
        match (code.filter(plain), after.get(2..)) {
            (Some(code), Some(behind)) => {
                out.push(char::from(code));
                rest = behind;
            }
            _ => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// A path without empty parts, `.` and `..`.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
