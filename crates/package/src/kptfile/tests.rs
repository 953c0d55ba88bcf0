use model::{CommitId, Condition, Function, GitLock, GitUpstream, Status};

use super::*;

const TEXT: &str = "\
# the owner's comment
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop   # aligned by hand
  uid: 123 # a trace of tooling
  annotations:
    config.kubernetes.io/local-config: \"true\"

info:
  readinessGates:
  - conditionType: z.example.com/first # theirs
pipeline:
    mutators:
    # what it is for
    - image: set-namespace:v0.4.5
      configMap: {namespace: shop}
status:
  conditions:
  - type: z.example.com/first
    status: 'True'
    lastTransitionTime: 2024-01-01T00:00:00Z
";

fn kptfile(text: &str) -> Kptfile {
    Kptfile::parse(text).unwrap()
}

fn edited(edits: &[Edit]) -> String {
    kptfile(TEXT).edit(edits).unwrap().text().to_owned()
}

#[test]
fn reads_what_it_says_and_warns_of_the_rest() {
    let kptfile = kptfile(TEXT);
    let fields = kptfile.fields();
    assert_eq!(fields.name, "shop");
    assert_eq!(
        fields.info.readiness_gates[0].condition_type,
        "z.example.com/first"
    );
    assert_eq!(
        fields.condition("z.example.com/first").unwrap().status,
        Status::True
    );
    assert_eq!(
        fields.pipeline.mutators[0].config_map,
        [("namespace".into(), "shop".into())]
    );
    let warned: Vec<_> = kptfile
        .warnings()
        .iter()
        .map(|w| w.field.as_str())
        .collect();
    assert_eq!(warned, ["metadata.uid"]);
    assert!(kptfile.validate(None).is_empty());
}

#[test]
fn m18_what_kpt_would_refuse_is_told_only_to_who_asks() {
    let strange: Vec<_> = kptfile(TEXT)
        .strangers()
        .into_iter()
        .map(|problem| problem.what)
        .collect();
    assert_eq!(
        strange,
        [
            "line 6: field `metadata.uid` is not a field of a Kptfile",
            "line 22: field `status.conditions[0].lastTransitionTime` is not a field of a Kptfile",
        ]
    );
    let dots = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: x}\npipeline:\n  mutators:\n  - {image: a, configPath: ..c.yaml}\n";
    assert!(kptfile(dots).validate(None).is_empty());
    let problems = kptfile(dots).validate_strictly(None);
    assert!(
        problems[0]
            .what
            .contains("path must not be outside the package")
    );
}

#[test]
fn an_edit_to_an_equal_value_is_no_edit() {
    let edits = [
        Edit::SetName("shop".into()),
        Edit::AddGate("z.example.com/first".into()),
        Edit::SetCondition(Condition::new("z.example.com/first", Status::True, "", "")),
        Edit::RemoveLock,
        Edit::SetRenderStatus(None),
        Edit::RemoveFunction(FunctionList::Mutators, "nobody".into()),
    ];
    assert_eq!(edited(&edits), TEXT);
}

#[test]
fn upstream_and_lock_find_their_place() {
    let lock = GitLock {
        repo: "https://example.com/b.git".into(),
        directory: "shop".into(),
        git_ref: "shop/v1".into(),
        commit: CommitId::parse("1111111111111111111111111111111111111111"),
    };
    let upstream = GitUpstream {
        repo: lock.repo.clone(),
        directory: lock.directory.clone(),
        git_ref: lock.git_ref.clone(),
    };
    let both = [
        Edit::SetLock(lock.clone()),
        Edit::SetUpstream(upstream.clone()),
    ];
    let text = edited(&both);
    let new = "\
upstream:
  type: git
  git:
    repo: https://example.com/b.git
    directory: shop
    ref: shop/v1
upstreamLock:
  type: git
  git:
    repo: https://example.com/b.git
    directory: shop
    ref: shop/v1
    commit: \"1111111111111111111111111111111111111111\"
";
    assert_eq!(text.replace(new, ""), TEXT);
    let read = kptfile(&text);
    assert_eq!(
        read.fields().upstream_lock.as_ref().unwrap().git,
        Some(lock)
    );
    assert_eq!(read.fields().upstream.as_ref().unwrap().git, Some(upstream));
    let without = read
        .edit(&[Edit::RemoveLock, Edit::RemoveUpstream])
        .unwrap();
    assert_eq!(without.text(), TEXT);
}

/// R86.
#[test]
fn gates_are_appended_and_conditions_set_in_place() {
    let injected = "config.injection.ConfigMap.x";
    let added = [
        Edit::AddGate(injected.into()),
        Edit::SetCondition(Condition::new(
            injected,
            Status::False,
            "NoResourceSelected",
            "none",
        )),
        Edit::SetCondition(Condition::new(
            "z.example.com/first",
            Status::False,
            "Why",
            "",
        )),
    ];
    let text = edited(&added);
    assert!(text.contains("  - conditionType: z.example.com/first # theirs\n  - conditionType: config.injection.ConfigMap.x\n"), "{text}");
    assert!(
        text.contains(
            "    status: 'False'\n    lastTransitionTime: 2024-01-01T00:00:00Z\n    reason: Why\n"
        ),
        "{text}"
    );
    assert!(text.contains("  - type: config.injection.ConfigMap.x\n    status: \"False\"\n    reason: NoResourceSelected\n    message: none\n"), "{text}");
    let back = [
        Edit::RemoveGate(injected.into()),
        Edit::SetConditions(vec![Condition::new(
            "z.example.com/first",
            Status::True,
            "",
            "",
        )]),
    ];
    assert_eq!(kptfile(&text).edit(&back).unwrap().text(), TEXT);
}

/// R70, R72.
#[test]
fn functions_are_prepended_and_taken_off_by_name() {
    let function = |name: &str| Function {
        image: Some("set-labels:v0.2.0".into()),
        config_map: vec![("team".into(), "on".into())],
        name: name.into(),
        ..Function::default()
    };
    let two = vec![
        function("PackageVariant.v.a.0"),
        function("PackageVariant.v.b.1"),
    ];
    let text = edited(&[Edit::Prepend(FunctionList::Mutators, two)]);
    let names: Vec<_> = kptfile(&text)
        .fields()
        .pipeline
        .mutators
        .iter()
        .map(|f| f.name.clone())
        .collect();
    assert_eq!(names, ["PackageVariant.v.a.0", "PackageVariant.v.b.1", ""]);
    assert!(
        text.contains("team: \"on\"") || text.contains("team: 'on'"),
        "{text}"
    );
    let back = ["PackageVariant.v.a.0", "PackageVariant.v.b.1"]
        .map(|name| Edit::RemoveFunction(FunctionList::Mutators, name.into()));
    assert_eq!(kptfile(&text).edit(&back).unwrap().text(), TEXT);
}

#[test]
fn what_becomes_empty_goes() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";
    let edits = [
        Edit::AddGate("a/b".into()),
        Edit::SetCondition(Condition::new("a/b", Status::True, "", "")),
        Edit::SetLabel("l".into(), "yes".into()),
    ];
    let more = kptfile(text).edit(&edits).unwrap();
    assert_eq!(more.fields().labels.get("l").unwrap(), "yes");
    let back = [
        Edit::RemoveGate("a/b".into()),
        Edit::RemoveCondition("a/b".into()),
        Edit::RemoveLabel("l".into()),
    ];
    assert_eq!(more.edit(&back).unwrap().text(), text);
}

#[test]
fn what_is_no_kptfile_says_so() {
    let old = Kptfile::parse("apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n").unwrap_err();
    assert!(old.to_string().contains("update the package"), "{old}");
    for text in ["", "x", "- a", "a: [", "apiVersion: v1\nkind: Kptfile\n"] {
        assert!(Kptfile::parse(text).is_err(), "{text}");
    }
    let twice = "apiVersion: kpt.dev/v1\nkind: Kptfile\ninfo: {}\ninfo: {site: a}\n";
    assert!(
        matches!(Kptfile::parse(twice), Err(ReadError::Invalid(problems)) if problems.len() == 1)
    );
}

#[test]
fn names_of_functions_are_unique() {
    let text = "apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline:\n  mutators:\n  - {name: a, image: x}\n  - {name: a, image: y}\n";
    let problems = kptfile(text).validate(None);
    assert_eq!(problems[0].field, "pipeline.mutators[1].name");
}
