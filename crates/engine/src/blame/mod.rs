//! Who wrote each field of a revision last (F5): a person's commit, a decision of a merge, or a layer of the machine's
//! output. Nothing is written, and no function of others is run.
//!
//! The history is walked from the revision back. A field that a commit of the machine holds as its own output *V* has it is
//! the machine's: *V* is made again, layer by layer, and only where that gives the recorded bytes is a layer named.

mod machine;
mod walk;
mod wrote;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectKey, PackagePath, TreeId};

pub use wrote::Wrote;

use self::machine::Remade;
use self::walk::{Answer, BlameWalk};
use crate::{Engine, Result, held, opening};

/// A field, and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// Its file.
    pub file: PackagePath,
    /// Which document of the file it is in.
    pub document: usize,
    /// `group/Kind/namespace/name`; empty for what is no resource.
    pub resource: String,
    /// Its path, as conflicts name it; empty for a whole file.
    pub path: String,
    /// Who wrote it.
    pub wrote: Wrote,
}

/// Who wrote each field of each file of a revision, in the order in which they stand.
///
/// # Errors
/// There is no such revision; git cannot be read.
pub(crate) async fn fields(engine: &Engine, key: &ObjectKey) -> Result<Vec<Blamed>> {
    let revision = held::revision(engine, key).await?;
    let open = opening::here(engine, &key.namespace, &revision.repository).await?;
    let (own, walked) = (engine.clone(), Arc::clone(&revision));
    let cpu = engine.inner.options.cpu.clone();
    let (fields, answers) = cpu
        .run(move || {
            let mut walk = BlameWalk::new(&own, &open, &walked);
            let fields = walk.fields(walked.tree)?;
            let answers = walk.run(walked.commit, &fields)?;
            Ok::<_, crate::Error>((fields, answers))
        })
        .await??;
    let mut remade: BTreeMap<TreeId, Arc<Remade>> = BTreeMap::new();
    let mut out = Vec::with_capacity(fields.len());
    for (field, answer) in fields.into_iter().zip(answers) {
        let wrote = match answer {
            Answer::Wrote(wrote) => wrote,
            Answer::Machine(output, document) => {
                let layers = match remade.get(&output.tree) {
                    Some(known) => Arc::clone(known),
                    None => {
                        let made = Arc::new(machine::remake(engine, &revision, &output).await?);
                        remade.insert(output.tree, Arc::clone(&made));
                        made
                    }
                };
                layers.wrote(&field.file, document, &field.leaf.path)
            }
        };
        out.push(Blamed {
            file: field.file,
            document: field.leaf.document,
            resource: field.leaf.resource,
            path: field.leaf.path,
            wrote,
        });
    }
    Ok(out)
}
