//! `--config offshoot.toml`: defaults for flags, below the environment and the command line.
//!
//! Keys are the long names of flags, grouped by command:
//!
//! ```toml
//! [up]
//! data = "/var/lib/offshoot"
//! listen = "127.0.0.1:6443"
//! ```

use std::path::Path;

use clap::Command;

use crate::exit::Failure;

/// The path given with `--config` or `OFFSHOOT_CONFIG`, before anything else is parsed.
pub(crate) fn path(args: &[String]) -> Option<String> {
    // There it is the function's configuration.
    if args.get(1).is_some_and(|word| word == "fn") {
        return std::env::var("OFFSHOOT_CONFIG").ok();
    }
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().cloned();
        }
        if let Some(path) = word.strip_prefix("--config=") {
            return Some(path.to_owned());
        }
    }
    std::env::var("OFFSHOOT_CONFIG").ok()
}

/// The command with the file's values as defaults.
///
/// # Errors
/// The file cannot be read, is no TOML, or names a command or flag that does not exist.
pub(crate) fn apply(command: Command, path: &str) -> Result<Command, Failure> {
    let text = std::fs::read_to_string(Path::new(path))
        .map_err(|e| Failure::of(&format!("read the configuration {path}"), &e))?;
    let table: toml::Table = toml::from_str(&text)
        .map_err(|e| Failure::usage(format!("{path} is no valid TOML: {e}")))?;
    section(command, path, "", &table)
}

/// One table: its keys are flags of the command, its tables are the command's own commands.
fn section(
    mut command: Command,
    path: &str,
    name: &str,
    table: &toml::Table,
) -> Result<Command, Failure> {
    for (key, value) in table {
        let toml::Value::Table(inner) = value else {
            command = set(command, path, name, key, value)?;
            continue;
        };
        let inner_name = format!("{name}{}{key}", if name.is_empty() { "" } else { "." });
        if command.find_subcommand(key).is_none() {
            return Err(Failure::usage(format!("{path}: [{inner_name}] is no command"))
                .hint("sections are commands, keys their flags, as in [up] listen = \"127.0.0.1:6443\" or [rpkg.get] output = \"wide\""));
        }
        let mut failed = None;
        command = command.mut_subcommand(key, |inner_command| {
            let before = inner_command.clone();
            section(inner_command, path, &inner_name, inner).unwrap_or_else(|why| {
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
    key: &str,
    value: &toml::Value,
) -> Result<Command, Failure> {
    let place = if name.is_empty() {
        "the top".to_owned()
    } else {
        format!("[{name}]")
    };
    let flag = command
        .get_arguments()
        .find(|a| a.get_long() == Some(key))
        .map(|a| a.get_id().clone());
    let id = flag.ok_or_else(|| {
        Failure::usage(format!("{path}: {place} has no flag {key:?}")).hint(
            "a flag stands in the section of the command whose help defines it: `log` at the top, `namespace` in [rpkg], \
             `output` in [rpkg.get]",
        )
    })?;
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Float(_) => {
            value.to_string()
        }
        _ => {
            return Err(Failure::usage(format!(
                "{path}: {place} {key} must be a single value"
            )));
        }
    };
    Ok(command.mut_arg(id, |a| a.default_value(text)))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::cli::remote::Rpkg;
    use crate::cli::{Cli, Command as Verb};

    fn parsed(toml: &str, words: &[&str]) -> Result<Cli, Failure> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("offshoot.toml");
        std::fs::write(&file, toml).unwrap();
        let command = apply(Cli::command(), &file.display().to_string())?;
        let matches = command.try_get_matches_from(words).unwrap();
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
        ] {
            let why = parsed(toml, &["offshoot", "version"])
                .unwrap_err()
                .to_string();
            assert!(why.contains(told), "{why}");
        }
    }
}
