//! Where a merge goes by lines (M21): strings of several lines, and files that are no resources. Never Secrets.

use model::{Decision, PackagePath};
use yaml::{Node, NodeKind, Value};

use super::apply::New;
use super::record::Recorder;
use super::sides::Files3;
use super::three::Three;
use super::walk::{DocumentMerge, ValuePlace, Verdict};
use crate::lines::{Woven, stays_readable, weave};
use crate::place::FieldPath;
use crate::values::{looks_secret, text_within_holds_secret};

/// A string that both sides changed; `None` where it is one value.
pub(super) fn string<'a>(
    walk: &mut DocumentMerge<'a, '_, '_>,
    at: &ValuePlace,
    three: Three<'a>,
) -> Option<Verdict<'a>> {
    if walk.record.hides() {
        return None;
    }
    let text = |node: Option<Node<'a>>| node.filter(|n| n.kind() == NodeKind::Scalar)?.as_str();
    let [base, local, upstream] = [three.base, three.local, three.upstream].map(text);
    let (base, local, upstream) = (base?, local?, upstream?);
    if base.lines().count() < 2 {
        return None;
    }
    let secret = [base, local, upstream]
        .into_iter()
        .any(text_within_holds_secret);
    let Woven {
        local: mine,
        upstream: theirs,
        hunks,
    } = readable([base, local, upstream])?;
    let decision = match hunks.as_slice() {
        [] => Decision::Local,
        // Lines of a Secret's manifest do not say that they are.
        _ if secret => return None,
        hunks => walk.record.lines(&at.field, hunks, Decision::Upstream),
    };
    let merged = match decision {
        Decision::Local => mine,
        Decision::Upstream => theirs,
    };
    Some(if merged == local {
        Verdict::Keep
    } else if merged == upstream {
        Verdict::Take(New::Node(three.upstream?))
    } else {
        Verdict::Take(New::Value(Value::Str(merged)))
    })
}

/// A file that both sides changed; `None` where it is one value. Under `Block` the lines in question stay as they are
/// locally, as those of a whole file do.
pub(super) fn file(
    path: &PackagePath,
    sides: Files3<'_>,
    record: &mut Recorder<'_>,
) -> Option<String> {
    let [base, local, upstream] = sides.map(|file| file?.as_text());
    let texts = [base?, local?, upstream?];
    let secret = texts.into_iter().any(looks_secret);
    let resources = [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| path.as_str().ends_with(end));
    if secret && resources {
        return None;
    }
    let woven = readable(texts)?;
    let decision = match woven.hunks.as_slice() {
        [] => Decision::Local,
        // What may be secret is told as a hash of the whole file.
        _ if secret => return None,
        hunks => {
            record.enter(String::new(), false);
            record.lines(&FieldPath::default(), hunks, Decision::Local)
        }
    };
    Some(match decision {
        Decision::Local => woven.local,
        Decision::Upstream => woven.upstream,
    })
}

/// The three texts merged by lines, where both ways to decide can be read as every side can.
fn readable(texts @ [base, local, upstream]: [&str; 3]) -> Option<Woven> {
    let woven = weave(base, local, upstream)?;
    stays_readable(texts, [&woven.local, &woven.upstream]).then_some(woven)
}
