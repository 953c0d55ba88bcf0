//! Get and list: objects, lists, tables and partial metadata.

use axum::response::Response;
use objects::{Backing, Failure, Reason};
use objectstore::Gone;
use serde_json::{Map, json};

use super::forms::{no_part, objects, one, partial, shaped};
use super::negotiate::Shape;
use super::parameters::{list_query, rv_parameter};
use super::{Asked, Door, respond};
use crate::verbs::read::Selection;

/// How long a read waits for a version that is not there yet.
const WAIT: std::time::Duration = std::time::Duration::from_secs(3);

impl Door {
    pub(super) async fn get(&self, asked: Asked) -> Result<Response, Failure> {
        let form = asked.accept.choose_of(asked.typed(), |s| {
            matches!(
                s,
                Shape::Object | Shape::Table(_) | Shape::Partial(_) | Shape::PartialList(_)
            )
        })?;
        if let Some(version) = rv_parameter(&asked.query, false)? {
            self.reach(version).await?;
        }
        let shown = self.core.get(&asked.target, &asked.whose).await?;
        if asked.target.subresource == "scale" {
            let scale = super::scale::shown(&asked.target, &shown.value())?;
            if let Shape::Table(version) = form.shape {
                let table = super::scale::table(&scale, version, &asked.query, self.core.now())?;
                return Ok(respond::value(200, form.format, &table, &asked.warnings));
            }
            if let Shape::Partial(version) = form.shape {
                let part = partial(&scale, version);
                return Ok(respond::value(200, form.format, &part, &asked.warnings));
            }
            return Ok(respond::value(200, form.format, &scale, &asked.warnings));
        }
        one(
            200,
            form,
            &asked.target,
            &shown,
            &asked.query,
            self.core.now(),
            &asked.warnings,
        )
    }

    pub(super) async fn list(&self, asked: Asked) -> Result<Response, Failure> {
        let query = list_query(&asked.query)?;
        if asked.target.resource.backing != Backing::Virtual {
            // What cannot be read is told before the form in which nobody could tell it.
            Selection::parse(&asked.target, &query.labels, &query.fields)?;
        }
        let form = asked
            .accept
            .choose_of(asked.typed(), |s| s != Shape::Discovery)?;
        no_part(&asked.target, form.shape)?;
        // Whoever has a token is at the version of that.
        if query.token.is_empty()
            && let Some(version) = rv_parameter(&asked.query, true)?
        {
            self.reach(version).await?;
        }
        let page = self.core.list(&asked.target, &asked.whose, &query).await?;
        let (target, warnings) = (&asked.target, &asked.warnings);
        match shaped(form.shape, target, &page, &asked.query, self.core.now())? {
            Some(value) => Ok(respond::value(200, form.format, &value, warnings)),
            None => Ok(objects(form.format, target, &page, warnings)?),
        }
    }

    /// Waits until the store has reached a version that the client has seen.
    pub(super) async fn reach(&self, version: u64) -> Result<(), Failure> {
        let started = tokio::time::Instant::now();
        while self.core.store.rv() < version {
            if started.elapsed() > WAIT {
                let current = self.core.store.rv();
                let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
                let mut details = Map::new();
                details.insert("causes".to_owned(), json!([cause]));
                details.insert("retryAfterSeconds".to_owned(), 1.into());
                let message =
                    format!("Timeout: Too large resource version: {version}, current: {current}");
                return Err(Failure::new(504, Reason::Timeout, message).with_details(details));
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// 410 of a list or a watch that is too old.
pub(super) fn too_old(gone: Gone) -> Failure {
    Failure::expired(gone.to_string())
}
