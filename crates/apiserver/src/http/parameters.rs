//! What a list is asked for: its parameters, and what is wrong with them.

use objects::schema::FieldError;
use objects::{Failure, Reason};

use super::query::Query;
use crate::verbs::read::ListQuery;

/// The version parameter of a read; zero and absent ask for anything.
pub(super) fn rv_parameter(query: &Query, list: bool) -> Result<Option<u64>, Failure> {
    let text = query.get("resourceVersion");
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    // Go's ParseUint takes digits alone.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let parsed = Some(text).filter(|_| digits).map(str::parse::<u64>);
    let parsed = parsed.and_then(Result::ok).ok_or(());
    let problem = match digits {
        true => "value out of range",
        false => "invalid syntax",
    };
    let why = format!(
        "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {problem}"
    );
    parsed.map(Some).map_err(|_| {
        if list {
            Failure::bad_request(format!("invalid resource version: {why}"))
        } else {
            Failure::new(500, Reason::Unknown, why)
        }
    })
}

/// What is wrong with the parameters of a list: all of it at once.
fn list_problems(query: &Query, token: &str) -> Vec<FieldError> {
    const FIELD: &str = "resourceVersionMatch";
    let (version, matching) = (query.get("resourceVersion"), query.get(FIELD));
    let mut problems = Vec::new();
    let mut forbidden = |field: &str, why: &str| problems.push(FieldError::forbidden(field, why));
    if !matching.is_empty() {
        if version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            forbidden(FIELD, why);
        }
        if !token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            forbidden(FIELD, why);
        }
        if matching == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            forbidden(FIELD, why);
        }
    }
    if query.has("sendInitialEvents") {
        let why = "sendInitialEvents is forbidden for list";
        forbidden("sendInitialEvents", why);
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        let known = ["Exact", "NotOlderThan", ""];
        let at = problems.iter().position(|p| p.path == "sendInitialEvents");
        let at = at.unwrap_or(problems.len());
        problems.insert(at, FieldError::not_supported(FIELD, matching, &known));
    }
    problems
}

/// The answer to parameters of a list or a watch that are wrong.
pub(super) fn refused(problems: &[FieldError]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid("meta.k8s.io", "ListOptions", "", problems))
}

/// Reads the parameters of a list.
pub(super) fn list_query(query: &Query) -> Result<ListQuery, Failure> {
    query.number("timeoutSeconds")?;
    let limit = query.number("limit")?.unwrap_or(0);
    let token = query.get("continue").to_owned();
    let (version, matching) = (
        query.get("resourceVersion"),
        query.get("resourceVersionMatch"),
    );
    let problems = list_problems(query, &token);
    refused(&problems)?;
    let versioned = !version.is_empty() && version != "0";
    let exact = if token.is_empty()
        && (matching == "Exact" || (matching.is_empty() && limit > 0 && versioned))
    {
        rv_parameter(query, true)?
    } else {
        None
    };
    Ok(ListQuery {
        labels: query.get("labelSelector").to_owned(),
        fields: query.get("fieldSelector").to_owned(),
        // What any version answers is answered at once, and whole.
        limit: match version {
            "0" if token.is_empty() => 0,
            _ => usize::try_from(limit).unwrap_or(0),
        },
        overruled: versioned && !token.is_empty(),
        token,
        exact,
    })
}
