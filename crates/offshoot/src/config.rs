//! `--config offshoot.toml`: defaults for flags, below the environment and the command line.
//!
//! Keys are the long names of flags, grouped by command:
//!
//! ```toml
//! [up]
//! data = "/var/lib/offshoot"
//! listen = "127.0.0.1:6443"
//! ```

use std::collections::BTreeSet;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::exit::ExitFailure;

/// The path given with `--config` or `OFFSHOOT_CONFIG`, before anything else is parsed.
pub(crate) fn path(args: &[String]) -> Option<String> {
    let mut words = args.iter().skip(1);
    let mut first = true;
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().cloned();
        }
        if let Some(path) = word.strip_prefix("--config=") {
            return Some(path.to_owned());
        }
        if word == "--log" {
            words.next();
        } else if first && !word.starts_with('-') {
            first = false;
            // Behind it, it is the function's configuration.
            if word == "fn" {
                break;
            }
        }
    }
    std::env::var("OFFSHOOT_CONFIG").ok()
}

/// Flags that are not taken from the file: the command, as `rpkg.del`, and the flag's id.
type Passed = BTreeSet<(String, String)>;

/// Parses the arguments with the file's values as defaults; `finish` has the last word on the command.
///
/// A value of the file gives way to an argument that excludes it: clap counts no default as a conflict, so that both would
/// be taken, and the file could win.
///
/// # Errors
/// As [`apply`]; within, the arguments are wrong.
pub(crate) fn matches(
    command: &Command,
    path: &str,
    args: &[String],
    finish: impl Fn(Command) -> Command,
) -> Result<Result<ArgMatches, clap::Error>, ExitFailure> {
    let mut all = finish(apply(command.clone(), path, &Passed::new())?);
    let parsed = all.try_get_matches_from_mut(args);
    let mut beaten = Passed::new();
    if let Ok(matches) = &parsed {
        excluded(&all, matches, "", &mut beaten);
    }
    if beaten.is_empty() {
        return Ok(parsed);
    }
    Ok(finish(apply(command.clone(), path, &beaten)?).try_get_matches_from(args))
}

/// The flags that have a default although an argument that excludes them was given.
fn excluded(command: &Command, matches: &ArgMatches, name: &str, out: &mut Passed) {
    let source = |flag: &Arg| matches.value_source(flag.get_id().as_str());
    let given: Vec<&Arg> = command
        .get_arguments()
        .filter(|flag| {
            let source = source(flag);
            matches!(
                source,
                Some(ValueSource::CommandLine | ValueSource::EnvVariable)
            )
        })
        .collect();
    let excludes = |one: &Arg, other: &Arg| {
        let all = command.get_arg_conflicts_with(one);
        all.iter().any(|flag| flag.get_id() == other.get_id())
    };
    for flag in command.get_arguments() {
        let stated = source(flag) == Some(ValueSource::DefaultValue);
        if stated && given.iter().any(|g| excludes(g, flag) || excludes(flag, g)) {
            out.insert((name.to_owned(), flag.get_id().to_string()));
        }
    }
    if let Some((verb, inner)) = matches.subcommand()
        && let Some(below) = command.find_subcommand(verb)
    {
        excluded(below, inner, &joined(name, below.get_name()), out);
    }
}

fn joined(name: &str, below: &str) -> String {
    match name {
        "" => below.to_owned(),
        name => format!("{name}.{below}"),
    }
}

/// The command with the file's values as defaults.
///
/// # Errors
/// The file cannot be read, is no TOML, or names a command or flag that does not exist.
fn apply(command: Command, path: &str, passed: &Passed) -> Result<Command, ExitFailure> {
    let text = std::fs::read_to_string(Path::new(path))
        .map_err(|e| ExitFailure::of(&format!("read the configuration {path}"), &e))?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|e| ExitFailure::usage(format!("{path} is no valid TOML: {e}")))?;
    section(command, path, "", &table, passed)
}

/// One table: its keys are flags of the command, its tables are the command's own commands.
fn section(
    mut command: Command,
    path: &str,
    name: &str,
    table: &toml::Table,
    passed: &Passed,
) -> Result<Command, ExitFailure> {
    for (key, value) in table {
        let toml::Value::Table(inner) = value else {
            command = set(command, path, name, (key, value), passed)?;
            continue;
        };
        // It may be called by another of its names, as on the command line.
        let own = command
            .find_subcommand(key)
            .map(|c| c.get_name().to_owned());
        let Some(own) = own else {
            let inner_name = joined(name, key);
            return Err(ExitFailure::usage(format!("{path}: [{inner_name}] is no command"))
                .hint("sections are commands, keys their flags, as in [up] listen = \"127.0.0.1:6443\" or [rpkg.get] output = \"wide\""));
        };
        let inner_name = joined(name, &own);
        let mut failed = None;
        command = command.mut_subcommand(own, |inner_command| {
            let before = inner_command.clone();
            section(inner_command, path, &inner_name, inner, passed).unwrap_or_else(|why| {
                failed = Some(why);
                before
            })
        });
        if let Some(why) = failed {
            return Err(why);
        }
    }
    Ok(command)
}

fn set(
    command: Command,
    path: &str,
    name: &str,
    (key, value): (&str, &toml::Value),
    passed: &Passed,
) -> Result<Command, ExitFailure> {
    let place = if name.is_empty() {
        "the top".to_owned()
    } else {
        format!("[{name}]")
    };
    let flag = command
        .get_arguments()
        .find(|a| a.get_long() == Some(key))
        .map(|a| {
            let repeats = matches!(a.get_action(), ArgAction::Append);
            let takes_more = repeats || a.get_value_delimiter().is_some();
            (a.get_id().clone(), takes_more)
        });
    let (id, takes_more) = flag.ok_or_else(|| {
        ExitFailure::usage(format!("{path}: {place} has no flag {key:?}")).hint(
            "a flag stands in the section of the command whose help defines it: `log` at the top, `namespace` in [rpkg], \
             `output` in [rpkg.get]",
        )
    })?;
    let texts = match value {
        toml::Value::Array(values) if takes_more => values.iter().map(single).collect(),
        value => single(value).map(|text| vec![text]),
    };
    let texts: Vec<String> = texts.ok_or_else(|| {
        let what = if takes_more {
            "a single value or a list of them"
        } else {
            "a single value"
        };
        ExitFailure::usage(format!("{path}: {place} {key} must be {what}"))
    })?;
    if passed.contains(&(name.to_owned(), id.to_string())) {
        return Ok(command);
    }
    Ok(command.mut_arg(id, |a| a.default_values(texts)))
}

/// A value as the command line would give it.
fn single(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Float(_) => {
            Some(value.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::cli::remote::Rpkg;
    use crate::cli::{Cli, Command as Verb};

    fn parsed(toml: &str, words: &[&str]) -> Result<Cli, ExitFailure> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("offshoot.toml");
        std::fs::write(&file, toml).unwrap();
        let args: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let path = file.display().to_string();
        let matches = matches(&Cli::command(), &path, &args, |command| command)?.unwrap();
        Ok(Cli::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn flags_of_every_depth_have_defaults() {
        let toml = "log = \"json\"\n[rpkg]\nnamespace = \"shop\"\n[rpkg.get]\noutput = \"wide\"\nno-headers = true\n";
        let cli = parsed(toml, &["offshoot", "rpkg", "get"]).unwrap();
        assert_eq!(cli.log, crate::cli::LogFormat::Json);
        let Verb::Rpkg(args) = cli.command else {
            panic!("another command")
        };
        assert_eq!(args.connect.namespace.as_deref(), Some("shop"));
        let Rpkg::Get { listing, .. } = &args.verb else {
            panic!("another verb")
        };
        assert_eq!(listing.output.as_deref(), Some("wide"));
        assert!(listing.no_headers);
    }

    #[test]
    fn what_is_no_command_or_flag_is_told_by_name() {
        for (toml, told) in [
            ("[rpkg.gte]\na = 1\n", "[rpkg.gte] is no command"),
            (
                "[rpkg.get]\nnamespace = \"a\"\n",
                "[rpkg.get] has no flag \"namespace\"",
            ),
            ("[up]\ndata = [1]\n", "[up] data must be a single value"),
            (
                "[up]\ngit-hosts = [[1]]\n",
                "[up] git-hosts must be a single value or a list of them",
            ),
        ] {
            let why = parsed(toml, &["offshoot", "version"])
                .unwrap_err()
                .to_string();
            assert!(why.contains(told), "{why}");
        }
    }

    /// A flag that may be given more than once is a list, and the command line's own are no more than that.
    #[test]
    fn a_flag_that_may_be_given_more_than_once_is_a_list() {
        let below = |toml: &str, words: &[&str]| {
            let words = [&["offshoot", "up"], words].concat();
            match parsed(toml, &words).unwrap().command {
                Verb::Up(up) => up.repositories.clone(),
                _ => panic!("another command"),
            }
        };
        let two = ["/srv/a", "/srv/b"].map(PathBuf::from);
        let list = "[up]\nrepositories-below = [\"/srv/a\", \"/srv/b\"]\n";
        assert_eq!(below(list, &[]), two);
        let text = "[up]\nrepositories-below = \"/srv/a,/srv/b\"\n";
        assert_eq!(below(text, &[]), two);
        let plan = parsed(
            "[plan]\nfilename = [\"a.yaml\", \"b.yaml\"]\n",
            &["offshoot", "plan"],
        );
        assert!(plan.is_ok(), "a flag without commas between its values");
        let named = ["--repositories-below", "/srv/c"];
        assert_eq!(below(list, &named), [PathBuf::from("/srv/c")]);
    }

    /// A section may be called as the command is, whichever of its names that is.
    #[test]
    fn an_alias_is_a_section_too() {
        let toml = "[rpackage]\nnamespace = \"shop\"\n[rpackage.list]\noutput = \"wide\"\n";
        let cli = parsed(toml, &["offshoot", "rpkg", "get"]).unwrap();
        let Verb::Rpkg(args) = cli.command else {
            panic!("another command")
        };
        assert_eq!(args.connect.namespace.as_deref(), Some("shop"));
    }

    /// A default is no conflict for clap: both would be taken, and the draft would hold the side that the file names.
    #[test]
    fn what_is_typed_beats_what_the_file_says_of_a_flag_that_it_excludes() {
        let toml = "[resolve]\ntake = \"local\"\n[rpkg.delete]\npackage = \"web\"\n";
        let cli = parsed(toml, &["offshoot", "resolve", "k1", "--value", "7"]).unwrap();
        let Verb::Resolve(args) = cli.command else {
            panic!("another command")
        };
        assert_eq!(
            (args.take.is_none(), args.value.as_deref()),
            (true, Some("7"))
        );
        let cli = parsed(toml, &["offshoot", "rpkg", "del", "a.b.c"]).unwrap();
        let Verb::Rpkg(args) = cli.command else {
            panic!("another command")
        };
        let Rpkg::Del(args) = &args.verb else {
            panic!("another verb")
        };
        assert_eq!(args.package, None);
    }

    #[test]
    fn the_configuration_of_a_function_is_none_of_ours() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let ours = path(&words("offshoot --config a.toml --log json rpkg get"));
        assert_eq!(ours.as_deref(), Some("a.toml"));
        let ours = path(&words(
            "offshoot --log json --config a.toml fn run set-labels --config l.yaml",
        ));
        assert_eq!(ours.as_deref(), Some("a.toml"));
        let ours = path(&words("offshoot rpkg get fn --config a.toml"));
        assert_eq!(ours.as_deref(), Some("a.toml"));
        for text in [
            "offshoot fn run set-labels --config l.yaml",
            "offshoot --log json fn run set-labels --config l.yaml",
            "offshoot --log=json fn run set-labels --config=l.yaml",
        ] {
            assert_ne!(path(&words(text)).as_deref(), Some("l.yaml"), "{text}");
        }
    }
}
