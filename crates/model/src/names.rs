//! Names with their laws: a value of one of these types obeys its law.

use std::fmt;
use std::sync::Arc;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentence(.what, .text, .law))]
pub struct NameError {
    /// What the text was meant to be, such as `workspace`.
    pub what: &'static str,
    /// The text.
    pub text: String,
    /// The law that it breaks.
    pub law: &'static str,
}

/// Says what is wrong with a name; what is missing is not quoted.
fn sentence(what: &str, text: &str, law: &str) -> String {
    if text.is_empty() {
        return format!("{what} must not be empty");
    }
    format!("{what} {text:?} is not valid: {law}")
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
                     or '-', and must start and end with an alphanumeric character, at most 63 characters";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                         characters, '-' or '.', and must start and end with an alphanumeric character, \
                         at most 253 characters";

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let edge = |b: Option<&u8>| b.is_some_and(|b| *b != b'-');
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|b| inner(*b))
        && edge(bytes.first())
        && edge(bytes.last())
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            !bytes.is_empty()
                && bytes.iter().all(|b| fine(*b))
                && bytes.first() != Some(&b'-')
                && bytes.last() != Some(&b'-')
        })
}

/// A package's path is one label per segment and at most 63 bytes without its slashes, as Porch
/// counts.
fn is_package(text: &str) -> bool {
    let bare = text.len() - text.matches('/').count();
    bare <= 63
        && text
            .split('/')
            .all(|segment| segment.split('.').all(is_label))
}

/// Relative, clean, no `.git`, no control characters (X1).
fn is_path(text: &str) -> bool {
    text.len() <= 1024
        && !text.chars().any(char::is_control)
        && !text.contains('\\')
        && text.split('/').count() <= DEPTH + 1
        && text.split('/').all(is_path_segment)
}

/// How many directories a file of a package may lie in.
const DEPTH: usize = 64;

/// Whether a text may be the name of a file or a directory in git: not empty, not `.` or `..`, and nothing that some file
/// system takes for `.git` or `.gitmodules`, which git refuses to hold (`git fsck --strict`).
pub fn is_path_segment(text: &str) -> bool {
    !text.is_empty()
        && text != "."
        && text != ".."
        && !text.contains(|c: char| c.is_control() || c == '\\' || c == '/')
        && !is_dot_git(text)
        && !is_dot_gitmodules(text)
}

/// What HFS+ leaves out of names before it compares them.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// A name as HFS+ and NTFS compare it: without ignored characters, in lower case, up to a colon (which begins the name
/// of a stream), and without blanks and dots at its end.
fn folded(text: &str) -> String {
    let bare: String = text.chars().filter(|c| !is_ignored(*c)).collect();
    let bare = bare.to_ascii_lowercase();
    let name = bare.split(':').next().unwrap_or_default();
    name.trim_end_matches([' ', '.']).to_owned()
}

fn is_dot_git(text: &str) -> bool {
    matches!(folded(text).as_str(), ".git" | "git~1")
}

/// The name itself, or one of the short names that NTFS makes of it.
fn is_dot_gitmodules(text: &str) -> bool {
    let name = folded(text);
    if name == ".gitmodules" {
        return true;
    }
    let Some((stem, number)) = name.split_once('~') else {
        return false;
    };
    let numbered = !number.starts_with('0')
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit());
    match stem {
        "gitmod" => matches!(number, "1" | "2" | "3" | "4"),
        // Once those are taken, a hash begins the name, and the number takes the rest of eight letters.
        _ => numbered && name.len() == 8 && "gi7eba".starts_with(stem),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $law:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name, if the text obeys the law.
            ///
            /// # Errors
            /// Names the law.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(NameError { what: $what, text: text.to_owned(), law: $law })
                }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// A Kubernetes namespace, such as `default`.
    Namespace, "namespace", LABEL, is_label
);
name!(
    /// The name of an object, such as `shop-nginx`.
    ObjectName, "name", SUBDOMAIN, is_subdomain
);
name!(
    /// The name of a `Repository` object, such as `blueprints`.
    RepositoryName, "repository", LABEL, is_label
);
name!(
    /// A workspace, such as `packagevariant-1`: unique per package. Dots are read where tags
    /// have them (`v1.2`), though the API refuses them for new drafts.
    WorkspaceName, "workspace", SUBDOMAIN, is_subdomain
);
name!(
    /// A package's path below the repository's directory, such as `apps/nginx`.
    PackageName,
    "package",
    "each segment must be a lowercase RFC 1123 label, and all of it at most 63 characters without slashes",
    is_package
);
name!(
    /// A file's path inside a package (X1): relative, clean, never inside `.git`.
    PackagePath,
    "file path",
    "a path must be relative, without empty, `.` or `..` segments, without what some file system takes for `.git` or `.gitmodules` (such as `git~1`), without backslashes and control characters, at most 64 directories deep and 1024 bytes long",
    is_path
);
name!(
    /// A uid: opaque, never empty.
    Uid, "uid", "a uid must not be empty", |text| !text.is_empty()
);

impl PackageName {
    /// The last segment.
    pub fn leaf(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Whether one lies inside the other: packages cannot be nested.
    pub fn overlaps(&self, other: &Self) -> bool {
        let inside = |a: &str, b: &str| {
            a.strip_prefix(b)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        inside(&self.0, &other.0) || inside(&other.0, &self.0)
    }
}

impl PackagePath {
    /// The directory part; empty at the package's root.
    pub fn dir(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(dir, _)| dir)
    }

    /// The last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_paths_never_leave_the_package() {
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            "../a",
            "a/../b",
            "./a",
            ".git/config",
            "a/.GIT/x",
            "git~1",
            "a/GIT~1/x",
            ".git.",
            ".git ",
            ".git . .",
            ".Git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git/x",
            ".gitmodules",
            ".GitModules .",
            "a/GITMOD~1",
            "gitmod~4",
            "gi7eba~1",
            "gi7~1234",
            "a\\b",
            "a\nb",
        ] {
            assert!(PackagePath::parse(bad).is_err(), "{bad:?}");
        }
        for good in [
            "Kptfile",
            "a/b.yaml",
            ".gitignore",
            "..a",
            "a b.txt",
            "git",
            "git~2",
            "gitmod~5",
            "gi7eba~12",
            ".github",
            "a:b",
            "x.git",
        ] {
            assert!(PackagePath::parse(good).is_ok(), "{good:?}");
        }
        let deep = |n: usize| PackagePath::parse(&format!("{}f", "d/".repeat(n)));
        assert!(deep(64).is_ok());
        let error = deep(65).unwrap_err().to_string();
        assert!(error.contains("at most 64 directories deep"), "{error}");
    }

    #[test]
    fn packages_are_labels_joined_by_slashes() {
        assert!(PackageName::parse("apps/web/nginx").is_ok());
        for bad in ["", "a//b", "/a", "A", "a_b", &"x".repeat(64)] {
            assert!(PackageName::parse(bad).is_err(), "{bad:?}");
        }
        let parse = |text| PackageName::parse(text).unwrap();
        assert!(parse("a/b").overlaps(&parse("a")));
        assert!(!parse("a/b").overlaps(&parse("a/bc")));
    }
}
