//! Steps that differ from the transcripts, each with its reason.

/// Scenarios that are not typed at all.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[(
    "v1alpha2-requests",
    "porch.kpt.dev is served as v1alpha1 (A1)",
)];

/// Scenario, step, reason.
pub(super) const KNOWN: &[(&str, usize, &str)] = &[
    (
        "api-version-flag",
        1,
        "a version that is not served is refused, not taken for another",
    ),
    (
        "api-version-flag",
        12,
        "a version that is not served is refused by every verb",
    ),
    (
        "discover-no-namespace",
        3,
        "without -n the context's namespace counts",
    ),
    (
        "discover-no-namespace",
        4,
        "without -n the context's namespace counts",
    ),
    (
        "repo-get-all-namespaces",
        1,
        "names are printed, not the kind of a table",
    ),
    (
        "repo-get-errors",
        6,
        "nothing is printed where there is nothing to name",
    ),
    ("repo-get", 2, "names are printed, not the kind of a table"),
    ("repo-get", 5, "the kind is shown"),
    (
        "repo-get",
        10,
        "a Go template is kubectl's: its command is told",
    ),
    (
        "repo-register-basic-auth",
        1,
        "the server says who named the Secret (X8)",
    ),
    (
        "repo-register-errors",
        1,
        "a second address is refused, not ignored",
    ),
    (
        "repo-register-errors",
        5,
        "what can never be opened is refused, not registered",
    ),
    (
        "repo-sync-errors",
        1,
        "a repository that could not be scheduled is a failure",
    ),
    ("repo-sync-errors", 3, "any delay is accepted"),
    ("repo-sync-errors", 4, "a time that is past means now"),
    (
        "rpkg-approve-errors",
        2,
        "said on standard error: nothing was approved",
    ),
    ("rpkg-approve-errors", 4, "no names are a mistake"),
    (
        "rpkg-clone-errors",
        13,
        "without -n the context's namespace counts",
    ),
    (
        "rpkg-clone-git",
        9,
        "a file needs no credentials, so the missing Secret is not read",
    ),
    (
        "rpkg-clone-git",
        10,
        "the clone of the step before is there",
    ),
    (
        "rpkg-copy-errors",
        12,
        "without -n the context's namespace counts",
    ),
    ("rpkg-delete-errors", 3, "no names are a mistake"),
    (
        "rpkg-get-empty",
        3,
        "nothing is printed where there is nothing to name",
    ),
    ("rpkg-get-filters", 14, "names are printed; it fails there"),
    ("rpkg-get", 2, "names are printed; it fails there"),
    ("rpkg-get", 5, "the kind is shown"),
    ("rpkg-get", 10, "names are printed; it fails there"),
    ("rpkg-get", 12, "another order of the objects"),
    (
        "rpkg-get",
        13,
        "a Go template is kubectl's: its command is told",
    ),
    (
        "rpkg-init-errors",
        1,
        "a second name is refused, not ignored",
    ),
    ("rpkg-propose-delete-errors", 6, "no names are a mistake"),
    (
        "rpkg-pull-errors",
        5,
        "without -n the context's namespace counts",
    ),
    (
        "rpkg-pull-errors",
        6,
        "a third argument is refused, not ignored",
    ),
    (
        "rpkg-pull-errors",
        7,
        "an empty directory is made by nobody here",
    ),
    (
        "rpkg-pull-not-text",
        0,
        "a file that is no text is not written damaged",
    ),
    (
        "rpkg-push-errors",
        13,
        "without -n the context's namespace counts",
    ),
    (
        "rpkg-push-render",
        3,
        "the prefix of images that is written out is another",
    ),
    (
        "rpkg-upgrade-errors",
        17,
        "without -n the context's namespace counts",
    ),
    (
        "rpkg-upgrade-git-clone",
        3,
        "an upgrade where the other command crashes",
    ),
    (
        "rpkg-get-objects",
        3,
        "the branch's own revision has the time and author of its commit",
    ),
];
