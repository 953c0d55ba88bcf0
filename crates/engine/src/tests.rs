//! Values that several modules' tests share.

use model::{
    CommitId, Digest, DraftOwner, GitSpec, Machine, Namespace, ObjectKey, ObjectMeta, ObjectName,
    Repository, RepositoryName, TreeId, Uid, WorkspaceName,
};

pub(crate) fn repository(name: &str, directory: &str) -> Repository {
    Repository {
        key: ObjectKey::new(
            Namespace::parse("default").expect("a namespace"),
            ObjectName::parse(name).expect("a name"),
        ),
        name: RepositoryName::parse(name).expect("a repository name"),
        meta: ObjectMeta::default(),
        description: String::new(),
        deployment: false,
        ignore_author_gates: false,
        git: GitSpec {
            repo: format!("file:///srv/{name}.git"),
            branch: "main".to_owned(),
            create_branch: false,
            create: false,
            directory: directory.to_owned(),
            secret: None,
            author: None,
            email: None,
        },
        sync_schedule: String::new(),
        run_once_at: String::new(),
    }
}

pub(crate) fn machine() -> Machine {
    Machine {
        owner: DraftOwner {
            namespace: Namespace::parse("default").expect("a namespace"),
            name: ObjectName::parse("shop").expect("a name"),
            uid: Uid::parse("u-1").expect("a uid"),
        },
        adopted: false,
        workspace: WorkspaceName::parse("packagevariant-1").expect("a workspace"),
        digest: Digest::new(1, &[1; 32]),
        full_digest: Digest::new(1, &[2; 32]),
        m_tree: TreeId::from_bytes(&[3; 20]).expect("an id"),
        v_tree: TreeId::from_bytes(&[4; 20]).expect("an id"),
        base: CommitId::from_bytes(&[5; 20]),
        base_tree: None,
        gates: vec!["config.injection.ConfigMap.eu".to_owned()],
        context_keys: ["region".to_owned()].into(),
    }
}
