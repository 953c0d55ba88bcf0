//! What must hold after a merge, found out from the texts alone, never from the merge's own books.

use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, ConflictValue, File, Files};
use package::merge::{MergeOptions, merge};

use super::reading::{Remark, is_yaml};
use super::side::{Fault, Side, generic};
use super::{excuses, spare};

/// Whether some side has no element of the name that a place has.
fn renamed(at: &str, sides: &[Side; 3]) -> bool {
    let Some(end) = at.rfind(']') else {
        return false;
    };
    let element = at.get(..=end).unwrap_or_default();
    let there = |side: &Side| {
        let mut from = side.values.range((element.to_owned(), String::new())..);
        from.next()
            .is_some_and(|((at, _), _)| at.starts_with(element))
    };
    !sides.iter().all(there)
}

/// Everything that does not hold of a merge.
pub(super) fn judge(
    [base, local, upstream]: [&Files; 3],
    result: &Files,
    conflicts: &[Conflict],
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let sides = [base, local, upstream].map(|files| Side::of(files, &mut faults));
    faults.clear();
    let after = Side::of(result, &mut faults);
    readable(result, &mut faults);
    let said = said(conflicts);
    let spare = spare::whole([base, local, upstream], result, conflicts);
    let spare = Side::of(&spare, &mut Vec::new());
    let beside = Beside {
        said: &said,
        spare: &spare,
        deleted: &spare::deleted([base, local, upstream]),
        asked: &excuses::asked(conflicts),
    };
    values(&sides, &after, &beside, &mut faults);
    comments(&sides, &after, &beside, &mut faults);
    faults.extend(names([base, local, upstream], result));
    faults
}

fn readable(result: &Files, faults: &mut Vec<Fault>) {
    for (path, file) in result {
        let text = file.as_text().unwrap_or_default();
        let read = yaml::Stream::parse(text, &yaml::Limits::default());
        if is_yaml(path.as_str()) && read.is_err() {
            let what = format!("{path} is refused by our reader:\n{text}");
            faults.push(Fault {
                rule: "readable",
                what,
            });
        }
    }
}

/// Everything that the records show, as one text.
fn said(conflicts: &[Conflict]) -> String {
    let values = conflicts
        .iter()
        .flat_map(|c| [&c.base, &c.local, &c.upstream]);
    let texts = values.map(|value| match value {
        ConflictValue::Json(json) => json.clone(),
        ConflictValue::Hash(_) | ConflictValue::Absent => String::new(),
    });
    let ids = conflicts
        .iter()
        .map(|c| format!("{} {} {}", c.file, c.resource, c.path));
    texts.chain(ids).collect::<Vec<_>>().join("\n")
}

/// What excuses what would be a fault.
struct Beside<'s> {
    /// Everything that the records show.
    said: &'s str,
    /// What stands whole because a record asks about all of it.
    spare: &'s Side,
    /// The texts of upstream's files that local deleted.
    deleted: &'s str,
    /// The places that records ask about as a whole.
    asked: &'s [String],
}

fn count<K: Ord>(counts: &BTreeMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or_default()
}

/// How often something has to be there; `None` where both sides changed that in their own ways.
fn wanted([base, local, upstream]: [usize; 3]) -> Option<usize> {
    match () {
        () if base == local => Some(upstream),
        () if base == upstream || local == upstream => Some(local),
        () => None,
    }
}

fn values(sides: &[Side; 3], after: &Side, beside: &Beside<'_>, faults: &mut Vec<Fault>) {
    let mut fault = |rule, key: &(String, String), what: String| {
        faults.push(Fault {
            rule,
            what: format!("{} = {:?}: {what}", key.0, key.1),
        });
    };
    let keys: BTreeSet<&(String, String)> = sides
        .iter()
        .chain([after])
        .flat_map(|side| side.values.keys())
        .collect();
    for key in keys {
        let counts = [0, 1, 2].map(|at| sides.get(at).map_or(0, |side| count(&side.values, key)));
        let there = count(&after.values, key);
        let known = || beside.said.contains(key.1.as_str());
        let [_, local, upstream] = counts;
        // What one side calls otherwise is looked for without names.
        let generic_key = (generic(&key.0), key.1.clone());
        let total = [0, 1, 2].map(|at| {
            let side = sides.get(at);
            side.map_or(0, |side| count(&side.loose, &generic_key))
        });
        let in_all = |wanted: usize| wanted == count(&after.loose, &generic_key);
        if renamed(&key.0, sides) && wanted(total).is_none_or(in_all) {
            continue;
        }
        let apart = excuses::added_apart(&key.0, sides);
        let emptied = excuses::emptied(key, sides);
        let asked = excuses::within(beside.asked, &generic_key.0);
        let again = asked || emptied || apart;
        match wanted(counts) {
            Some(wanted) if there < wanted && !known() => {
                // An element of another name holds it where its name was changed.
                let loose = (generic(&key.0), key.1.clone());
                if count(&after.loose, &loose) == 0 {
                    fault("value lost", key, format!("{there} of {wanted}"));
                }
            }
            Some(wanted)
                if there > wanted + count(&beside.spare.values, key) && !known() && !again =>
            {
                fault("value came back", key, format!("{there} of {wanted}"))
            }
            _ => {}
        }
        let loose = (generic(&key.0), key.1.clone());
        let counts = [0, 1, 2].map(|at| sides.get(at).map_or(0, |side| count(&side.loose, &loose)));
        let [base, local_loose, upstream_loose] = counts;
        // What one side deleted, and the other changed, stands beside what came in its place.
        let base = if asked { 0 } else { base };
        let most = local_loose
            .max(upstream_loose)
            .max((local_loose + upstream_loose).saturating_sub(base));
        let most = most + count(&beside.spare.loose, &loose);
        if count(&after.loose, &loose) > most && local + upstream + there > 0 && !emptied && !apart
        {
            fault(
                "value doubled",
                key,
                format!("{} of {most}", count(&after.loose, &loose)),
            );
        }
    }
}

fn comments(sides: &[Side; 3], after: &Side, beside: &Beside<'_>, faults: &mut Vec<Fault>) {
    let all: BTreeSet<&String> = sides
        .iter()
        .chain([after])
        .flat_map(|side| side.comments.keys())
        .collect();
    let none = Vec::new();
    for text in all {
        let places = [0, 1, 2].map(|at| {
            sides
                .get(at)
                .and_then(|side| side.comments.get(text))
                .unwrap_or(&none)
        });
        let counts = places.map(Vec::len);
        let found = after.comments.get(text).unwrap_or(&none);
        let [_, local, upstream] = counts;
        let bare = text.trim_start_matches('#').trim();
        let known = beside.said.contains(bare);
        let spare = beside.spare.comments.get(text).map_or(0, Vec::len);
        // What goes takes upstream's comments with it; what stays as a whole keeps its own, and so does one that was moved.
        let theirs = places.get(2).copied().unwrap_or(&none);
        let gone = beside.deleted.contains(text.as_str())
            || theirs.iter().all(|remark| !after.has(&remark.node));
        let moved = |remark: &Remark| {
            let old = places.first().copied().unwrap_or(&none);
            old.iter().all(|old| old.node != remark.node)
        };
        let kept = |remark: &Remark| {
            let lacks = |side: &Side| !side.has(&remark.node);
            moved(remark) || sides.iter().skip(1).any(lacks)
        };
        let whole = found.iter().all(kept);
        let apart = excuses::resources(found, sides) || excuses::elements(found, sides);
        let again = excuses::all_asked(beside.asked, found) || apart;
        let mut fault = |rule, what: String| {
            faults.push(Fault {
                rule,
                what: format!("{text:?}: {what}; {places:?}, now {found:?}"),
            });
        };
        match wanted(counts) {
            Some(wanted) if found.len() < wanted && !known && !gone => {
                fault("comment lost", format!("{} of {wanted}", found.len()))
            }
            Some(wanted) if found.len() > wanted + spare && !known && !whole && !again => {
                fault("comment came back", format!("{} of {wanted}", found.len()))
            }
            _ => {}
        }
        if found.len() > local.max(upstream) + spare && !apart {
            fault(
                "comment doubled",
                format!("{} of {}", found.len(), local.max(upstream)),
            );
        }
        let [base, local, upstream] = places.map(Vec::as_slice);
        // One that stands once everywhere can be followed.
        if let ([now], [_] | [], [_] | [], [_] | []) = (found.as_slice(), base, local, upstream)
            && !stands([base.first(), local.first(), upstream.first()], now, after)
            && !excuses::renamed([local.first(), upstream.first()], now, sides)
            && !excuses::same_list([local.first(), upstream.first()], now, after)
        {
            fault("comment moved", String::new());
        }
    }
}

/// Whether a comment stands where one of the sides that moved it, or all of them, have it.
fn stands(sides: [Option<&Remark>; 3], now: &Remark, after: &Side) -> bool {
    let [base, local, upstream] = sides;
    let choices: Vec<&Remark> = match (local, upstream) {
        (Some(local), Some(upstream)) if Some(local) == base => vec![upstream],
        (Some(local), Some(upstream)) if Some(upstream) == base => vec![local],
        (local, upstream) => local.into_iter().chain(upstream).collect(),
    };
    let all: Vec<&Remark> = local.into_iter().chain(upstream).collect();
    if !now.own {
        return all
            .iter()
            .any(|side| !side.own && alike(&side.next, &now.next));
    }
    let next = choices.iter().any(|side| side.next == now.next);
    let previous = all.iter().any(|side| side.previous == now.previous);
    let gone = choices
        .iter()
        .all(|side| side.behind || !after.has(&side.node));
    // What stands behind all that a map holds stays behind it, whatever comes last there now.
    let inside = now.behind
        && all
            .iter()
            .any(|side| side.behind && side.holder == now.holder);
    // What stands on top of a file stays there, whatever comes first now.
    next || inside
        || (previous && (gone || now.previous.is_empty()))
        || (previous && all.iter().any(|side| side.next == now.next))
}

/// Whether two lines are the same entry: its value may have changed.
fn alike(a: &str, b: &str) -> bool {
    let key = |text: &str| text.split([':', '=']).next().unwrap_or_default().to_owned();
    a == b || key(a) == key(b) || (a.starts_with("- ") && b.starts_with("- "))
}

/// Names that stand twice in a list although no side has such a list.
fn names(sides: [&Files; 3], result: &Files) -> Vec<Fault> {
    let twice = |files: &Files| -> BTreeSet<String> {
        let texts = files.iter().filter(|(path, _)| is_yaml(path.as_str()));
        let texts = texts.filter_map(|(_, file)| file.as_text());
        let documents =
            texts.filter_map(|text| serde_saphyr::from_multiple::<serde_json::Value>(text).ok());
        let mut out = BTreeSet::new();
        for document in documents.flatten() {
            doubled(&document, &mut out);
        }
        out
    };
    let known: BTreeSet<String> = sides.into_iter().flat_map(twice).collect();
    let new = twice(result)
        .into_iter()
        .filter(|name| !known.contains(name));
    new.map(|what| Fault {
        rule: "name doubled",
        what,
    })
    .collect()
}

fn doubled(value: &serde_json::Value, out: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.values().for_each(|value| doubled(value, out)),
        serde_json::Value::Array(items) => {
            let mut seen = BTreeSet::new();
            for item in items {
                if let Some(name) = item.get("name").and_then(serde_json::Value::as_str)
                    && !seen.insert(name)
                {
                    out.insert(name.to_owned());
                }
                doubled(item, out);
            }
        }
        _ => {}
    }
}

/// The laws that hold whatever the sides are.
pub(super) fn laws([base, local, upstream]: [&Files; 3], options: &MergeOptions) -> Vec<Fault> {
    let laws = [
        ("merge(b, b, x) = x", [base, base, upstream], upstream),
        ("merge(b, x, b) = x", [base, local, base], local),
        ("merge(b, x, x) = x", [base, upstream, upstream], upstream),
    ];
    let mut faults = Vec::new();
    for (rule, [a, b, c], wanted) in laws {
        let merged = merge(a, b, c, options);
        let holds =
            merged.is_ok_and(|merged| same(&merged.files, wanted) && merged.conflicts.is_empty());
        if !holds {
            faults.push(Fault {
                rule,
                what: String::new(),
            });
        }
    }
    let [first, second] = [0, 1].map(|_| merge(base, local, upstream, options));
    if first != second {
        faults.push(Fault {
            rule: "the same twice",
            what: String::new(),
        });
    }
    faults
}

fn same(a: &Files, b: &Files) -> bool {
    let bytes = |file: &File| file.bytes().to_vec();
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.0 == b.0 && bytes(a.1) == bytes(b.1))
}
