//! The vectors of `kptfile`: reading and validating Kptfiles against what kpt does.
//!
//! Read strictly, accepted or refused at the same stage, meaning compared by value, validation texts exactly. What only a
//! strict reading refuses must be read leniently, with a warning that names the field (M18).

use std::path::Path;

use model::{File, Files, PackagePath};
use package::kptfile::Kptfile;
use serde_json::Value;

use super::known::{Checked, digest};

/// One case, read.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, unique in the set.
    pub name: String,
    /// The Kptfile.
    pub text: String,
    /// Why strict decoding refused it.
    pub decode_error: Option<String>,
    /// The Kptfile as kpt writes it back.
    pub written: Option<String>,
    /// Why validation refused it.
    pub validate_error: Option<String>,
}

/// Reads `cases.json` of the set's folder.
///
/// # Errors
/// The file cannot be read, or is no list of cases.
pub fn read(folder: &Path) -> std::io::Result<Vec<Case>> {
    let text = std::fs::read_to_string(folder.join("cases.json"))?;
    let cases: Vec<Value> = serde_json::from_str(&text)?;
    let case = |value: &Value| {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Case {
            name: text("name").unwrap_or_default(),
            text: text("text").unwrap_or_default(),
            decode_error: text("decode_error"),
            written: text("written"),
            validate_error: text("validate_error"),
        }
    };
    Ok(cases.iter().map(case).collect())
}

/// Runs a case and holds it against the recorded result.
pub fn check(case: &Case) -> Checked {
    let said = match Kptfile::parse(&case.text) {
        Err(error) => vec![error.to_string()],
        Ok(kptfile) => {
            let problems = kptfile.validate(Some((&package(), "")));
            let problems = problems.iter().map(|problem| problem.what.clone());
            [format!("{:?}", kptfile.fields())]
                .into_iter()
                .chain(problems)
                .collect()
        }
    };
    Checked {
        more: false,
        name: case.name.clone(),
        difference: run(case),
        result: digest(said.iter().map(String::as_str)),
    }
}

/// What differs, or nothing.
fn run(case: &Case) -> Option<String> {
    let parsed = Kptfile::parse(&case.text);
    let kptfile = match (parsed, &case.decode_error) {
        (Err(_), Some(_)) => return None,
        (Err(why), None) => return Some(format!("refused: {why}")),
        (Ok(kptfile), _) => kptfile,
    };
    let strangers = kptfile.strangers();
    match &case.decode_error {
        // `line 5: field extra not found in type v1.KptFile`
        Some(why) if strangers.iter().any(|ours| same_field(&ours.what, why)) => return None,
        Some(why) => return Some(format!("accepted, but kpt refuses: {why}")),
        None if !strangers.is_empty() => return Some(format!("strictly refused: {strangers:?}")),
        None => {}
    }
    let edited = kptfile.edit(&[]).map(|same| same.text().to_owned());
    if edited.as_deref() != Ok(case.text.as_str()) {
        return Some("no edit changed the text".to_owned());
    }
    if let Some(written) = &case.written {
        let peer = Kptfile::parse(written).map(|peer| peer.fields().clone());
        if let Some(difference) = fields_differ(kptfile.fields(), peer.as_ref().ok()) {
            return Some(difference);
        }
    }
    let problems = kptfile.validate_strictly(Some((&package(), "")));
    let ours = problems.first().map(|problem| problem.what.as_str());
    let theirs = case.validate_error.as_deref();
    let same = match (ours, theirs) {
        (Some(ours), Some(theirs)) => reason(ours) == reason(theirs),
        (ours, theirs) => ours.is_none() && theirs.is_none(),
    };
    (!same).then(|| format!("validation says\n{ours:?}\nbut kpt\n{theirs:?}"))
}

/// Whether two refusals name the same line and field.
fn same_field(ours: &str, theirs: &str) -> bool {
    let theirs = theirs.lines().filter_map(|line| {
        let (line, field) = line.trim().split_once(": field ")?;
        Some((line, field.split(' ').next()?))
    });
    let mut theirs = theirs;
    theirs.any(|(line, field)| {
        let ours = ours
            .strip_prefix(line)
            .and_then(|rest| rest.split('`').nth(1));
        ours.is_some_and(|path| path.rsplit('.').next() == Some(field))
    })
}

/// Field, value and reason; the way that a missing file is described depends on the directory.
fn reason(text: &str) -> String {
    let text = text.replace("open <pkg>/missing.yaml: ", "");
    text.trim().to_owned()
}

fn fields_differ(
    ours: &package::kptfile::KptfileFields,
    theirs: Option<&package::kptfile::KptfileFields>,
) -> Option<String> {
    let mut ours = ours.clone();
    let mut theirs = theirs?.clone();
    // kpt writes a map's keys sorted and drops texts that are empty.
    for fields in [&mut ours, &mut theirs] {
        let lists = [
            &mut fields.pipeline.mutators,
            &mut fields.pipeline.validators,
        ];
        for function in lists.into_iter().flatten() {
            function.config_map.sort();
        }
        fields.namespace = fields.namespace.take().filter(|text| !text.is_empty());
        if fields
            .upstream
            .as_ref()
            .is_some_and(|u| *u == Default::default())
        {
            fields.upstream = None;
        }
        if fields
            .inventory
            .as_ref()
            .is_some_and(|i| *i == Default::default())
        {
            fields.inventory = None;
        }
    }
    (ours != theirs).then(|| format!("fields differ:\n{ours:#?}\n{theirs:#?}"))
}

/// The files that the cases name.
fn package() -> Files {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cfg\n";
    let files = [
        ("cfg.yaml", map.to_owned()),
        ("two.yaml", format!("{map}---\n{map}")),
        ("notkrm.yaml", "a: 1\n".to_owned()),
    ];
    let named = files.into_iter().filter_map(|(path, text)| {
        PackagePath::parse(path)
            .ok()
            .map(|path| (path, File::text(text)))
    });
    named.collect()
}
