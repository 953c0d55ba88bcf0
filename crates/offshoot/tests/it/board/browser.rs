//! The board in Chromium, driven over its protocol; skipped, and said, where there is no Chromium. With `OFFSHOOT_AXE` (the
//! path of `axe.min.js`) every view is checked for accessibility; with `OFFSHOOT_PICTURES` (a directory) pictures are kept.

pub(super) mod crowd;
mod focus;
mod keys;
mod pictures;
mod selection;
mod speed;
mod steps;
mod views;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Board;
use crate::bulk::{admin, drafts, lifecycles, revisions};
use crate::edges::RESOURCES;
use crate::process::Process;

/// How long a page may take to show something.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one page.
struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    sent: u64,
    /// What pages complained of, and what they asked other hosts for.
    complaints: Vec<String>,
    is_dark: bool,
    /// Where pictures are kept below the directory that is wanted.
    below: &'static str,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts Chromium; `None` where there is none.
    fn start() -> Option<Self> {
        let known = ["chromium", "chromium-browser", "google-chrome"];
        let name = known
            .into_iter()
            .find(|name| Command::new(name).arg("--version").output().is_ok())?;
        let profile = tempfile::tempdir().unwrap();
        // The protocol goes over the third and fourth file, each message ended by a zero byte.
        let line = format!(
            "exec {name} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
             --disable-background-networking --user-data-dir={} --remote-debugging-pipe 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null",
            profile.path().display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut browser = Self {
            child,
            to,
            from: BufReader::new(from),
            session: String::new(),
            sent: 0,
            complaints: Vec::new(),
            is_dark: false,
            below: "checks",
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1280, 800);
        browser.dark(false);
        Some(browser)
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let told = self.ask(method, params);
        assert!(told.get("error").is_none(), "{method}: {told}");
        told["result"].clone()
    }

    /// Sends a command and reads its answer, which may be an error; what the page complains of meanwhile is kept.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        self.to.flush().unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            bytes.pop();
            let told: Value = serde_json::from_slice(&bytes).expect("the browser ended");
            match told["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Log.entryAdded") => {
                    self.complaints.push(told["params"].to_string());
                }
                Some("Network.requestWillBeSent") => {
                    let url = told["params"]["request"]["url"]
                        .as_str()
                        .unwrap_or_default();
                    if !url.starts_with("http://127.0.0.1:") {
                        self.complaints.push(format!("asked for {url}"));
                    }
                }
                _ => {}
            }
            if told["id"] == self.sent {
                return told;
            }
        }
    }

    fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    fn dark(&mut self, dark: bool) {
        self.is_dark = dark;
        let value = if dark { "dark" } else { "light" };
        // Nothing is on its way from one colour to another when it is looked at.
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": value },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// What a script gives.
    fn run(&mut self, script: &str) -> Value {
        let told = self.call("Runtime.evaluate", evaluation(script));
        value(script, &told)
    }

    /// Waits until a script gives true. A page that is on its way to another answers nothing, which is no failure here.
    fn until(&mut self, script: &str) {
        let begun = Instant::now();
        loop {
            let told = self.ask("Runtime.evaluate", evaluation(script));
            match told["error"]["message"].as_str() {
                None if value(script, &told["result"]) == true => return,
                None => {}
                Some(left) => assert!(
                    left.contains("navigated") || left.contains("context"),
                    "{script:.200}: {told}"
                ),
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "waited in vain for {script}: {}",
                self.run("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.body?.dataset.ready === 'yes'");
    }

    fn click(&mut self, query: &str) {
        self.until(&format!("document.querySelector({query:?}) !== null"));
        self.run(&format!("document.querySelector({query:?}).click()"));
    }

    /// A key, as a keyboard sends it; `Back` is Tab with Shift.
    fn key(&mut self, key: &str) {
        let known = [
            ("Enter", ("Enter", 13, "\r", 0)),
            ("Escape", ("Escape", 27, "", 0)),
            ("Tab", ("Tab", 9, "", 0)),
            ("Back", ("Tab", 9, "", 8)),
            ("Right", ("ArrowRight", 39, "", 0)),
        ];
        let wanted = known.into_iter().find(|(name, _)| *name == key);
        let (_, (key, code, text, modifiers)) = wanted.unwrap();
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text, "modifiers": modifiers,
            });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Checks the page with axe where it is to be had, in light and dark, and keeps a picture where it is wanted.
    fn look(&mut self, name: &str) {
        if let Ok(axe) = std::env::var("OFFSHOOT_AXE") {
            self.run(&format!("{};true", std::fs::read_to_string(axe).unwrap()));
            let was = self.is_dark;
            for dark in [!was, was] {
                self.dark(dark);
                let found = self.run("axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`))");
                assert_eq!(found, json!([]), "{name}, dark: {dark}");
            }
        }
        self.picture(name);
    }

    /// Keeps a picture where it is wanted.
    fn picture(&mut self, name: &str) {
        if let Ok(directory) = std::env::var("OFFSHOOT_PICTURES") {
            use base64::Engine as _;
            let told = self.call("Page.captureScreenshot", json!({ "format": "png" }));
            let decode = base64::engine::general_purpose::STANDARD;
            let bytes = decode.decode(told["data"].as_str().unwrap()).unwrap();
            let place = Path::new(&directory).join(self.below);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join(format!("{name}.png")), bytes).unwrap();
        }
    }
}

fn evaluation(script: &str) -> Value {
    json!({ "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true })
}

/// What a script gave that was carried out.
fn value(script: &str, told: &Value) -> Value {
    assert!(
        told.get("exceptionDetails").is_none(),
        "{script:.200}: {told}"
    );
    told["result"]["value"].clone()
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        // The gate names what it could install: there it is a failure.
        let needs = std::env::var("OFFSHOOT_NEEDS").unwrap_or_default();
        assert!(
            !needs.split(' ').any(|need| need == "chromium"),
            "there is no chromium here, and OFFSHOOT_NEEDS names it"
        );
        eprintln!("skipped: there is no chromium here");
    }
    browser
}

fn address(board: &Board) -> String {
    format!("http://{}/#{}", board.authority, board.token)
}

/// A server with so many equal proposals, and a board over it.
async fn proposed(root: &Path, count: usize) -> (Process, Board) {
    let server = drafts(root, count).await;
    let select = [
        "rpkg",
        "propose",
        "--field-selector",
        "spec.lifecycle=Draft",
    ];
    assert_eq!(admin(root, &select).0, 0);
    let board = Board::start(&root.join("data/kubeconfig"));
    (server, board)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_is_approved_in_three_clicks_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let (server, board) = proposed(root.path(), 4).await;
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    assert!(
        !base.contains(&board.token),
        "the token left the address: {base}"
    );
    for (page, name) in [
        ("", "waiting"),
        ("sets", "sets"),
        ("conflicts", "conflicts"),
        ("plan", "plan"),
    ] {
        browser.go(&format!("{base}{page}"));
        browser.look(name);
    }
    browser.go(&format!("{base}changes"));
    browser.until("document.querySelector('.class h2 a') !== null && !document.body?.innerText.includes('comparing')");
    browser.look("changes");
    browser.click(".class h2 a");
    browser.until(
        "document.body?.dataset.ready === 'yes' && document.querySelector('.diff') !== null",
    );
    browser.look("class");
    browser.click("[data-act=approve]");
    browser.click("#dialog .primary");
    browser
        .until("document.querySelector('#dialog .summary')?.textContent.startsWith('4 approved')");
    browser.look("told");
    assert_eq!(lifecycles(&server).await.get("Published"), Some(&4));
    browser.go(&format!("{base}targets?state=uptodate&sort=state"));
    browser.until("document.querySelectorAll('.cell.s-uptodate').length === 4");
    assert_eq!(
        browser.run("document.querySelector('[name=state]').value"),
        "uptodate",
        "the address restores the view"
    );
    browser.run("document.getElementById('grid').focus()");
    for key in ["ArrowRight", " "] {
        browser.run(&format!("document.getElementById('grid').dispatchEvent(new KeyboardEvent('keydown', {{key: {key:?}, bubbles: true}}))"));
    }
    assert_eq!(
        browser.run("document.getElementById('chosen').textContent"),
        "1",
        "by keys alone"
    );
    browser.look("targets");
    let name = browser.run("document.querySelector('#about a').textContent");
    for part in ["", "files", "why", "blame", "history"] {
        browser.go(&format!(
            "{base}revision?name={}&part={part}",
            name.as_str().unwrap()
        ));
        browser.look(&format!("revision-{part}"));
    }
    browser.dark(true);
    browser.size(420, 800);
    browser.go(&base);
    browser.look("narrow-and-dark");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_under_an_open_dialog_is_told_there_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let root = tempfile::tempdir().unwrap();
    let server = drafts(root.path(), 2).await;
    let board = Board::start(&root.path().join("data/kubeconfig"));
    browser.go(&address(&board));
    let base = browser.run("location.href").as_str().unwrap().to_owned();
    browser.go(&format!("{base}changes"));
    browser.until("document.querySelector('.class') !== null && !document.body?.innerText.includes('comparing')");
    browser.click("[data-act=propose]");
    browser.until("document.getElementById('dialog').open");
    // While somebody reads what is asked, one of the two drafts gets another file.
    let (one, other) = (
        "deploy.web-0.packagevariant-1",
        "deploy.web-1.packagevariant-1",
    );
    let path = format!("{RESOURCES}/{one}");
    let mut files = server.get(&path).await;
    files["spec"]["resources"]["notes.txt"] = "more\n".into();
    server.client.put(&path, &files).await.unwrap();
    browser.key("Enter");
    browser.until("document.querySelector('#dialog li') !== null");
    let told = browser.run("document.querySelector('#dialog .told').innerText");
    let told = told.as_str().unwrap();
    assert!(told.contains("1 proposed, 1 refused"), "{told}");
    let line = format!("Changed since it was shown: {one}");
    assert!(told.contains(&line) && !told.contains(other), "{told}");
    let now = revisions(&server).await;
    assert_eq!((&*now[one].0, &*now[other].0), ("Draft", "Proposed"));
    browser.look("changed-since");
    // It leads to what it holds now.
    browser.click("#dialog li a");
    browser.until(
        "document.body?.dataset.page === 'revision' && document.body.dataset.ready === 'yes'",
    );
    browser.until("document.body?.innerText.includes('notes.txt')");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
