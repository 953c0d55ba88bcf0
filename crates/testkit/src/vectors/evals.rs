//! Recorded runs of single functions over a package: `kpt fn eval`, alone or in a chain from `source` to `sink`.
//!
//! Only command lines whose result is a package are understood; with any other flag a case is not run here.

use std::sync::Arc;

use model::{Files, Function, RenderStatus, Selector};
use package::render::{Options, Render, Rendered};
use serde_json::Value;
use yaml::owned::Value as Owned;

/// Functions that are run one after the other.
#[derive(Debug, Clone, Default)]
pub struct Eval {
    /// They, and the text of a configuration if it is a file's.
    pub functions: Vec<(Function, Option<String>)>,
    /// The directory that the result goes to, if it is not the package itself.
    pub out: Option<String>,
}

/// What a case runs; nothing if it is something else.
pub fn read(json: &Value) -> Option<Eval> {
    let lines = json.get("cli").and_then(Value::as_array);
    if let Some(lines) = lines {
        let [line] = lines.as_slice() else {
            return None;
        };
        return command(line.as_str()?, json);
    }
    if json.get("command").and_then(Value::as_str) != Some("eval") {
        return None;
    }
    let config = json.get("config")?;
    if config.get("includeMetaResources").is_some() {
        return None;
    }
    let mut function = Function {
        image: config
            .get("image")
            .and_then(Value::as_str)
            .map(str::to_owned),
        ..Function::default()
    };
    let arguments = config
        .get("args")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    function.config_map = arguments
        .map(|(key, value)| {
            let text = value.as_str().map(str::to_owned);
            (key.clone(), text.unwrap_or_else(|| value.to_string()))
        })
        .collect();
    function.image.as_ref()?;
    let text = json
        .get("fn_config")
        .and_then(Value::as_str)
        .map(str::to_owned);
    Some(Eval {
        functions: vec![(function, text)],
        out: None,
    })
}

/// `kpt fn source | kpt fn eval - FLAGS -- KEY=VALUE… | kpt fn sink DIR`, or one `kpt fn eval FLAGS -- KEY=VALUE…`.
fn command(line: &str, json: &Value) -> Option<Eval> {
    let mut eval = Eval::default();
    let words = words(line);
    let steps: Vec<&[String]> = words.split(|word| word == "|").collect();
    let last = steps.len() - 1;
    for (at, step) in steps.iter().enumerate() {
        let words: Vec<&str> = step.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["kpt", "fn", "source"] if at == 0 => {}
            ["kpt", "fn", "sink", out] if at == last => eval.out = Some((*out).to_owned()),
            ["kpt", "fn", "eval", "-", flags @ ..] if at > 0 => one(flags, json, &mut eval)?,
            ["kpt", "fn", "eval", flags @ ..] if at == 0 && last == 0 => {
                one(flags, json, &mut eval)?;
            }
            _ => return None,
        }
    }
    Some(eval).filter(|eval| !eval.functions.is_empty())
}

fn one(flags: &[&str], json: &Value, eval: &mut Eval) -> Option<()> {
    let (mut function, mut config) = (Function::default(), None);
    let (mut select, mut exclude) = (Selector::default(), Selector::default());
    let flags: Vec<&str> = flags
        .iter()
        .flat_map(|word| match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => vec![flag, value],
            _ => vec![*word],
        })
        .collect();
    let mut flags = flags.into_iter();
    while let Some(flag) = flags.next() {
        if flag == "--" {
            break;
        }
        let value = flags.next()?.to_owned();
        match flag {
            "--image" | "-i" => function.image = Some(value),
            "--exec" => function.exec = Some(value),
            "--image-pull-policy" => {}
            "--fn-config" => config = Some(json.get("input")?.get(value)?.as_str()?.to_owned()),
            "-o" if value != "stdout" && value != "unwrap" => eval.out = Some(value),
            "--match-kind" => select.kind = Some(value),
            "--match-name" => select.name = Some(value),
            "--exclude-kind" => exclude.kind = Some(value),
            _ => return None,
        }
    }
    function.config_map = flags
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let given = |selector: Selector| Some(selector).filter(|one| *one != Selector::default());
    function.selectors.extend(given(select));
    function.exclude.extend(given(exclude));
    eval.functions.push((function, config));
    Some(())
}

/// The words of a command line; quotes protect, a bar stands alone.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Runs the functions one after the other; the first that fails ends it. `drive` runs one.
pub fn run(eval: &Eval, files: Files, drive: impl Fn(Render) -> Rendered) -> Rendered {
    let options = Options {
        without_status: true,
        ..Options::default()
    };
    let mut rendered = Rendered {
        files,
        status: RenderStatus::default(),
        unreadable: false,
        changed_by: Vec::new(),
        warnings: Vec::new(),
    };
    for (function, config) in &eval.functions {
        let config = match config.as_deref().map(read_config).transpose() {
            Ok(config) => config,
            Err(why) => {
                rendered.status.error = Some(why);
                return rendered;
            }
        };
        rendered = drive(Render::one(
            rendered.files,
            function.clone(),
            config,
            options,
        ));
        if !rendered.status.succeeded() {
            return rendered;
        }
    }
    rendered
}

fn read_config(text: &str) -> Result<Arc<Owned>, String> {
    let stream = yaml::Stream::parse(text, &yaml::Limits::default());
    let stream = stream.map_err(|error| error.to_string())?;
    let document = stream.documents().find(|document| !document.is_empty());
    let document = document.ok_or("the configuration is empty")?;
    let value = Owned::read(&document).map_err(|error| error.to_string())?;
    if value.as_map().is_none() {
        return Err("the configuration is no map".to_owned());
    }
    Ok(Arc::new(value))
}
