//! The levels at which the cluster uses its features.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::internal::metadata_log::FeatureLevelRecord;

use super::cluster::{LevelRange, SupportedFeatures};
use crate::delta::Delta;
use crate::record::MetadataRecord;

/// The feature that decides the versions of records and requests between nodes.
pub const METADATA_VERSION: &str = "metadata.version";
/// The feature of voters that can be changed (KIP-853). Its level stands in control records, not in the image.
pub const KRAFT_VERSION: &str = "kraft.version";
/// The feature of eligible leader replicas (KIP-966).
pub const ELR_VERSION: &str = "eligible.leader.replicas.version";

/// A feature and the levels this version works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The name.
    pub name: &'static str,
    /// The lowest level.
    pub min: i16,
    /// The highest level, which a plain format chooses.
    pub max: i16,
    /// For each level from 1 on, the `metadata.version` whose release first formats with it.
    pub since: &'static [i16],
}

/// Every feature of Apache Kafka 4.3.1 beside `metadata.version`, ordered by name.
pub const FEATURES: &[Feature] = &[
    Feature {
        name: ELR_VERSION,
        min: 0,
        max: 1,
        since: &[26],
    },
    Feature {
        name: "group.version",
        min: 0,
        max: 1,
        since: &[22],
    },
    Feature {
        name: KRAFT_VERSION,
        min: 0,
        max: 1,
        since: &[21],
    },
    Feature {
        name: "share.version",
        min: 0,
        max: 1,
        since: &[28],
    },
    Feature {
        name: "streams.version",
        min: 0,
        max: 1,
        since: &[29],
    },
    Feature {
        name: "transaction.version",
        min: 0,
        max: 2,
        since: &[24, 24],
    },
];

/// Each level of `metadata.version` that Apache Kafka 4.3.1 can work with, and the release it belongs to.
pub const METADATA_VERSIONS: &[(i16, &str)] = &[
    (7, "3.3-IV3"),
    (8, "3.4-IV0"),
    (9, "3.5-IV0"),
    (10, "3.5-IV1"),
    (11, "3.5-IV2"),
    (12, "3.6-IV0"),
    (13, "3.6-IV1"),
    (14, "3.6-IV2"),
    (15, "3.7-IV0"),
    (16, "3.7-IV1"),
    (17, "3.7-IV2"),
    (18, "3.7-IV3"),
    (19, "3.7-IV4"),
    (20, "3.8-IV0"),
    (21, "3.9-IV0"),
    (22, "4.0-IV0"),
    (23, "4.0-IV1"),
    (24, "4.0-IV2"),
    (25, "4.0-IV3"),
    (26, "4.1-IV0"),
    (27, "4.1-IV1"),
    (28, "4.2-IV0"),
    (29, "4.2-IV1"),
    (30, "4.3-IV0"),
];

/// The lowest level of `metadata.version` that can be worked with.
pub const METADATA_VERSION_MIN: i16 = 7;
/// The highest level of `metadata.version`, which a plain format chooses.
pub const METADATA_VERSION_MAX: i16 = 30;

/// What a node of this version registers with.
pub fn supported_features() -> SupportedFeatures {
    let metadata_version = LevelRange {
        min: METADATA_VERSION_MIN,
        max: METADATA_VERSION_MAX,
    };
    FEATURES
        .iter()
        .map(|feature| {
            (
                Arc::from(feature.name),
                LevelRange {
                    min: feature.min,
                    max: feature.max,
                },
            )
        })
        .chain([(Arc::from(METADATA_VERSION), metadata_version)])
        .collect()
}

/// The levels in force; a feature that is absent has level 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    levels: BTreeMap<Arc<str>, i16>,
}

impl Features {
    /// The level of a feature; 0 when it is off.
    pub fn level(&self, name: &str) -> i16 {
        self.levels.get(name).copied().unwrap_or(0)
    }

    /// The level of `metadata.version`, once the log has one.
    pub fn metadata_version(&self) -> Option<i16> {
        self.levels.get(METADATA_VERSION).copied()
    }

    /// Whether replicas that leave the in-sync set may stay eligible (KIP-966).
    pub fn elr_enabled(&self) -> bool {
        self.level(ELR_VERSION) >= 1 && self.metadata_version().is_some_and(|level| level >= 23)
    }

    /// Every feature that is on, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, i16)> {
        self.levels.iter().map(|(name, level)| (name, *level))
    }

    pub(super) fn set(&mut self, record: &FeatureLevelRecord, delta: &mut Delta) {
        let name: Arc<str> = Arc::from(&*record.name);
        delta.features.insert(name.clone());
        if record.feature_level == 0 {
            self.levels.remove(&name);
        } else {
            self.levels.insert(name, record.feature_level);
        }
    }

    /// `metadata.version` comes first: it says how the rest is written.
    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        let (first, rest): (Vec<_>, Vec<_>) = self.iter().partition(|(name, _)| &***name == METADATA_VERSION);
        for (name, feature_level) in first.into_iter().chain(rest) {
            let name = name.as_ref().into();
            out(MetadataRecord::FeatureLevel(FeatureLevelRecord {
                name,
                feature_level,
            }));
        }
    }
}
