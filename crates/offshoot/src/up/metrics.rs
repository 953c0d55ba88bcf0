//! `/metrics`: what the server, the engine and the store counted, in OpenMetrics text.

use apiserver::ServerHandle;
use engine::Engine;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Reads the counters when somebody asks.
struct Counters {
    engine: Engine,
    handle: ServerHandle,
    others: Others,
}

/// What others counted, by room and name.
pub(crate) type Others = Box<dyn Fn() -> Vec<(&'static str, &'static str, u64)> + Send + Sync>;

impl std::fmt::Debug for Counters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}

/// Answers `/metrics` from now on.
pub(crate) fn expose(engine: &Engine, handle: &ServerHandle, others: Others) {
    let mut registry = Registry::default();
    let counters = Counters {
        engine: engine.clone(),
        handle: handle.clone(),
        others,
    };
    registry.register_collector(Box::new(counters));
    handle.expose(move || {
        let mut page = String::new();
        if prometheus_client::encoding::text::encode(&mut page, &registry).is_err() {
            // Writing to a String cannot fail; a page without its end is no page.
            page.clear();
        }
        page
    });
}

impl Collector for Counters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        requests(&self.handle, &mut encoder)?;
        let counted = self
            .engine
            .stats()
            .entries()
            .into_iter()
            .map(|(n, v)| ("engine", n, v));
        let stored = self
            .engine
            .store_stats()
            .entries()
            .into_iter()
            .map(|(n, v)| ("store", n, v));
        for (room, name, value) in counted.chain(stored).chain((self.others)()) {
            let name = format!("offshoot_{room}_{name}");
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(
                &name,
                "Counted since the start",
                None,
                MetricType::Counter,
            )?;
            counter.encode(metric)?;
        }
        by_kind(
            &mut encoder,
            (
                "offshoot_reconciles",
                "Turns of controllers by kind and outcome",
            ),
            ("outcome", MetricType::Counter),
            self.engine.turns(),
        )?;
        by_kind(
            &mut encoder,
            ("offshoot_objects", "Objects by kind and state"),
            ("state", MetricType::Gauge),
            self.engine.object_counts(),
        )?;
        connections(&self.handle, &mut encoder)?;
        let busy = ConstGauge::new(u64::try_from(self.engine.busy()).unwrap_or(u64::MAX));
        let metric = encoder.encode_descriptor(
            "workqueue_depth",
            "Keys that wait or are worked on",
            None,
            MetricType::Gauge,
        )?;
        busy.encode(metric)
    }
}

/// A family of numbers by kind and one more label.
fn by_kind(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    (label, kind_of_metric): (&str, MetricType),
    numbers: Vec<(&'static str, &'static str, u64)>,
) -> Result<(), std::fmt::Error> {
    let counts = matches!(kind_of_metric, MetricType::Counter);
    let mut metric = encoder.encode_descriptor(name, help, None, kind_of_metric)?;
    for (kind, value, number) in numbers {
        let labels = [("kind", kind), (label, value)];
        let family = metric.encode_family(&labels)?;
        match counts {
            true => ConstCounter::new(number).encode(family)?,
            false => ConstGauge::new(number).encode(family)?,
        }
    }
    Ok(())
}

/// Connections that are open, and those that the server ended.
fn connections(
    handle: &ServerHandle,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), std::fmt::Error> {
    let numbers = handle.connections();
    let mut metric = encoder.encode_descriptor(
        "offshoot_connections",
        "Open connections, with and without a request or a watch",
        None,
        MetricType::Gauge,
    )?;
    for (state, number) in [("in_use", numbers.in_use), ("idle", numbers.idle)] {
        let labels = [("state", state)];
        let family = metric.encode_family(&labels)?;
        ConstGauge::new(u64::try_from(number).unwrap_or(u64::MAX)).encode(family)?;
    }
    let mut metric = encoder.encode_descriptor(
        "offshoot_connections_ended",
        "Connections that the server ended, by the limit that they met",
        None,
        MetricType::Counter,
    )?;
    for (reason, number) in numbers.ended {
        let labels = [("reason", reason)];
        let family = metric.encode_family(&labels)?;
        ConstCounter::new(number).encode(family)?;
    }
    Ok(())
}

/// Requests under the name that Kubernetes gives them.
fn requests(
    handle: &ServerHandle,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), std::fmt::Error> {
    let mut metric = encoder.encode_descriptor(
        "apiserver_request",
        "Requests by verb, resource and code",
        None,
        MetricType::Counter,
    )?;
    for (key, count) in handle.requests() {
        let labels = [
            ("verb", key.verb.to_owned()),
            ("resource", key.resource),
            ("code", key.code.to_string()),
        ];
        let family = metric.encode_family(&labels)?;
        ConstCounter::new(count).encode(family)?;
    }
    Ok(())
}
