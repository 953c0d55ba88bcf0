//! A package whose every tag somebody took away in git: what it published still stands on the branch, and nobody approved that it
//! goes. Drafts of upstream alone would take people's edits back without a word, so that none is made until the tag is back (V20).

use model::{Condition, Downstream, NOT_TAGGED, ObjectName, PackageName, Status, Variant};

use super::stop::Stop;
use super::{LostTag, Observed, words};

/// Somebody approved that what an open draft was derived from goes. The draft stays as it is: made anew of upstream alone it would take
/// back what people had published, and an approval would put that on the branch.
fn deleted(lost: &LostTag, package: &PackageName, extra: &[Condition]) -> Box<Stop> {
    let what = match &lost.revision {
        Some(name) => format!("package revision '{name}'"),
        None => format!("what was published of package '{package}'"),
    };
    let again = match &lost.revision {
        Some(name) => format!(
            "; annotate the variant with {}={name} to make the package again of upstream alone",
            words::RECREATE
        ),
        None => String::new(),
    };
    let mut stop = Stop::stalled(
        "DownstreamDeleted",
        format!(
            "{what} was deleted, and the open draft was derived from it; the draft stays as it is"
        ),
    )
    .hint(format!(
        "approve the draft to publish the package again, or delete it{again}"
    ));
    stop.extra = extra.to_vec();
    stop
}

/// Nothing is derived for such a package, until the tag is back or the variant is told to do without.
pub(super) fn lost_tag(
    o: &Observed,
    variant: &Variant,
    extra: &[Condition],
) -> Result<(), Box<Stop>> {
    let Some(lost) = &o.lost_tag else {
        return Ok(());
    };
    let asked = variant.meta.annotations.get(words::RECREATE);
    let named = lost.revision.as_ref().map(ObjectName::as_str);
    if named.is_some() && asked.map(String::as_str) == named {
        return Ok(());
    }
    let Downstream { repo, package } = &variant.spec.downstream;
    if lost.deleted {
        return Err(deleted(lost, package, extra));
    }
    let message = format!(
        "the branch holds what was published of package '{package}' in repo '{repo}', and no tag publishes it any more; nothing is made of upstream alone"
    );
    let back = lost.back();
    let hint = match named {
        Some(name) => format!(
            "{back}; to do without what it held, annotate the variant with {}={name}",
            words::RECREATE
        ),
        None => back,
    };
    let said = Condition::new(
        words::BRANCH_CHANGED,
        Status::True,
        NOT_TAGGED,
        format!("{message}; {hint}"),
    );
    let mut stop = Stop::waiting(NOT_TAGGED, message).hint(hint);
    stop.state = "tag to put back";
    stop.extra = extra.to_vec();
    stop.extra.push(said);
    Err(stop)
}
