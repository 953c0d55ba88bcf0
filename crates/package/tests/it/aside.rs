//! What belongs to no class of changes.

use package::changes::aside;

use crate::{kept, text};

/// The report goes as a whole: what is in it, nobody has to understand.
#[test]
fn f1_a_report_that_nobody_can_read_belongs_to_no_class() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";
    for report in [
        "mutationSteps: nothing",
        "mutationSteps:\n    - image: [a, b]",
    ] {
        let told = format!("{kptfile}status:\n  renderStatus:\n    {report}\n");
        let files = kept(&[("Kptfile", &told)]);
        assert_eq!(text(&aside(&files), "Kptfile"), kptfile);
    }
}

/// A Kptfile with this upstream, this lock and this report.
fn kptfile(upstream: &str, lock: &str, status: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\nupstream:\n  type: git\n  git:\n    repo: https://git.example/up.git\n    directory: app\n    ref: app/v1\n{upstream}upstreamLock:\n  type: git\n  git:\n    repo: https://git.example/up\n    directory: app\n    {lock}\n    commit: 0123456789012345678901234567890123456789\n{status}"
    )
}

/// What machines write belongs to no class; what a person writes there makes a difference.
#[test]
fn f1_an_edit_of_upstream_lock_or_report_hides_in_no_class() {
    let left = |upstream: &str, lock: &str, status: &str| {
        let told = kptfile(upstream, lock, status);
        text(&aside(&kept(&[("Kptfile", &told)])), "Kptfile").to_owned()
    };
    let report = "status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n";
    let bare = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";
    assert_eq!(left("", "ref: app/v1", ""), bare);
    assert_eq!(
        left("  updateStrategy: resource-merge\n", "ref: app/v1", report),
        bare
    );
    for (upstream, lock, status) in [
        (
            "  updateStrategy: force-delete-replace\n",
            "ref: app/v1",
            "",
        ),
        ("  extra: thing\n", "ref: app/v1", ""),
        ("", "ref: evil", ""),
        ("", "ref: app/v1\n    extra: thing", ""),
        ("  # said here\n", "ref: app/v1", ""),
        ("", "ref: app/v1 # and here", ""),
    ] {
        let left = left(upstream, lock, status);
        assert!(
            left.contains("upstream:") && left.contains("upstreamLock:"),
            "{left}"
        );
    }
    let commented = format!("# before the report\n{report}");
    assert!(left("", "ref: app/v1", &commented).contains("# before the report"));
}
