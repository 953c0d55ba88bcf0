//! Uids of package revisions (A5).

use model::{Namespace, Uid};
use uuid::Uuid;

/// The namespace of Porch's version 5 uids.
const NAMESPACE: Uuid = Uuid::from_u128(0xaac7_1d91_5c67_456f_8fd2_902e_f6da_820e);

/// The uid of a name's first incarnation, as Porch computes it.
pub fn revision_uid(namespace: &Namespace, name: &str) -> Uid {
    let text = format!("packagerevision:porch.kpt.dev/v1alpha1/{namespace}/{name}").to_lowercase();
    let uuid = Uuid::new_v5(&NAMESPACE, text.as_bytes()).to_string();
    Uid::parse(&uuid).expect("because the text of a UUID is never empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_the_peers() {
        // Seen on a running peer.
        let uid = revision_uid(
            &Namespace::parse("bm").unwrap(),
            "deploy.ready.packagevariant-1",
        );
        assert_eq!(uid.as_str(), "17ee8245-e54b-5e3c-b74a-56fd66857d45");
    }
}
