//! The yardstick: the same drafts by the plain git command.

use super::Result;
use super::package::Files;
use super::world::git;

/// One clone, then copy, commit and push each of them.
pub(super) fn drafts(n: usize, files: &Files) -> Result<()> {
    let root = tempfile::tempdir().map_err(|e| e.to_string())?;
    git(root.path(), &["init", "--quiet", "--bare", "deploy.git"])?;
    git(root.path(), &["clone", "--quiet", "deploy.git", "checkout"])?;
    let checkout = root.path().join("checkout");
    git(
        &checkout,
        &["commit", "--quiet", "--allow-empty", "--message", "start"],
    )?;
    for i in 0..n {
        let branch = format!("drafts/bench-{i}/packagevariant-1");
        git(&checkout, &["checkout", "--quiet", "-b", &branch, "HEAD"])?;
        let package = checkout.join(format!("bench-{i}"));
        std::fs::create_dir_all(&package).map_err(|e| e.to_string())?;
        for (path, text) in files {
            std::fs::write(package.join(path), text).map_err(|e| e.to_string())?;
        }
        git(&checkout, &["add", "--all"])?;
        git(&checkout, &["commit", "--quiet", "--message", "draft"])?;
        git(&checkout, &["push", "--quiet", "origin", &branch])?;
    }
    Ok(())
}
