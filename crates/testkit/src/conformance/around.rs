//! What is around packages: namespaces, kinds of others, Secrets, and who is told.

use engine::ports::{
    ClusterEvent, EventType, Found, Gvk, OurKind, PortError, Reader, Requester, StoredVariant,
};

use super::{CaseResult, World, holds};

async fn made(world: &World) -> Result<StoredVariant, PortError> {
    world.ports.variants.create(&world.variant).await
}

pub(super) async fn what_is_not_there_is_none(world: &World) -> CaseResult {
    let (ports, key) = (&world.ports, &world.variant.key);
    holds(
        ports.variants.get(key).await?.is_none(),
        "there is a variant",
    )?;
    holds(
        !ports.variants.is_at(key, "1").await?,
        "what is not there is at no version",
    )?;
    holds(ports.sets.get(key).await?.is_none(), "there is a set")?;
    holds(
        ports.repositories.get(key).await?.is_none(),
        "there is a repository",
    )?;
    holds(
        ports.repositories.now(&key.namespace).await?.is_empty(),
        "there are repositories",
    )?;
    holds(
        ports.cluster.namespace_active(&key.namespace).await?,
        "the namespace is there",
    )
}

pub(super) async fn a_kind_that_is_not_served_is_an_answer(world: &World) -> CaseResult {
    let made = made(world).await?;
    let (cluster, kind) = (
        &world.ports.cluster,
        Gvk::of("nobody.example.com/v1", "Nothing"),
    );
    holds(cluster.objects(&kind).await?.is_none(), "it is followed")?;
    let now = cluster.objects_now(&kind, &made.key.namespace).await?;
    holds(now.is_none(), "it is listed")?;
    let requester = Requester {
        kind: OurKind::Variant,
        key: made.key.clone(),
    };
    let object = cluster.object(&kind, &made.key, &requester).await?;
    holds(
        matches!(object, Found::KindMissing | Found::WriterUnknown),
        "it is read",
    )?;
    let listable = cluster.listable(&kind, &requester).await?;
    holds(listable == Found::KindMissing, "it may be listed")
}

/// X6.
pub(super) async fn nothing_is_read_for_an_object_that_nobody_wrote(world: &World) -> CaseResult {
    let mut nobody = world.variant.key.clone();
    nobody.name = model::ObjectName::parse("nobody")?;
    let requester = Requester {
        kind: OurKind::Set,
        key: nobody.clone(),
    };
    let cluster = &world.ports.cluster;
    let named = cluster.revision_set(&nobody, &requester).await?;
    holds(
        matches!(named, Found::Absent | Found::WriterUnknown),
        "a set of revisions is read",
    )
}

pub(super) async fn a_secret_is_given_to_whoever_named_it(world: &World) -> CaseResult {
    let (secrets, key) = (&world.ports.secrets, &world.variant.key);
    let reader = Reader::Repository {
        key: key.clone(),
        address: "https://git.example.com/a.git".to_owned(),
    };
    let secret = secrets.secret(key, &reader).await?;
    holds(
        matches!(secret, Found::Absent | Found::Forbidden(_)),
        "there is a Secret",
    )?;
    holds(
        secrets.trusted(&key.namespace).await?.is_none(),
        "the namespace trusts somebody",
    )
}

pub(super) async fn an_event_is_no_write_of_what_it_is_about(world: &World) -> CaseResult {
    let made = made(world).await?;
    for _ in 0..2 {
        let event = ClusterEvent {
            kind: OurKind::Variant,
            about: made.key.clone(),
            event_type: EventType::Normal,
            reason: "Told".to_owned(),
            message: "twice".to_owned(),
        };
        world.ports.events.tell(event).await;
    }
    let version = &made.meta.resource_version;
    holds(
        world.ports.variants.is_at(&made.key, version).await?,
        "it is at another version",
    )
}
