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
    let mut command = command;
    for (section, flags) in table {
        let known = command.find_subcommand(&section).is_some();
        let Some(flags) = flags.as_table().filter(|_| known) else {
            return Err(Failure::usage(format!("{path}: [{section}] is no command"))
                .hint("sections are commands, keys their flags, as in [up] listen = \"127.0.0.1:6443\""));
        };
        for (key, value) in flags {
            command = set(command, path, &section, key, value)?;
        }
    }
    Ok(command)
}

fn set(
    command: Command,
    path: &str,
    section: &str,
    key: &str,
    value: &toml::Value,
) -> Result<Command, Failure> {
    let id = command
        .find_subcommand(section)
        .and_then(|c| c.get_arguments().find(|a| a.get_long() == Some(key)))
        .map(|a| a.get_id().clone())
        .ok_or_else(|| Failure::usage(format!("{path}: [{section}] has no flag {key:?}")))?;
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Float(_) => {
            value.to_string()
        }
        _ => {
            return Err(Failure::usage(format!(
                "{path}: [{section}] {key} must be a single value"
            )));
        }
    };
    Ok(command.mut_subcommand(section, |c| c.mut_arg(id, |a| a.default_value(text))))
}
