//! Which file a ref goes into, and what stands in its way.

use super::*;

#[test]
fn a_ref_that_stands_alone_is_packed_unless_another_stands_above_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("refs/heads")).unwrap();
    let refs = RefFiles::new(dir.path(), at("claims"), false);
    let id = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    let create = |name: &str| {
        let edit = RawEdit {
            name: RefName::parse(name).unwrap(),
            old: None,
            new: Some(id),
        };
        refs.apply(&[edit], &mut || Ok(())).unwrap().0
    };
    let (alone, beside) = ("refs/heads/drafts/a/ws", "refs/heads/main");
    assert!(matches!(create(alone), Moved::All));
    assert!(at("packed-refs").is_file() && !at("refs/heads/drafts").exists());
    assert!(matches!(create(beside), Moved::All));
    assert!(at(beside).is_file(), "its directory was there");
    // Somebody makes a ref where there would have to be a directory, after all was judged.
    let other = "refs/heads/b";
    fs::write(at(other), format!("{id}\n")).unwrap();
    let below = RefName::parse("refs/heads/b/ws").unwrap();
    assert!(matches!(create(below.as_str()), Moved::Stale(names) if names == [below.clone()]));
    let all: Vec<String> = refs
        .list()
        .unwrap()
        .keys()
        .map(RefName::to_string)
        .collect();
    assert_eq!(all, [other, alone, beside]);
}
