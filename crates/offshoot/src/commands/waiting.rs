//! What people see on a terminal while a request takes long.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// How often the line is written anew.
const SECOND: Duration = Duration::from_secs(1);

/// Says on a terminal what is waited for and how long already, and takes that away once it is there. The first second is
/// not worth a word.
pub(super) async fn waited<T>(what: &str, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    let mut seconds = 0;
    loop {
        let pause = tokio::time::sleep(SECOND);
        tokio::select! {
            done = &mut answer => {
                if seconds > 0 {
                    line("");
                }
                return done;
            }
            () = pause => {
                seconds += 1;
                line(&format!("{what}, {seconds} s …"));
            }
        }
    }
}

/// One line of standard error that the next one replaces; nothing where nobody watches.
fn line(text: &str) {
    let mut out = std::io::stderr().lock();
    if out.is_terminal() {
        // Whether it is seen is no matter.
        drop(write!(out, "\r\x1b[K{text}").and_then(|()| out.flush()));
    }
}
