//! One replica of a partition: its log, whether it leads, how far its records are committed, and who waits for that.

mod append;
mod fetch;
mod offsets;
mod upkeep;
mod watermark;

use model::{LeaderEpoch, Offset};
use storage::Log;

pub use append::{Accepted, Acks};
pub use fetch::{Fetch, FetchPlan, Fetched, Isolation, Seen};
pub use offsets::{FoundOffset, OffsetPlan, OffsetQuery};

use super::error::LeaderRefusal;
use super::waits::{ProduceOutcome, ProduceWaits, Watches, Woken};
use watermark::AppendedBytes;

/// When a record counts as stored by a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it is on stable storage (rule 44).
    Fsync,
    /// When it is with the operating system, as Apache Kafka has it.
    PageCache,
}

/// What the metadata log says about a partition that this broker leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The epoch of the leadership.
    pub leader_epoch: LeaderEpoch,
    /// The version of the partition's state.
    pub partition_epoch: i32,
    /// The number of replicas.
    pub replicas: usize,
    /// The number of those in sync.
    pub in_sync: usize,
}

#[derive(Debug)]
struct Leading {
    at: Leadership,
    /// The end of the log when the epoch began.
    epoch_start: Offset,
}

#[derive(Debug)]
enum Role {
    /// Leads, and serves clients.
    Leader(Leading),
    /// Does not lead.
    Idle,
    /// Its disk has failed: serves nothing until the broker starts anew (rule 107).
    Offline,
}

/// A replica; `P` and `F` name a waiting produce and a watching fetch.
#[derive(Debug)]
pub struct Replica<P, F> {
    log: Log,
    role: Role,
    durability: Durability,
    /// `min.insync.replicas`, before it is capped by the number of replicas.
    min_in_sync: usize,
    /// The newest partition epoch acted on (rule 41).
    partition_epoch: i32,
    high_watermark: Offset,
    bytes: AppendedBytes,
    produces: ProduceWaits<P>,
    watches: Watches<F>,
}

impl<P, F: Clone> Replica<P, F> {
    /// A replica that does not lead yet. The watermark is the one written down last, moved into the log (rule 34).
    pub fn new(
        log: Log,
        durability: Durability,
        min_in_sync: usize,
        high_watermark: Offset,
    ) -> Replica<P, F> {
        let high_watermark = high_watermark
            .min(log.log_end_offset())
            .max(log.log_start_offset());
        Replica {
            role: Role::Idle,
            durability,
            min_in_sync,
            partition_epoch: -1,
            high_watermark,
            bytes: AppendedBytes::default(),
            produces: ProduceWaits::new(),
            watches: Watches::new(),
            log,
        }
    }

    /// Leads from now on, or goes on leading with another in-sync set. A new epoch is on disk before it serves anyone
    /// (rule 40); a state older than one acted on before is ignored (rule 41).
    pub fn lead(&mut self, leadership: Leadership, woken: &mut Vec<Woken<P, F>>) -> std::io::Result<()> {
        if leadership.partition_epoch < self.partition_epoch || matches!(self.role, Role::Offline) {
            return Ok(());
        }
        self.partition_epoch = leadership.partition_epoch;
        match &mut self.role {
            Role::Leader(leading) if leading.at.leader_epoch == leadership.leader_epoch => {
                leading.at = leadership
            }
            _ => {
                self.break_waits(ProduceOutcome::NotLeader, woken);
                // Until the new epoch is on the disk nobody appends, in the old one least of all.
                self.role = Role::Idle;
                self.log.begin_epoch(leadership.leader_epoch)?;
                let epoch_start = self.log.log_end_offset();
                self.role = Role::Leader(Leading {
                    at: leadership,
                    epoch_start,
                });
            }
        }
        self.advance(woken);
        Ok(())
    }

    /// Leads no longer; everybody who waits is told.
    pub fn resign(&mut self, partition_epoch: i32, woken: &mut Vec<Woken<P, F>>) {
        if partition_epoch < self.partition_epoch || matches!(self.role, Role::Offline) {
            return;
        }
        self.partition_epoch = partition_epoch;
        self.role = Role::Idle;
        self.break_waits(ProduceOutcome::NotLeader, woken);
    }

    /// The disk has failed: nothing is served any more (rule 107).
    pub fn go_offline(&mut self, woken: &mut Vec<Woken<P, F>>) {
        self.role = Role::Offline;
        self.log.set_offline();
        self.break_waits(ProduceOutcome::Offline, woken);
    }

    fn break_waits(&mut self, outcome: ProduceOutcome, woken: &mut Vec<Woken<P, F>>) {
        while let Some(token) = self.produces.pop() {
            woken.push(Woken::Produce { token, outcome });
        }
        self.watches.break_all(woken);
    }

    /// Leading at all, and in the epoch that the request names, if it names one (rule 61).
    fn leading(&self, asked: Option<LeaderEpoch>) -> Result<&Leading, LeaderRefusal> {
        let leading = match &self.role {
            Role::Leader(leading) => leading,
            Role::Idle => return Err(LeaderRefusal::NotLeader),
            Role::Offline => return Err(LeaderRefusal::Offline),
        };
        let current = leading.at.leader_epoch;
        match asked {
            Some(asked) if asked < current => Err(LeaderRefusal::Fenced { asked, current }),
            Some(asked) if asked > current => Err(LeaderRefusal::Unknown { asked, current }),
            _ => Ok(leading),
        }
    }

    /// Whether it leads.
    pub fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Whether its disk has failed.
    pub fn is_offline(&self) -> bool {
        matches!(self.role, Role::Offline)
    }

    /// The epoch it leads in.
    pub fn leader_epoch(&self) -> Option<LeaderEpoch> {
        self.leading(None).ok().map(|leading| leading.at.leader_epoch)
    }

    /// The offset below which records are committed.
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// The offset below which no transaction is open (rule 37).
    pub fn last_stable_offset(&self) -> Offset {
        self.log.last_stable_offset(self.high_watermark)
    }

    /// The log, to look at.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The log, for what no one waits on: configuration, files to be removed, idle producers.
    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }

    /// The log itself, to be closed or deleted; everybody who waits is told.
    pub fn into_log(mut self, woken: &mut Vec<Woken<P, F>>) -> Log {
        self.break_waits(ProduceOutcome::NotLeader, woken);
        self.log
    }

    /// How many produces and fetches wait here.
    pub fn waiting(&self) -> (usize, usize) {
        (self.produces.len(), self.watches.len())
    }
}

#[cfg(test)]
mod tests;
