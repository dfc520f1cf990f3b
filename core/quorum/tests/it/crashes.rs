//! Power cuts at every step: after each, the next start goes through, and what was committed is there.

use std::sync::Arc;

use quorum::QuorumConfig;
use storage::SimDisk;

use super::cut_disk::CutDisk;
use super::{Node, format, topic};

const UNCUT: u64 = u64::MAX;

/// Snapshots all the time, and segments of a few batches: every path is taken within few steps.
fn busy() -> QuorumConfig {
    QuorumConfig {
        bytes_between_snapshots: 600,
        segment_bytes: 1500,
        retention_bytes: Some(4000),
        ..QuorumConfig::default()
    }
}

/// Makes topics until the power goes. The names of those that were committed.
fn run(disk: Arc<CutDisk>, from: u32, count: u32) -> Vec<String> {
    let mut committed = Vec::new();
    let Ok(mut node) = Node::start(disk, busy()) else {
        return committed;
    };
    for number in from..from + count {
        node.now_ms += 1000;
        if node.write(&topic(number, 2)).is_err() {
            return committed;
        }
        committed.push(format!("topic-{number:06}"));
        if node.maintain().is_err() {
            return committed;
        }
    }
    let now_ms = node.now_ms;
    let _ = node.log.close(now_ms);
    committed
}

/// How many calls a run makes that change something on the disk.
fn calls_of(work: impl FnOnce(Arc<CutDisk>)) -> u64 {
    let disk = Arc::new(CutDisk::new(SimDisk::new(0), UNCUT));
    work(disk.clone());
    disk.calls()
}

#[test]
fn a_cut_at_any_step_of_the_first_format_leaves_a_directory_that_can_be_formatted() {
    let steps = calls_of(|disk| format(&*disk).unwrap());
    assert!(steps > 10);
    for cut_at in 0..=steps {
        for seed in 0..4 {
            let disk = SimDisk::new(seed * 1000 + cut_at);
            let cut = format(&CutDisk::new(disk.clone(), cut_at));
            assert_eq!(cut.is_ok(), cut_at == steps);
            disk.crash();
            if cut.is_err() {
                format(&disk).unwrap();
                disk.crash();
            }
            let node = Node::start(Arc::new(disk), busy()).unwrap();
            assert_eq!(
                node.image().features.metadata_version(),
                Some(30),
                "cut at {cut_at}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_cut_at_any_step_of_the_first_start_leaves_a_directory_that_starts() {
    let steps = calls_of(|disk| {
        format(&*disk).unwrap();
        let before = disk.calls();
        Node::start(disk.clone(), busy()).unwrap();
        assert!(disk.calls() > before + 5);
    });
    let formatted = calls_of(|disk| format(&*disk).unwrap());
    for cut_at in 0..=steps - formatted {
        for seed in 0..4 {
            let disk = SimDisk::new(seed * 1000 + cut_at);
            format(&disk).unwrap();
            let _ = Node::start(Arc::new(CutDisk::new(disk.clone(), cut_at)), busy());
            disk.crash();
            let node = Node::start(Arc::new(disk), busy()).unwrap();
            assert_eq!(
                node.image().features.metadata_version(),
                Some(30),
                "cut at {cut_at}, seed {seed}"
            );
            assert!(node.image().topics.is_empty());
        }
    }
}

#[test]
fn a_cut_at_any_step_loses_nothing_that_was_committed() {
    let formatted = calls_of(|disk| format(&*disk).unwrap());
    let steps = calls_of(|disk| {
        format(&*disk).unwrap();
        assert_eq!(run(disk, 0, 14).len(), 14);
    });
    assert!(
        steps - formatted > 150,
        "{steps}: snapshots and segments are made and removed"
    );
    for cut_at in 0..=steps - formatted {
        let disk = SimDisk::new(cut_at);
        format(&disk).unwrap();
        let mut committed = run(Arc::new(CutDisk::new(disk.clone(), cut_at)), 0, 14);
        disk.crash();
        // A second life, cut as well, early in its start or later.
        committed.extend(run(Arc::new(CutDisk::new(disk.clone(), cut_at % 41)), 100, 14));
        disk.crash();
        let node =
            Node::start(Arc::new(disk), busy()).unwrap_or_else(|error| panic!("cut at {cut_at}: {error}"));
        let names = node.topic_names();
        for name in &committed {
            assert!(
                names.contains(name),
                "cut at {cut_at}: {name} was committed, {names:?} are there"
            );
        }
        // What was not acknowledged may be there, whole: never in part.
        assert!(
            names.len() <= committed.len() + 2,
            "cut at {cut_at}: {names:?} for {committed:?}"
        );
        assert!(
            node.image()
                .topics
                .iter()
                .all(|topic| topic.partition_count() == 2),
            "cut at {cut_at}"
        );
    }
}

#[test]
fn epochs_and_offsets_are_never_used_twice() {
    use metadata::MetadataLog as _;
    let disk = SimDisk::new(7);
    format(&disk).unwrap();
    let mut last = (0, -1);
    for life in 0..20_u64 {
        let cut = CutDisk::new(disk.clone(), if life % 2 == 0 { UNCUT } else { 3 + life });
        if let Ok(mut node) = Node::start(Arc::new(cut), busy()) {
            let now = (node.log.leader_epoch().0, node.log.next_offset().0);
            assert!(now.0 > last.0 && now.1 > last.1, "{now:?} after {last:?}");
            last = now;
            let _ = node.write(&topic(life as u32, 1));
        }
        disk.crash();
    }
    assert!(last.0 >= 10);
}
