//! What somebody answered in an open draft stands while upstream says what it said then, or is back at what it was before (V18, V4a).

use super::*;

const ACKNOWLEDGED: ConflictState = ConflictState::Acknowledged;
const RESOLVED: ConflictState = ConflictState::Resolved;

/// Published with 7 replicas of upstream's 1, and drafted anew since upstream says 2.
fn upgraded() -> Worked {
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 7");
    let worked = upgrade(old, published, upstream(&[("replicas: 1", "replicas: 2")]));
    worked.says(&[("1 7 2", OPEN)], "replicas: 2");
    worked
}

impl Worked {
    /// A person answers by an edit of the draft.
    fn answers(&mut self, was: &str, is: &str) {
        let tip = &self.derived.tip;
        self.derived.tip = edited(tip, "deployment.yaml", was, is);
        self.derived.conflicts[0].state = RESOLVED;
    }

    fn under(&mut self, policy: ConflictPolicy, replicas: &str) {
        self.recipe.conflict_policy = policy;
        self.again(&[("replicas: 1", replicas)]);
    }
}

#[test]
fn an_answer_stands_while_upstream_says_the_same() {
    let mut worked = upgraded();
    worked.answers("replicas: 2", "replicas: 9");
    worked.again(&[("replicas: 1", "replicas: 3")]);
    worked.says(&[("2 9 3", OPEN)], "replicas: 9");
    // Upstream's is taken, and upstream moves on elsewhere.
    worked.answers("replicas: 9", "replicas: 3");
    for image in ["web:v2", "web:v3"] {
        worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", image)]);
        worked.says(&[("2 9 3", RESOLVED)], "replicas: 3");
    }
}

#[test]
fn nobody_is_asked_where_upstream_says_what_a_person_wrote() {
    let mut worked = upgraded();
    worked.answers("replicas: 2", "replicas: 9");
    for image in ["web:v2", "web:v3"] {
        worked.again(&[("replicas: 1", "replicas: 9"), ("web:v1", image)]);
        worked.says(&[("1 7 9", RESOLVED)], "replicas: 9");
    }
    // Also where there was no question before.
    let mut worked = upgraded();
    worked.again(&[]);
    worked.says(&[], "replicas: 7");
    worked.derived.tip = edited(
        &worked.derived.tip,
        "deployment.yaml",
        "replicas: 7",
        "replicas: 4",
    );
    for image in ["web:v2", "web:v3"] {
        worked.again(&[("replicas: 1", "replicas: 4"), ("web:v1", image)]);
        worked.says(&[("1 7 4", RESOLVED)], "replicas: 4");
    }
}

/// What was published is no upstream: it contradicts nobody who wrote something else since.
#[test]
fn an_answer_stands_where_upstream_is_back_at_the_base() {
    for answer in ["replicas: 1", "replicas: 9"] {
        let mut worked = upgraded();
        worked.answers("replicas: 2", answer);
        for image in ["web:v2", "web:v3"] {
            worked.again(&[("web:v1", image)]);
            worked.says(&[], answer);
        }
    }
}

#[test]
fn another_policy_undoes_no_answer() {
    let all = [
        ConflictPolicy::Local,
        ConflictPolicy::Upstream,
        ConflictPolicy::Block,
    ];
    for (answer, state) in [
        ("replicas: 2", ACKNOWLEDGED),
        ("replicas: 7", RESOLVED),
        ("replicas: 9", RESOLVED),
    ] {
        let mut worked = upgraded();
        worked.answers("replicas: 2", answer);
        worked.derived.conflicts[0].state = state;
        for policy in all {
            worked.under(policy, "replicas: 2");
            worked.says(&[("1 7 2", state)], answer);
        }
    }
    // What nobody answered is as the policy says.
    let mut worked = upgraded();
    worked.under(ConflictPolicy::Local, "replicas: 2");
    worked.says(&[("1 7 2", RECORDED)], "replicas: 7");
}

/// Lines of a text, and whole resources: what was published stands in the merge, and is no word of upstream.
#[test]
fn a_question_about_lines_tells_what_upstream_says() {
    let package = |one: &str, two: &str| {
        let notes = format!("{one}\nfirst\nsecond\nthird\n{two}\n");
        edited(&upstream(&[]), "README.md", "read me", &notes)
    };
    let old = derive(input(package("one", "two"), 1, recipe()));
    let mine = edited(&old.tip, "README.md", "one", "mine one");
    let mine = edited(&mine, "README.md", "two", "mine two");
    let mut worked = upgrade(old, mine, package("one 2", "two 2"));
    let tip = &worked.derived.tip;
    worked.derived.tip = edited(tip, "README.md", "mine one", "own one");
    for said in ["3", "4"] {
        worked.files(package(&format!("one {said}"), &format!("two {said}")));
        let [asked] = &*worked.derived.conflicts else {
            panic!("{:?}", worked.derived.conflicts)
        };
        let ConflictValue::Json(theirs) = &asked.upstream else {
            panic!("{asked:?}")
        };
        assert!(
            theirs.contains(&format!("one {said}")) && theirs.contains(&format!("two {said}")),
            "{theirs}"
        );
        assert_eq!(asked.state, OPEN);
        assert!(text(&worked.derived.tip, "README.md").starts_with("own one"));
        // Whatever somebody said of these lines is no answer to the next ones.
        worked.derived.conflicts[0].state = ACKNOWLEDGED;
    }
}
