//! What people write: each field is that of whoever wrote it last.

use model::{Strategy, Task};
use testkit::twin::key;

use super::{Do, FIRST, Fixture, IMAGE, SECOND, all};
use crate::world::NS;

const UP1: &str = "app/v1 of blueprints (";
const NOTES: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notes\ndata:\n  by: hand\n";
const VALUES: &str = "size: 3\nzones: [a, b]\n";
const TWO: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: \"1\"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  two: \"2\"\n";
const SWAPPED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  two: \"9\"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: \"1\"\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData:\n  password: hunter1\n";

fn init() -> Task {
    Task::Init {
        description: "mine".to_owned(),
        keywords: Vec::new(),
        site: String::new(),
    }
}

fn clone() -> Task {
    Task::Clone {
        upstream: key(NS, "blueprints.app.v1").name,
    }
}

fn upgrade() -> Task {
    Task::Upgrade {
        old_upstream: key(NS, "blueprints.app.v1").name,
        new_upstream: key(NS, "blueprints.app.v2").name,
        local: key(NS, "deploy.mine.one").name,
        strategy: Strategy::default(),
    }
}

fn edit() -> Task {
    Task::Edit {
        source: key(NS, FIRST).name,
    }
}

pub(super) const FIXTURES: &[Fixture] = &[
    Fixture {
        name: "a scalar",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "replicas: 1",
            "replicas: 5",
        )],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", "spec.paused", "upstream", UP1),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
        ],
    },
    Fixture {
        name: "two people, two fields",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Edit("bob", FIRST, "app.yaml", "paused: false", "paused: true"),
        ],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", "spec.paused", "person", "bob"),
        ],
    },
    Fixture {
        name: "two people, one field",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Edit("bob", FIRST, "app.yaml", "replicas: 5", "replicas: 6"),
        ],
        revision: FIRST,
        wrote: &[("app.yaml", "spec.replicas", "person", "bob")],
    },
    Fixture {
        name: "what somebody put back",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Edit("bob", FIRST, "app.yaml", "replicas: 5", "replicas: 1"),
        ],
        revision: FIRST,
        wrote: &[("app.yaml", "spec.replicas", "person", "bob")],
    },
    Fixture {
        name: "an element of a list with keys",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "image: side:v1",
            "image: side:mine",
        )],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "spec.template.spec.containers[name=side].image",
                "person",
                "alice",
            ),
            ("app.yaml", IMAGE, "upstream", UP1),
        ],
    },
    Fixture {
        name: "an element that is added",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "      - name: side",
            "      - name: more\n        image: more:v1\n      - name: side",
        )],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "spec.template.spec.containers[name=more].image",
                "person",
                "alice",
            ),
            (
                "app.yaml",
                "spec.template.spec.containers[name=side].image",
                "upstream",
                UP1,
            ),
        ],
    },
    Fixture {
        name: "a list without keys",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "args: [--a, --b]",
            "args: [--a, --c]",
        )],
        revision: FIRST,
        wrote: &[
            (
                "app.yaml",
                "spec.template.spec.containers[name=app].args",
                "person",
                "alice",
            ),
            ("app.yaml", IMAGE, "upstream", UP1),
        ],
    },
    Fixture {
        name: "a field that is added",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "  paused: false",
            "  paused: false\n  minReadySeconds: 3",
        )],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.minReadySeconds", "person", "alice"),
            ("app.yaml", "spec.paused", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a field that is taken away leaves its neighbours",
        files: &[],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "app.yaml",
            "  paused: false\n",
            "",
        )],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.paused", "", ""),
            ("app.yaml", "spec.replicas", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a comment is nobody's value",
        files: &[],
        story: &[Do::Edit("alice", FIRST, "app.yaml", "# few", "# enough")],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "upstream", UP1),
            ("app.yaml", "spec.paused", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a file that is added",
        files: &[],
        story: &[Do::Write("bob", FIRST, "notes.yaml", NOTES)],
        revision: FIRST,
        wrote: &[
            ("notes.yaml", "data.by", "person", "bob"),
            // The function labels what the person added, in the same commit.
            ("notes.yaml", "metadata.labels.tier", "person", "bob"),
        ],
    },
    Fixture {
        name: "a file that is taken away",
        files: &[("notes.yaml", NOTES)],
        story: &[Do::Remove(FIRST, "notes.yaml")],
        revision: FIRST,
        wrote: &[
            ("notes.yaml", "data.by", "", ""),
            ("app.yaml", "spec.paused", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a file that is moved is whose who moved it",
        files: &[("notes.yaml", NOTES)],
        story: &[Do::Move(FIRST, "notes.yaml", "dir/notes.yaml")],
        revision: FIRST,
        wrote: &[
            ("dir/notes.yaml", "data.by", "person", "alice"),
            ("notes.yaml", "data.by", "", ""),
        ],
    },
    Fixture {
        name: "a file that is no resource",
        files: &[
            ("README.md", "Read me.\n"),
            ("values.yaml", VALUES),
            (".krmignore", "values.yaml\n"),
        ],
        story: &[
            Do::Edit("alice", FIRST, "README.md", "Read", "Heed"),
            Do::Edit("bob", FIRST, "values.yaml", "size: 3", "size: 4"),
        ],
        revision: FIRST,
        wrote: &[
            ("README.md", "", "person", "alice"),
            ("values.yaml", "size", "person", "bob"),
            ("values.yaml", "zones", "upstream", UP1),
        ],
    },
    Fixture {
        name: "documents that change places",
        files: &[("two.yaml", TWO)],
        story: &[Do::Write("alice", FIRST, "two.yaml", SWAPPED)],
        revision: FIRST,
        wrote: &[
            ("two.yaml", "data.two", "person", "alice"),
            ("two.yaml", "data.one", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a Secret's value",
        files: &[("secret.yaml", SECRET)],
        story: &[Do::Edit(
            "alice",
            FIRST,
            "secret.yaml",
            "hunter1",
            "hunter2",
        )],
        revision: FIRST,
        wrote: &[
            ("secret.yaml", "stringData.password", "person", "alice"),
            ("secret.yaml", "metadata.name", "upstream", UP1),
        ],
    },
    Fixture {
        name: "what is published is the draft's",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Publish(FIRST),
        ],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", IMAGE, "upstream", UP1),
        ],
    },
    Fixture {
        name: "after the objects were lost, people are found again",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Publish(FIRST),
            Do::Rebuild,
        ],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", IMAGE, "upstream", UP1),
        ],
    },
    Fixture {
        name: "a package of somebody's own",
        files: &[],
        story: &[
            Do::Make("own", "one", init),
            Do::Write("bob", "deploy.own.one", "notes.yaml", NOTES),
        ],
        revision: "deploy.own.one",
        wrote: &[
            ("Kptfile", "info.description", "person", "alice"),
            ("notes.yaml", "data.by", "person", "bob"),
        ],
    },
    Fixture {
        name: "an upgrade of somebody's own",
        files: &[],
        story: &[
            Do::Make("mine", "one", clone),
            Do::Edit(
                "bob",
                "deploy.mine.one",
                "app.yaml",
                "replicas: 1",
                "replicas: 5",
            ),
            Do::Publish("deploy.mine.one"),
            Do::Upstream("app.yaml", "app:v1", "app:v2"),
            Do::Upgrade(2),
            Do::Make("mine", "two", upgrade),
        ],
        revision: "deploy.mine.two",
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "bob"),
            ("app.yaml", IMAGE, "upstream", "app/v2 of blueprints ("),
            ("app.yaml", "spec.paused", "upstream", UP1),
        ],
    },
    Fixture {
        name: "a clone of somebody's own",
        files: &[],
        story: &[
            Do::Make("mine", "one", clone),
            Do::Edit(
                "bob",
                "deploy.mine.one",
                "app.yaml",
                "replicas: 1",
                "replicas: 5",
            ),
        ],
        revision: "deploy.mine.one",
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "bob"),
            ("app.yaml", IMAGE, "upstream", UP1),
            ("package-context.yaml", "data.name", "clone", ""),
        ],
    },
    Fixture {
        name: "a person's draft of what is published",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Publish(FIRST),
            Do::Make("shop", "more", edit),
            Do::Edit(
                "bob",
                "deploy.shop.more",
                "app.yaml",
                "paused: false",
                "paused: true",
            ),
        ],
        revision: "deploy.shop.more",
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", "spec.paused", "person", "bob"),
            ("app.yaml", IMAGE, "upstream", UP1),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
        ],
    },
    Fixture {
        name: "a commit straight to the branch",
        files: &[],
        story: &[
            Do::Publish(FIRST),
            Do::PushedPast("app.yaml", "replicas: 1", "replicas: 7"),
            Do::Upstream("app.yaml", "app:v1", "app:v2"),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "Person"),
            ("app.yaml", IMAGE, "upstream", "app/v2 of blueprints ("),
        ],
    },
    Fixture {
        name: "after a restart",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Restart,
        ],
        revision: FIRST,
        wrote: &[("app.yaml", "spec.replicas", "person", "alice")],
    },
];

#[tokio::test(start_paused = true)]
async fn what_people_wrote_is_theirs() {
    all(FIXTURES).await;
}
