//! The kubeconfig that is written at a start where it differs, and never over somebody else's.

use std::path::Path;

use base64::Engine as _;
use serde_json::Value;

use super::data::write_private;
use crate::exit::ExitFailure;

/// What cluster and context are called in the files that we write.
pub(super) const NAME: &str = "offshoot";

/// Whose credentials a kubeconfig is written for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder<'a> {
    /// The administrator of a server, who asks with its token.
    Administrator,
    /// A user with this name, who asks with a certificate.
    User(&'a str),
}

/// Looks whether a kubeconfig may be written here: nothing is there, or what we wrote before for the same holder at the server of
/// this data directory.
///
/// Tools with a flag of this name add their entry to the file; ours replaces it as a whole, so that a file with other
/// clusters would lose them, and one of another server or user its token or private key, which is nowhere else.
///
/// # Errors
/// The file holds something else, or cannot be read.
pub(crate) fn may_replace(path: &Path, data: &Path, holder: Holder<'_>) -> Result<(), ExitFailure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => String::from("?"),
        read => read.map_err(|e| ExitFailure::of(&format!("read {}", path.display()), &e))?,
    };
    if text.trim().is_empty() {
        return Ok(());
    }
    let shown = path.display();
    let Some(file) = ours(&text) else {
        return Err(ExitFailure::new(format!(
            "{shown} holds something that offshoot did not write, and would be replaced as a whole"
        ))
        .hint(format!(
            "name a file of its own, and use both: KUBECONFIG={shown}:OTHER, or kubectl config view --flatten makes one of them"
        )));
    };
    if !is_of_server(&file, data) {
        let data = data.display();
        return Err(ExitFailure::new(format!(
            "{shown} is a kubeconfig of another server than that of {data}, and its credentials would be lost"
        ))
        .hint("name another file; or remove this one, if its server is no more"));
    }
    match (holder, held_by(&file)) {
        (Holder::Administrator, Some(Holder::Administrator)) => Ok(()),
        (Holder::User(new), Some(Holder::User(old))) if new == old => Ok(()),
        (_, old) => {
            let whose = match old {
                Some(Holder::Administrator) => "of the administrator".to_owned(),
                Some(Holder::User(name)) => format!("of the user {name}"),
                None => "of somebody else".to_owned(),
            };
            Err(ExitFailure::new(format!(
                "{shown} holds the credentials {whose}, which would be lost"
            ))
            .hint("name another file; or remove this one, if nobody needs it any more"))
        }
    }
}

/// Writes a kubeconfig where it differs.
///
/// # Errors
/// It cannot be read or written.
pub(super) fn write(path: &Path, new: &str) -> Result<(), ExitFailure> {
    let wanted = over(path, new)?;
    match std::fs::read_to_string(path) {
        Ok(old) if old == wanted && token(path).is_some() => Ok(()),
        _ => write_private(path, &wanted),
    }
}

/// A token that nobody can guess.
pub(super) fn new_token() -> String {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    half() + &half()
}

/// What the file is to hold: this, with whatever a person wrote into one that we made, as the namespace of its context. Only
/// what differs is changed.
///
/// # Errors
/// It cannot be read.
fn over(path: &Path, new: &str) -> Result<String, ExitFailure> {
    use std::io::ErrorKind::{InvalidData, NotFound};
    let old = match std::fs::read_to_string(path) {
        // The data directory's own is ours, whatever became of it.
        Err(error) if matches!(error.kind(), NotFound | InvalidData) => return Ok(new.to_owned()),
        read => read.map_err(|e| ExitFailure::of(&format!("read {}", path.display()), &e))?,
    };
    Ok(edited(&old, new).unwrap_or_else(|| new.to_owned()))
}

/// The token of a kubeconfig that we wrote at an earlier start, so that who follows the server goes on after this one; nothing
/// where others can read the file, or it is not as we write it.
pub(super) fn token(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::symlink_metadata(path).ok()?;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !own || meta.mode() & 0o077 != 0 {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let stream = yaml::Stream::parse(text, &yaml::Limits::default()).ok()?;
    let [.., place] = fields();
    let found = stream
        .document(0)?
        .root()
        .find(&place)?
        .scalar()?
        .to_owned();
    let is_ours = found.len() == TOKEN && found.bytes().all(|b| b.is_ascii_hexdigit());
    is_ours.then_some(found)
}

/// How long our tokens are, in digits.
const TOKEN: usize = 64;

/// The fields that say where the server is and who asks.
fn fields() -> [yaml::Path; 3] {
    let at =
        |list: &str, of: &str, key: &str| yaml::Path::root().join(list).join(0).join(of).join(key);
    [
        at("clusters", "cluster", "certificate-authority-data"),
        at("clusters", "cluster", "server"),
        at("users", "user", "token"),
    ]
}

/// The former text with the new server and token; `None` where it does not have them, as one that somebody else made.
fn edited(old: &str, new: &str) -> Option<String> {
    let limits = yaml::Limits::default();
    let (old, new) = (
        yaml::Stream::parse(old, &limits).ok()?,
        yaml::Stream::parse(new, &limits).ok()?,
    );
    let (was, is) = (old.document(0)?.root(), new.document(0)?.root());
    let mut edits = Vec::new();
    for path in fields() {
        was.find(&path)?.scalar()?;
        edits.push(yaml::Edit::set(path.clone(), is.find(&path)?.scalar()?));
    }
    // What another tool made of our user asks as somebody else.
    let user = was.find(&yaml::Path::root().join("users").join(0).join("user"))?;
    let named = was.find(&yaml::Path::root().join("users").join(0).join("name"))?;
    if user.entries().len() != 1 || named.scalar() != Some(NAME) {
        return None;
    }
    Some(old.apply(0, &edits).ok()?.text().to_owned())
}

/// The file as a value, if it holds our cluster, our context and its user, and no others.
fn ours(text: &str) -> Option<Value> {
    let limits = yaml::Limits::default();
    let file = yaml::first_document_json(text, yaml::Reader::V3, false, &limits).ok()?;
    let name = |list: &str| only(&file, list).and_then(|one| api::str_at(one, &["name"]));
    let ours = name("clusters") == Some(NAME) && name("contexts") == Some(NAME);
    (ours && name("users").is_some()).then_some(file)
}

/// The entry of a list that has no other.
fn only<'f>(file: &'f Value, list: &str) -> Option<&'f Value> {
    let all = file.get(list).and_then(Value::as_array);
    all.filter(|all| all.len() == 1).and_then(|all| all.first())
}

/// Whether it names the server of this data directory: the authority is made once for each, while addresses change and are
/// used again.
fn is_of_server(file: &Value, data: &Path) -> bool {
    let cluster = only(file, "clusters");
    let told = cluster.and_then(|c| api::str_at(c, &["cluster", "certificate-authority-data"]));
    let told = told.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    let own = std::fs::read(data.join("pki").join("ca.crt")).ok();
    told.is_some() && told == own
}

/// Who asks with it; nothing where it has other credentials than we write.
fn held_by(file: &Value) -> Option<Holder<'_>> {
    let entry = only(file, "users")?;
    let name = api::str_at(entry, &["name"])?;
    let user = entry.get("user").and_then(Value::as_object)?;
    match user.contains_key("client-key-data") {
        true => Some(Holder::User(name)),
        false if name == NAME && user.contains_key("token") => Some(Holder::Administrator),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_changes_the_server_and_the_token_alone() {
        let of = |port: u16, token: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: offshoot\nclusters:\n- name: offshoot\n  cluster:\n    certificate-authority-data: AAAA\n    server: https://127.0.0.1:{port}\ncontexts:\n- name: offshoot\n  context:\n    cluster: offshoot\n    user: offshoot\nusers:\n- name: offshoot\n  user:\n    token: {token}\n"
            )
        };
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config");
        let next = of(2, "ba98");
        assert_eq!(over(&path, &next).unwrap(), next, "nothing is there");
        let mine = |text: String| {
            let text = text.replace(
                "    user: offshoot\n",
                "    user: offshoot\n    namespace: shop # mine\n",
            );
            format!("# of this machine\n{text}")
        };
        std::fs::write(&path, mine(of(1, "c123"))).unwrap();
        assert_eq!(over(&path, &next).unwrap(), mine(next.clone()));
        assert_eq!(over(&path, &of(1, "c123")).unwrap(), mine(of(1, "c123")));
        assert_eq!(token(&path), None, "a short one is not ours");
        let ours = "0f".repeat(32);
        std::fs::write(&path, mine(of(1, &ours))).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        for (mode, wanted) in [(0o600, Some(ours)), (0o644, None)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(token(&path), wanted, "{mode:o}");
        }
        for other in [
            of(1, "c123").replace("    token: c123\n", "    client-key-data: AAAA\n"),
            of(1, "c123").replace("- name: offshoot\n  user:", "- name: ann\n  user:"),
            "not: [yaml".to_owned(),
        ] {
            std::fs::write(&path, other).unwrap();
            assert_eq!(over(&path, &next).unwrap(), next);
        }
    }

    /// A file with these clusters, whose server has this authority and whose user asks so.
    fn file(clusters: &[&str], authority: &str, user: &str) -> String {
        let authority = base64::engine::general_purpose::STANDARD.encode(authority);
        let all = |list: &str, more: &str| {
            let all: String = clusters
                .iter()
                .map(|name| format!("- name: {name}\n{more}"))
                .collect();
            format!("{list}:\n{all}")
        };
        let cluster = format!("  cluster: {{certificate-authority-data: {authority}}}\n");
        let lists = all("clusters", &cluster) + &all("contexts", "");
        format!("apiVersion: v1\nkind: Config\n{lists}users:\n- {user}\n")
    }

    #[test]
    fn only_what_we_wrote_for_the_same_holder_is_replaced() {
        const ADMIN: &str = "{name: offshoot, user: {token: abc}}";
        const ANN: &str = "{name: ann, user: {client-key-data: AAAA}}";
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        std::fs::create_dir_all(data.join("pki")).unwrap();
        std::fs::write(data.join("pki/ca.crt"), "own").unwrap();
        let path = root.path().join("config");
        let ann = Holder::User("ann");
        let may = |holder| may_replace(&path, &data, holder);
        assert!(may(Holder::Administrator).is_ok(), "nothing is there");
        for (text, admin, user) in [
            (String::new(), true, true),
            (file(&["offshoot"], "own", ADMIN), true, false),
            (file(&["offshoot"], "own", ANN), false, true),
            (
                file(&["offshoot"], "own", "{name: offshoot, user: {exec: {}}}"),
                false,
                false,
            ),
            (file(&["offshoot"], "other", ADMIN), false, false),
            (file(&["offshoot"], "other", ANN), false, false),
            (file(&["production"], "own", ADMIN), false, false),
            (
                file(&["offshoot", "production"], "own", ADMIN),
                false,
                false,
            ),
            ("not: [yaml".to_owned(), false, false),
            ("apiVersion: v1\nkind: Config\n".to_owned(), false, false),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(may(Holder::Administrator).is_ok(), admin, "{text}");
            assert_eq!(may(ann).is_ok(), user, "{text}");
            assert!(
                text.is_empty() || may(Holder::User("bob")).is_err(),
                "{text}"
            );
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        let why = may(ann).unwrap_err().text();
        assert!(why.contains("config") && why.contains("hint: "), "{why}");
    }

    #[test]
    fn a_data_directory_that_has_no_authority_yet_takes_nothing_over() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config");
        let admin = "{name: offshoot, user: {token: abc}}";
        std::fs::write(&path, file(&["offshoot"], "own", admin)).unwrap();
        let data = root.path().join("data");
        let why = may_replace(&path, &data, Holder::Administrator).unwrap_err();
        let why = why.text();
        assert!(
            why.contains("another server") && why.contains("hint: "),
            "{why}"
        );
    }
}
