//! What a render under way has made so far, and what a function put into the Kptfile that no Kptfile has (M18).

use std::sync::Arc;

use model::Files;
use yaml::owned::Value;

use super::Render;
use crate::kptfile::TOP;

impl Render {
    /// How many functions have changed anything so far; counted with [`super::Options::trace`].
    pub(crate) fn changes(&self) -> usize {
        self.changed_by.len()
    }

    /// The files as the functions that ran so far left them, without the Kptfile's report.
    pub(crate) fn so_far(&self) -> Files {
        let written = self.resources.write(&self.files);
        written.map_or_else(|_| self.files.clone(), |(files, _)| files)
    }

    /// Notes the top fields that functions put into the Kptfile and that no Kptfile has: kpt refuses to read it then.
    pub(super) fn note_added(&mut self) {
        let now = unknown(self.resources.kptfile());
        if now.is_empty() || self.steps.is_empty() {
            return;
        }
        let read = self.plan.kptfiles.get(&crate::kptfile::path());
        let had = |name: &String| {
            let root = read.and_then(|stream| stream.document(0)).map(|d| d.root());
            root.is_some_and(|root| root.get(name).is_some())
        };
        for name in now.iter().filter(|name| !had(name)) {
            let what = format!(
                "Kptfile: a function added the field `{name}`, which no Kptfile has; kpt will refuse to read it"
            );
            if !self.plan.strange.contains(&what) {
                self.plan.strange.push(what);
            }
        }
    }
}

/// The top fields of a Kptfile that nobody knows.
fn unknown(kptfile: Option<&Arc<Value>>) -> Vec<String> {
    let map = kptfile.and_then(|kptfile| kptfile.as_map());
    let names = map
        .into_iter()
        .flat_map(|map| map.iter())
        .map(|(key, _)| key);
    names
        .filter(|key| !TOP.contains(key))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use model::{File, PackagePath};

    use super::super::{Options, Output, RenderStep};
    use super::*;

    fn rendered(kptfile: &str, add: Option<&str>) -> super::super::Rendered {
        let path = PackagePath::parse("Kptfile").unwrap();
        let files: Files = [(path, File::text(kptfile))].into_iter().collect();
        let mut render = Render::new(files, Options::default());
        let RenderStep::Run(run) = render.next() else {
            panic!("a function is to be run");
        };
        let mut items = run.items;
        for item in &mut items {
            let map = Arc::make_mut(&mut item.value).as_map_mut().unwrap();
            if let Some(name) = add {
                map.push(name, Value::map([("a", Value::string("b"))]));
            }
        }
        render.resume(Ok(Output {
            items,
            ..Output::default()
        }));
        let RenderStep::Done(done) = render.next() else {
            panic!("the end");
        };
        *done
    }

    const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators:\n  - {image: x}\n";

    #[test]
    fn a_field_that_a_function_adds_and_no_kptfile_has_is_told() {
        let told = rendered(KPTFILE, Some("spec"));
        assert!(told.status.error.is_none(), "{:?}", told.status);
        assert!(
            told.warnings
                .iter()
                .any(|w| w.contains("a function added the field `spec`")),
            "{:?}",
            told.warnings
        );
        assert_eq!(rendered(KPTFILE, None).warnings, Vec::<String>::new());
        assert_eq!(
            rendered(KPTFILE, Some("info")).warnings,
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_field_that_was_there_is_told_as_what_it_is_and_not_as_a_functions() {
        let told = rendered(&format!("{KPTFILE}extra: 1\n"), None);
        assert_eq!(told.warnings.len(), 1, "{:?}", told.warnings);
        assert!(
            !told.warnings[0].contains("a function added"),
            "{:?}",
            told.warnings
        );
    }
}
