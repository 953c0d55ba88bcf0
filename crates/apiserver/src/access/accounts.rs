//! Service accounts as users: their names and groups.

const PREFIX: &str = "system:serviceaccount:";

/// The name of a service account as a user.
pub(crate) fn name(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// The namespace and name of a service account, from its name as a user.
pub(crate) fn split(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(PREFIX)?.split_once(':')?;
    let whole = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
    whole.then_some((namespace, name))
}

/// The groups of a namespace's service accounts.
pub(crate) fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}
