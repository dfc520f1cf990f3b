//! The first records of a new cluster: at which level it uses each feature (KIP-584, KIP-778, KIP-1022).

use std::collections::BTreeMap;

use metadata::MetadataRecord;
use metadata::image::{
    ConfigKind, ELR_VERSION, FEATURES, KRAFT_VERSION, METADATA_VERSION, METADATA_VERSION_MAX,
    METADATA_VERSIONS,
};
use wire::internal::metadata_log::{
    BeginTransactionRecord, ConfigRecord, EndTransactionRecord, FeatureLevelRecord,
};

/// The level of `metadata.version` from which on the log has transactions (KIP-868).
const TRANSACTIONS: i16 = 13;
/// The level of `metadata.version` that eligible leader replicas need.
const ELR_NEEDS: i16 = 23;

/// Why a cluster cannot be formatted so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    /// Not a release that can be asked for.
    #[error("unknown release version {0}; known are 3.3-IV3 to 4.3-IV0, or a release such as 4.0")]
    Release(String),
    /// Not a feature.
    #[error("Unsupported feature: {name}. Supported features are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// All there are.
        known: String,
    },
    /// Not a level of the feature.
    #[error("{name} has no level {level}: it has levels {min} to {max}")]
    Level {
        /// The feature.
        name: &'static str,
        /// The level asked for.
        level: i16,
        /// The lowest.
        min: i16,
        /// The highest.
        max: i16,
    },
    /// One feature needs another.
    #[error("{name} at level {level} needs metadata.version at level {needs} or higher")]
    Needs {
        /// The feature.
        name: &'static str,
        /// Its level.
        level: i16,
        /// What it needs.
        needs: i16,
    },
}

/// The levels of features that somebody chose, by name.
pub type ChosenLevels = BTreeMap<String, i16>;

/// The level of `metadata.version` of a release: `4.3-IV0` itself, of `4.3` or `4.3.1` the last.
fn metadata_version(release: &str) -> Result<i16, FeatureError> {
    let mut parts = release.split('.');
    let major_minor = match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => release.to_owned(),
    };
    let newest_first = || METADATA_VERSIONS.iter().rev();
    let exact = newest_first().find(|(_, name)| *name == release);
    let of_release =
        || newest_first().find(|(_, name)| name.split_once('-').is_some_and(|(it, _)| it == major_minor));
    let found = exact.or_else(of_release).map(|(level, _)| *level);
    found.ok_or_else(|| FeatureError::Release(release.to_owned()))
}

/// The levels of a cluster formatted for a release, the newest one unless said, with some chosen otherwise.
/// `kraft.version` is among them: 0 unless chosen.
pub fn default_levels(
    release: Option<&str>,
    chosen: &ChosenLevels,
) -> Result<BTreeMap<&'static str, i16>, FeatureError> {
    let named = chosen.get(METADATA_VERSION).copied();
    let metadata_version = match (release, named) {
        (Some(release), _) => metadata_version(release)?,
        (None, Some(level)) => level,
        (None, None) => METADATA_VERSION_MAX,
    };
    let (min, max) = (metadata::image::METADATA_VERSION_MIN, METADATA_VERSION_MAX);
    if !(min..=max).contains(&metadata_version) {
        return Err(FeatureError::Level {
            name: METADATA_VERSION,
            level: metadata_version,
            min,
            max,
        });
    }
    let mut levels = BTreeMap::from([(METADATA_VERSION, metadata_version)]);
    for feature in FEATURES {
        let default = feature
            .since
            .iter()
            .filter(|since| **since <= metadata_version)
            .count();
        let default = if feature.name == KRAFT_VERSION {
            0
        } else {
            i16::try_from(default).unwrap_or(0)
        };
        let level = chosen.get(feature.name).copied().unwrap_or(default);
        if !(feature.min..=feature.max).contains(&level) {
            return Err(FeatureError::Level {
                name: feature.name,
                level,
                min: feature.min,
                max: feature.max,
            });
        }
        if feature.name == ELR_VERSION && level > 0 && metadata_version < ELR_NEEDS {
            return Err(FeatureError::Needs {
                name: feature.name,
                level,
                needs: ELR_NEEDS,
            });
        }
        levels.insert(feature.name, level);
    }
    match chosen.keys().find(|name| !levels.contains_key(name.as_str())) {
        Some(name) => {
            let known: Vec<_> = FEATURES.iter().map(|feature| feature.name).collect();
            Err(FeatureError::Unknown {
                name: name.clone(),
                known: known.join(", "),
            })
        }
        None => Ok(levels),
    }
}

/// The records that a format leaves for the first start: the levels, `metadata.version` first. The level of
/// `kraft.version` is not among them, it is the quorum's own.
pub fn format_records(levels: &BTreeMap<&'static str, i16>) -> Vec<MetadataRecord> {
    let first = levels.iter().filter(|(name, _)| **name == METADATA_VERSION);
    let rest = levels
        .iter()
        .filter(|(name, level)| !matches!(**name, METADATA_VERSION | KRAFT_VERSION) && **level > 0);
    first
        .chain(rest)
        .map(|(name, level)| {
            FeatureLevelRecord {
                name: (*name).into(),
                feature_level: *level,
            }
            .into()
        })
        .collect()
}

/// The records with which an empty log begins: what the format left, in one transaction. Where replicas can be
/// eligible, `min.insync.replicas` of the cluster is made explicit: what counts as committed must not change with a
/// node's configuration (KIP-966).
pub fn bootstrap_records(left_by_format: &[MetadataRecord], min_insync_replicas: i32) -> Vec<MetadataRecord> {
    let level_of = |wanted: &str| {
        left_by_format.iter().find_map(|record| match record {
            MetadataRecord::FeatureLevel(record) if &*record.name == wanted => Some(record.feature_level),
            _ => None,
        })
    };
    let mut records = left_by_format.to_vec();
    if level_of(ELR_VERSION).is_some_and(|level| level > 0) {
        records.push(
            ConfigRecord {
                resource_type: ConfigKind::BROKER.0,
                resource_name: wire::Str::new(),
                name: "min.insync.replicas".into(),
                value: Some(min_insync_replicas.to_string().into()),
            }
            .into(),
        );
    }
    if level_of(METADATA_VERSION).is_some_and(|level| level >= TRANSACTIONS) {
        let name = Some("Bootstrap records".into());
        records.insert(0, BeginTransactionRecord { name }.into());
        records.push(EndTransactionRecord.into());
    }
    records
}
