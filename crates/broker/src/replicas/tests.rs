//! Replicas as a whole, on a real disk: what becomes of metadata, of a stop, of a kill, of a failing directory.

use bytes::Bytes;
use metadata::image::DIRECTORY_UNASSIGNED;
use model::{ErrorCode, Offset, Uuid};
use replication::{Accepted, Acks, AppendRefused, FetchRefused};
use storage::{Origin, ReadError, SimDisk, SimFaults};
use wire::records::{BatchBuilder, batches};

use super::fixture::Fixture;
use super::*;

fn batch(value: &[u8]) -> Bytes {
    let mut builder = BatchBuilder::new();
    builder.append(now_ms(), None, Some(value), &[]).unwrap();
    builder.build().unwrap()
}

fn partition(fixture: &Fixture, topic: &str, index: i32) -> Arc<HostedPartition> {
    fixture.replicas().partition(topic, index).unwrap()
}

/// Appends one record and waits until it is committed.
fn commit(partition: &Arc<HostedPartition>, value: &[u8]) -> Accepted {
    let (sender, receiver) = std::sync::mpsc::channel();
    let on_commit = move |outcome| sender.send(outcome).unwrap();
    let accepted = partition
        .append_internal(&batch(value), Origin::Client, now_ms(), on_commit)
        .unwrap();
    assert_eq!(receiver.recv().unwrap(), replication::ProduceOutcome::Replicated);
    accepted
}

/// All values of a partition.
fn values(partition: &HostedPartition) -> Vec<Vec<u8>> {
    let (start, _) = partition.bounds().unwrap();
    let bytes = partition
        .read_log(start, 1 << 20)
        .unwrap()
        .records
        .to_bytes()
        .unwrap();
    let all = batches(&bytes).map(|batch| batch.unwrap().records(Default::default()).unwrap());
    all.flatten()
        .map(|record| record.unwrap().value.unwrap().to_vec())
        .collect()
}

pub(super) fn append(partition: &Arc<HostedPartition>, acks: Acks) -> Result<Accepted, AppendRefused> {
    append_value(partition, acks, b"x")
}

pub(super) fn append_value(
    partition: &Arc<HostedPartition>,
    acks: Acks,
    value: &[u8],
) -> Result<Accepted, AppendRefused> {
    partition.append(&batch(value), Origin::Client, acks, now_ms(), || {
        panic!("nothing waits here")
    })
}

#[test]
fn a_topic_is_served_as_soon_as_its_metadata_was_acted_on() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 3, &[]);
    for index in 0..3 {
        let accepted = commit(&partition(&fixture, "orders", index), b"hello");
        assert_eq!(accepted.appended.first_offset, Offset(0));
    }
    assert!(fixture.replicas().partition("orders", 3).is_none());
    assert!(
        fixture
            .dir
            .path()
            .join("data/orders-2/partition.metadata")
            .exists()
    );
}

#[test]
fn what_was_committed_is_there_after_a_kill_and_after_a_stop() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    commit(&partition(&fixture, "orders", 0), b"one");
    fixture.kill();
    fixture.open().unwrap();
    let reopened = partition(&fixture, "orders", 0);
    assert_eq!(
        reopened.high_watermark(),
        Some(Offset(1)),
        "what recovery found is synced before it is served"
    );
    let recovery_points = fixture.dir.path().join("data/recovery-point-offset-checkpoint");
    assert_eq!(
        std::fs::read_to_string(recovery_points).unwrap(),
        "0\n1\norders 0 1\n"
    );
    commit(&reopened, b"two");
    drop(reopened);
    fixture.close();
    let data = fixture.dir.path().join("data");
    assert!(data.join(".kafka_cleanshutdown").exists());
    assert_eq!(
        std::fs::read_to_string(data.join("replication-offset-checkpoint")).unwrap(),
        "0\n1\norders 0 2\n"
    );
    assert_eq!(
        std::fs::read_to_string(data.join("recovery-point-offset-checkpoint")).unwrap(),
        "0\n1\norders 0 2\n"
    );
    fixture.open().unwrap();
    assert!(!data.join(".kafka_cleanshutdown").exists(), "rule 93");
    assert_eq!(values(&partition(&fixture, "orders", 0)), [b"one", b"two"]);
}

#[test]
fn one_sync_serves_many_partitions_and_everybody_who_waits() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 20, &[]);
    let (sender, receiver) = std::sync::mpsc::channel();
    for round in 0..10 {
        for index in 0..20 {
            let sender = sender.clone();
            let on_commit = move |outcome| sender.send((index, round, outcome)).unwrap();
            let partition = partition(&fixture, "orders", index);
            partition
                .append_internal(&batch(b"x"), Origin::Client, now_ms(), on_commit)
                .unwrap();
        }
    }
    drop(sender);
    let ended: Vec<_> = receiver.iter().collect();
    assert_eq!(ended.len(), 200);
    assert!(
        ended
            .iter()
            .all(|(_, _, outcome)| *outcome == replication::ProduceOutcome::Replicated)
    );
    for index in 0..20 {
        let rounds: Vec<i32> = ended
            .iter()
            .filter(|(of, ..)| *of == index)
            .map(|(_, round, _)| *round)
            .collect();
        assert_eq!(rounds, (0..10).collect::<Vec<_>>(), "in the order of the appends");
    }
}

#[test]
fn a_deleted_topic_is_gone_at_once_and_its_name_is_free() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[("file.delete.delay.ms", "0")]);
    let old = partition(&fixture, "orders", 0);
    commit(&old, b"old");
    fixture.delete_topic(id);
    assert!(fixture.replicas().partition("orders", 0).is_none());
    assert_eq!(
        append(&old, Acks::Leader).unwrap_err().code(),
        ErrorCode::NotLeaderOrFollower
    );
    let again = fixture.topic("orders", 1, &[]);
    assert_ne!(again, id);
    let new = partition(&fixture, "orders", 0);
    assert_eq!(new.bounds(), Some((Offset(0), Offset(0))));
    commit(&new, b"new");
    let deleted = || {
        let entries = std::fs::read_dir(fixture.dir.path().join("data")).unwrap();
        entries
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_str()
                    .unwrap()
                    .ends_with("-delete")
            })
            .count()
    };
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while deleted() > 0 && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(deleted(), 0, "the files go after file.delete.delay.ms");
}

#[test]
fn a_topic_made_anew_takes_nothing_from_the_checkpoints_of_the_one_before() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    commit(&partition(&fixture, "orders", 0), b"old");
    fixture.close();
    let data = fixture.dir.path().join("data");
    let names = [
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
    ];
    for name in names {
        std::fs::write(data.join(name), "0\n1\norders 0 100\n").unwrap();
    }
    fixture.open().unwrap();
    fixture.delete_topic(id);
    fixture.topic("orders", 1, &[]);
    for name in names {
        let content = std::fs::read_to_string(data.join(name)).unwrap();
        assert!(!content.contains("100"), "{name}: {content}");
    }
    commit(&partition(&fixture, "orders", 0), b"new");
    fixture.kill();
    fixture.open().unwrap();
    assert_eq!(values(&partition(&fixture, "orders", 0)), [b"new"]);
}

#[test]
fn a_topic_deleted_while_the_broker_was_down_is_set_aside_not_served_and_not_lost() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    commit(&partition(&fixture, "orders", 0), b"old");
    fixture.close();
    fixture.delete_topic(id);
    fixture.topic("orders", 1, &[]);
    fixture.open().unwrap();
    assert_eq!(values(&partition(&fixture, "orders", 0)), Vec::<Vec<u8>>::new());
    let entries = std::fs::read_dir(fixture.dir.path().join("data")).unwrap();
    let strays = entries.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .ends_with("-stray")
    });
    assert_eq!(strays.count(), 1);
}

#[test]
fn a_partition_led_elsewhere_is_not_served_until_it_is_led_here_again() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let orders = partition(&fixture, "orders", 0);
    commit(&orders, b"one");
    fixture.lead(id, 0, -1);
    assert_eq!(
        append(&orders, Acks::Leader).unwrap_err().code(),
        ErrorCode::NotLeaderOrFollower
    );
    fixture.lead(id, 0, 1);
    commit(&orders, b"two");
    assert_eq!(
        orders.with(|replica, _| replica.leader_epoch().unwrap().0),
        Some(2)
    );
    let epochs = fixture.dir.path().join("data/orders-0/leader-epoch-checkpoint");
    assert_eq!(std::fs::read_to_string(epochs).unwrap(), "0\n2\n0 0\n2 1\n");
}

#[test]
fn a_topics_settings_hold_from_the_moment_they_change() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let orders = partition(&fixture, "orders", 0);
    append(&orders, Acks::Leader).unwrap();
    fixture.set("orders", "max.message.bytes", "50");
    assert_eq!(
        append(&orders, Acks::Leader).unwrap_err().code(),
        ErrorCode::MessageTooLarge
    );
    fixture.set("orders", "max.message.bytes", "5000");
    fixture.set("orders", "durability", "pagecache");
    assert!(append(&orders, Acks::All).unwrap().committed);
}

#[test]
fn page_cache_durability_syncs_after_flush_messages() {
    let mut fixture = Fixture::new();
    fixture.topic(
        "orders",
        1,
        &[("durability", "pagecache"), ("flush.messages", "3")],
    );
    let orders = partition(&fixture, "orders", 0);
    let synced = || orders.with(|replica, _| replica.log().synced_offset()).unwrap();
    append(&orders, Acks::All).unwrap();
    append(&orders, Acks::All).unwrap();
    assert_eq!(synced(), Offset(0));
    append(&orders, Acks::All).unwrap();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while synced() < Offset(3) && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(synced(), Offset(3));
}

#[test]
fn rule_110_a_full_directory_refuses_clients_but_not_coordinators_and_takes_both_again() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let orders = partition(&fixture, "orders", 0);
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    orders.dir().write_failed(orders.topic_partition(), &full);
    assert_eq!(
        append(&orders, Acks::Leader).unwrap_err().code(),
        ErrorCode::KafkaStorageError
    );
    let coordinator = orders.append_internal(&batch(b"x"), Origin::Coordinator, now_ms(), |_| {});
    assert!(coordinator.is_ok(), "what is reserved is for them");
    assert!(!orders.dir().is_failed());
    // The disk under the test has room: whoever uses up what was known of looks, and finds it.
    orders.dir().used(usize::MAX);
    assert!(append(&orders, Acks::Leader).is_ok());
}

#[test]
fn rule_110_what_could_not_be_made_or_led_for_want_of_room_is_once_there_is_some() {
    let disk = SimDisk::new(1);
    let mut fixture = Fixture::on(Arc::new(disk.clone()), &[]);
    let id = fixture.topic("orders", 1, &[]);
    let orders = partition(&fixture, "orders", 0);
    fixture.lead(id, 0, -1);
    disk.set_faults(SimFaults {
        capacity: disk.used(),
        ..SimFaults::default()
    });
    fixture.lead(id, 0, 1);
    let late = fixture.topic("late", 1, &[]);
    assert!(orders.dir().is_full() && !orders.dir().is_failed());
    assert_eq!(orders.with(|replica, _| replica.is_leader()), Some(false));
    assert_eq!(fixture.replicas().unhosted(), [], "there is no room yet");

    disk.set_faults(SimFaults::default());
    // Where the room is looked at.
    std::fs::create_dir_all(fixture.dir.path().join("data")).unwrap();
    orders.dir().used(usize::MAX);
    assert_eq!(fixture.replicas().unhosted(), [(id, 0), (late, 0)]);
    fixture.try_again();
    assert_eq!(fixture.replicas().unhosted(), []);
    commit(&orders, b"one");
    commit(&partition(&fixture, "late", 0), b"two");
}

#[test]
fn many_partitions_are_deleted_with_one_sync() {
    let disk = SimDisk::new(1);
    let mut fixture = Fixture::on(Arc::new(disk.clone()), &[]);
    let id = fixture.topic("orders", 100, &[]);
    let before = disk.sync_count();
    fixture.delete_topic(id);
    assert!(disk.sync_count() - before <= 2, "{}", disk.sync_count() - before);
    assert_eq!(fixture.replicas().topics().by_id(id).map(|_| ()), None);
}

#[test]
fn rule_111_running_out_of_descriptors_is_no_fault_of_the_disk() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let orders = partition(&fixture, "orders", 0);
    orders
        .dir()
        .write_failed(orders.topic_partition(), &rustix::io::Errno::MFILE.into());
    assert!(!orders.dir().is_failed() && !orders.dir().is_full());
}

#[test]
fn rule_111_a_sync_waits_for_a_descriptor_and_goes_on() {
    let disk = SimDisk::new(1);
    let mut fixture = Fixture::on(Arc::new(disk.clone()), &[]);
    fixture.topic("orders", 1, &[("segment.bytes", "1048576")]);
    let orders = partition(&fixture, "orders", 0);
    orders.never_sync();
    // The second begins a segment, whose name is to be synced with the folder.
    for _ in 0..2 {
        append_value(&orders, Acks::Leader, &[7; 800_000]).unwrap();
    }
    disk.set_faults(SimFaults {
        open_errors: 1_000_000,
        ..SimFaults::default()
    });
    let files = orders.take_unsynced().unwrap().file_count() as u64;
    let before = disk.sync_count();
    let sync = {
        let orders = orders.clone();
        std::thread::spawn(move || orders.dir().sync_files(std::slice::from_ref(&orders)))
    };
    // It has begun anew.
    while disk.sync_count() < before + files + 1 && !sync.is_finished() {
        std::thread::yield_now();
    }
    assert!(!sync.is_finished() && !orders.dir().is_failed());
    let synced = || orders.with(|replica, _| replica.log().flushed_offset());
    assert_eq!(synced(), Some(Offset(0)));
    disk.set_faults(SimFaults::default());
    sync.join().unwrap();
    assert_eq!(synced(), Some(Offset(2)));
    assert!(!orders.dir().is_failed());
}

#[tokio::test]
async fn rules_107_and_108_a_failed_directory_serves_nothing_and_the_last_one_halts_the_node() {
    let (fixture, orders) = tokio::task::spawn_blocking(|| {
        let mut fixture = Fixture::new();
        fixture.topic("orders", 1, &[]);
        let orders = partition(&fixture, "orders", 0);
        orders
            .dir()
            .write_failed(orders.topic_partition(), &rustix::io::Errno::IO.into());
        (fixture, orders)
    })
    .await
    .unwrap();
    assert!(orders.dir().is_failed());
    assert_eq!(
        append(&orders, Acks::Leader).unwrap_err().code(),
        ErrorCode::KafkaStorageError
    );
    assert!(fixture.halt.called().await.contains("write to orders-0"));
    drop(orders);
    let mut fixture = fixture;
    tokio::task::spawn_blocking(move || {
        fixture.close();
        let marker = fixture.dir.path().join("data/.kafka_cleanshutdown");
        assert!(!marker.exists(), "a directory that failed is not left in order");
    })
    .await
    .unwrap();
}

#[test]
fn with_several_directories_one_that_fails_takes_only_its_own_partitions_with_it() {
    let other = tempfile::tempdir().unwrap();
    let first = tempfile::tempdir().unwrap();
    let dirs = format!(
        "{},{}",
        first.path().join("a").display(),
        other.path().join("b").display()
    );
    let mut fixture = Fixture::with(&[("log.dirs", &dirs)]);
    fixture.topic("orders", 1, &[]);
    fixture.assigned = DIRECTORY_UNASSIGNED;
    fixture.topic("others", 4, &[]);
    let partitions: Vec<_> = (0..4).map(|index| partition(&fixture, "others", index)).collect();
    let second = fixture.replicas().dirs.last().unwrap().clone();
    assert!(
        partitions
            .iter()
            .any(|partition| Arc::ptr_eq(partition.dir(), &second)),
        "they are spread"
    );
    second.fail("test");
    for partition in partitions {
        let refused = append(&partition, Acks::Leader)
            .err()
            .map(|refused| refused.code());
        let expected = Arc::ptr_eq(partition.dir(), &second).then_some(ErrorCode::KafkaStorageError);
        assert_eq!(refused, expected);
    }
    fixture.topic("later", 1, &[]);
    assert!(
        append(&partition(&fixture, "later", 0), Acks::Leader).is_ok(),
        "new partitions go where they can"
    );
    for elsewhere in [second.id(), Uuid([99; 16])] {
        fixture.assigned = elsewhere;
        let name = format!("assigned-{elsewhere}");
        fixture.topic(&name, 1, &[]);
        assert!(
            fixture.replicas().partition(&name, 0).is_none(),
            "never in place of the assigned directory"
        );
    }
}

#[test]
fn a_read_whose_files_a_deletion_took_away_is_no_fault_of_the_disk() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let partition = partition(&fixture, "orders", 0);
    let deleted_meanwhile = |()| {
        drop(partition.take_log());
        Err::<(), _>(FetchRefused::Log(ReadError::Disk(
            std::io::ErrorKind::NotFound.into(),
        )))
    };
    let result = partition.read_as_planned(|_| Ok(()), deleted_meanwhile, super::partition::disk_error_of);
    assert_eq!(result.unwrap_err().code(), ErrorCode::NotLeaderOrFollower);
    assert!(!partition.dir().is_failed());
}

#[test]
fn a_read_that_fails_twice_puts_the_directory_out_of_use() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[("segment.bytes", "1048576")]);
    let partition = partition(&fixture, "orders", 0);
    for _ in 0..3 {
        commit(&partition, &vec![0; 800_000]);
    }
    std::fs::remove_file(fixture.dir.path().join("data/orders-0/00000000000000000000.log")).unwrap();
    let refused = partition.read_log(Offset(0), 1).unwrap_err();
    assert!(matches!(refused, FetchRefused::Log(ReadError::Disk(_))));
    assert!(partition.dir().is_failed());
}

#[test]
fn a_partition_that_joins_a_directory_out_of_use_is_out_of_use() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let late = partition(&fixture, "orders", 0);
    late.dir().leave(late.topic_partition());
    late.dir().fail("planned");
    assert!(append(&late, Acks::Leader).is_ok(), "nobody has told it");
    late.dir().join(&late);
    let refused = append(&late, Acks::Leader).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::KafkaStorageError);
}

#[test]
fn a_deletion_waits_while_files_of_old_segments_are_removed() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, &[]);
    let partition = partition(&fixture, "orders", 0);
    let removing = partition.removing.lock();
    let (sender, taken) = std::sync::mpsc::channel();
    let deleted = partition.clone();
    let deletion = std::thread::spawn(move || sender.send(deleted.take_log().is_some()).unwrap());
    let waits = taken.recv_timeout(std::time::Duration::from_millis(50));
    assert!(waits.is_err() && partition.is_gone());
    drop(removing);
    assert!(taken.recv().unwrap());
    deletion.join().unwrap();
}

#[test]
fn a_retired_folder_that_somebody_removed_is_no_fault_of_the_disk() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let dir = partition(&fixture, "orders", 0).dir().clone();
    fixture.delete_topic(id);
    let data = fixture.dir.path().join("data");
    let names = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let retired: Vec<_> = names
        .filter(|path| path.to_str().unwrap().ends_with("-delete"))
        .collect();
    assert_eq!(retired.len(), 1);
    std::fs::remove_dir_all(&retired[0]).unwrap();
    fixture.replicas().remove_folders(i64::MAX);
    assert!(!dir.is_failed());
}

#[test]
fn a_log_that_cannot_be_opened_is_offline_and_the_others_are_served() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 2, &[]);
    commit(&partition(&fixture, "orders", 0), b"one");
    commit(&partition(&fixture, "orders", 1), b"two");
    fixture.kill();
    // A folder where a file should be: neither readable nor repairable.
    let log = fixture.dir.path().join("data/orders-0/00000000000000000000.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    fixture.open().unwrap();
    let topics = fixture.replicas().topics();
    let orders = topics.by_name("orders").unwrap();
    assert!(matches!(orders.partitions[&0], Hosted::Offline));
    assert_eq!(values(&partition(&fixture, "orders", 1)), [b"two"]);
}

#[test]
fn a_partition_in_two_directories_is_an_error_that_names_both() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = format!("{},{}", first.path().display(), second.path().display());
    let mut fixture = Fixture::with(&[("log.dirs", &dirs)]);
    fixture.topic("orders", 1, &[]);
    fixture.close();
    let (from, to) = (first.path().join("orders-0"), second.path().join("orders-0"));
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let error = fixture.open().unwrap_err().to_string();
    assert!(error.contains("orders-0 lies in both"), "{error}");
}
