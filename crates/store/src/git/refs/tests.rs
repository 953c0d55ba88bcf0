//! Which file a ref goes into, and what stands in its way.

use super::*;
use crate::disk::Moved;

#[test]
fn a_ref_that_stands_alone_is_packed_unless_another_stands_above_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("refs/heads")).unwrap();
    let refs = RefFiles::new(dir.path(), at("claims"), false, (1_000, 1 << 20));
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
    // Somebody makes a ref where there would have to be a directory, after all was checked.
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

/// What a power cut may bring back is named until nothing can bring it back.
#[test]
fn locks_are_named_until_what_moved_is_durable() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("refs/heads")).unwrap();
    let claims = dir.path().join("claims");
    let refs = RefFiles::new(dir.path(), claims.clone(), true, (1_000, 1 << 20));
    let named = || fs::read_to_string(&claims).unwrap_or_default();
    let id = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    for (name, file) in [
        ("refs/heads/drafts/a/ws", "packed-refs.lock"),
        ("refs/heads/main", "refs/heads/main.lock"),
    ] {
        let edit = |old| RawEdit {
            name: RefName::parse(name).unwrap(),
            old,
            new: Some(id),
        };
        let (moved, syncs) = refs.apply(&[edit(None)], &mut || Ok(())).unwrap();
        assert!(matches!(moved, Moved::All) && syncs >= 2, "{syncs}");
        assert!(named().contains(file), "{}", named());
        refs.durable().unwrap();
        assert_eq!(named(), "");
        // What moved nothing leaves nothing.
        let (moved, _) = refs.apply(&[edit(None)], &mut || Ok(())).unwrap();
        assert!(matches!(moved, Moved::Stale(_)));
        assert_eq!(named(), "");
    }
    // The lock is there again after a power cut, and its transaction's note with it.
    let lock = dir.path().join("packed-refs.lock");
    fs::write(&lock, "half").unwrap();
    fs::write(&claims, format!("{}\n", lock.display())).unwrap();
    refs.release().unwrap();
    assert!(!lock.exists() && named().is_empty());
}

/// Chosen by a look at the packed file, and packed before the lock was taken.
#[test]
fn a_ref_that_was_packed_meanwhile_goes_from_there_too() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("refs/heads")).unwrap();
    let refs = RefFiles::new(dir.path(), at("claims"), true, (1_000, 1 << 20));
    let id = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    let name = RefName::parse("refs/heads/a").unwrap();
    let edit = RawEdit {
        name: name.clone(),
        old: Some(id),
        new: None,
    };
    fs::write(at("refs/heads/a"), format!("{id}\n")).unwrap();
    fs::write(at("packed-refs"), format!("{id} {name}\n")).unwrap();
    let edits = [edit];
    let (moved, _) = refs.apply_loose(&edits, &mut || Ok(())).unwrap();
    assert!(matches!(moved, Moved::All));
    assert_eq!(refs.get(&name).unwrap(), None);
    refs.durable().unwrap();
    // Of one that is a file alone, the lock went and its directory was not synced: the next note names it still.
    fs::write(at("refs/heads/a"), format!("{id}\n")).unwrap();
    refs.apply(&edits, &mut || Ok(())).unwrap();
    refs.durable().unwrap();
    let named = || fs::read_to_string(at("claims")).unwrap();
    for (lingers, beside) in [(true, "refs/heads/b"), (true, "refs/heads/c")] {
        let create = RawEdit {
            name: RefName::parse(beside).unwrap(),
            old: None,
            new: Some(id),
        };
        refs.apply(&[create], &mut || Ok(())).unwrap();
        assert_eq!(named().contains("packed-refs.lock"), lingers, "{beside}");
        refs.durable().unwrap();
    }
    lock(&refs.dirty).insert(dir.path().to_owned());
    refs.durable().unwrap();
    assert!(!refs.lingers.load(Ordering::Relaxed));
    assert!(!at("packed-refs.lock").exists() && !at("packed-refs.offshoot").exists());
}

/// A power cut brings back what went where nothing of its directory's end was synced.
#[test]
fn what_goes_with_its_directory_is_durable_above_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("refs/heads/drafts/a")).unwrap();
    let refs = RefFiles::new(dir.path(), at("claims"), true, (1_000, 1 << 20));
    let id = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    let names = ["refs/heads/drafts/a/ws", "refs/heads/drafts/a/xs"];
    let edits = names.map(|name| {
        fs::write(at(name), format!("{id}\n")).unwrap();
        RawEdit {
            name: RefName::parse(name).unwrap(),
            old: Some(id),
            new: None,
        }
    });
    refs.apply(&edits, &mut || Ok(())).unwrap();
    assert!(!at("refs/heads/drafts").exists());
    lock(&refs.dirty).remove(dir.path());
    assert_eq!(refs.durable().unwrap(), 1, "refs/heads, once");
}

/// What we packed is known without being read; what somebody packs after us is read.
#[test]
fn what_somebody_else_packs_after_us_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("refs/heads")).unwrap();
    let claims = dir.path().join("claims");
    let refs = RefFiles::new(dir.path(), claims, false, (1_000, 1 << 20));
    let name = RefName::parse("refs/heads/drafts/a/ws").unwrap();
    let of = |digit: u8| ObjectId::from_hex(&[digit; 40]).unwrap();
    let edit = RawEdit {
        name: name.clone(),
        old: None,
        new: Some(of(b'1')),
    };
    refs.apply(&[edit], &mut || Ok(())).unwrap();
    assert_eq!(refs.list().unwrap().get(&name), Some(&of(b'1')));
    // Of the same length, and in place as git puts it.
    let packed = dir.path().join("packed-refs");
    let text = fs::read_to_string(&packed).unwrap().replace('1', "2");
    fs::write(dir.path().join("packed-refs.new"), text).unwrap();
    fs::rename(dir.path().join("packed-refs.new"), &packed).unwrap();
    assert_eq!(refs.list().unwrap().get(&name), Some(&of(b'2')));
}

/// One look answers for many refs, and any of them may be packed while it lasts.
#[test]
fn a_ref_that_is_packed_during_a_look_is_seen_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("refs/heads")).unwrap();
    let refs = RefFiles::new(dir.path(), at("claims"), false, (1_000, 1 << 20));
    let id = "1".repeat(40);
    let name = RefName::parse("refs/heads/main").unwrap();
    fs::write(at(name.as_str()), format!("{id}\n")).unwrap();
    let view = refs.view().unwrap();
    fs::write(at("packed-refs"), format!("{id} {name}\n")).unwrap();
    fs::remove_file(at(name.as_str())).unwrap();
    let found = view.get(&name).unwrap();
    assert_eq!(found.map(|id| id.to_string()), Some(id));
    let below = RefName::parse("refs/heads").unwrap();
    assert!(view.below(&below).unwrap().contains_key(&name));
}
