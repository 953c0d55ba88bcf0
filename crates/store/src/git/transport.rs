//! Running the `git` program: for conversations with remotes and for upkeep, never for anything
//! that we read or decide.
//!
//! Nothing of the user's environment or configuration takes part. Credentials travel in an
//! environment variable of the one process that needs them, for the one host that they are meant
//! for; redirects are not followed. They never stand on a command line or in an error.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use model::Class;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::disk::Who;
use crate::error::{Error, Missing, Result};
use crate::git::bounds::{Bounds, Cut, end};
use crate::git::private;
use crate::remote::Credential;

/// Runs a program with a bound on memory, which it hands on to what it starts.
const BOUNDED: &str = "ulimit -d \"$0\" && exec \"$@\"";
/// Bytes for any command, for a fetch unless it needs more, and for one that only lists refs (beside those).
const MEMORY: u64 = 2 << 30;
pub(crate) const USUAL: u64 = 512 << 20;
const MEMORY_OF_A_LOOK: u64 = 128 << 20;

/// The program, one git directory, one remote.
#[derive(Clone)]
pub(crate) struct Git {
    pub(crate) program: PathBuf,
    pub(crate) dir: PathBuf,
    /// A directory of ours for what must be a file.
    pub(crate) home: PathBuf,
    pub(crate) url: String,
    pub(crate) bounds: Bounds,
    /// Bytes that a fetch may have.
    pub(crate) memory: u64,
    pub(crate) runtime: tokio::runtime::Handle,
}

/// What it said.
pub(crate) struct Said {
    pub(crate) fine: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Whether it needs more memory than it may have.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        let known = ["ut of memory", "unable to create thread"];
        !self.fine && known.iter().any(|part| self.err.contains(part))
    }
}

/// Why nothing, or nothing certain, was said.
pub(crate) enum Mute {
    /// It never ran.
    Start(Error),
    /// It was ended.
    Cut(Cut),
    /// It printed more than is read, and was ended.
    Much,
}

/// A secret for one process.
#[derive(Default)]
struct Secret {
    header: Option<String>,
    hide: Vec<String>,
    ca_file: Option<PathBuf>,
}

impl Git {
    /// The same, with as much memory as any command may have.
    pub(crate) fn large(&self) -> Self {
        Self {
            memory: MEMORY,
            ..self.clone()
        }
    }

    /// Runs a command on the git directory, without a remote.
    pub(crate) fn here(&self, args: &[&str], input: Option<Vec<u8>>) -> Result<String> {
        if self.bounds.are_over() {
            return Err(self.error("tidy", Class::Unavailable, Cut::Ended.text()));
        }
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        match self
            .runtime
            .block_on(self.run(&args, input, &Secret::default()))
        {
            Ok(said) if said.fine => Ok(said.out),
            Ok(said) => Err(self.error("tidy", Class::Unavailable, said.err.trim())),
            Err(Mute::Start(error)) => Err(error),
            Err(Mute::Cut(cut)) => Err(self.error("tidy", Class::Unavailable, cut.text())),
            Err(Mute::Much) => Err(self.error("tidy", Class::Limit, "git does not stop talking")),
        }
    }

    /// Runs a command against the remote with somebody's credentials.
    pub(crate) fn there(
        &self,
        args: &[String],
        input: Option<Vec<u8>>,
        who: &Who,
    ) -> Result<Said, Mute> {
        if self.bounds.are_over() {
            let error = self.error("talk to", Class::Unavailable, Cut::Ended.text());
            return Err(Mute::Start(error));
        }
        self.runtime.block_on(async {
            let secret = self.bounds.keep(self.secret(who)).await;
            // Nothing was sent yet.
            let late =
                |cut: Cut| self.error("read the credentials for", Class::Unavailable, cut.text());
            let secret = secret
                .unwrap_or_else(|cut| Err(late(cut)))
                .map_err(Mute::Start)?;
            let mut said = self.run(args, input, &secret).await?;
            for hidden in secret.hide.iter().filter(|h| !h.is_empty()) {
                said.err = said.err.replace(hidden, "***");
                said.out = said.out.replace(hidden, "***");
            }
            Ok(said)
        })
    }

    pub(crate) fn error(&self, attempt: &'static str, class: Class, text: &str) -> Error {
        Error::Remote {
            attempt,
            url: self.url.clone(),
            class,
            text: text.to_owned(),
        }
    }

    /// The same of a failure that may be for want of something.
    pub(crate) fn missing(
        &self,
        missing: Option<Missing>,
        attempt: &'static str,
        class: Class,
        text: String,
    ) -> Error {
        let url = self.url.clone();
        match missing {
            Some(Missing::Login) => Error::Unauthenticated { attempt, url },
            Some(Missing::Secret) => Error::NoSecret { attempt, url, text },
            None => self.error(attempt, class, &text),
        }
    }

    async fn secret(&self, who: &Who) -> Result<Secret> {
        let failed = |e: crate::CredentialError| {
            let missing = e.absent.then_some(Missing::Secret);
            self.missing(missing, "read the credentials for", e.class, e.text)
        };
        let mut secret = Secret::default();
        match who.credential(&self.url).await.map_err(failed)? {
            Credential::None => {}
            Credential::Basic { username, password } => {
                let pair = BASE64.encode(format!("{username}:{password}"));
                secret.header = Some(format!("Authorization: Basic {pair}"));
                secret.hide = vec![pair, password];
            }
            Credential::Bearer { token } => {
                secret.header = Some(format!("Authorization: Bearer {token}"));
                secret.hide = vec![token];
            }
        }
        if secret
            .header
            .as_ref()
            .is_some_and(|h| h.contains(['\n', '\r', '\0']))
        {
            return Err(self.error(
                "use the credentials for",
                Class::Invalid,
                "they hold a line break",
            ));
        }
        if let Some(pem) = who.ca_bundle(&self.url).await.map_err(failed)? {
            secret.ca_file = Some(self.ca_file(&pem)?);
        }
        Ok(secret)
    }

    /// A file with these certificates. It is named by what it holds: another registration of the URL may trust others,
    /// and its conversation may run beside this one.
    fn ca_file(&self, pem: &[u8]) -> Result<PathBuf> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let digest = Sha256::digest(pem);
        let name: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
        let path = self.home.join(format!("ca-{name}.pem"));
        if std::fs::read(&path).is_ok_and(|there| there == pem) {
            return Ok(path);
        }
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = self
            .home
            .join(format!("ca-{name}.{}-{number}", std::process::id()));
        let written = private::create(&draft)
            .and_then(|mut file| file.write_all(pem))
            .and_then(|()| std::fs::rename(&draft, &path));
        written.map_err(|e| Error::io(format!("write {}", path.display()), e))?;
        Ok(path)
    }

    async fn run(
        &self,
        args: &[String],
        input: Option<Vec<u8>>,
        secret: &Secret,
    ) -> Result<Said, Mute> {
        let start = |e: std::io::Error| {
            let text = format!("the program {} cannot be run: {e}", self.program.display());
            Mute::Start(self.error("talk to", Class::Unavailable, &text))
        };
        let mut child = self.command(args, secret).spawn().map_err(start)?;
        let (_, most) = self.bounds.refs;
        let talk = self.bounds.keep(converse(&mut child, input, most)).await;
        let done = match talk {
            Ok(Ok(Some(done))) => done,
            Ok(Err(error)) => return Err(start(error)),
            broken => {
                end(&mut child).await;
                return Err(broken.map_or_else(Mute::Cut, |_| Mute::Much));
            }
        };
        Ok(Said {
            fine: done.status.success(),
            out: String::from_utf8_lossy(&done.out).into_owned(),
            err: String::from_utf8_lossy(&done.err).into_owned(),
        })
    }

    fn command(&self, args: &[String], secret: &Secret) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(BOUNDED).arg(self.memory(args));
        command.arg(&self.program).args(args).current_dir(&self.dir);
        // Whoever ends it ends what it started, too.
        command.kill_on_drop(true).process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.env_clear();
        let passed = [
            "PATH",
            "TMPDIR",
            "http_proxy",
            "https_proxy",
            "no_proxy",
            "HTTPS_PROXY",
            "NO_PROXY",
            "ALL_PROXY",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
        ];
        for name in passed {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("GIT_DIR", &self.dir)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", &self.home);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("LC_ALL", "C");
        command
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0");
        if let Some(path) = &secret.ca_file {
            command.env("GIT_SSL_CAINFO", path);
        }
        let config = self.config(secret);
        command.env("GIT_CONFIG_COUNT", config.len().to_string());
        for (at, (key, value)) in config.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command
    }

    /// Kilobytes of data that a command may have: git holds all refs that a remote tells of.
    fn memory(&self, args: &[String]) -> String {
        let (_, bytes) = self.bounds.refs;
        let most = match args.first().map(String::as_str) {
            Some("ls-remote") => MEMORY_OF_A_LOOK.saturating_add(bytes.saturating_mul(4)),
            Some("fetch") => self.memory,
            _ => MEMORY,
        };
        (most >> 10).to_string()
    }

    fn config(&self, secret: &Secret) -> Vec<(String, String)> {
        let silence = self.bounds.silence.as_secs().max(1).to_string();
        let mut config: Vec<(String, String)> = [
            ("protocol.allow", "never"),
            ("protocol.http.allow", "always"),
            ("protocol.https.allow", "always"),
            ("http.followRedirects", "false"),
            ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", silence.as_str()),
            ("credential.helper", ""),
            ("core.hooksPath", "/dev/null"),
            ("core.fsync", "committed"),
            ("fetch.unpackLimit", "1"),
            ("fetch.recurseSubmodules", "false"),
            ("push.recurseSubmodules", "no"),
            ("push.gpgSign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        if let Some(header) = &secret.header {
            let host = self
                .url
                .splitn(4, '/')
                .take(3)
                .collect::<Vec<_>>()
                .join("/");
            config.push((format!("http.{host}/.extraHeader"), header.clone()));
        }
        config
    }
}

/// What a program did.
struct Done {
    status: ExitStatus,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Bytes of complaints that are kept.
const COMPLAINTS: u64 = 1 << 20;

/// Feeds a program, and reads what it prints until it ends; `None` if that is more than `most`.
async fn converse(
    child: &mut Child,
    input: Option<Vec<u8>>,
    most: u64,
) -> std::io::Result<Option<Done>> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that ends early says why itself.
            drop(stdin.write_all(&input.unwrap_or_default()).await);
        }
        Ok(())
    };
    let out = async {
        let mut bytes = Vec::new();
        if let Some(stdout) = stdout {
            let mut stdout = stdout.take(most + 1);
            stdout.read_to_end(&mut bytes).await.map_err(Some)?;
        }
        let fits = bytes.len() as u64 <= most;
        fits.then_some(bytes).ok_or(None)
    };
    let err = async { up_to(stderr, COMPLAINTS).await.map_err(Some) };
    let ((), out, err) = match tokio::try_join!(feed, out, err) {
        Ok(all) => all,
        Err(Some(error)) => return Err(error),
        Err(None) => return Ok(None),
    };
    let status = child.wait().await?;
    Ok(Some(Done { status, out, err }))
}

/// Reads to the end, and keeps the beginning.
async fn up_to(stream: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let mut stream = stream.take(most);
        stream.read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stream.into_inner(), &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use crate::{CredentialError, Credentials};

    struct Trusts(&'static str);

    #[async_trait]
    impl Credentials for Trusts {
        async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
            Ok(Credential::None)
        }

        async fn ca_bundle(&self, _url: &str) -> Result<Option<Vec<u8>>, CredentialError> {
            Ok(Some(self.0.as_bytes().to_vec()))
        }
    }

    #[tokio::test]
    async fn two_registrations_of_a_url_trust_their_own_certificates_alone() {
        let home = tempfile::tempdir().unwrap();
        let git = Git {
            program: "git".into(),
            dir: home.path().to_owned(),
            home: home.path().to_owned(),
            url: "https://git.test/a.git".to_owned(),
            bounds: Bounds {
                whole: Duration::from_secs(1),
                silence: Duration::from_secs(1),
                refs: (1, 1 << 20),
                fetches: Arc::new(crate::git::fetches::Fetches::new(1)),
                ended: tokio::sync::watch::Sender::new(false).subscribe(),
            },
            memory: USUAL,
            runtime: tokio::runtime::Handle::current(),
        };
        let (one, two): (Who, Who) = (Arc::new(Trusts("one")), Arc::new(Trusts("two")));
        let first = git.secret(&one).await.unwrap().ca_file.unwrap();
        let second = git.secret(&two).await.unwrap().ca_file.unwrap();
        let third = git.secret(&one).await.unwrap().ca_file.unwrap();
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "one");
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "two");
        assert_eq!(first, third);
        let memory = |git: &Git, what: &str| git.memory(&[what.to_owned()]).parse::<u64>();
        let fetch = memory(&git, "fetch").unwrap();
        assert_eq!(fetch, USUAL >> 10);
        assert_eq!(memory(&git.large(), "fetch"), Ok(2 << 20));
        // A crash left half of it.
        std::fs::write(&first, "o").unwrap();
        git.secret(&one).await.unwrap();
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "one");
        let left = std::fs::read_dir(home.path()).unwrap().count();
        assert_eq!(left, 2, "no draft stays");
    }
}
