//! Commits: what is written is read, and no name breaks the format.

use proptest::prelude::*;

use super::*;

fn signature() -> impl Strategy<Value = Signature> {
    (".{0,20}", ".{0,20}", 0i64..4_000_000_000, -720i32..840).prop_map(
        |(name, email, seconds, offset_minutes)| Signature {
            name,
            email,
            time: Time {
                seconds,
                offset_minutes,
            },
        },
    )
}

proptest! {
    #[test]
    fn a_commit_is_read_as_written(
        author in signature(),
        committer in signature(),
        message in "[^\0]{0,80}",
        parents in 0..3u8,
    ) {
        let tree = ObjectId::from_bytes_or_panic(&[7; 20]);
        let parents: Vec<_> = (0..parents).map(|n| ObjectId::from_bytes_or_panic(&[n; 20])).collect();
        let text = CommitText {
            tree: &tree,
            parents: &parents,
            author: &author,
            committer: &committer,
            message: &message,
        };
        let raw = encode_commit(text).unwrap();
        let read = decode_commit(&tree, &raw).unwrap();
        prop_assert_eq!(read.tree, tree_id(&tree));
        prop_assert_eq!(read.parents, parents.iter().map(commit_id).collect::<Vec<_>>());
        prop_assert_eq!(read.author.time, author.time);
        prop_assert_eq!(read.committer.time, committer.time);
        prop_assert_eq!(read.message.trim_end_matches('\n'), message.trim_end_matches('\n'));
        for text in [&read.author.name, &read.author.email] {
            prop_assert!(!text.contains(['<', '>', '\n', '\r']), "{text:?}");
        }
        // Whatever the names hold, the second reader agrees: what is clean stays as it is.
        let again = encode_commit(CommitText { author: &read.author, committer: &read.committer, ..text });
        prop_assert_eq!(again.unwrap(), raw);
    }

    #[test]
    fn no_bytes_make_the_reader_fail(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(decode_commit(&ObjectId::from_bytes_or_panic(&[7; 20]), &raw));
    }
}
