//! `remove-local-config-resources`: drops what is never applied to a cluster.

use crate::config::Config;
use crate::goquote::list;
use crate::report::{at_file, info, warning};
use crate::{FunctionReport, Item, LOCAL_CONFIG};

pub(crate) fn run(items: &mut Vec<Item>, _config: Config<'_>) -> FunctionReport {
    let is_local = |item: &Item| {
        item.annotation(LOCAL_CONFIG)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    let pruned: Vec<_> = items
        .iter()
        .filter(|item| is_local(item))
        .map(|item| at_file(item, format!("Resource name: {}", list([item.name()]))))
        .collect();
    if pruned.is_empty() {
        let message = "Found no resources to prune with the local config annotation";
        return FunctionReport::of([warning(message)]);
    }
    items.retain(|item| !is_local(item));
    let first = info(format!("Number of resources pruned: {}", pruned.len()));
    FunctionReport::of(std::iter::once(first).chain(pruned))
}
