//! Nodes that register, start to serve and stop (rules 80 to 85).

use std::collections::BTreeSet;
use std::sync::Arc;

use metadata::MetadataRecord;
use metadata::image::{Broker, Controller, Endpoint, LevelRange, Partition, SupportedFeatures, Topic};
use model::{BrokerEpoch, BrokerId, ErrorCode, Uuid};
use wire::internal::metadata_log::BrokerRegistrationChangeRecord;

use crate::leadership::{Event, change};
use crate::{Context, Decision};

/// The level of `metadata.version` from which on controllers register (KIP-919).
const CONTROLLER_REGISTRATION: i16 = 15;
/// The level of `metadata.version` from which on records name log directories (KIP-858).
const DIRECTORY_ASSIGNMENT: i16 = 17;

/// A broker that wants to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerRegistration {
    /// Its id.
    pub id: BrokerId,
    /// Drawn by its process.
    pub incarnation_id: Uuid,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What it can work with.
    pub features: SupportedFeatures,
    /// Its rack.
    pub rack: Option<Arc<str>>,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
}

/// A controller that wants to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRegistration {
    /// Its id.
    pub id: i32,
    /// Drawn by its process.
    pub incarnation_id: Uuid,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What it can work with.
    pub features: SupportedFeatures,
}

/// How the broker's process before this one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousShutdown {
    /// In order: every log directory says so, and names the epoch it was registered with (rule 85).
    Clean,
    /// Otherwise. What was acknowledged without being durable may be gone.
    Unclean,
}

/// Why a broker is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// Another incarnation registered since, or none did.
    #[error("broker {id} is not registered with epoch {epoch}")]
    StaleEpoch {
        /// The broker.
        id: BrokerId,
        /// The epoch it claims.
        epoch: BrokerEpoch,
    },
    /// It cannot work with what the cluster uses.
    #[error("the cluster uses {feature} at level {level}, this broker works with levels {} to {}", supported.min, supported.max)]
    Feature {
        /// The feature.
        feature: Arc<str>,
        /// The cluster's level.
        level: i16,
        /// The broker's.
        supported: LevelRange,
    },
    /// Its directories are not its own, or not named right.
    #[error("{0}")]
    Directories(String),
}

impl BrokerError {
    /// The code in a response.
    pub fn code(&self) -> ErrorCode {
        match self {
            BrokerError::StaleEpoch { .. } => ErrorCode::StaleBrokerEpoch,
            BrokerError::Feature { .. } => ErrorCode::UnsupportedVersion,
            BrokerError::Directories(_) => ErrorCode::InvalidRegistration,
        }
    }
}

impl Context<'_> {
    /// Only the incarnation that registered last may act (rule 81).
    pub(crate) fn check_broker_epoch(&self, id: BrokerId, epoch: BrokerEpoch) -> Result<(), BrokerError> {
        match self.image.cluster.broker(id) {
            Some(broker) if broker.epoch == epoch => Ok(()),
            _ => Err(BrokerError::StaleEpoch { id, epoch }),
        }
    }

    fn check_features(&self, features: &SupportedFeatures) -> Result<(), BrokerError> {
        for (feature, level) in self.image.features.iter() {
            let supported = features
                .get(feature)
                .copied()
                .unwrap_or(LevelRange { min: 0, max: 0 });
            if !(supported.min..=supported.max).contains(&level) {
                return Err(BrokerError::Feature {
                    feature: feature.clone(),
                    level,
                    supported,
                });
            }
        }
        Ok(())
    }

    fn check_directories(&self, registration: &BrokerRegistration) -> Result<(), BrokerError> {
        let wrong = |text: String| Err(BrokerError::Directories(text));
        let distinct: BTreeSet<Uuid> = registration.log_dirs.iter().copied().collect();
        if registration.log_dirs.is_empty() {
            return wrong("a broker needs a log directory".to_owned());
        }
        if distinct.len() < registration.log_dirs.len() {
            return wrong("two log directories have the same directory.id".to_owned());
        }
        let others = self
            .image
            .cluster
            .brokers()
            .filter(|broker| broker.id != registration.id);
        for other in others {
            if let Some(shared) = other
                .log_dirs
                .iter()
                .find(|directory| distinct.contains(directory))
            {
                return wrong(format!("directory {shared} belongs to broker {}", other.id));
            }
        }
        Ok(())
    }

    /// What becomes of the partitions that `concerned` picks.
    fn partition_changes(&self, event: Event, concerned: impl Fn(&Partition) -> bool) -> Vec<MetadataRecord> {
        let change = |(topic, index, partition): (&Arc<Topic>, i32, &Arc<Partition>)| {
            concerned(partition)
                .then(|| change(self, topic, index, partition, event))
                .flatten()
        };
        self.image
            .topics
            .partitions()
            .filter_map(change)
            .map(MetadataRecord::from)
            .collect()
    }

    fn registration_change(id: BrokerId, epoch: BrokerEpoch) -> BrokerRegistrationChangeRecord {
        BrokerRegistrationChangeRecord {
            broker_id: id.0,
            broker_epoch: epoch.0,
            ..Default::default()
        }
    }
}

/// Decides on a broker that joins: fenced until it asks to serve, under an epoch that is its registration's offset.
pub fn register_broker(
    context: &Context<'_>,
    registration: &BrokerRegistration,
    previous: PreviousShutdown,
) -> Decision<Result<BrokerEpoch, BrokerError>> {
    let checked = context
        .check_features(&registration.features)
        .and_then(|()| context.check_directories(registration));
    if let Err(error) = checked {
        return Decision::without_records(Err(error));
    }
    let id = registration.id;
    let event = match previous {
        PreviousShutdown::Clean => Event::Went(id),
        PreviousShutdown::Unclean => Event::Failed(id),
    };
    let mut records = context.partition_changes(event, |partition| {
        partition.isr.contains(&id)
            || (previous == PreviousShutdown::Unclean && partition.eligible_leader_replicas.contains(&id))
    });
    let epoch = BrokerEpoch(context.next_offset.0);
    let names_directories = context
        .image
        .features
        .metadata_version()
        .is_none_or(|level| level >= DIRECTORY_ASSIGNMENT);
    let broker = Broker {
        id,
        epoch,
        incarnation_id: registration.incarnation_id,
        endpoints: registration.endpoints.clone(),
        features: registration.features.clone(),
        rack: registration.rack.clone(),
        fenced: true,
        in_controlled_shutdown: false,
        is_migrating_zk_broker: false,
        log_dirs: if names_directories {
            registration.log_dirs.clone()
        } else {
            Vec::new()
        },
        cordoned_log_dirs: Vec::new(),
    };
    records.push(broker.to_record().into());
    Decision {
        records,
        reply: Ok(epoch),
    }
}

/// Decides on a controller that joins; nothing is written where the cluster's level does not know such records.
pub fn register_controller(context: &Context<'_>, registration: &ControllerRegistration) -> Decision<()> {
    if context
        .image
        .features
        .metadata_version()
        .is_some_and(|level| level < CONTROLLER_REGISTRATION)
    {
        return Decision::without_records(());
    }
    let controller = Controller {
        id: registration.id,
        incarnation_id: registration.incarnation_id,
        zk_migration_ready: false,
        endpoints: registration.endpoints.clone(),
        features: registration.features.clone(),
    };
    Decision {
        records: vec![controller.to_record().into()],
        reply: (),
    }
}

/// Decides that a registered broker serves: it may lead, and leads at once what nobody leads and it can (rule 82).
pub fn start_broker(
    context: &Context<'_>,
    id: BrokerId,
    epoch: BrokerEpoch,
) -> Decision<Result<(), BrokerError>> {
    if let Err(error) = context.check_broker_epoch(id, epoch) {
        return Decision::without_records(Err(error));
    }
    let unfence = BrokerRegistrationChangeRecord {
        fenced: -1,
        ..Context::registration_change(id, epoch)
    };
    let mut records = vec![unfence.into()];
    records.extend(context.partition_changes(Event::Came(id), |partition| partition.leader.is_none()));
    Decision {
        records,
        reply: Ok(()),
    }
}

/// Decides that a broker stops in order: it leads nothing any more, and is fenced (rule 84).
pub fn stop_broker(
    context: &Context<'_>,
    id: BrokerId,
    epoch: BrokerEpoch,
) -> Decision<Result<(), BrokerError>> {
    if let Err(error) = context.check_broker_epoch(id, epoch) {
        return Decision::without_records(Err(error));
    }
    let change = Context::registration_change(id, epoch);
    let mut records = vec![
        BrokerRegistrationChangeRecord {
            in_controlled_shutdown: 1,
            ..change.clone()
        }
        .into(),
    ];
    records.extend(context.partition_changes(Event::Went(id), |partition| partition.isr.contains(&id)));
    records.push(BrokerRegistrationChangeRecord { fenced: 1, ..change }.into());
    Decision {
        records,
        reply: Ok(()),
    }
}
