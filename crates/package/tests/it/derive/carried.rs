//! Conflicts of an open draft through further merges: what nobody answered stays (V18).

mod answered;

use super::*;

/// A draft in which people and upstream disagree, as the next merge finds it.
struct Worked {
    derived: Derived,
    recipe: Recipe,
    base: Option<Base>,
    version: u8,
}

/// A draft that was never published, `replicas` set to 5 in it against upstream's 3.
fn disagreed() -> Worked {
    let draft = first();
    let tip = edited(&draft.tip, "deployment.yaml", "replicas: 1", "replicas: 5");
    let mut worked = Worked {
        derived: worked_on(draft, tip),
        recipe: recipe(),
        base: None,
        version: 1,
    };
    worked.again(&[("replicas: 1", "replicas: 3")]);
    worked.says(&[("1 5 3", ConflictState::Open)], "replicas: 5");
    worked
}

/// A first draft of upstream's second version over what people published of the first.
fn upgrade(old: Derived, published: Files, upstream: Files) -> Worked {
    let mut next = input(upstream, 2, recipe());
    next.base = base(published, old.v);
    Worked {
        base: next.base.clone(),
        derived: derive(next),
        recipe: recipe(),
        version: 2,
    }
}

impl Worked {
    /// New input for the draft: upstream's text with these replacements.
    fn again(&mut self, change: &[(&str, &str)]) {
        self.files(upstream(change));
    }

    fn files(&mut self, upstream: Files) {
        self.version += 1;
        let mut next = input(upstream, self.version, self.recipe.clone());
        next.base.clone_from(&self.base);
        next.draft = Some(OpenDraft {
            occupied: Occupied::default(),
            machine: known(self.derived.m.clone()),
            tip: self.derived.tip.clone(),
            conflicts: self.derived.conflicts.clone(),
            acknowledged: Vec::new(),
        });
        self.derived = derive(next);
    }

    /// The conflicts that there are, and a text that the tip holds.
    #[track_caller]
    fn says(&self, conflicts: &[(&str, ConflictState)], held: &str) {
        let side = |value: &ConflictValue| match value {
            ConflictValue::Json(text) => text.clone(),
            ConflictValue::Hash(_) => "#".to_owned(),
            ConflictValue::Absent => "-".to_owned(),
        };
        let told: Vec<(String, ConflictState)> = self
            .derived
            .conflicts
            .iter()
            .map(|c| {
                (
                    [&c.base, &c.local, &c.upstream].map(side).join(" "),
                    c.state,
                )
            })
            .collect();
        let wanted: Vec<_> = conflicts
            .iter()
            .map(|(s, t)| ((*s).to_owned(), *t))
            .collect();
        assert_eq!(told, wanted);
        let deployment = text(&self.derived.tip, "deployment.yaml");
        assert!(deployment.contains(held), "no {held:?} in\n{deployment}");
        let gated = text(&self.derived.tip, "Kptfile").contains("offshoot.dev/Conflicts");
        let gates = conflicts.iter().any(|(_, s)| *s != ConflictState::Recorded);
        assert_eq!(gated, gates);
    }
}

const OPEN: ConflictState = ConflictState::Open;
const RECORDED: ConflictState = ConflictState::Recorded;

#[test]
fn v18_new_input_that_says_nothing_about_the_field_leaves_the_conflict_open() {
    let mut worked = disagreed();
    let id = worked.derived.conflicts[0].id.clone();
    // Another revision of upstream, another injected object, another context: many merges.
    worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", "web:v2")]);
    worked.says(&[("1 5 3", OPEN)], "replicas: 5");
    worked.recipe.injections = vec![injection("us-1")];
    worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", "web:v3")]);
    worked.says(&[("1 5 3", OPEN)], "web:v3");
    worked
        .recipe
        .context
        .insert("region".to_owned(), "us".to_owned());
    worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", "web:v3")]);
    worked.says(&[("1 5 3", OPEN)], "replicas: 5");
    assert_eq!(worked.derived.conflicts[0].id, id);
    // Upstream goes on, and back: to what nobody answered, then to the base.
    worked.again(&[("replicas: 1", "replicas: 4")]);
    worked.says(&[("1 5 4", OPEN)], "replicas: 5");
    assert_ne!(worked.derived.conflicts[0].id, id);
    worked.again(&[("replicas: 1", "replicas: 3")]);
    worked.says(&[("1 5 3", OPEN)], "replicas: 5");
    assert_eq!(worked.derived.conflicts[0].id, id);
    worked.again(&[]);
    worked.says(&[], "replicas: 5");
}

#[test]
fn v18_a_carried_conflict_ends_where_both_sides_agree_or_somebody_answers() {
    let mut worked = disagreed();
    worked.again(&[("replicas: 1", "replicas: 5")]);
    worked.says(&[], "replicas: 5");
    let mut worked = disagreed();
    worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", "web:v2")]);
    worked.derived.conflicts[0].state = ConflictState::Acknowledged;
    worked.again(&[("replicas: 1", "replicas: 3"), ("web:v1", "web:v3")]);
    worked.says(&[], "replicas: 5");
}

#[test]
fn v18_a_change_of_policy_decides_what_is_carried() {
    let same = [("replicas: 1", "replicas: 3")];
    let mut worked = disagreed();
    worked.recipe.conflict_policy = ConflictPolicy::Local;
    worked.again(&same);
    worked.says(&[("1 5 3", RECORDED)], "replicas: 5");
    worked.recipe.conflict_policy = ConflictPolicy::Block;
    worked.again(&same);
    worked.says(&[("1 5 3", OPEN)], "replicas: 5");
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.again(&same);
    worked.says(&[("1 5 3", RECORDED)], "replicas: 3");
    worked.recipe.conflict_policy = ConflictPolicy::Local;
    worked.again(&same);
    worked.says(&[], "replicas: 3");
    // Upstream's newest value is taken, whatever was known of it before.
    let mut worked = disagreed();
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.again(&[("replicas: 1", "replicas: 4")]);
    worked.says(&[("1 5 4", RECORDED)], "replicas: 4");
    let mut worked = disagreed();
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.again(&[]);
    worked.says(&[], "replicas: 5");
}

#[test]
fn v18_what_the_recipe_states_is_no_question_any_more() {
    let mut worked = disagreed();
    let tip = edited(
        &worked.derived.tip,
        "package-context.yaml",
        "name: shop",
        "name: shop\n  tier: mine",
    );
    worked.derived.tip = tip;
    let theirs = |tier: &str| {
        let context = format!("{CONTEXT}  tier: {tier}\n");
        let mut files = upstream(&[("replicas: 1", "replicas: 3")]);
        files.extend(kept(&[("package-context.yaml", &context)]));
        files
    };
    worked.files(theirs("gold"));
    worked.says(
        &[("1 5 3", OPEN), ("- \"mine\" \"gold\"", OPEN)],
        "replicas: 5",
    );
    worked.files(theirs("gold"));
    worked.says(
        &[("1 5 3", OPEN), ("- \"mine\" \"gold\"", OPEN)],
        "replicas: 5",
    );
    worked
        .recipe
        .context
        .insert("tier".to_owned(), "stated".to_owned());
    worked.files(theirs("gold"));
    let open: Vec<_> = worked
        .derived
        .conflicts
        .iter()
        .filter(|c| c.blocks())
        .collect();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(text(&worked.derived.tip, "package-context.yaml").contains("tier: stated"));
}

#[test]
fn v18_published_and_drafted_the_drafts_own_question_stays() {
    // p holds 5 where the machine said 1.
    let old = first();
    let published = edited(&old.tip, "deployment.yaml", "replicas: 1", "replicas: 5");
    let mut worked = upgrade(old, published, upstream(&[("replicas: 1", "replicas: 3")]));
    worked.says(&[("1 5 3", OPEN)], "replicas: 3");
    // A person answers in the draft, and then upstream has something new.
    worked.derived.tip = edited(
        &worked.derived.tip,
        "deployment.yaml",
        "replicas: 3",
        "replicas: 7",
    );
    worked.derived.conflicts[0].state = ConflictState::Resolved;
    worked.again(&[("replicas: 1", "replicas: 4")]);
    worked.says(&[("3 7 4", OPEN)], "replicas: 7");
    worked.again(&[("replicas: 1", "replicas: 4"), ("web:v1", "web:v2")]);
    worked.says(&[("3 7 4", OPEN)], "replicas: 7");
    // Answered, it is answered for p's value, too.
    worked.derived.conflicts[0].state = ConflictState::Acknowledged;
    worked.again(&[("replicas: 1", "replicas: 4"), ("web:v1", "web:v3")]);
    worked.says(&[("3 7 4", ConflictState::Acknowledged)], "replicas: 7");
}

#[test]
fn v18_a_resource_or_file_that_upstream_takes_away_is_asked_about_and_goes_on_being_asked() {
    let mut worked = disagreed();
    let without = |path: &str| {
        let mut files = upstream(&[("web:v1", "web:v2")]);
        files.remove(path);
        files
    };
    worked.files(without("deployment.yaml"));
    let blocking = |worked: &Worked| {
        worked
            .derived
            .conflicts
            .iter()
            .filter(|c| c.blocks())
            .count()
    };
    assert_eq!(
        blocking(&worked),
        1,
        "{:?}",
        places(&worked.derived.conflicts)
    );
    worked.files(without("deployment.yaml"));
    assert_eq!(
        blocking(&worked),
        1,
        "{:?}",
        places(&worked.derived.conflicts)
    );
    assert!(text(&worked.derived.tip, "deployment.yaml").contains("replicas: 5"));
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.files(without("deployment.yaml"));
    assert_eq!(blocking(&worked), 0);
    assert!(!worked.derived.tip.contains_key("deployment.yaml"));

    // A text that both sides changed.
    let draft = first();
    let tip = edited(&draft.tip, "README.md", "read me", "mine");
    let mut worked = Worked {
        derived: worked_on(draft, tip),
        recipe: recipe(),
        base: None,
        version: 1,
    };
    let theirs = edited(&upstream(&[]), "README.md", "read me", "theirs");
    for _ in 0..3 {
        worked.files(theirs.clone());
        worked.says(&[("\"read me\" \"mine\" \"theirs\"", OPEN)], "replicas: 1");
    }
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.files(theirs);
    worked.says(
        &[("\"read me\" \"mine\" \"theirs\"", RECORDED)],
        "replicas: 1",
    );
    assert_eq!(text(&worked.derived.tip, "README.md"), "theirs");
}

#[test]
fn v18_a_secrets_conflict_is_carried_by_its_hashes() {
    let secret = |value: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\nstringData:\n  key: {value}\n"
        );
        let mut files = upstream(&[]);
        files.extend(kept(&[("secret.yaml", &text)]));
        files
    };
    let draft = derive(input(secret("a"), 1, recipe()));
    let tip = edited(&draft.tip, "secret.yaml", "key: a", "key: mine");
    let mut worked = Worked {
        derived: worked_on(draft, tip),
        recipe: recipe(),
        base: None,
        version: 1,
    };
    for _ in 0..3 {
        worked.files(secret("theirs"));
        worked.says(&[("# # #", OPEN)], "replicas: 1");
    }
    worked.recipe.conflict_policy = ConflictPolicy::Upstream;
    worked.files(secret("theirs"));
    assert!(text(&worked.derived.tip, "secret.yaml").contains("key: theirs"));
}
