//! One partition: who holds it, who leads it, who is in sync.

use model::{BrokerId, LeaderEpoch, Uuid};
use wire::internal::metadata_log::{PartitionChangeRecord, PartitionRecord};

/// The directory of a replica is not known: the record was written before directories were (KIP-858).
pub const DIRECTORY_MIGRATING: Uuid = Uuid::ZERO;
/// The broker that holds the replica has not chosen a directory yet (KIP-858).
pub const DIRECTORY_UNASSIGNED: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
/// The directory of the replica is offline (KIP-858).
pub const DIRECTORY_LOST: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

/// In a [`PartitionChangeRecord`]: the leader and its epoch stay.
pub const NO_LEADER_CHANGE: i32 = -2;

/// Whether the leader was elected from outside the in-sync set and has not said yet that it recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaderRecovery {
    /// The leader was in sync when it was elected, or has recovered since.
    #[default]
    Recovered,
    /// The leader may lack records that were acknowledged.
    Recovering,
}

impl LeaderRecovery {
    /// The number in a record.
    pub fn code(self) -> i8 {
        self as i8
    }

    fn from_code(code: i8) -> Option<LeaderRecovery> {
        match code {
            0 => Some(LeaderRecovery::Recovered),
            1 => Some(LeaderRecovery::Recovering),
            _ => None,
        }
    }
}

/// A partition as the metadata log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The brokers that hold it, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// The log directory of each replica, in the order of `replicas`.
    pub directories: Vec<Uuid>,
    /// The brokers that are in sync.
    pub isr: Vec<BrokerId>,
    /// Replicas that a reassignment will remove.
    pub removing_replicas: Vec<BrokerId>,
    /// Replicas that a reassignment adds.
    pub adding_replicas: Vec<BrokerId>,
    /// Replicas that left the in-sync set but hold every committed record (KIP-966).
    pub eligible_leader_replicas: Vec<BrokerId>,
    /// Who led when the in-sync set became empty (KIP-966).
    pub last_known_elr: Vec<BrokerId>,
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// Whether the leader still has to recover.
    pub leader_recovery: LeaderRecovery,
    /// Rises with every change of leader.
    pub leader_epoch: LeaderEpoch,
    /// Rises with every change of the partition.
    pub partition_epoch: i32,
}

/// A partition record that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// As many directories as replicas, or none.
    #[error("{directories} directories for {replicas} replicas")]
    Directories {
        /// How many directories.
        directories: usize,
        /// How many replicas.
        replicas: usize,
    },
    /// Not a state of recovery.
    #[error("unknown leader recovery state {0}")]
    LeaderRecovery(i8),
    /// The epochs of one partition are used up.
    #[error("an epoch passed the end of its range")]
    Epoch,
}

fn brokers(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.0).collect()
}

fn leader(id: i32) -> Option<BrokerId> {
    (id >= 0).then_some(BrokerId(id))
}

/// One directory per replica; records from before KIP-858 name none.
fn checked_directories(directories: Vec<Uuid>, replicas: usize) -> Result<Vec<Uuid>, PartitionError> {
    if directories
        .iter()
        .all(|directory| *directory == DIRECTORY_MIGRATING)
    {
        return Ok(vec![DIRECTORY_MIGRATING; replicas]);
    }
    if directories.len() == replicas {
        Ok(directories)
    } else {
        Err(PartitionError::Directories {
            directories: directories.len(),
            replicas,
        })
    }
}

impl Partition {
    /// The partition that a record makes.
    pub fn from_record(record: &PartitionRecord) -> Result<Partition, PartitionError> {
        let leader_recovery = LeaderRecovery::from_code(record.leader_recovery_state)
            .ok_or(PartitionError::LeaderRecovery(record.leader_recovery_state))?;
        Ok(Partition {
            replicas: brokers(&record.replicas),
            directories: checked_directories(record.directories.clone(), record.replicas.len())?,
            isr: brokers(&record.isr),
            removing_replicas: brokers(&record.removing_replicas),
            adding_replicas: brokers(&record.adding_replicas),
            eligible_leader_replicas: brokers(record.eligible_leader_replicas.as_deref().unwrap_or_default()),
            last_known_elr: brokers(record.last_known_elr.as_deref().unwrap_or_default()),
            leader: leader(record.leader),
            leader_recovery,
            leader_epoch: LeaderEpoch(record.leader_epoch),
            partition_epoch: record.partition_epoch,
        })
    }

    /// The record that makes this partition. What a lower `metadata.version` has no field for is left out when the
    /// record is encoded.
    pub fn to_record(&self, topic_id: Uuid, partition_id: i32) -> PartitionRecord {
        let unless_empty = |brokers: &[BrokerId]| (!brokers.is_empty()).then(|| ids(brokers));
        PartitionRecord {
            partition_id,
            topic_id,
            replicas: ids(&self.replicas),
            isr: ids(&self.isr),
            removing_replicas: ids(&self.removing_replicas),
            adding_replicas: ids(&self.adding_replicas),
            leader: self.leader.unwrap_or(BrokerId::NONE).0,
            leader_recovery_state: self.leader_recovery.code(),
            leader_epoch: self.leader_epoch.0,
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            eligible_leader_replicas: unless_empty(&self.eligible_leader_replicas),
            last_known_elr: unless_empty(&self.last_known_elr),
        }
    }

    /// The partition after a change. Every change raises the partition epoch; one that names a leader, be it the same,
    /// raises the leader epoch (rule 53).
    pub fn changed_by(&self, record: &PartitionChangeRecord) -> Result<Partition, PartitionError> {
        let or =
            |change: &Option<Vec<i32>>, now: &[BrokerId]| change.as_deref().map_or(now.to_vec(), brokers);
        let replicas = or(&record.replicas, &self.replicas);
        let directories = record
            .directories
            .clone()
            .unwrap_or_else(|| self.directories.clone());
        let (leader, leader_epoch) = match record.leader {
            NO_LEADER_CHANGE => (self.leader, Some(self.leader_epoch.0)),
            id => (leader(id), self.leader_epoch.0.checked_add(1)),
        };
        let leader_recovery = match record.leader_recovery_state {
            -1 => self.leader_recovery,
            code => LeaderRecovery::from_code(code).ok_or(PartitionError::LeaderRecovery(code))?,
        };
        Ok(Partition {
            directories: checked_directories(directories, replicas.len())?,
            replicas,
            isr: or(&record.isr, &self.isr),
            removing_replicas: or(&record.removing_replicas, &self.removing_replicas),
            adding_replicas: or(&record.adding_replicas, &self.adding_replicas),
            eligible_leader_replicas: or(&record.eligible_leader_replicas, &self.eligible_leader_replicas),
            last_known_elr: or(&record.last_known_elr, &self.last_known_elr),
            leader,
            leader_recovery,
            leader_epoch: LeaderEpoch(leader_epoch.ok_or(PartitionError::Epoch)?),
            partition_epoch: self.partition_epoch.checked_add(1).ok_or(PartitionError::Epoch)?,
        })
    }

    /// The partition without eligible leaders, as `ClearElrRecord` leaves it; `None` when it has none.
    pub(crate) fn without_elr(&self) -> Option<Partition> {
        if self.eligible_leader_replicas.is_empty() && self.last_known_elr.is_empty() {
            return None;
        }
        Some(Partition {
            eligible_leader_replicas: Vec::new(),
            last_known_elr: Vec::new(),
            partition_epoch: self.partition_epoch.saturating_add(1),
            ..self.clone()
        })
    }

    /// The directory of one broker's replica.
    pub fn directory_of(&self, broker: BrokerId) -> Option<Uuid> {
        let place = self.replicas.iter().position(|replica| *replica == broker)?;
        self.directories.get(place).copied()
    }
}
