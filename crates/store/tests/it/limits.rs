//! What is too large: refused as a whole, shown as far as it goes, and never lost.

use model::{Class, File, Files, PackagePath};
use store::{CommitSpec, Content, Dir, GitOptions, Limits, Repo, Written};

use crate::git::Local;
use crate::local::{main_head, open, who};
use crate::oracle::available;

/// Files of these sizes in a commit; what it is made of stays as long as it is held.
fn sized(repo: &dyn Repo, sizes: &[usize]) -> Written {
    let file = |(n, size): (usize, &usize)| {
        let path = PackagePath::parse(&format!("f{n}")).unwrap();
        (path, File::new(vec![b'x'; *size]))
    };
    let files: Files = sizes.iter().enumerate().map(file).collect();
    written(repo, Content::Files(&files, &[]))
}

fn written(repo: &dyn Repo, content: Content<'_>) -> Written {
    let base = main_head(repo);
    let spec = CommitSpec {
        base: Some(base),
        dir: &Dir::parse("p").unwrap(),
        content,
        parents: &[base],
        author: &who(),
        committer: &who(),
        message: "m",
    };
    repo.write(spec).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_at_the_limit_and_one_beyond() {
    if !available() {
        return;
    }
    let limits = Limits {
        package_bytes: 100,
        package_files: 3,
        ..Limits::default()
    };
    let world = Local::new(GitOptions {
        limits,
        ..GitOptions::default()
    });
    let repo = open(&world).await;
    for within in [&[60, 40][..], &[100], &[1, 2, 3]] {
        let written = sized(&*repo, within);
        let shot = repo.snapshot(written.tree().unwrap()).unwrap();
        assert_eq!(shot.files.len(), within.len());
    }
    for (beyond, told, hidden) in [
        (&[101][..], "its largest file is f0 with 101 bytes", "f0"),
        (&[60, 41], "exceeds the limit of 100: 101", "f0"),
        // The largest go first, and no more than must (A11).
        (&[30, 70, 50], "its largest file is f1 with 70 bytes", "f1"),
        (
            &[1, 1, 1, 1],
            "number of files of a package exceeds the limit of 3: 4",
            "f3",
        ),
    ] {
        let held = sized(&*repo, beyond);
        let tree = held.tree().unwrap();
        let error = repo.snapshot(tree).unwrap_err();
        assert_eq!(error.class(), Class::Limit, "{beyond:?}: {error}");
        assert!(error.to_string().contains(told), "{error}");
        let (shown, left_out) = repo.snapshot_within(tree).unwrap();
        let paths: Vec<&str> = left_out.iter().map(|b| b.path.as_str()).collect();
        assert_eq!(paths, [hidden]);
        assert_eq!(shown.files.len(), beyond.len() - 1);
        // What is left out is carried on.
        let carried = Content::Files(&shown.files, &shown.opaque);
        assert_eq!(written(&*repo, carried).tree(), Some(tree));
    }
}
