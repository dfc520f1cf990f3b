//! Decisions on a cluster that the tests build from decisions, as a node does.

// Helpers outside `#[test]` functions may unwrap as tests may.
#![cfg(test)]

mod brokers;
mod features;
mod topics;

use std::sync::Arc;

use controller::{
    BrokerRegistration, ChosenLevels, Context, Decision, PreviousShutdown, Settings, bootstrap_records,
    default_levels, format_records, register_broker, start_broker,
};
use metadata::image::{Endpoint, Image, LogPosition, supported_features};
use metadata::{MetadataRecord, Replay};
use model::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Uuid};

/// A log and what it says.
pub(crate) struct Cluster {
    pub(crate) settings: Settings,
    replay: Replay,
    next_offset: Offset,
    draws: u64,
}

impl Cluster {
    /// A cluster formatted with all defaults, without brokers.
    pub(crate) fn empty() -> Cluster {
        Cluster::formatted(None)
    }

    pub(crate) fn formatted(release: Option<&str>) -> Cluster {
        let mut cluster = Cluster {
            settings: Settings::default(),
            replay: Replay::default(),
            next_offset: Offset(1),
            draws: 0,
        };
        let levels = default_levels(release, &ChosenLevels::new()).unwrap();
        cluster.write(bootstrap_records(&format_records(&levels), 1));
        cluster
    }

    /// A cluster of brokers 1 to `count`, each with one log directory, all serving.
    pub(crate) fn of(count: i32) -> Cluster {
        let mut cluster = Cluster::empty();
        for id in 1..=count {
            let epoch = cluster.register(id, PreviousShutdown::Clean);
            cluster.start(id, epoch);
        }
        cluster
    }

    pub(crate) fn image(&self) -> &Image {
        self.replay.image()
    }

    /// Takes a decision and writes its records.
    pub(crate) fn decide<R>(
        &mut self,
        decide: impl FnOnce(&Context<'_>, &mut dyn FnMut() -> u64) -> Decision<R>,
    ) -> R {
        let mut draws = self.draws;
        let mut entropy = || {
            draws += 1;
            draws.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let context = Context {
            image: self.replay.image(),
            settings: &self.settings,
            next_offset: self.next_offset,
        };
        let decision = decide(&context, &mut entropy);
        self.draws = draws;
        self.write(decision.records);
        decision.reply
    }

    pub(crate) fn write(&mut self, records: Vec<MetadataRecord>) {
        if records.is_empty() {
            return;
        }
        self.next_offset.0 += records.len() as i64;
        let position = LogPosition {
            offset: Offset(self.next_offset.0 - 1),
            epoch: LeaderEpoch(1),
            timestamp_ms: 0,
        };
        self.replay.apply_batch(&records, position).unwrap();
    }

    pub(crate) fn register(&mut self, id: i32, previous: PreviousShutdown) -> BrokerEpoch {
        let registration = registration(id);
        self.decide(|context, _| register_broker(context, &registration, previous))
            .unwrap()
    }

    pub(crate) fn start(&mut self, id: i32, epoch: BrokerEpoch) {
        self.decide(|context, _| start_broker(context, BrokerId(id), epoch))
            .unwrap();
    }
}

pub(crate) fn directory(broker: i32) -> Uuid {
    Uuid([broker.unsigned_abs() as u8; 16])
}

pub(crate) fn registration(id: i32) -> BrokerRegistration {
    BrokerRegistration {
        id: BrokerId(id),
        incarnation_id: Uuid([7; 16]),
        endpoints: vec![Endpoint {
            name: Arc::from("PLAINTEXT"),
            host: Arc::from("localhost"),
            port: 9092,
            security_protocol: 0,
        }],
        features: supported_features(),
        rack: None,
        log_dirs: vec![directory(id)],
    }
}
