//! Functions that are commands of this machine (`exec:`); off unless somebody enables them (X2).

use async_trait::async_trait;

use super::{FunctionCall, FunctionOutcome, Limits, RunError, Runner, filter};

/// Runs commands as filters of a ResourceList.
///
/// A command is split as a shell would split it, but no shell runs it. It sees `PATH`, `HOME`, `LANG` and `TMPDIR`
/// of this process and nothing else of its environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exec;

#[async_trait]
impl Runner for Exec {
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError> {
        let command = call.function.exec.clone().unwrap_or_default();
        let argv = words(&command).ok_or_else(|| RunError::Start {
            function: command.clone(),
            why: "a quote is not closed".to_owned(),
        })?;
        let argv = super::process::bounded(&argv, limits);
        filter(&command, &argv, &call, limits).await
    }
}

/// The words of a command line: blanks separate, quotes and backslashes protect; nothing if a quote stays open.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    (quote.is_none() && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn commands_are_split_as_a_shell_splits_them() {
        let split = |line| words(line).map(|words| words.join("|"));
        for (line, wanted) in [
            ("./fn.sh", Some("./fn.sh")),
            ("  sed -e 's/foo bar/x/' ", Some("sed|-e|s/foo bar/x/")),
            ("a \"b \\\" c\" d\\ e ''", Some("a|b \" c|d e|")),
            ("a 'b", None),
            ("  ", None),
            ("a \\", None),
        ] {
            assert_eq!(split(line).as_deref(), wanted, "{line}");
        }
    }
}
