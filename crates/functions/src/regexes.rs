//! Patterns of configurations and comments: bounded, and built once where the same one is met again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

/// Largest compiled program, in bytes: what takes a few milliseconds to build.
const PROGRAM: usize = 256 << 10;
/// How many are kept.
const KEPT: usize = 16;

thread_local! {
    static BUILT: RefCell<VecDeque<(String, Rc<Regex>)>> = RefCell::default();
}

#[cfg(test)]
thread_local! {
    static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many patterns this thread has built.
#[cfg(test)]
pub(crate) fn built() -> usize {
    COUNT.get()
}

/// Compiles a pattern, or finds it among the last ones.
///
/// # Errors
/// It is none, or too large.
pub(crate) fn compile(text: &str) -> Result<Rc<Regex>, regex::Error> {
    BUILT.with_borrow_mut(|built| {
        if let Some((_, known)) = built.iter().find(|(of, _)| of == text) {
            return Ok(Rc::clone(known));
        }
        let regex = RegexBuilder::new(text).size_limit(PROGRAM).build()?;
        #[cfg(test)]
        COUNT.set(COUNT.get() + 1);
        let regex = Rc::new(regex);
        if built.len() >= KEPT {
            built.pop_front();
        }
        built.push_back((text.to_owned(), Rc::clone(&regex)));
        Ok(regex)
    })
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::compile;

    #[test]
    fn a_pattern_is_bounded_and_built_once() {
        let first = compile("^a{3}$").unwrap();
        assert!(Rc::ptr_eq(&first, &compile("^a{3}$").unwrap()));
        assert!(compile("([a-z]{100}){100}").is_err());
        assert!(compile(r"^(?:\w+-\w+)$").is_ok());
    }
}
