//! Measures a fan-out: N drafts of 12 files in one repository, then their approval.
//!
//! `cargo run -p store --release --example fan -- 1000 [--no-sync] [--http]`

use std::sync::Arc;
use std::time::Instant;

use model::{File, Files, PackagePath};
use store::{
    Answer, BranchEdit, CommitSpec, Content, Dir, Expect, GitOptions, GitStore, RefEdit, RefName,
    RemoteSpec, Repo, Signature, Stats, Store, Submission, Sync, Time, Written,
};
use testkit::git_http::Server;

type Failure = Box<dyn std::error::Error + Send + std::marker::Sync>;

fn who() -> Signature {
    Signature {
        name: "fan".into(),
        email: "fan@example.com".into(),
        time: Time::utc(1_700_000_000),
    }
}

/// About 8 KB in 12 files, of which two differ from target to target.
fn package(n: usize) -> Result<Files, Failure> {
    let mut all = Files::new();
    for file in 0..12 {
        let path = match file {
            0 => "Kptfile".to_owned(),
            1 => "package-context.yaml".to_owned(),
            _ => format!("manifests/resource-{file}.yaml"),
        };
        let own = if file < 2 {
            format!("name: target-{n}\n")
        } else {
            String::new()
        };
        let body: String = (0..12)
            .map(|line| {
                format!("  key-{file}-{line}: some value that is {line} long enough # why\n")
            })
            .collect();
        let text = format!("apiVersion: v1\nkind: ConfigMap\n{own}data:\n{body}");
        all.insert(PackagePath::parse(&path)?, File::text(text));
    }
    Ok(all)
}

fn draft(
    repo: &dyn Repo,
    base: model::CommitId,
    n: usize,
) -> Result<(Written, Submission), Failure> {
    let written = repo.write(CommitSpec {
        base: Some(base),
        dir: &Dir::parse(&format!("targets/p{n}"))?,
        content: Content::Files(&package(n)?, &[]),
        parents: &[base],
        author: &who(),
        committer: &who(),
        message: "Creating new revision by cloning\n\noffshoot: {}\n",
    })?;
    let name = RefName::branch(&format!("drafts/targets/p{n}/packagevariant-1"))?;
    let refs = vec![RefEdit::create(name, written.commit())];
    let intent = Some(vec![b'r'; 4096]);
    Ok((
        written.clone(),
        Submission {
            written: vec![written],
            refs,
            intent,
            ..Submission::default()
        },
    ))
}

fn approval(n: usize, draft: &Written) -> Result<Submission, Failure> {
    let name = RefName::branch(&format!("drafts/targets/p{n}/packagevariant-1"))?;
    let branch = BranchEdit {
        branch: RefName::branch("main")?,
        dir: Dir::parse(&format!("targets/p{n}"))?,
        expect: Expect::Absent,
        content: draft.tree(),
        second_parent: Some(draft.commit()),
        author: who(),
        committer: who(),
        message: format!("Approving package revision targets/p{n}/1\n"),
        tags: vec![RefName::tag(&format!("targets/p{n}/v1"))?],
    };
    let refs = vec![RefEdit::delete(name, draft.commit())];
    Ok(Submission {
        refs,
        branch: Some(branch),
        ..Submission::default()
    })
}

async fn submit_all(repo: &Arc<dyn Repo>, all: Vec<Submission>) -> Result<(), Failure> {
    let mut tasks = Vec::new();
    for one in all {
        let repo = Arc::clone(repo);
        tasks.push(tokio::spawn(async move { repo.submit(one).await }));
    }
    for task in tasks {
        match task.await?? {
            Answer::Published(_) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(())
}

fn report(phase: &str, n: usize, since: Instant, before: Stats, now: Stats) {
    let ms = since.elapsed().as_secs_f64() * 1e3;
    println!(
        "{phase:<22} {n:>6}  {ms:>9.1} ms  packs {:>3}  pack KB {:>7}  objects {:>6}  ref tx {:>3}  fsyncs {:>4}  batches {:>3}  pushes {:>2}",
        now.packs - before.packs,
        (now.pack_bytes - before.pack_bytes) / 1024,
        now.objects - before.objects,
        now.ref_transactions - before.ref_transactions,
        now.fsyncs - before.fsyncs,
        now.batches - before.batches,
        now.pushes - before.pushes,
    );
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let n: usize = args.next().map(|n| n.parse()).transpose()?.unwrap_or(1_000);
    let flags: Vec<String> = args.collect();
    let has = |flag: &str| flags.iter().any(|f| f == flag);
    let sync = if has("--no-sync") {
        Sync::Never
    } else {
        Sync::Always
    };
    let dir = tempfile::tempdir()?;
    let store = GitStore::new(
        dir.path().join("data"),
        GitOptions {
            sync,
            ..GitOptions::default()
        },
    );
    let mut spec = RemoteSpec::new(format!("file://{}/repo.git", dir.path().display()));
    if has("--http") {
        drop(
            store
                .open(RemoteSpec {
                    create_repository: true,
                    ..spec
                })
                .await?,
        );
        let config = "\n[http]\n\treceivepack = true\n";
        let path = dir.path().join("repo.git/config");
        std::fs::write(&path, std::fs::read_to_string(&path)? + config)?;
        spec = RemoteSpec::new(Server::start(dir.path().to_owned())?.url("repo.git"));
    }
    spec.create_repository = !has("--http");
    spec.branch = Some("main".to_owned());
    spec.create_branch = Some(who());
    let repo = store.open(spec).await?;
    write_all(&repo, n, "drafts", 0).await?;
    write_all(&repo, n, "drafts on full main", n).await?;
    read_all(&repo, n).await?;
    let size: u64 = walk(&dir.path().join("repo.git/objects/pack"))?;
    println!("packs on disk: {} KB", size / 1024);
    Ok(())
}

fn main_head(repo: &dyn Repo) -> Result<model::CommitId, Failure> {
    Ok(*repo
        .refs()?
        .get(&RefName::branch("main")?)
        .ok_or("there is no main")?)
}

async fn write_all(
    repo: &Arc<dyn Repo>,
    n: usize,
    phase: &str,
    from: usize,
) -> Result<(), Failure> {
    let base = main_head(&**repo)?;
    let (start, before) = (Instant::now(), repo.stats());
    let mut drafts = Vec::new();
    let mut all = Vec::new();
    for i in from..from + n {
        let (written, submission) = draft(&**repo, base, i)?;
        drafts.push(written);
        all.push(submission);
    }
    report(&format!("{phase}: write"), n, start, before, repo.stats());
    submit_all(repo, all).await?;
    report(&format!("{phase}: durable"), n, start, before, repo.stats());

    let (start, before) = (Instant::now(), repo.stats());
    let mut all = Vec::new();
    for (i, written) in drafts.iter().enumerate() {
        all.push(approval(from + i, written)?);
    }
    submit_all(repo, all).await?;
    report("approvals: durable", n, start, before, repo.stats());
    Ok(())
}

async fn read_all(repo: &Arc<dyn Repo>, n: usize) -> Result<(), Failure> {
    let (start, before) = (Instant::now(), repo.stats());
    let refs = repo.refs()?;
    report(
        &format!("list {} refs", refs.len()),
        n,
        start,
        before,
        repo.stats(),
    );
    let (start, before) = (Instant::now(), repo.stats());
    let head = main_head(&**repo)?;
    let found = repo.packages(repo.commit(head)?.tree, &Dir::root())?.found;
    for (_, tree) in &found {
        drop(repo.snapshot(*tree)?);
    }
    report(
        "read all packages",
        found.len(),
        start,
        before,
        repo.stats(),
    );
    let (start, before) = (Instant::now(), repo.stats());
    for (dir, _) in &found {
        repo.last_change(head, dir)?
            .ok_or("a package that nobody changed")?;
    }
    report(
        "last change of each",
        found.len(),
        start,
        before,
        repo.stats(),
    );
    let (start, before) = (Instant::now(), repo.stats());
    for i in 0..20 {
        let (_, one) = draft(&**repo, head, 10_000_000 + i)?;
        submit_all(repo, vec![one]).await?;
    }
    report("one by one", 20, start, before, repo.stats());
    Ok(())
}

fn walk(dir: &std::path::Path) -> Result<u64, Failure> {
    let mut size = 0;
    for entry in std::fs::read_dir(dir)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}
