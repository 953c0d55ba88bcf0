//! `offshoot crds`: the definitions that a cluster needs (A10).

/// All of them as one YAML stream.
pub(crate) fn text() -> String {
    api::crd_texts()
}

#[cfg(test)]
mod tests {
    /// `BLESS=1` writes them anew.
    #[test]
    fn the_chart_installs_what_is_compiled_in() {
        let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/chart/files/crds");
        let mut wanted: Vec<String> = Vec::new();
        for definition in api::CRDS.iter().chain([&api::RECORDS]) {
            let name = format!("{}.yaml", definition.plural);
            let path = format!("{chart}/{name}");
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, definition.text).unwrap();
            }
            let held = std::fs::read_to_string(&path).unwrap();
            assert!(held == definition.text, "{path} is another definition");
            wanted.push(name);
        }
        let held = std::fs::read_dir(chart).unwrap();
        let mut held: Vec<String> = held
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        wanted.sort();
        held.sort();
        assert_eq!(held, wanted);
    }
}
