//! `packed-refs`: what is written is read.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn what_is_written_is_read(
        refs in prop::collection::btree_map("refs/[a-z/]{1,12}", (any::<u8>(), any::<Option<u8>>()), 0..20),
        peeled in any::<bool>(),
    ) {
        let id = |n: u8| ObjectId::from_bytes_or_panic(&[n; 20]);
        let refs: BTreeMap<Arc<[u8]>, _> =
            refs.into_iter().map(|(n, (a, b))| (n.into_bytes().into(), (id(a), b.map(id)))).collect();
        let written = Packed { refs }.encode(peeled);
        let read = Packed::parse(&written).unwrap();
        prop_assert_eq!(read.encode(peeled), written);
    }

    #[test]
    fn no_bytes_make_the_reader_fail(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(Packed::parse(&raw));
    }
}
