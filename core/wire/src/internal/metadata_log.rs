//! Records of `__cluster_metadata`, the truth about the cluster.

use bytes::Bytes;
use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// A broker registered.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0-4", flexible = "0+")]
pub struct RegisterBrokerRecord {
    pub broker_id: i32,
    #[wire(versions = "2+")]
    pub is_migrating_zk_broker: bool,
    pub incarnation_id: Uuid,
    pub broker_epoch: i64,
    pub end_points: Vec<BrokerEndpoint>,
    pub features: Vec<BrokerFeature>,
    #[wire(default = Some(Str::new()))]
    pub rack: Option<Str>,
    #[wire(default = true)]
    pub fenced: bool,
    #[wire(versions = "1+")]
    pub in_controlled_shutdown: bool,
    #[wire(versions = "3+", tag = 0)]
    pub log_dirs: Vec<Uuid>,
    #[wire(versions = "4+", tag = 1)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

/// An element of [`RegisterBrokerRecord::end_points`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BrokerEndpoint {
    pub name: Str,
    pub host: Str,
    pub port: u16,
    pub security_protocol: i16,
}

/// An element of [`RegisterBrokerRecord::features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BrokerFeature {
    pub name: Str,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// A broker is forgotten.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0", flexible = "0+")]
pub struct UnregisterBrokerRecord {
    pub broker_id: i32,
    pub broker_epoch: i64,
}

/// A topic was created.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 2, versions = "0", flexible = "0+")]
pub struct TopicRecord {
    pub name: Str,
    pub topic_id: Uuid,
}

/// A partition was created, or stands so in a snapshot.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 3, versions = "0-2", flexible = "0+")]
pub struct PartitionRecord {
    #[wire(default = -1)]
    pub partition_id: i32,
    pub topic_id: Uuid,
    pub replicas: Vec<i32>,
    pub isr: Vec<i32>,
    pub removing_replicas: Vec<i32>,
    pub adding_replicas: Vec<i32>,
    #[wire(default = -1)]
    pub leader: i32,
    #[wire(tag = 0)]
    pub leader_recovery_state: i8,
    #[wire(default = -1)]
    pub leader_epoch: i32,
    #[wire(default = -1)]
    pub partition_epoch: i32,
    #[wire(versions = "1+")]
    pub directories: Vec<Uuid>,
    #[wire(versions = "2+", tag = 1)]
    pub eligible_leader_replicas: Option<Vec<i32>>,
    #[wire(versions = "2+", tag = 2)]
    pub last_known_elr: Option<Vec<i32>>,
}

/// A configuration entry was set, or removed by null.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 4, versions = "0", flexible = "0+")]
pub struct ConfigRecord {
    pub resource_type: i8,
    pub resource_name: Str,
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
}

/// A partition changed in the fields that are present.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 5, versions = "0-2", flexible = "0+")]
pub struct PartitionChangeRecord {
    #[wire(default = -1)]
    pub partition_id: i32,
    pub topic_id: Uuid,
    #[wire(tag = 0)]
    pub isr: Option<Vec<i32>>,
    #[wire(tag = 1, default = -2)]
    pub leader: i32,
    #[wire(tag = 2)]
    pub replicas: Option<Vec<i32>>,
    #[wire(tag = 3)]
    pub removing_replicas: Option<Vec<i32>>,
    #[wire(tag = 4)]
    pub adding_replicas: Option<Vec<i32>>,
    #[wire(tag = 5, default = -1)]
    pub leader_recovery_state: i8,
    #[wire(versions = "1+", tag = 8)]
    pub directories: Option<Vec<Uuid>>,
    #[wire(versions = "2+", tag = 6)]
    pub eligible_leader_replicas: Option<Vec<i32>>,
    #[wire(versions = "2+", tag = 7)]
    pub last_known_elr: Option<Vec<i32>>,
}

/// A broker may lead nothing; no longer written.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 7, versions = "0", flexible = "0+")]
pub struct FenceBrokerRecord {
    pub id: i32,
    pub epoch: i64,
}

/// A broker may lead again; no longer written.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 8, versions = "0", flexible = "0+")]
pub struct UnfenceBrokerRecord {
    pub id: i32,
    pub epoch: i64,
}

/// A topic was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 9, versions = "0", flexible = "0+")]
pub struct RemoveTopicRecord {
    pub topic_id: Uuid,
}

/// A delegation token was created or renewed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 10, versions = "0", flexible = "0+")]
pub struct DelegationTokenRecord {
    pub owner: Str,
    pub requester: Str,
    pub renewers: Vec<Str>,
    pub issue_timestamp: i64,
    pub max_timestamp: i64,
    pub expiration_timestamp: i64,
    pub token_id: Str,
}

/// A user has a SCRAM credential.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 11, versions = "0", flexible = "0+")]
pub struct UserScramCredentialRecord {
    pub name: Str,
    pub mechanism: i8,
    pub salt: Bytes,
    pub stored_key: Bytes,
    pub server_key: Bytes,
    pub iterations: i32,
}

/// A feature was finalized at a level.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 12, versions = "0", flexible = "0+")]
pub struct FeatureLevelRecord {
    pub name: Str,
    pub feature_level: i16,
}

/// A client quota was set or removed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 14, versions = "0", flexible = "0+")]
pub struct ClientQuotaRecord {
    pub entity: Vec<EntityData>,
    pub key: Str,
    pub value: f64,
    pub remove: bool,
}

/// An element of [`ClientQuotaRecord::entity`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EntityData {
    pub entity_type: Str,
    #[wire(default = Some(Str::new()))]
    pub entity_name: Option<Str>,
}

/// Producer ids below the next one are given out.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 15, versions = "0", flexible = "0+")]
pub struct ProducerIdsRecord {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
    pub next_producer_id: i64,
}

/// A broker's registration changed in the fields that differ from their default.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 17, versions = "0-3", flexible = "0+")]
pub struct BrokerRegistrationChangeRecord {
    pub broker_id: i32,
    pub broker_epoch: i64,
    #[wire(tag = 0)]
    pub fenced: i8,
    #[wire(versions = "1+", tag = 1)]
    pub in_controlled_shutdown: i8,
    #[wire(versions = "2+", tag = 2)]
    pub log_dirs: Vec<Uuid>,
    #[wire(versions = "3+", tag = 3)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

/// An ACL was created.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 18, versions = "0", flexible = "0+")]
pub struct AccessControlEntryRecord {
    pub id: Uuid,
    pub resource_type: i8,
    pub resource_name: Str,
    pub pattern_type: i8,
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

/// An ACL was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 19, versions = "0", flexible = "0+")]
pub struct RemoveAccessControlEntryRecord {
    pub id: Uuid,
}

/// Nothing, so that the log moves on.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 20, versions = "0", flexible = "0+")]
pub struct NoOpRecord;

/// How far the migration from ZooKeeper is; "none" in clusters that never had it.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 21, versions = "0", flexible = "0+")]
pub struct ZkMigrationStateRecord {
    pub zk_migration_state: i8,
}

/// A user's SCRAM credential was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 22, versions = "0", flexible = "0+")]
pub struct RemoveUserScramCredentialRecord {
    pub name: Str,
    pub mechanism: i8,
}

/// The records that follow count together or not at all (KIP-868).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 23, versions = "0", flexible = "0+")]
pub struct BeginTransactionRecord {
    #[wire(tag = 0)]
    pub name: Option<Str>,
}

/// The records since the transaction's begin count.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 24, versions = "0", flexible = "0+")]
pub struct EndTransactionRecord;

/// The records since the transaction's begin do not count.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 25, versions = "0", flexible = "0+")]
pub struct AbortTransactionRecord {
    #[wire(tag = 0)]
    pub reason: Option<Str>,
}

/// A delegation token was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 26, versions = "0", flexible = "0+")]
pub struct RemoveDelegationTokenRecord {
    pub token_id: Str,
}

/// A controller registered.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 27, versions = "0", flexible = "0+")]
pub struct RegisterControllerRecord {
    pub controller_id: i32,
    pub incarnation_id: Uuid,
    pub zk_migration_ready: bool,
    pub end_points: Vec<ControllerEndpoint>,
    pub features: Vec<ControllerFeature>,
}

/// An element of [`RegisterControllerRecord::end_points`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ControllerEndpoint {
    pub name: Str,
    pub host: Str,
    pub port: u16,
    pub security_protocol: i16,
}

/// An element of [`RegisterControllerRecord::features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ControllerFeature {
    pub name: Str,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// Eligible leader replicas are void, of one topic or of all (KIP-966).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 28, versions = "0", flexible = "0+")]
pub struct ClearElrRecord {
    pub topic_name: Str,
}
