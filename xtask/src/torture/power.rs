//! `cargo xtask power`: the machine of the real program loses its power in the middle of a fan-out, again and again.
//!
//! The data directory and a repository lie on an ext4 file system of their own in a file. At a cut the program stands
//! still, and the file is copied as it is: what the kernel held in memory alone is not in it, as nothing asked for
//! it to be written. The copy is mounted in its place, which plays ext4's journal back, and the program starts on it.
//! A disk that loses what it said to have written, or writes out of order between two flushes, is not played.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use super::fleet::Fleet;
use super::world::{Dice, World, text};
use super::{Result, ending, program, runtime};

/// The kernel writes metadata by itself only this often, in seconds: nothing lasts by luck.
const MOUNT: &str = "loop,commit=300,noatime";

/// Flags of `power`.
#[derive(Debug, clap::Args)]
pub(crate) struct PowerArgs {
    /// How many cuts.
    #[arg(long, default_value_t = 20)]
    times: u64,
    /// The number that decides when they come and what people try.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many targets each fan-out has.
    #[arg(long, default_value_t = 30)]
    targets: usize,
    /// Start the program with `--no-fsync`: shows that losses are noticed.
    #[arg(long)]
    no_fsync: bool,
    /// Where to write what everybody did, also when nothing broke.
    #[arg(long, value_name = "FILE")]
    story: Option<PathBuf>,
    /// The program; the workspace's release build by default.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// Cuts the power so many times, or until a promise is broken.
pub(crate) fn run(args: &PowerArgs) -> ExitCode {
    let (program, runtime) = match program(args.server.as_ref()).and_then(|p| Ok((p, runtime()?))) {
        Ok(both) => both,
        Err(why) => return crate::fail(&why),
    };
    let mut disk = match Disk::new() {
        Ok(disk) => disk,
        Err(why) => {
            crate::say(&format!(
                "skipped: a file system of its own cannot be mounted here: {why}"
            ));
            return ExitCode::SUCCESS;
        }
    };
    let flags: &[&str] = if args.no_fsync {
        &["--batch-limit", "4", "--no-fsync"]
    } else {
        &["--batch-limit", "4"]
    };
    let elsewhere = disk.below.join("remote");
    let world = World::at(
        &program,
        runtime.handle().clone(),
        &disk.root,
        &elsewhere,
        flags,
    );
    let world = match world {
        Ok(world) => Arc::new(world),
        Err(why) => return crate::fail(&why),
    };
    let done = cuts(&world, &mut disk, args);
    if let Ok(told) = &done {
        if let Some(story) = &args.story {
            world.ledger.write(story);
        }
        crate::say(told);
        world.server.kill();
        disk.remove();
        return ExitCode::SUCCESS;
    }
    ending(&world, args.seed, done.map(drop))
}

fn cuts(world: &Arc<World>, disk: &mut Disk, args: &PowerArgs) -> Result<String> {
    let mut fleet = Fleet::new(args.targets);
    let mut dice = Dice::new(args.seed);
    let (mut midway, mut worst) = (0, Duration::ZERO);
    // What git made before anybody was promised anything.
    order("sync", &[])?;
    for cut in 1..=args.times {
        let crew = fleet.begin(world, args.seed)?;
        fleet.moment(world, &mut dice);
        let cutting = disk.cut(world);
        crew.end(world);
        cutting?;
        let drafts = fleet.drafts(world);
        world.ledger.ended(&format!("a power cut, {drafts} drafts"));
        midway += u64::from((1..fleet.near()).contains(&drafts));
        world.server.start()?;
        let crew = fleet.work_on(world, args.seed);
        dice.pause(2_500);
        crew.end(world);
        let rested = fleet.examine(world)?;
        worst = worst.max(rested);
        crate::say(&format!(
            "{cut} cuts, the last with {drafts} of {} drafts made, at rest after {:.1} s; {}",
            fleet.near(),
            rested.as_secs_f64(),
            world.ledger.summary()
        ));
    }
    Ok(format!(
        "power: {} cuts, {midway} of them midway of a fan-out, nothing broken; {} acknowledged writes of a clerk are there; at \
         rest after {:.1} s at most",
        args.times,
        fleet.kept(),
        worst.as_secs_f64()
    ))
}

/// Runs a command; what it says where it fails.
fn order(command: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(command).args(arguments).output();
    let output = output.map_err(|e| format!("{command}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{command} {}: {}",
        arguments.join(" "),
        said.trim()
    ))
}

/// A file system in a file.
struct Disk {
    below: PathBuf,
    root: PathBuf,
    image: PathBuf,
    cuts: u64,
}

impl Disk {
    fn new() -> Result<Self> {
        let below = tempfile::Builder::new()
            .prefix("offshoot-power-")
            .tempdir()
            .map_err(|e| format!("make a directory: {e}"))?
            .keep();
        let (root, image) = (below.join("root"), below.join("disk-0"));
        let disk = Self {
            below,
            root,
            image,
            cuts: 0,
        };
        disk.format().inspect_err(|_| disk.remove())?;
        Ok(disk)
    }

    fn format(&self) -> Result<()> {
        std::fs::create_dir_all(&self.root).map_err(|e| e.to_string())?;
        let file = std::fs::File::create(&self.image).map_err(|e| e.to_string())?;
        file.set_len(1 << 30).map_err(|e| e.to_string())?;
        order("mkfs.ext4", &["-q", text(&self.image)?])?;
        self.mount(&self.image)
    }

    fn mount(&self, image: &Path) -> Result<()> {
        order("mount", &["-o", MOUNT, text(image)?, text(&self.root)?])
    }

    /// The power goes, and comes back.
    fn cut(&mut self, world: &World) -> Result<()> {
        let process = world.server.process().ok_or("the server is gone")?;
        order("kill", &["-STOP", &process.to_string()])?;
        self.cuts += 1;
        let next = self.below.join(format!("disk-{}", self.cuts));
        let copied = settled(process).and_then(|()| copy(&self.image, &next));
        world.server.kill();
        copied?;
        // Programs that it started may hold the old one for a moment.
        order("umount", &["--lazy", text(&self.root)?])?;
        drop(std::fs::remove_file(&self.image));
        self.image = next;
        self.mount(&self.image)
    }

    fn remove(&self) {
        for _ in 0..2 {
            if let Ok(root) = text(&self.root) {
                drop(order("umount", &["--lazy", root]));
            }
        }
        drop(std::fs::remove_dir_all(&self.below));
    }
}

/// Waits until no thread of a process that stands still is in the middle of a write.
fn settled(process: u32) -> Result<()> {
    for _ in 0..500 {
        let threads = std::fs::read_dir(format!("/proc/{process}/task"));
        let threads = threads.map_err(|e| format!("look at the server: {e}"))?;
        let at_work = threads.flatten().any(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let state = stat
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next());
            !matches!(state, Some('T' | 't'))
        });
        if !at_work {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the server does not stand still".to_owned())
}

/// Copies a disk as it is at one moment: again until nothing was written to it meanwhile.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for _ in 0..20 {
        order("cp", &["--sparse=always", text(from)?, text(to)?])?;
        if order("cmp", &["--quiet", text(from)?, text(to)?]).is_ok() {
            return Ok(());
        }
    }
    Err("the disk does not stand still".to_owned())
}
