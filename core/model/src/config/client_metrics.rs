//! The keys of a subscription to client metrics.

use super::row::*;

resource_keys! {
    ClientMetrics;
    "interval.ms" Int "300000", between(100, 3_600_000), ALONE, LATER;
    "match" List "", ANY, ALONE, LATER;
    "metrics" List "", ANY, ALONE, LATER;
}

/// Every key of a subscription, by name.
pub fn client_metrics_keys() -> &'static [ConfigKey] {
    KEYS
}
