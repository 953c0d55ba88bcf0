//! A variant that is gone, by what it left: packages whose deletion waits for somebody, or that stay.

use serde_json::Value;

use crate::client::{Client, PACKAGES, VARIANTS, collection, object};
use crate::exit::ExitFailure;

/// What a variant that is gone left behind, each with what it waits for; otherwise why nothing is known of the variant.
///
/// # Errors
/// It is there, or left nothing that names it: as the server said.
pub(super) async fn variant(
    client: &Client,
    name: &str,
    why: ExitFailure,
) -> Result<String, ExitFailure> {
    let path = object(VARIANTS, &client.namespace, name);
    let Ok((404, _)) = client.ask(http::Method::GET, &path, None).await else {
        return Err(why);
    };
    let selector = format!("{}={name}", model::marks::VARIANT);
    let path = collection(PACKAGES, &client.namespace, &[("labelSelector", &selector)]);
    let Ok((200, list)) = client.ask(http::Method::GET, &path, None).await else {
        return Err(why);
    };
    let left: Vec<&Value> = super::items(&list, "/items").collect();
    if left.is_empty() {
        return Err(why);
    }
    let told = left.into_iter().map(|revision| {
        let name = api::str_at(revision, &["metadata", "name"]).unwrap_or_default();
        let stands = super::stands(revision).replacen("state: ", "", 1);
        let mut lines = stands.lines();
        let state = lines.next().unwrap_or_default();
        let rest: String = lines.map(|line| format!("  {line}\n")).collect();
        format!("- {name} ({state})\n{rest}")
    });
    Ok(format!(
        "state: gone; what it made is left\n{}",
        told.collect::<String>()
    ))
}
