//! What a phase cost: wall, CPU, peak memory, and what was counted.

use std::time::Instant;

use serde_json::{Map, Value, json};

/// The start of a phase.
pub(super) struct Start {
    wall: Instant,
    cpu: f64,
    counted: Vec<(String, u64)>,
}

/// What a phase cost.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    /// The phase.
    pub(super) phase: String,
    /// Seconds on the wall.
    pub(super) wall: f64,
    /// Seconds of CPU, all threads.
    pub(super) cpu: f64,
    /// Highest resident memory of the process in the phase, in MB; what earlier runs in the same process left is
    /// part of it.
    pub(super) peak: f64,
    /// Counters that moved.
    pub(super) counted: Vec<(String, u64)>,
}

impl Start {
    pub(super) fn now(counted: Vec<(String, u64)>) -> Self {
        // From here on the kernel counts the peak anew; where it cannot, the peak is the process's so far.
        drop(std::fs::write("/proc/self/clear_refs", "5"));
        Self {
            wall: Instant::now(),
            cpu: cpu_seconds(),
            counted,
        }
    }

    pub(super) fn end(self, phase: &str, counted: Vec<(String, u64)>) -> Cost {
        let before = |name: &str| {
            self.counted
                .iter()
                .find(|(n, _)| n == name)
                .map_or(0, |(_, v)| *v)
        };
        let moved = counted
            .into_iter()
            .map(|(name, value)| (name.clone(), value.saturating_sub(before(&name))))
            .filter(|(_, value)| *value > 0)
            .collect();
        Cost {
            phase: phase.to_owned(),
            wall: self.wall.elapsed().as_secs_f64(),
            cpu: cpu_seconds() - self.cpu,
            peak: peak_megabytes(),
            counted: moved,
        }
    }
}

impl Cost {
    #[cfg(test)]
    pub(super) fn of(phase: &str, wall: f64) -> Self {
        Self {
            phase: phase.to_owned(),
            wall,
            cpu: 0.0,
            peak: 0.0,
            counted: Vec::new(),
        }
    }

    pub(super) fn count(&self, name: &str) -> u64 {
        self.counted
            .iter()
            .find(|(n, _)| n == name)
            .map_or(0, |(_, v)| *v)
    }

    /// What [`Cost::json`] wrote.
    pub(super) fn read(row: &Value) -> Option<Self> {
        let counted = row.get("counted")?.as_object()?.iter();
        Some(Self {
            phase: row.get("phase")?.as_str()?.to_owned(),
            wall: row.get("wall")?.as_f64()?,
            cpu: row.get("cpu")?.as_f64()?,
            peak: row.get("peakMB")?.as_f64()?,
            counted: counted
                .map(|(name, count)| Some((name.clone(), count.as_u64()?)))
                .collect::<Option<_>>()?,
        })
    }

    pub(super) fn json(&self, n: usize) -> Value {
        let counted: Map<String, Value> = self
            .counted
            .iter()
            .map(|(k, v)| (k.clone(), (*v).into()))
            .collect();
        json!({
            "n": n, "phase": self.phase, "wall": self.wall, "cpu": self.cpu, "peakMB": self.peak,
            "counted": counted,
        })
    }
}

/// Seconds of CPU that this process has used: user and system, fields 14 and 15 of its stat line,
/// in hundredths.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let fields: Vec<f64> = after
        .split_whitespace()
        .filter_map(|f| f.parse().ok())
        .collect();
    // The state is no number: the user's time is the eleventh number after it.
    let field = |i: usize| fields.get(i).copied().unwrap_or_default();
    (field(10) + field(11)) / 100.0
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM:"))
        .unwrap_or_default();
    let kilobytes: f64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|v| v.parse().ok())
        .unwrap_or_default();
    kilobytes / 1024.0
}

/// The exponent b of a·n^b fitted through the points.
pub(super) fn exponent(points: &[(usize, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of targets are small")]
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|(n, t)| ((*n as f64).ln(), t.max(1e-6).ln()))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of points")]
    let count = logs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / count;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let over: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let under: f64 = logs.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    Some(over / under)
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_read_back() {
        let mut cost = super::Cost::of("fan out", 1.5);
        cost.counted = vec![("writes of objects".to_owned(), 7)];
        let back = super::Cost::read(&cost.json(10)).unwrap();
        assert_eq!((back.wall, back.counted), (cost.wall, cost.counted));
    }

    #[test]
    fn a_square_has_exponent_two() {
        let b = super::exponent(&[(10, 1.0), (100, 100.0), (1000, 10_000.0)]).unwrap();
        assert!((b - 2.0).abs() < 1e-9);
        assert!(super::exponent(&[(10, 1.0)]).is_none());
    }
}
