//! A tiny HTTP server in front of the real `git http-backend`, which can misbehave on purpose.
//!
//! For tests and benchmarks on loopback; it never checks more of HTTP than git's clients send.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the server behaves.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// The user and password that it wants.
    pub basic: Option<(String, String)>,
    /// The bearer token that it wants.
    pub bearer: Option<String>,
    /// Pushes that are carried out and not answered.
    pub lose_answers: usize,
    /// Pushes that are neither carried out nor answered.
    pub lose_pushes: usize,
    /// Whether every connection is closed at once.
    pub down: bool,
    /// Whether it goes down after the next push, also one that is lost.
    pub down_after_push: bool,
    /// Pushes are forbidden (403).
    pub read_only: bool,
    /// Everything is somewhere else.
    pub redirect: Option<String>,
    /// What goes wrong with requests to come, each once, the first that fits first.
    pub faults: Vec<(Asked, Fault)>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The refs, to fetch.
    Refs,
    /// The refs, to push.
    RefsToPush,
    /// Objects.
    Objects,
    /// To take a push.
    Push,
}

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status, and nothing was done.
    Refuse(&'static str),
    /// It is carried out and answered with this status.
    CarryOutAndRefuse(&'static str),
    /// It arrives in part: the program behind sees so many hundredths of it, and nothing is answered.
    CutRequest(usize),
    /// It is carried out, and so many hundredths of the answer get through.
    CutAnswer(usize),
    /// It is carried out, and so many hundredths of the answer are passed off as all of it.
    ShortenAnswer(usize),
    /// It is not carried out, and what looks like the beginning of a list of refs never ends.
    Endless,
    /// It is not carried out, and nobody answers until the client goes away.
    Hang,
    /// It is carried out, and nobody answers until the client goes away.
    CarryOutAndHang,
    /// Nobody answers; it is carried out all the same, so much later.
    Late(Duration),
    /// A push is not carried out, and the answer says that so many of its refs were moved, and nothing
    /// of the others.
    Report(usize),
}

/// A request that was heard, and with which authorization.
#[derive(Debug, Clone)]
pub struct Heard {
    /// `POST` or `GET`, and the path.
    pub request: String,
    /// The header, as it came.
    pub authorization: Option<String>,
}

/// A running server: all repositories below one directory, until the process ends.
#[derive(Debug, Clone)]
pub struct Server {
    address: SocketAddr,
    manners: Arc<Mutex<Manners>>,
    heard: Arc<Mutex<Vec<Heard>>>,
    root: PathBuf,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Server {
    /// Serves all repositories below a directory, on a free port of loopback.
    ///
    /// # Errors
    /// No port can be had.
    pub fn start(root: PathBuf) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let server = Self {
            address: listener.local_addr()?,
            manners: Arc::default(),
            heard: Arc::default(),
            root,
        };
        let this = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let this = this.clone();
                // A client that goes away in the middle is its own concern.
                std::thread::spawn(move || drop(this.serve(stream)));
            }
        });
        Ok(server)
    }

    /// The address of a repository.
    pub fn url(&self, repo: &str) -> String {
        format!("http://{}/{repo}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it behaves now.
    pub fn manners(&self) -> Manners {
        lock(&self.manners).clone()
    }

    /// Changes how it behaves from the next request on.
    pub fn set(&self, change: impl FnOnce(&mut Manners)) {
        change(&mut lock(&self.manners));
    }

    /// Everything that was heard so far.
    pub fn requests(&self) -> Vec<Heard> {
        lock(&self.heard).clone()
    }

    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let manners = lock(&self.manners).clone();
        if manners.down {
            return Ok(());
        }
        let request = read_request(&stream)?;
        if request.method.is_empty() {
            return Ok(());
        }
        let authorization = request.headers.get("authorization").cloned();
        lock(&self.heard).push(Heard {
            request: format!("{} {}", request.method, request.path),
            authorization: authorization.clone(),
        });
        if let Some(place) = &manners.redirect {
            let location = format!("{place}{}?{}", request.path, request.query);
            return answer(&stream, "302 Found", &[("Location", &location)], b"");
        }
        let wanted = [
            manners
                .basic
                .as_ref()
                .map(|(u, p)| format!("Basic {}", encode(&format!("{u}:{p}")))),
            manners
                .bearer
                .as_ref()
                .map(|token| format!("Bearer {token}")),
        ];
        let welcome = wanted.iter().all(Option::is_none)
            || wanted
                .iter()
                .flatten()
                .any(|w| Some(w) == authorization.as_ref());
        if !welcome {
            let ask = [("WWW-Authenticate", "Basic realm=\"git\"")];
            return answer(&stream, "401 Unauthorized", &ask, b"who are you?\n");
        }
        if let Some(fault) = self.fault(&request) {
            return self.go_wrong(&stream, request, fault);
        }
        let push = request.method == "POST" && request.path.ends_with("git-receive-pack");
        let pushing = push || request.query.contains("git-receive-pack");
        if pushing && manners.read_only {
            return answer(&stream, "403 Forbidden", &[], b"you may not\n");
        }
        if push && manners.lose_pushes > 0 {
            self.set(|m| {
                m.lose_pushes -= 1;
                m.down |= m.down_after_push;
            });
            return Ok(());
        }
        let said = self.backend(&request)?;
        if push && manners.down_after_push {
            self.set(|m| m.down = true);
        }
        if push && manners.lose_answers > 0 {
            self.set(|m| m.lose_answers -= 1);
            return Ok(());
        }
        pass_on(&stream, &said)
    }

    /// What is to go wrong with this request, taken off the list.
    fn fault(&self, request: &Request) -> Option<Fault> {
        let asked = match (request.method.as_str(), &*request.path, &*request.query) {
            ("POST", path, _) if path.ends_with("git-receive-pack") => Asked::Push,
            ("POST", ..) => Asked::Objects,
            (_, _, query) if query.contains("git-receive-pack") => Asked::RefsToPush,
            _ => Asked::Refs,
        };
        let mut manners = lock(&self.manners);
        let at = manners.faults.iter().position(|(a, _)| *a == asked)?;
        Some(manners.faults.remove(at).1)
    }

    fn go_wrong(
        &self,
        mut stream: &TcpStream,
        mut request: Request,
        fault: Fault,
    ) -> std::io::Result<()> {
        let part = |bytes: &[u8], hundredths: usize| bytes.len() * hundredths.min(100) / 100;
        match fault {
            Fault::Refuse(status) => answer(stream, status, &[], b""),
            Fault::CarryOutAndRefuse(status) => {
                self.backend(&request)?;
                answer(stream, status, &[], b"")
            }
            Fault::CutRequest(hundredths) => {
                let rest = part(&request.body, hundredths);
                request.body.truncate(rest);
                self.backend(&request).map(|_| ())
            }
            Fault::CutAnswer(hundredths) => {
                let mut whole = Vec::new();
                write_cgi(&mut whole, &self.backend(&request)?)?;
                let rest = part(&whole, hundredths);
                stream.write_all(whole.get(..rest).unwrap_or_default())
            }
            Fault::ShortenAnswer(hundredths) => {
                let mut said = self.backend(&request)?;
                let head = said.windows(4).position(|w| w == b"\r\n\r\n");
                let head = head.map_or(0, |at| at + 4);
                let body = said.get(head..).unwrap_or_default();
                said.truncate(head + part(body, hundredths));
                pass_on(stream, &said)
            }
            Fault::Endless => endless(stream, &request),
            Fault::Hang => stream.read(&mut [0]).map(|_| ()),
            Fault::CarryOutAndHang => {
                self.backend(&request)?;
                stream.read(&mut [0]).map(|_| ())
            }
            Fault::Report(named) => {
                let report = report(&request.body, named);
                let kind = "application/x-git-receive-pack-result";
                answer(stream, "200 OK", &[("Content-Type", kind)], &report)
            }
            Fault::Late(delay) => {
                let this = self.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(delay);
                    drop(this.backend(&request));
                });
                stream.read(&mut [0]).map(|_| ())
            }
        }
    }

    fn backend(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
        let mut command = Command::new("git");
        command
            .arg("http-backend")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1");
        command
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path);
        command
            .env("QUERY_STRING", &request.query)
            .env("REMOTE_USER", "somebody");
        command.env("CONTENT_TYPE", header("content-type"));
        command.env("CONTENT_LENGTH", request.body.len().to_string());
        command.env("HTTP_CONTENT_ENCODING", header("content-encoding"));
        command
            .env("GIT_PROTOCOL", header("git-protocol"))
            .env("REMOTE_ADDR", "127.0.0.1");
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", &self.root);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let done = std::thread::scope(|scope| {
            // It may answer before it has read everything.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(&request.body)));
            child.wait_with_output()
        })?;
        Ok(done.stdout)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_request(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
    }
    if headers.get("expect").is_some_and(|e| e.contains("100")) {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_some_and(|t| t.contains("chunked"))
    {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk)?;
            body.extend_from_slice(chunk.get(..size).unwrap_or_default());
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = headers.get("content-length").and_then(|l| l.parse().ok()) {
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
    }
    Ok(Request {
        method,
        path,
        query,
        headers,
        body,
    })
}

/// Lists refs until the client goes away.
fn endless(mut stream: &TcpStream, request: &Request) -> std::io::Result<()> {
    let service = request.query.trim_start_matches("service=");
    let line = |text: &str| format!("{:04x}{text}", text.len() + 4);
    let mut head = "HTTP/1.1 200 OK\r\nConnection: close\r\n".to_owned();
    head.push_str(&format!(
        "Content-Type: application/x-{service}-advertisement\r\n\r\n"
    ));
    head.push_str(&line(&format!("# service={service}\n")));
    head.push_str("0000");
    let id = "1".repeat(40);
    head.push_str(&line(&format!(
        "{id} HEAD\0report-status atomic ofs-delta side-band-64k\n"
    )));
    stream.write_all(head.as_bytes())?;
    for round in 0u64.. {
        let refs = (0..1_000).map(|n| line(&format!("{id} refs/heads/{round:010}-{n:03}\n")));
        stream.write_all(refs.collect::<String>().as_bytes())?;
    }
    Ok(())
}

/// A report in a side band that names the first refs of a push.
fn report(body: &[u8], named: usize) -> Vec<u8> {
    let line = |text: &[u8]| [format!("{:04x}", text.len() + 4).as_bytes(), text].concat();
    let mut inner = line(b"unpack ok\n");
    let mut rest = body;
    for _ in 0..named {
        let length = rest.get(..4).and_then(|hex| std::str::from_utf8(hex).ok());
        let length = length.and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let Some(length) = length.filter(|length| *length > 4) else {
            break;
        };
        let command = rest.get(4..length).unwrap_or_default();
        // Two ids of forty letters, then the name.
        let name = command.get(82..).unwrap_or_default();
        let end = |b: &u8| *b == 0 || *b == b'\n';
        let name = name.split(end).next().unwrap_or_default();
        inner.extend(line(&[b"ok ", name, b"\n"].concat()));
        rest = rest.get(length..).unwrap_or_default();
    }
    inner.extend(b"0000");
    let mut all = line(&[&[1], &*inner].concat());
    all.extend(b"0000");
    all
}

/// What a CGI program said, as HTTP.
fn pass_on(mut stream: &TcpStream, said: &[u8]) -> std::io::Result<()> {
    write_cgi(&mut stream, said)
}

fn write_cgi(out: &mut impl std::io::Write, said: &[u8]) -> std::io::Result<()> {
    let split = said
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .unwrap_or(said.len());
    let head = String::from_utf8_lossy(said.get(..split).unwrap_or_default()).into_owned();
    let headers: Vec<(&str, &str)> = head
        .lines()
        .filter_map(|l| l.split_once(':'))
        .map(|(k, v)| (k, v.trim()))
        .collect();
    let status = headers
        .iter()
        .find(|(k, _)| *k == "Status")
        .map_or("200 OK", |(_, v)| v);
    let rest: Vec<_> = headers
        .iter()
        .filter(|(k, _)| *k != "Status")
        .copied()
        .collect();
    answer_to(
        out,
        status,
        &rest,
        said.get(split + 4..).unwrap_or_default(),
    )
}

fn answer(
    mut stream: &TcpStream,
    status: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<()> {
    answer_to(&mut stream, status, headers, body)
}

fn answer_to(
    out: &mut impl std::io::Write,
    status: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    out.write_all(head.as_bytes())?;
    out.write_all(body)
}

/// Base64, for comparison with what is sent.
pub fn encode(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}
