//! The nodes: brokers and controllers as they registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{BrokerEpoch, BrokerId, Uuid};
use wire::internal::metadata_log::{
    BrokerEndpoint, BrokerFeature, BrokerRegistrationChangeRecord, ControllerEndpoint, ControllerFeature,
    FenceBrokerRecord, RegisterBrokerRecord, RegisterControllerRecord, UnfenceBrokerRecord,
    UnregisterBrokerRecord,
};

use super::ApplyError;
use crate::delta::Delta;
use crate::record::MetadataRecord;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of the listener.
    pub name: Arc<str>,
    /// The host as clients should call it.
    pub host: Arc<str>,
    /// The port.
    pub port: u16,
    /// The security protocol, by its number: 0 plaintext, 1 SSL, 2 SASL over plaintext, 3 SASL over SSL.
    pub security_protocol: i16,
}

fn by_name(endpoints: impl Iterator<Item = Endpoint>) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> = endpoints.collect();
    endpoints.sort_by(|a, b| a.name.cmp(&b.name));
    endpoints
}

/// The levels of one feature that a node can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelRange {
    /// The lowest.
    pub min: i16,
    /// The highest.
    pub max: i16,
}

/// The features of a node by name.
pub type SupportedFeatures = BTreeMap<Arc<str>, LevelRange>;

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// The id.
    pub id: BrokerId,
    /// The offset of its registration: another registration has another epoch (rule 81).
    pub epoch: BrokerEpoch,
    /// Drawn anew by each process.
    pub incarnation_id: Uuid,
    /// Where it listens, ordered by the names of the listeners.
    pub endpoints: Vec<Endpoint>,
    /// What it can work with.
    pub features: SupportedFeatures,
    /// The rack, if it named one.
    pub rack: Option<Arc<str>>,
    /// Whether it may neither lead nor be in sync (rule 82).
    pub fenced: bool,
    /// Whether it is about to stop.
    pub in_controlled_shutdown: bool,
    /// Whether it registered while its cluster moved away from ZooKeeper.
    pub is_migrating_zk_broker: bool,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
    /// Those of them that take no new replicas.
    pub cordoned_log_dirs: Vec<Uuid>,
}

impl Broker {
    /// Whether it may lead and be in sync.
    pub fn is_active(&self) -> bool {
        !self.fenced && !self.in_controlled_shutdown
    }

    /// The endpoint of a listener.
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| &*endpoint.name == listener)
    }

    fn from_record(record: &RegisterBrokerRecord) -> Broker {
        Broker {
            id: BrokerId(record.broker_id),
            epoch: BrokerEpoch(record.broker_epoch),
            incarnation_id: record.incarnation_id,
            endpoints: by_name(record.end_points.iter().map(|endpoint| Endpoint {
                name: Arc::from(&*endpoint.name),
                host: Arc::from(&*endpoint.host),
                port: endpoint.port,
                security_protocol: endpoint.security_protocol,
            })),
            features: record
                .features
                .iter()
                .map(|feature| {
                    let range = LevelRange {
                        min: feature.min_supported_version,
                        max: feature.max_supported_version,
                    };
                    (Arc::from(&*feature.name), range)
                })
                .collect(),
            rack: record.rack.as_ref().map(|rack| Arc::from(&**rack)),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            is_migrating_zk_broker: record.is_migrating_zk_broker,
            log_dirs: record.log_dirs.clone(),
            cordoned_log_dirs: record.cordoned_log_dirs.clone().unwrap_or_default(),
        }
    }

    /// The record that registers this broker as it is now.
    pub fn to_record(&self) -> RegisterBrokerRecord {
        RegisterBrokerRecord {
            broker_id: self.id.0,
            is_migrating_zk_broker: self.is_migrating_zk_broker,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch.0,
            end_points: self
                .endpoints
                .iter()
                .map(|endpoint| BrokerEndpoint {
                    name: endpoint.name.as_ref().into(),
                    host: endpoint.host.as_ref().into(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                })
                .collect(),
            features: self
                .features
                .iter()
                .map(|(name, range)| BrokerFeature {
                    name: name.as_ref().into(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                })
                .collect(),
            rack: self.rack.as_deref().map(Into::into),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: self.log_dirs.clone(),
            cordoned_log_dirs: Some(self.cordoned_log_dirs.clone()),
        }
    }
}

/// A registered controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The id.
    pub id: i32,
    /// Drawn anew by each process.
    pub incarnation_id: Uuid,
    /// Whether it was ready to take over from ZooKeeper.
    pub zk_migration_ready: bool,
    /// Where it listens, ordered by the names of the listeners.
    pub endpoints: Vec<Endpoint>,
    /// What it can work with.
    pub features: SupportedFeatures,
}

impl Controller {
    fn from_record(record: &RegisterControllerRecord) -> Controller {
        Controller {
            id: record.controller_id,
            incarnation_id: record.incarnation_id,
            zk_migration_ready: record.zk_migration_ready,
            endpoints: by_name(record.end_points.iter().map(|endpoint| Endpoint {
                name: Arc::from(&*endpoint.name),
                host: Arc::from(&*endpoint.host),
                port: endpoint.port,
                security_protocol: endpoint.security_protocol,
            })),
            features: record
                .features
                .iter()
                .map(|feature| {
                    let range = LevelRange {
                        min: feature.min_supported_version,
                        max: feature.max_supported_version,
                    };
                    (Arc::from(&*feature.name), range)
                })
                .collect(),
        }
    }

    /// The record that registers this controller.
    pub fn to_record(&self) -> RegisterControllerRecord {
        RegisterControllerRecord {
            controller_id: self.id,
            incarnation_id: self.incarnation_id,
            zk_migration_ready: self.zk_migration_ready,
            end_points: self
                .endpoints
                .iter()
                .map(|endpoint| ControllerEndpoint {
                    name: endpoint.name.as_ref().into(),
                    host: endpoint.host.as_ref().into(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                })
                .collect(),
            features: self
                .features
                .iter()
                .map(|(name, range)| ControllerFeature {
                    name: name.as_ref().into(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                })
                .collect(),
        }
    }
}

/// All nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    brokers: BTreeMap<BrokerId, Broker>,
    controllers: BTreeMap<i32, Controller>,
}

impl Cluster {
    /// A broker.
    pub fn broker(&self, id: BrokerId) -> Option<&Broker> {
        self.brokers.get(&id)
    }

    /// The brokers, ordered by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values()
    }

    /// A controller.
    pub fn controller(&self, id: i32) -> Option<&Controller> {
        self.controllers.get(&id)
    }

    /// The controllers, ordered by id.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.controllers.values()
    }

    /// Whether a broker is registered and may lead.
    pub fn is_active(&self, id: BrokerId) -> bool {
        self.brokers.get(&id).is_some_and(Broker::is_active)
    }

    pub(super) fn register(&mut self, record: &RegisterBrokerRecord, delta: &mut Delta) {
        let broker = Broker::from_record(record);
        delta.brokers.insert(broker.id);
        self.brokers.insert(broker.id, broker);
    }

    pub(super) fn unregister(
        &mut self,
        record: &UnregisterBrokerRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        let id = self.broker_mut(record.broker_id, record.broker_epoch, delta)?.id;
        self.brokers.remove(&id);
        Ok(())
    }

    pub(super) fn fence(&mut self, record: &FenceBrokerRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        self.broker_mut(record.id, record.epoch, delta)?.fenced = true;
        Ok(())
    }

    pub(super) fn unfence(
        &mut self,
        record: &UnfenceBrokerRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        self.broker_mut(record.id, record.epoch, delta)?.fenced = false;
        Ok(())
    }

    pub(super) fn change(
        &mut self,
        record: &BrokerRegistrationChangeRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        let broker = self.broker_mut(record.broker_id, record.broker_epoch, delta)?;
        match record.fenced {
            1 => broker.fenced = true,
            -1 => broker.fenced = false,
            _ => {}
        }
        if record.in_controlled_shutdown == 1 {
            broker.in_controlled_shutdown = true;
        }
        if !record.log_dirs.is_empty() {
            broker.log_dirs.clone_from(&record.log_dirs);
        }
        if let Some(cordoned) = &record.cordoned_log_dirs {
            broker.cordoned_log_dirs.clone_from(cordoned);
        }
        Ok(())
    }

    pub(super) fn register_controller(&mut self, record: &RegisterControllerRecord, delta: &mut Delta) {
        delta.controllers.insert(record.controller_id);
        self.controllers
            .insert(record.controller_id, Controller::from_record(record));
    }

    fn broker_mut(&mut self, id: i32, epoch: i64, delta: &mut Delta) -> Result<&mut Broker, ApplyError> {
        let broker = self
            .brokers
            .get_mut(&BrokerId(id))
            .filter(|broker| broker.epoch == BrokerEpoch(epoch));
        delta.brokers.insert(BrokerId(id));
        broker.ok_or(ApplyError::UnknownBroker {
            id: BrokerId(id),
            epoch: BrokerEpoch(epoch),
        })
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for broker in self.brokers.values() {
            out(MetadataRecord::RegisterBroker(broker.to_record()));
        }
        for controller in self.controllers.values() {
            out(MetadataRecord::RegisterController(controller.to_record()));
        }
    }
}
