//! The merge of a map, field by field: local order stays, new fields go where upstream has them.

use yaml::Node;

use super::apply::Op;
use super::value::{Known, Place, Three, Verdict, Walk};

impl<'a> Walk<'a, '_, '_> {
    /// Merges the fields of a local map; says whether any field of the base, or a new one of upstream,
    /// is in it afterwards.
    pub(super) fn fields(&mut self, at: &Place, three: Three<'a>, known: Known<'_>) -> bool {
        let Some(local) = three.local else {
            return false;
        };
        let mut kept = false;
        let mut gone = Vec::new();
        for entry in local.entries() {
            let Some(key) = entry.key.key_text() else {
                continue;
            };
            let place = at.key(key);
            if self.is_own(&place.path) {
                kept = true;
                continue;
            }
            let field = three.map(|node| node.get(key));
            let known = known.field(key).or_comment(entry.value);
            match self.node(&place, field, known) {
                Verdict::Keep => kept |= field.base.is_some(),
                Verdict::Remove => {
                    // What goes is nobody's neighbour: a new field is put beside what stands there in the end.
                    gone.push(key);
                    self.ops.push(Op::Remove { at: place.path });
                    continue;
                }
                Verdict::Take(with) => {
                    kept = true;
                    let at = place.path.clone();
                    self.ops.push(Op::Replace { at, with });
                }
            }
        }
        match three.upstream {
            Some(upstream) => self.new_fields(at, three, upstream, &gone, known) || kept,
            None => kept,
        }
    }

    /// Inserts the fields that are not there locally; says whether there are any.
    fn new_fields(
        &mut self,
        at: &Place,
        three: Three<'a>,
        upstream: Node<'a>,
        gone: &[&str],
        known: Known<'_>,
    ) -> bool {
        let stays = |key: &str| {
            let there = three.local.is_some_and(|local| local.get(key).is_some());
            there && !gone.contains(&key)
        };
        let mut any = false;
        let mut after: Option<String> = None;
        for (index, entry) in upstream.entries().enumerate() {
            let Some(key) = entry.key.key_text() else {
                continue;
            };
            let field = three.map(|node| node.get(key));
            let place = at.key(key);
            if field.local.is_some() || self.is_own(&place.path) {
                if stays(key) {
                    after = Some(key.to_owned());
                }
                continue;
            }
            let Verdict::Take(new) = self.node(&place, field, known.field(key)) else {
                continue;
            };
            let mut next = upstream.entries().skip(index + 1);
            let before = next.find_map(|entry| entry.key.key_text().filter(|key| stays(key)));
            self.ops.push(Op::Insert {
                map: at.path.clone(),
                key: entry.key,
                after: after.clone(),
                before: before.map(str::to_owned),
                with: new,
            });
            any = true;
            // The next new field follows this one, or several in a row would come out reversed.
            after = Some(key.to_owned());
        }
        any
    }
}
