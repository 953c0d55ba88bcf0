//! `offshoot board` from outside: who gets in, what it writes and in whose name, and what a browser makes of it.

mod browser;
mod closed;
mod conflicts;
mod deletions;
mod fake;
mod grid;
mod revision;
mod rules;
mod steer;
mod words;
mod writes;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::process::wait_for;

const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

/// A running board.
pub(crate) struct Board {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) authority: String,
    pub(crate) token: String,
    /// `/` and 32 digits, and `/`.
    pub(crate) path: String,
    pub(crate) cookie: String,
    /// What writes carry.
    pub(crate) write: String,
}

/// Status line and headers in lower case, and the body.
pub(crate) type Answer = (u16, String, String);

impl Board {
    /// Starts it with a kubeconfig.
    pub(crate) fn start(kubeconfig: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .arg("board")
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let (authority, token) = address.split_once("/#").unwrap();
        Self {
            child,
            authority: authority.to_owned(),
            token: token.to_owned(),
            path: String::new(),
            cookie: String::new(),
            write: String::new(),
        }
    }

    /// Starts it, and gives the token for the cookie.
    pub(crate) fn open(kubeconfig: &Path) -> Self {
        let mut board = Self::start(kubeconfig);
        let origin = board.origin();
        let (code, head, place) = board.send("POST", "/session", &[&origin], &board.token);
        assert_eq!(code, 200, "{place}");
        let cookie = head
            .lines()
            .find(|l| l.starts_with("set-cookie: "))
            .unwrap();
        let (pair, _) = cookie["set-cookie: ".len()..].split_once(';').unwrap();
        board.cookie = format!("Cookie: {pair}");
        board.path = place;
        let (code, _, page) = board.get("");
        assert_eq!(code, 200, "{page}");
        let (_, rest) = page.split_once("name=\"board\" content=\"").unwrap();
        board.write = format!("X-Offshoot-Board: {}", rest.split_once('"').unwrap().0);
        board
    }

    pub(crate) fn origin(&self) -> String {
        format!("Origin: http://{}", self.authority)
    }

    /// One request with the right host.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let host = format!("Host: {}", self.authority);
        let headers: Vec<&str> = [host.as_str()]
            .into_iter()
            .chain(headers.iter().copied())
            .collect();
        self.raw(method, path, &headers, body)
    }

    /// One request as it is.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        let head = headers.join("\r\n");
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, head.to_lowercase(), body.to_owned())
    }

    /// A page, with the cookie.
    pub(crate) fn get(&self, page: &str) -> Answer {
        self.send("GET", &format!("{}{page}", self.path), &[&self.cookie], "")
    }

    /// Asks for a change of revisions, as a page does.
    pub(crate) fn act(&self, request: &Value) -> Value {
        self.post("act", request)
    }

    /// Asks for a change, as a page does.
    pub(crate) fn post(&self, page: &str, request: &Value) -> Value {
        let headers = [&*self.cookie, &*self.origin(), &*self.write];
        let path = format!("{}{page}", self.path);
        let (_, _, body) = self.send("POST", &path, &headers, &request.to_string());
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }
}

/// A kubeconfig of somebody who may only look.
pub(crate) async fn viewer(root: &Path, server: &crate::process::Process) -> std::path::PathBuf {
    let file = root.join("ann.kubeconfig");
    let made = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["user", "ann", "--group", "web", "--data"])
        .arg(root.join("data"))
        .arg("--output")
        .arg(&file)
        .status();
    assert!(made.unwrap().success());
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "web"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "web"}],
    });
    server.create(BINDINGS, &binding).await;
    file
}

/// What came of each revision.
pub(crate) fn results(answer: &Value) -> Vec<(&str, &str, bool)> {
    let all = answer["results"].as_array();
    let all = all.expect("results").iter();
    all.map(|r| {
        let text = |key: &str| r[key].as_str().unwrap();
        (text("name"), text("result"), r["changed"] == true)
    })
    .collect()
}

/// What the first button of a verb sends.
pub(crate) fn entries(page: &str, verb: &str) -> Value {
    let (_, rest) = page
        .split_once(&format!("data-act=\"{verb}\" data-entries=\""))
        .unwrap();
    let (text, _) = rest.split_once('"').unwrap();
    serde_json::from_str(&text.replace("&quot;", "\"")).unwrap()
}

/// The page of changes, once everything that is open is compared.
pub(crate) async fn changes(board: &Board) -> String {
    let page = std::cell::RefCell::new(String::new());
    wait_for("all changes", async || {
        let now = board.get("changes").2;
        let done = now.contains("class=\"card class\"") && !now.contains("comparing");
        *page.borrow_mut() = now;
        done
    })
    .await;
    page.into_inner()
}

/// What all buttons of a page would send, one after the other.
pub(crate) fn taken(page: &str) -> String {
    let all = page.split("data-entries=\"").skip(1);
    all.map(|rest| rest.split_once('"').unwrap().0).collect()
}

impl Drop for Board {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
