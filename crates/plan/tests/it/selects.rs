//! From which kinds a set may select, as a table (S4, S5), and which rights a verb takes.

use model::{LabelSelector, Lifecycle, Namespace, ObjectSelector, Pairs};
use plan::revision::RevisionVerb;
use plan::set::{KindScope, SelectionFailure};

fn asked(
    api_version: &str,
    kind: &str,
    found: Result<KindScope, SelectionFailure>,
) -> Result<(), SelectionFailure> {
    let namespace = Namespace::parse("shop").expect("a name");
    let selector = ObjectSelector {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: None,
        labels: LabelSelector::default(),
    };
    KindScope::may_select(found, &namespace, &selector)
}

fn pairs(value: &str) -> Pairs {
    Pairs::from_iter([("offshoot.dev/cluster-targets".to_owned(), value.to_owned())])
}

fn cluster(labels: Pairs, annotations: Pairs) -> Result<KindScope, SelectionFailure> {
    Ok(KindScope::Cluster {
        labels,
        annotations,
    })
}

fn forbidden(why: &str) -> Result<(), SelectionFailure> {
    Err(SelectionFailure::Forbidden(why.to_owned()))
}

/// S4.
#[test]
fn secrets_are_selected_by_nobody() {
    let never = forbidden("Secrets cannot be selected");
    let all = [
        Ok(KindScope::Namespaced),
        cluster(pairs("true"), Pairs::new()),
        Err(SelectionFailure::KindMissing),
    ];
    for found in all {
        assert_eq!(asked("v1", "Secret", found), never);
    }
    let other = asked("example.test/v1", "Secret", Ok(KindScope::Namespaced));
    assert_eq!(other, Ok(()), "the kind of another group");
}

/// S5.
#[test]
fn what_lies_in_no_namespace_is_selected_where_the_namespace_says_so() {
    let none = Pairs::new;
    assert_eq!(asked("v1", "ConfigMap", Ok(KindScope::Namespaced)), Ok(()));
    assert_eq!(asked("v1", "Node", cluster(pairs("true"), none())), Ok(()));
    assert_eq!(asked("v1", "Node", cluster(none(), pairs("true"))), Ok(()));
    let core = "/v1/Node is cluster-scoped: namespace shop must carry offshoot.dev/cluster-targets: \"true\"";
    for (labels, annotations) in [
        (none(), none()),
        (pairs("yes"), none()),
        (none(), pairs("")),
    ] {
        let found = asked("v1", "Node", cluster(labels, annotations));
        assert_eq!(found, forbidden(core));
    }
    let grouped = "example.test/v1/Site is cluster-scoped: namespace shop must carry offshoot.dev/cluster-targets: \"true\"";
    let found = asked("example.test/v1", "Site", cluster(none(), none()));
    assert_eq!(found, forbidden(grouped));
}

/// S5, X6: what the writer may not list, or nobody knows, stays what it is.
#[test]
fn what_cannot_be_listed_is_told_as_it_was_found() {
    for why in [
        SelectionFailure::KindMissing,
        SelectionFailure::WriterUnknown,
        SelectionFailure::Forbidden("bob cannot list".to_owned()),
        SelectionFailure::Unavailable("later".to_owned()),
    ] {
        assert_eq!(asked("v1", "Node", Err(why.clone())), Err(why));
    }
}

#[test]
fn what_lies_in_no_namespace_is_not_injected() {
    assert_eq!(
        KindScope::not_injected("/v1/Node"),
        model::InjectionOutcome::Unreadable(
            "/v1/Node is cluster-scoped and cannot be injected".to_owned()
        )
    );
}

/// The doors ask for these rights, and for no others.
#[test]
fn a_verb_takes_the_rights_of_what_it_does() {
    let update: &[(&str, &str)] = &[("update", "")];
    let approval: &[(&str, &str)] = &[("update", "approval")];
    let delete: &[(&str, &str)] = &[("delete", "")];
    let stages = Lifecycle::ALL.into_iter().map(Some).chain([None]);
    for now in stages {
        assert_eq!(RevisionVerb::Propose.takes(now), update);
        assert_eq!(RevisionVerb::ProposeDeletion.takes(now), update);
        assert_eq!(RevisionVerb::Approve.takes(now), approval);
        assert_eq!(RevisionVerb::Reject.takes(now), approval);
        let both = [delete, approval].concat();
        let wanted = match now {
            Some(Lifecycle::DeletionProposed) => both.as_slice(),
            _ => delete,
        };
        assert_eq!(RevisionVerb::Delete.takes(now), wanted, "{now:?}");
    }
}
