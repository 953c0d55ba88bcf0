//! What the elements of lists are told apart by.

use yaml::Node;

/// What an element holds under a key, which may be one of a map in it (`metadata.name`).
pub(crate) fn keyed<'a>(item: Node<'a>, key: &str) -> Option<Node<'a>> {
    item.effective(key).or_else(|| {
        let (outer, inner) = key.split_once('.')?;
        item.effective(outer)?.effective(inner)
    })
}

/// A text of a function of a Kptfile's pipeline; empty if it has none.
pub(crate) fn function_text<'a>(function: Node<'a>, key: &str) -> &'a str {
    function
        .get(key)
        .and_then(|node| node.as_str())
        .unwrap_or_default()
}

/// What a function runs, without its version: the image without tag and digest, or the command's
/// first word.
pub(crate) fn runs(function: Node<'_>) -> String {
    let image = function_text(function, "image");
    if image.is_empty() {
        let command = function_text(function, "exec").split_whitespace().next();
        return format!("exec {}", command.unwrap_or_default());
    }
    let image = image.split('@').next().unwrap_or(image);
    let (path, last) = image
        .rsplit_once('/')
        .map_or(("", image), |(path, last)| (path, last));
    let last = last.split(':').next().unwrap_or(last);
    format!("{path}/{last}")
}
