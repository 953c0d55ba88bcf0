//! Where a person put something that is no file, such as a link: it stays, and what upstream has in its place is asked about.

use super::*;

const README: &str = "README.md";

fn published_with_link_at(files: Files, path: &str, v: Files) -> Option<Base> {
    let base = base(files, v)?;
    Some(Base {
        occupied: Occupied::new([path.to_owned()]),
        ..base
    })
}

fn without(mut files: Files, path: &str) -> Files {
    files.remove(&PackagePath::parse(path).unwrap());
    files
}

fn new_readme(text: &str) -> Files {
    let mut files = upstream(&[]);
    let at = PackagePath::parse(README).unwrap();
    files.insert(at, model::File::text(text));
    files
}

#[test]
fn a_file_that_upstream_changed_and_a_person_replaced_by_a_link_waits_for_an_answer() {
    let old = first();
    let linked = without(old.tip, README);
    let mut input = input(new_readme("read this"), 2, recipe());
    input.base = published_with_link_at(linked, README, old.v);
    let derived = derive(input);
    assert_eq!(
        places(&derived.conflicts),
        [("README.md ".to_owned(), ConflictState::Open)]
    );
    let at = PackagePath::parse(README).unwrap();
    assert!(!derived.tip.contains_key(&at) && derived.v.contains_key(&at));
    assert!(!derived.v_equals_m);
}

#[test]
fn a_file_that_upstream_left_alone_says_nothing_about_the_link_in_its_place() {
    let old = first();
    let linked = without(old.tip, README);
    let mut input = input(upstream(&[("web:v1", "web:v2")]), 2, recipe());
    input.base = published_with_link_at(linked, README, old.v);
    let derived = derive(input);
    assert_eq!(places(&derived.conflicts), []);
    assert!(text(&derived.tip, "deployment.yaml").contains("web:v2"));
}

/// Nobody edited a file, so that the machine's output would be taken as it is.
#[test]
fn what_upstream_adds_where_a_link_or_a_directory_of_one_stands_waits_for_an_answer() {
    for (link, added) in [
        ("docs", "docs/how.md"),
        ("docs/how.md", "docs"),
        ("docs", "docs"),
    ] {
        let old = first();
        let mut files = upstream(&[]);
        let at = PackagePath::parse(added).unwrap();
        files.insert(at.clone(), model::File::text("how"));
        let mut input = input(files, 2, recipe());
        input.base = published_with_link_at(old.tip, link, old.v);
        let derived = derive(input.clone());
        let open = (format!("{added} "), ConflictState::Open);
        assert_eq!(places(&derived.conflicts), [open]);
        assert!(!derived.tip.contains_key(&at));
        // Published so, the next upgrade does not ask again.
        let mut next = input;
        next.base = published_with_link_at(derived.tip, link, derived.v);
        assert_eq!(places(&derive(next).conflicts), []);
    }
}

/// A link cannot be taken along, and that upstream has one is no deletion of the file that it replaces.
#[test]
fn a_file_that_upstream_replaced_by_a_link_stays_as_it_is() {
    for replaced in ["README.md", "deployment.yaml"] {
        let old = first();
        let mut input = input(without(upstream(&[]), replaced), 2, recipe());
        input.upstream_occupied = Occupied::new([replaced.to_owned()]);
        for published in [
            old.tip.clone(),
            edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 5"),
        ] {
            let mut input = input.clone();
            input.base = base(published.clone(), old.v.clone());
            let derived = derive(input);
            assert_eq!(places(&derived.conflicts), [], "{replaced}");
            let at = PackagePath::parse(replaced).unwrap();
            assert_eq!(derived.tip.get(&at), published.get(&at), "{replaced}");
        }
        // In a draft that was never published, too.
        let mut input = input;
        input.draft = Some(OpenDraft {
            machine: known(old.m.clone()),
            tip: old.tip.clone(),
            occupied: Occupied::default(),
            conflicts: Vec::new(),
            acknowledged: Vec::new(),
        });
        let derived = derive(input);
        let at = PackagePath::parse(replaced).unwrap();
        assert_eq!(derived.tip.get(&at), old.tip.get(&at), "{replaced}");
    }
}
