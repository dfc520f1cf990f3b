//! The rules of a replica, on a simulated disk.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use model::{ErrorCode, LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, Uuid};
use storage::{FirstBatch, Log, LogConfig, LogPlace, Origin, SimDisk, SimFaults};
use wire::records::{Batch, BatchBuilder, ControlRecordType, EndTransactionMarker, Producer, batches};

use super::super::error::{AppendRefused, FetchRefused, LeaderRefusal, OffsetsRefused};
use super::super::waits::{Notice, ProduceOutcome, Woken};
use super::*;

type TestReplica = Replica<&'static str, &'static str>;
type Wakes = Vec<Woken<&'static str, &'static str>>;

const NOW: i64 = 1_700_000_000_000;

/// A replica on a disk of its own.
struct World {
    disk: SimDisk,
    replica: TestReplica,
    woken: Wakes,
}

fn place(disk: &SimDisk) -> LogPlace {
    LogPlace {
        disk: Arc::new(disk.clone()),
        dir: PathBuf::from("/data/orders-0"),
        topic_partition: TopicPartition::new("orders", 0),
    }
}

fn new_log(disk: &SimDisk, config: LogConfig) -> Log {
    Log::create(place(disk), Uuid([7; 16]), Arc::new(config), NOW).unwrap()
}

fn leadership(leader_epoch: i32) -> Leadership {
    Leadership {
        leader_epoch: LeaderEpoch(leader_epoch),
        partition_epoch: leader_epoch,
        replicas: 1,
        in_sync: 1,
    }
}

impl World {
    /// A leader in epoch 0.
    fn new(durability: Durability) -> World {
        let disk = SimDisk::new(1);
        let replica = Replica::new(new_log(&disk, LogConfig::default()), durability, 1, Offset::ZERO);
        let mut world = World {
            disk,
            replica,
            woken: Vec::new(),
        };
        world.lead(leadership(0));
        world
    }

    fn lead(&mut self, leadership: Leadership) {
        self.replica.lead(leadership, &mut self.woken).unwrap();
    }

    fn append(&mut self, batch: &Bytes, acks: Acks) -> Result<Accepted, AppendRefused> {
        self.replica
            .append(batch, Origin::Client, acks, NOW, &mut self.woken)
    }

    /// Appends records with these timestamps.
    fn add(&mut self, timestamps: &[i64]) -> Accepted {
        self.append(&batch(BatchBuilder::new(), timestamps), Acks::All)
            .unwrap()
    }

    /// Appends with acks=all and waits.
    fn produce(&mut self, batch: &Bytes, token: &'static str) -> Accepted {
        let accepted = self.append(batch, Acks::All).unwrap();
        if !accepted.committed {
            self.replica.park_produce(accepted.required, token);
        }
        accepted
    }

    fn end_transaction(&mut self, kind: ControlRecordType, producer: i64) {
        let marker = EndTransactionMarker {
            kind,
            coordinator_epoch: 0,
        };
        let marker =
            BatchBuilder::end_transaction(marker, ProducerId(producer), ProducerEpoch(0), NOW).unwrap();
        let marker = marker.build().unwrap();
        self.replica
            .append(&marker, Origin::Coordinator, Acks::All, NOW, &mut self.woken)
            .unwrap();
    }

    fn sync(&mut self) {
        let unsynced = self.replica.log().dirty().unwrap();
        unsynced.sync().unwrap();
        self.replica.synced(&unsynced, &mut self.woken);
    }

    fn fetch(&self, offset: i64, isolation: Isolation) -> Fetched {
        self.replica.fetch(&fetch(offset, isolation)).unwrap()
    }

    fn find(&self, timestamp: i64, isolation: Isolation) -> (i64, i64) {
        let query = OffsetQuery::from_timestamp(timestamp).unwrap();
        let found = self.replica.find_offset(query, isolation, None).unwrap();
        (found.offset.0, found.timestamp)
    }

    /// The tokens of produces that ended, with how.
    fn produced(&mut self) -> Vec<(&'static str, ProduceOutcome)> {
        let ended = self
            .woken
            .extract_if(.., |woken| matches!(woken, Woken::Produce { .. }));
        ended
            .map(|woken| {
                if let Woken::Produce { token, outcome } = woken {
                    (token, outcome)
                } else {
                    panic!()
                }
            })
            .collect()
    }

    fn noticed(&mut self) -> Vec<(&'static str, Notice)> {
        let told = self
            .woken
            .extract_if(.., |woken| matches!(woken, Woken::Fetch { .. }));
        told.map(|woken| {
            if let Woken::Fetch { token, notice } = woken {
                (token, notice)
            } else {
                panic!()
            }
        })
        .collect()
    }
}

fn batch(mut builder: BatchBuilder, timestamps: &[i64]) -> Bytes {
    for timestamp in timestamps {
        builder
            .append(*timestamp, Some(b"key"), Some(b"value"), &[])
            .unwrap();
    }
    builder.build().unwrap()
}

fn producer(id: i64, base_sequence: i32) -> BatchBuilder {
    BatchBuilder::new().with_producer(Producer {
        id: ProducerId(id),
        epoch: ProducerEpoch(0),
        base_sequence,
    })
}

fn fetch(offset: i64, isolation: Isolation) -> Fetch {
    Fetch {
        offset: Offset(offset),
        max_bytes: 1 << 20,
        first_batch: FirstBatch::Whole,
        isolation,
        current_leader_epoch: None,
        last_fetched_epoch: None,
    }
}

/// The first and last offsets of the batches that were read.
fn spans(fetched: &Fetched) -> Vec<(i64, i64)> {
    let bytes = fetched.records.to_bytes().unwrap();
    let headers = batches(&bytes).map(|batch: Result<Batch, _>| *batch.unwrap().header());
    headers
        .map(|header| (header.base_offset.0, header.last_offset().0))
        .collect()
}

use Isolation::{LogEnd, ReadCommitted, ReadUncommitted};

#[test]
fn rule_44_with_fsync_the_watermark_is_what_is_durable() {
    let mut world = World::new(Durability::Fsync);
    let accepted = world.add(&[NOW, NOW]);
    assert_eq!((accepted.required, accepted.committed), (Offset(2), false));
    assert_eq!(world.replica.high_watermark(), Offset(0));
    let unsynced = world.replica.log().dirty().unwrap();
    world.add(&[NOW]);
    unsynced.sync().unwrap();
    world.replica.synced(&unsynced, &mut world.woken);
    assert_eq!(
        world.replica.high_watermark(),
        Offset(2),
        "what came after the sync began does not count"
    );
    world.sync();
    assert_eq!(world.replica.high_watermark(), Offset(3));
}

#[test]
fn with_the_page_cache_the_watermark_is_the_end_of_the_log() {
    let mut world = World::new(Durability::PageCache);
    let accepted = world.add(&[NOW, NOW]);
    assert!(accepted.committed);
    assert_eq!(world.replica.high_watermark(), Offset(2));
    assert_eq!(world.replica.log().synced_offset(), Offset(0));
}

#[test]
fn a_change_of_durability_holds_at_once_and_never_moves_the_watermark_back() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[NOW]);
    world
        .replica
        .set_commit_rules(Durability::PageCache, 1, &mut world.woken);
    assert_eq!(world.replica.high_watermark(), Offset(1));
    world
        .replica
        .set_commit_rules(Durability::Fsync, 1, &mut world.woken);
    world.add(&[NOW]);
    assert_eq!(world.replica.high_watermark(), Offset(1));
}

#[test]
fn an_acks_all_produce_ends_when_the_watermark_has_passed_it() {
    let mut world = World::new(Durability::Fsync);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "first");
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "second");
    assert_eq!(world.produced(), []);
    world.sync();
    let both = [
        ("first", ProduceOutcome::Replicated),
        ("second", ProduceOutcome::Replicated),
    ];
    assert_eq!(world.produced(), both);
    assert_eq!(world.replica.waiting(), (0, 0));
}

#[test]
fn rule_21_a_duplicate_keeps_its_offsets_and_still_waits_for_the_watermark() {
    let mut world = World::new(Durability::Fsync);
    let sent = batch(producer(5, 0), &[NOW, NOW]);
    let first = world.produce(&sent, "first");
    let again = world.produce(&sent, "again");
    assert!(again.appended.duplicate && !again.committed);
    assert_eq!(
        (again.appended.first_offset, again.required),
        (first.appended.first_offset, first.required)
    );
    assert_eq!(world.replica.log().log_end_offset(), Offset(2));
    assert_eq!(world.produced(), []);
    world.sync();
    assert_eq!(world.produced().len(), 2);
    assert!(
        world.produce(&sent, "late").committed,
        "now it is committed at once"
    );
}

#[test]
fn rule_34_the_watermark_written_down_is_moved_into_the_log() {
    let disk = SimDisk::new(1);
    let replica: TestReplica = Replica::new(
        new_log(&disk, LogConfig::default()),
        Durability::Fsync,
        1,
        Offset(99),
    );
    assert_eq!(replica.high_watermark(), Offset(0));
}

#[test]
fn rules_36_and_54_with_too_few_in_sync_nothing_is_committed_and_acks_all_is_refused() {
    let mut world = World::new(Durability::PageCache);
    world
        .replica
        .set_commit_rules(Durability::PageCache, 2, &mut world.woken);
    world.lead(Leadership {
        replicas: 3,
        ..leadership(1)
    });
    let sent = batch(BatchBuilder::new(), &[NOW]);
    let refused = world.append(&sent, Acks::All).unwrap_err();
    assert!(matches!(
        refused,
        AppendRefused::NotEnoughReplicas {
            in_sync: 1,
            needed: 2
        }
    ));
    assert_eq!(refused.code(), ErrorCode::NotEnoughReplicas);
    let accepted = world.append(&sent, Acks::Leader).unwrap();
    assert!(!accepted.committed);
    assert_eq!(
        (
            world.replica.high_watermark(),
            world.replica.log().log_end_offset()
        ),
        (Offset(0), Offset(1))
    );
}

#[test]
fn the_needed_replicas_are_never_more_than_there_are() {
    let mut world = World::new(Durability::PageCache);
    world
        .replica
        .set_commit_rules(Durability::PageCache, 2, &mut world.woken);
    assert!(
        world.add(&[NOW]).committed,
        "one replica is all there is (KIP-966)"
    );
}

#[test]
fn rule_33_the_marks_keep_their_order_whatever_happens() {
    let mut world = World::new(Durability::Fsync);
    for step in 0..40 {
        match step % 5 {
            0 | 3 => drop(world.append(&batch(producer(step, 0).transactional(), &[NOW]), Acks::Leader)),
            1 => drop(world.append(&batch(BatchBuilder::new(), &[NOW, NOW]), Acks::Leader)),
            2 => world.sync(),
            _ => world.end_transaction(ControlRecordType::Abort, step - 4),
        }
        let (start, stable) = (
            world.replica.log().log_start_offset(),
            world.replica.last_stable_offset(),
        );
        let (committed, end) = (
            world.replica.high_watermark(),
            world.replica.log().log_end_offset(),
        );
        assert!(
            start <= stable && stable <= committed && committed <= end,
            "step {step}"
        );
    }
}

#[test]
fn rule_40_a_new_epoch_is_on_disk_before_anything_is_served() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[NOW]);
    world.lead(leadership(4));
    let path = PathBuf::from("/data/orders-0/leader-epoch-checkpoint");
    let disk: &dyn storage::Disk = &world.disk;
    assert_eq!(disk.read(&path).unwrap(), b"0\n2\n0 0\n4 1\n");
    world.disk.set_faults(SimFaults {
        sync_errors: 1_000_000,
        ..SimFaults::default()
    });
    assert!(world.replica.lead(leadership(5), &mut world.woken).is_err());
    assert_eq!(
        world.replica.leader_epoch(),
        None,
        "it leads neither in an epoch that may be lost nor in one that is over"
    );
}

#[test]
fn rule_41_a_state_older_than_one_acted_on_is_ignored() {
    let mut world = World::new(Durability::Fsync);
    world.lead(leadership(3));
    world.lead(leadership(2));
    world.replica.resign(2, &mut world.woken);
    assert_eq!(world.replica.leader_epoch(), Some(LeaderEpoch(3)));
    world.replica.resign(4, &mut world.woken);
    assert!(!world.replica.is_leader());
}

#[test]
fn rule_57_a_waiting_produce_ends_when_the_leadership_or_the_disk_does() {
    let mut world = World::new(Durability::Fsync);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "resigned");
    world.replica.resign(1, &mut world.woken);
    assert_eq!(world.produced(), [("resigned", ProduceOutcome::NotLeader)]);
    world.lead(leadership(2));
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "newer epoch");
    world.lead(leadership(3));
    assert_eq!(world.produced(), [("newer epoch", ProduceOutcome::NotLeader)]);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "offline");
    world.replica.go_offline(&mut world.woken);
    assert_eq!(world.produced(), [("offline", ProduceOutcome::Offline)]);
    let refused = world
        .append(&batch(BatchBuilder::new(), &[NOW]), Acks::Leader)
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::KafkaStorageError);
    world.lead(leadership(9));
    assert!(world.replica.is_offline(), "until the broker starts anew");
}

#[test]
fn another_in_sync_set_in_the_same_epoch_ends_no_wait() {
    let mut world = World::new(Durability::Fsync);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "waiting");
    world.lead(Leadership {
        partition_epoch: 9,
        ..leadership(0)
    });
    assert_eq!(world.produced(), []);
    assert_eq!(world.replica.waiting().0, 1);
}

#[test]
fn a_produce_whose_time_was_up_is_forgotten() {
    let mut world = World::new(Durability::Fsync);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "late");
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "waiting");
    world.replica.forget_produces(|token| *token == "late");
    world.sync();
    assert_eq!(world.produced(), [("waiting", ProduceOutcome::Replicated)]);
}

#[test]
fn rule_61_the_leader_epoch_in_a_request_must_be_the_current_one() {
    let mut world = World::new(Durability::PageCache);
    world.lead(leadership(5));
    world.add(&[NOW]);
    let code = |epoch| {
        let asked = Fetch {
            current_leader_epoch: Some(LeaderEpoch(epoch)),
            ..fetch(0, ReadUncommitted)
        };
        world.replica.fetch(&asked).err().map(|refused| refused.code())
    };
    assert_eq!(code(4), Some(ErrorCode::FencedLeaderEpoch));
    assert_eq!(code(5), None);
    assert_eq!(code(6), Some(ErrorCode::UnknownLeaderEpoch));
    let find = |epoch| {
        world
            .replica
            .find_offset(OffsetQuery::Latest, ReadUncommitted, Some(LeaderEpoch(epoch)))
    };
    assert!(matches!(
        find(4),
        Err(OffsetsRefused::Leader(LeaderRefusal::Fenced { .. }))
    ));
    assert!(matches!(
        world.replica.epoch_end(LeaderEpoch(0), Some(LeaderEpoch(9))),
        Err(LeaderRefusal::Unknown { .. })
    ));
}

#[test]
fn rules_63_and_64_a_reader_that_has_strayed_is_told_where_and_gets_nothing() {
    let mut world = World::new(Durability::PageCache);
    world.lead(leadership(1));
    world.add(&[NOW, NOW]);
    world.lead(leadership(3));
    world.add(&[NOW, NOW]);
    let ask = |offset, last_fetched_epoch| {
        let asked = Fetch {
            last_fetched_epoch: Some(LeaderEpoch(last_fetched_epoch)),
            ..fetch(offset, ReadUncommitted)
        };
        world.replica.fetch(&asked)
    };
    let diverging = |offset, epoch| {
        let fetched = ask(offset, epoch).unwrap();
        assert!(fetched.records.is_empty());
        fetched
            .diverging
            .map(|end| (end.leader_epoch.0, end.end_offset.0))
    };
    assert_eq!(diverging(3, 1), Some((1, 2)), "its epoch ends before its offset");
    assert_eq!(diverging(3, 2), Some((1, 2)), "its epoch is not known here");
    assert_eq!(diverging(99, 3), Some((3, 4)), "even beyond the end of the log");
    let sound = ask(2, 1).unwrap();
    assert!(sound.diverging.is_none() && spans(&sound) == [(2, 3)]);
    assert!(
        matches!(ask(2, 9), Err(FetchRefused::OutOfRange(Offset(2)))),
        "an epoch of the future"
    );
}

#[test]
fn rule_66_consumers_read_to_the_watermark_and_followers_to_the_end() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[NOW]);
    world.sync();
    world.add(&[NOW]);
    assert_eq!(spans(&world.fetch(0, ReadUncommitted)), [(0, 0)]);
    assert_eq!(spans(&world.fetch(0, LogEnd)), [(0, 0), (1, 1)]);
    assert!(world.fetch(0, ReadUncommitted).aborted.is_none());
}

#[test]
fn rule_66_who_reads_committed_stops_at_the_open_transaction_and_is_told_of_the_aborted_ones() {
    let mut world = World::new(Durability::PageCache);
    let transactional = |id| batch(producer(id, 0).transactional(), &[NOW]);
    world.append(&transactional(1), Acks::All).unwrap(); // 0: will be aborted
    world.append(&transactional(2), Acks::All).unwrap(); // 1: stays open
    world.end_transaction(ControlRecordType::Abort, 1); // 2
    let open = world.fetch(0, ReadCommitted);
    assert_eq!(
        (open.seen.last_stable_offset, open.seen.high_watermark),
        (Offset(1), Offset(3))
    );
    assert_eq!(spans(&open), [(0, 0)]);
    let aborted = |fetched: &Fetched| {
        let aborted = fetched.aborted.as_deref().unwrap();
        aborted
            .iter()
            .map(|it| (it.producer_id.0, it.first_offset.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(aborted(&open), [(1, 0)]);
    world.end_transaction(ControlRecordType::Commit, 2); // 3
    let closed = world.fetch(1, ReadCommitted);
    assert_eq!(spans(&closed), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(aborted(&closed), [(1, 0)], "its marker is in the range");
    assert_eq!(aborted(&world.fetch(3, ReadCommitted)), [], "case 52");
    assert_eq!(world.fetch(4, ReadCommitted).aborted, Some(Vec::new()));
}

#[test]
fn case_27_a_fetch_inside_a_batch_returns_the_whole_batch_and_none_before() {
    let mut world = World::new(Durability::PageCache);
    world.add(&[NOW, NOW]);
    world.add(&[NOW, NOW]);
    assert_eq!(spans(&world.fetch(1, ReadUncommitted)), [(0, 1), (2, 3)]);
    assert_eq!(spans(&world.fetch(3, ReadUncommitted)), [(2, 3)]);
    let end = world.fetch(4, ReadUncommitted);
    assert!(end.records.is_empty() && end.caught_up);
}

#[test]
fn rule_59_the_first_batch_is_whole_though_it_is_larger_than_asked_for() {
    let mut world = World::new(Durability::PageCache);
    world.add(&[NOW; 20]);
    world.add(&[NOW; 20]);
    let small = Fetch {
        max_bytes: 10,
        ..fetch(0, ReadUncommitted)
    };
    assert_eq!(spans(&world.replica.fetch(&small).unwrap()), [(0, 19)]);
    let limited = Fetch {
        first_batch: FirstBatch::Limited,
        ..small
    };
    let nothing = world.replica.fetch(&limited).unwrap();
    assert!(
        nothing.records.is_empty() && !nothing.caught_up,
        "there is more, but not now"
    );
    let none = Fetch {
        max_bytes: 0,
        ..limited
    };
    assert!(world.replica.fetch(&none).unwrap().records.is_empty());
}

#[test]
fn case_30_outside_of_the_log_is_an_error_and_between_watermark_and_end_is_nothing_yet() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[NOW]);
    world.sync();
    world.add(&[NOW]);
    for beyond in [-1, 3, i64::MAX, i64::MIN] {
        let refused = world.replica.fetch(&fetch(beyond, ReadUncommitted)).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::OffsetOutOfRange, "{beyond}");
    }
    for waiting in [1, 2] {
        let fetched = world.fetch(waiting, ReadUncommitted);
        assert!(fetched.records.is_empty() && fetched.caught_up);
    }
    world.replica.resign(1, &mut world.woken);
    let refused = world.replica.fetch(&fetch(0, ReadUncommitted)).unwrap_err();
    assert_eq!(
        refused.code(),
        ErrorCode::NotLeaderOrFollower,
        "whatever the offset"
    );
}

#[test]
fn case_34_offsets_are_found_by_time_and_by_name() {
    let mut world = World::new(Durability::PageCache);
    assert_eq!(world.find(-1, ReadUncommitted), (0, -1));
    assert_eq!(world.find(-3, ReadUncommitted), (-1, -1), "there is no record");
    for timestamp in [2, 4, 6, 8] {
        world.add(&[timestamp]);
    }
    assert_eq!(world.find(3, ReadUncommitted), (1, 4));
    assert_eq!(world.find(8, ReadUncommitted), (3, 8));
    assert_eq!(world.find(9, ReadUncommitted), (-1, -1));
    assert_eq!(world.find(-1, ReadUncommitted), (4, -1));
    assert_eq!(world.find(-2, ReadUncommitted), (0, -1));
    assert_eq!(world.find(-3, ReadUncommitted), (3, 8));
    assert_eq!(world.find(-4, ReadUncommitted), (0, -1));
    assert_eq!(world.find(-5, ReadUncommitted), (-1, -1));
    assert_eq!(world.find(-6, ReadUncommitted), (-1, -1));
    assert_eq!(OffsetQuery::from_timestamp(-7), None);
    assert_eq!(OffsetQuery::from_timestamp(i64::MIN), None);
}

#[test]
fn case_35_times_out_of_order_inside_a_batch_lead_to_the_exact_record() {
    let mut world = World::new(Durability::PageCache);
    world.add(&[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(world.find(12, ReadUncommitted), (0, 12));
    assert_eq!(
        world.find(5, ReadUncommitted),
        (0, 12),
        "the first with that time or a later one"
    );
    assert_eq!(world.find(13, ReadUncommitted), (-1, -1));
    world.add(&[20, 25, 30]);
    for (time, offset) in [(13, 12), (21, 13), (25, 13), (26, 14)] {
        assert_eq!(world.find(time, ReadUncommitted).0, offset);
    }
}

#[test]
fn case_37_the_isolation_level_counts_for_the_end_and_for_times() {
    let mut world = World::new(Durability::PageCache);
    world
        .append(&batch(producer(1, 0).transactional(), &[100]), Acks::All)
        .unwrap();
    assert_eq!(world.find(-1, ReadCommitted), (0, -1));
    assert_eq!(world.find(50, ReadCommitted), (-1, -1));
    assert_eq!(world.find(50, ReadUncommitted), (0, 100));
    world.end_transaction(ControlRecordType::Abort, 1);
    assert_eq!(
        world.find(-1, ReadUncommitted),
        (2, -1),
        "one record and its marker"
    );
    assert_eq!(world.find(-1, ReadCommitted), (2, -1));
    assert_eq!(world.find(-3, ReadUncommitted), (1, NOW), "markers count here");
    assert_eq!(
        world.find(101, ReadUncommitted),
        (-1, -1),
        "but are no records to a search by time (case 35)"
    );
}

#[test]
fn rule_39_until_the_watermark_is_in_the_leaders_own_epoch_the_end_is_not_available() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[10]);
    world.lead(leadership(1));
    let ask = |world: &World, timestamp, isolation| {
        world
            .replica
            .find_offset(OffsetQuery::from_timestamp(timestamp).unwrap(), isolation, None)
    };
    for hidden in [-1, 5, -3] {
        let refused = ask(&world, hidden, ReadUncommitted).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::OffsetNotAvailable, "{hidden}");
    }
    assert_eq!(ask(&world, -2, ReadUncommitted).unwrap().offset, Offset(0));
    assert_eq!(ask(&world, -1, LogEnd).unwrap().offset, Offset(1));
    world.sync();
    assert_eq!(ask(&world, -1, ReadUncommitted).unwrap().offset, Offset(1));
}

#[test]
fn named_offsets_carry_their_leader_epochs() {
    let mut world = World::new(Durability::PageCache);
    world.lead(leadership(2));
    world.add(&[10]);
    world.lead(leadership(6));
    world.add(&[20]);
    let epoch = |timestamp| {
        let query = OffsetQuery::from_timestamp(timestamp).unwrap();
        world
            .replica
            .find_offset(query, ReadUncommitted, None)
            .unwrap()
            .leader_epoch
            .0
    };
    assert_eq!(
        [epoch(-1), epoch(-2), epoch(-3), epoch(5), epoch(15)],
        [6, 2, 6, 2, 6]
    );
    assert_eq!(epoch(-5), -1);
    let end = |asked| world.replica.epoch_end(LeaderEpoch(asked), None).unwrap();
    let end = |asked| end(asked).map(|end| (end.leader_epoch.0, end.end_offset.0));
    assert_eq!(
        [end(2), end(5), end(6), end(7)],
        [Some((2, 1)), Some((2, 1)), Some((6, 2)), None]
    );
}

fn watch(world: &mut World, offset: i64, isolation: Isolation, wanted: u64, token: &'static str) {
    let seen = world.fetch(offset, isolation).seen;
    assert!(world.replica.watch(&seen, isolation, wanted, token).is_some());
}

#[test]
fn case_29_a_watching_fetch_is_told_when_records_become_readable() {
    let mut world = World::new(Durability::Fsync);
    watch(&mut world, 0, ReadUncommitted, 1, "consumer");
    watch(&mut world, 0, LogEnd, 1, "follower");
    let bytes = batch(BatchBuilder::new(), &[NOW]).len() as u64;
    world.add(&[NOW]);
    assert_eq!(world.noticed(), [("follower", Notice::Changed { bytes })]);
    world.sync();
    assert_eq!(world.noticed(), [("consumer", Notice::Changed { bytes })]);
    assert_eq!(world.replica.waiting().1, 0);
}

#[test]
fn a_watch_counts_bytes_over_several_appends() {
    let mut world = World::new(Durability::PageCache);
    let one = batch(BatchBuilder::new(), &[NOW]).len() as u64;
    watch(&mut world, 0, ReadUncommitted, 3 * one, "patient");
    world.add(&[NOW]);
    world.add(&[NOW]);
    assert_eq!(world.noticed(), [("patient", Notice::Changed { bytes: one }); 2]);
    world.add(&[NOW]);
    world.add(&[NOW]);
    assert_eq!(world.noticed().len(), 1, "the third append was enough");
}

#[test]
fn what_changed_since_the_answer_cannot_be_watched_any_more() {
    let mut world = World::new(Durability::Fsync);
    let seen = world.fetch(0, ReadUncommitted).seen;
    world.add(&[NOW]);
    assert!(
        world
            .replica
            .watch(&seen, ReadUncommitted, 1, "consumer")
            .is_some(),
        "nothing it may read changed"
    );
    assert!(world.replica.watch(&seen, LogEnd, 1, "follower").is_none());
    world.sync();
    assert!(world.replica.watch(&seen, ReadUncommitted, 1, "late").is_none());
    world.replica.resign(1, &mut world.woken);
    assert!(
        world
            .replica
            .watch(&seen, ReadUncommitted, 1, "too late")
            .is_none()
    );
}

#[test]
fn who_reads_committed_is_not_woken_by_what_it_may_not_read() {
    let mut world = World::new(Durability::PageCache);
    world
        .append(&batch(producer(1, 0).transactional(), &[NOW]), Acks::All)
        .unwrap();
    watch(&mut world, 0, ReadCommitted, 1, "committed");
    world.add(&[NOW]);
    assert_eq!(
        world.noticed(),
        [("committed", Notice::Changed { bytes: 0 })],
        "only the watermark moved"
    );
    world.end_transaction(ControlRecordType::Commit, 1);
    assert!(matches!(
        world.noticed()[..],
        [("committed", Notice::Changed { bytes: 1.. })]
    ));
}

#[test]
fn rule_58_a_watching_fetch_ends_with_the_leadership_and_hears_of_a_new_start() {
    let config = LogConfig {
        segment_bytes: 100,
        retention_bytes: Some(1),
        ..LogConfig::default()
    };
    let disk = SimDisk::new(1);
    let mut replica: TestReplica =
        Replica::new(new_log(&disk, config), Durability::PageCache, 1, Offset::ZERO);
    let mut woken = Vec::new();
    replica.lead(leadership(0), &mut woken).unwrap();
    for _ in 0..3 {
        let sent = batch(BatchBuilder::new(), &[NOW]);
        replica
            .append(&sent, Origin::Client, Acks::Leader, NOW, &mut woken)
            .unwrap();
    }
    let mut world = World { disk, replica, woken };
    watch(&mut world, 3, ReadUncommitted, 1, "consumer");
    assert!(world.replica.delete_old_segments(NOW, &mut world.woken).unwrap() > 0);
    assert_eq!(world.noticed(), [("consumer", Notice::Changed { bytes: 0 })]);
    assert_eq!(
        world.replica.delete_old_segments(NOW, &mut world.woken).unwrap(),
        0
    );
    assert_eq!(world.noticed(), []);
    world.replica.go_offline(&mut world.woken);
    assert_eq!(world.noticed(), [("consumer", Notice::Broken)]);
}

#[test]
fn nobody_is_left_waiting_on_a_log_that_is_taken_away() {
    let mut world = World::new(Durability::Fsync);
    world.produce(&batch(BatchBuilder::new(), &[NOW]), "produce");
    watch(&mut world, 1, ReadUncommitted, 1, "fetch");
    drop(world.replica.into_log(&mut world.woken));
    assert_eq!(world.woken.len(), 2);
}

#[test]
fn what_recovery_found_is_committed_once_it_is_synced() {
    let mut world = World::new(Durability::Fsync);
    world.add(&[NOW, NOW]);
    // The process ends; the page cache stays.
    world.disk.restart();
    let checkpoint = storage::LogCheckpoint {
        recovery_point: Offset::ZERO,
        log_start_offset: Offset::ZERO,
        shutdown: storage::Shutdown::Unclean,
    };
    let (log, _) = Log::open(place(&world.disk), checkpoint, Arc::default(), NOW).unwrap();
    world.replica = Replica::new(log, Durability::Fsync, 1, Offset::ZERO);
    world.lead(leadership(1));
    assert_eq!(
        (
            world.replica.high_watermark(),
            world.replica.log().log_end_offset()
        ),
        (Offset(0), Offset(2))
    );
    watch(&mut world, 2, ReadUncommitted, 1, "consumer");
    world.sync();
    assert_eq!(world.replica.high_watermark(), Offset(2));
    assert!(matches!(
        world.noticed()[..],
        [("consumer", Notice::Changed { bytes: 1.. })]
    ));
}
