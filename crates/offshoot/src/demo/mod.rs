//! `offshoot demo`: the whole story in a fresh directory, told and checked.
//!
//! Everything that it prints as a fact it has asserted: a claim that does not hold ends the demo
//! with exit code 1. It works as a person would, through the API with the kubeconfig and through
//! git; it never reaches into the server.

mod chapters;
mod later;
mod packages;
mod story;
mod world;

use std::process::ExitCode;

use crate::cli::DemoArgs;
use crate::exit::ExitFailure;
use crate::shell::quoted;
use story::Story;
use world::World;

/// Tells the story.
///
/// # Errors
/// A claim did not hold, or the world could not be made.
pub(crate) async fn run(args: &DemoArgs) -> Result<ExitCode, ExitFailure> {
    let mut story = Story::new(args.quiet, chapters::TITLES.len());
    let mut world = World::new(args.keep.as_deref())?;
    let told = chapters::tell(&mut story, &mut world).await;
    world.stop().await;
    story.end();
    told?;
    if let Some(directory) = &args.keep {
        // The lines below are typed from anywhere.
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        story.say(&format!(
            "Everything is still in {}. Look at it:
  offshoot up --data {1}/data &
  export KUBECONFIG={1}/data/kubeconfig
  kubectl get pvset,pvar,pkgrev
  git -C {1}/edge-eu.git log --graph --oneline --all",
            directory.display(),
            quoted(&directory.to_string_lossy())
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
