//! `cargo xtask seeds DIR`: every YAML example of the package variant documents, read from their own text.
//!
//! Each example is held against what the text around it says: the tables and results that follow it, or its own
//! lists. Then it is applied to the embedded server, twice from the client's side and twice from the server's: the
//! second time changes nothing, what is stored is what was written, and the sets controller makes of it the variants
//! that the document shows. Nothing of the documents is kept here.

mod document;
mod meaning;
mod served;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use document::Document;

/// Why something does not hold.
type Result<T> = std::result::Result<T, String>;

/// Flags of `seeds`.
#[derive(Debug, clap::Args)]
pub(crate) struct SeedsArgs {
    /// The folder that holds the documents, named by number.
    directory: PathBuf,
}

/// Runs all examples.
pub(crate) fn run(args: &SeedsArgs) -> ExitCode {
    match all(&args.directory) {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            failed.iter().for_each(|line| crate::say(line));
            crate::fail(&format!("{} failures", failed.len()))
        }
        Err(why) => crate::fail(&why),
    }
}

fn all(directory: &Path) -> Result<Vec<String>> {
    let newest = Document::read(directory, "000", "v1alpha2")?;
    let earliest = Document::read(directory, "003", "v1alpha1")?;
    let copy = document::text(directory, "001")?;
    let mut failed = Vec::new();
    match document::same_examples(&newest, &copy) {
        Ok(same) => crate::say(&format!(
            "001: {same} examples are those of 000, word by word"
        )),
        Err(why) => failed.push(format!("001: {why}")),
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("start the runtime: {e}"))?;
    runtime.block_on(async {
        let world = world::World::start().await?;
        for document in [&newest, &earliest] {
            let counted = run_document(&world, document, &mut failed).await;
            crate::say(&format!("{}: {counted}", document.name));
        }
        world.stop().await;
        Ok(failed)
    })
}

/// What was shown of one document; failures are noted.
async fn run_document(
    world: &world::World,
    document: &Document,
    failed: &mut Vec<String>,
) -> String {
    let (mut objects, mut fragments) = (0, 0);
    let before = failed.len();
    for example in &document.examples {
        let place = format!("{}:{}", document.name, example.line);
        match meaning::of(document, example) {
            Err(why) => failed.push(format!("{place}: {why}")),
            Ok(None) => fragments += 1,
            Ok(Some(shown)) => {
                for (object, means) in shown {
                    objects += 1;
                    if let Err(why) = served::hold(world, &object, &means).await {
                        failed.push(format!("{place}: {why}"));
                    }
                }
            }
        }
    }
    let failures = failed.len() - before;
    format!(
        "{} examples, {failures} failures: {objects} objects accepted, meant and at rest when applied again, {fragments} held as a \
         result of another, {} in Go",
        document.examples.len(),
        document.in_go
    )
}
