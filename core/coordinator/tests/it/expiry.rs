//! Offsets past their retention and groups without offsets (KIP-211, rules 145 and 146).

use bytes::{BufMut, Bytes, BytesMut};
use coordinator::GroupConfig;

use crate::stage::{Stage, check_with};

fn quick() -> GroupConfig {
    GroupConfig {
        initial_rebalance_delay_ms: 0,
        offsets_retention_ms: 10_000,
        offsets_retention_check_interval_ms: 1_000,
        ..GroupConfig::default()
    }
}

fn check(script: &str) {
    check_with(quick(), script);
}

#[test]
fn offsets_of_nobody_expire_by_their_own_age() {
    check(
        "
at 500
a: commit t-0=5
    log: g t-0=5
    a: ok
at 5500
a: commit t-1=5
    log: g t-1=5
    a: ok
at 10999
at 11000
    log: g t-0 gone
at 16000
    log: g t-1 gone
list
",
    );
}

#[test]
fn offsets_of_a_group_expire_after_its_last_member_left() {
    check(
        "
a: join v3 session=100000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
a: commit a1 1 t-0=5
    log: g t-0=5
    a: ok
at 50500
a: leave a1
    log: g 2 []
    a: a1 left
at 60999
at 61000
    log: g t-0 gone
    log: g gone
list
",
    );
}

#[test]
fn a_retention_of_the_clients_own_counts_for_its_offsets() {
    check(
        "
a: commit t-0=5 retention=3000
    log: g t-0=5
    a: ok
a: commit t-1=5 retention=30000
    log: g t-1=5
    a: ok
at 3000
    log: g t-0 gone
at 29999
at 30000
    log: g t-1 gone
",
    );
}

#[test]
fn an_empty_group_without_offsets_goes_at_the_next_round() {
    check(
        "
given a
a: leave a1
    log: g 2 []
    a: a1 left
at 1000
    log: g gone
list
",
    );
}

#[test]
fn a_group_that_somebody_may_come_back_to_stays() {
    check(
        "
a: join session=6000
    a: MemberIdRequired a1
    log: g 0 []
at 5999
list
    g \"\" Empty classic
at 6000
    log: g gone
",
    );
}

#[test]
fn an_offset_on_its_way_keeps_the_group_from_being_swept() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
at 9999
hold
a: commit t-0=6
    log: g t-0=6
at 10000
release
    a: ok
at 19000
at 20000
    log: g t-0 gone
",
    );
}

#[test]
fn a_commit_behind_the_tombstone_stays() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
at 9999
hold
at 10000
    log: g t-0 gone
a: commit t-0=6
    log: g t-0=6
release
    a: ok
a: fetch t-0
    a: t-0=6
restart
a: fetch t-0
    a: t-0=6
",
    );
}

#[test]
fn a_group_that_is_entered_while_its_tombstone_is_on_the_way_lives_on() {
    check(
        "
given a
a: leave a1
    log: g 2 []
    a: a1 left
hold
at 1000
    log: g gone
b: join v3
    b: joined 3 range leader=b1 [b1]
release
b: sync b1 3 b1=x
    log: g 3 [b1=x]
    b: synced \"x\" consumer range
restart
heartbeat b1 3
    ok
",
    );
}

#[test]
fn tombstones_are_written_in_batches_of_a_bounded_size() {
    let mut stage = Stage::new(quick());
    let places: Vec<String> = (0..1_200).map(|partition| format!("t-{partition}=1")).collect();
    stage.run(&format!("a: commit {}", places.join(" ")));
    let held = stage.shard.tick(coordinator::Now {
        wall_ms: 20_000,
        steady_ms: 20_000,
    });
    let sizes: Vec<usize> = held.writes.iter().map(|write| write.records.len()).collect();
    assert_eq!(sizes, [500, 500, 200]);
}

#[test]
fn a_stable_consumer_group_keeps_the_offsets_of_the_topics_it_subscribes_to() {
    let mut stage = Stage::new(quick());
    let wants = coordinator::Protocol {
        name: "range".into(),
        metadata: subscription_bytes("used"),
    };
    stage.join_offering(vec![wants]);
    stage.run("a: sync a1 1 a1=x");
    stage.run("a: commit a1 1 used-0=5 unused-0=5");
    stage.output.clear();
    for at in [9_000, 18_000] {
        stage.advance(at);
        stage.run("heartbeat a1 1");
    }
    assert_eq!(stage.output, ["ok", "log: g unused-0 gone", "ok"]);
}

fn subscription_bytes(topic: &str) -> Bytes {
    // -1 is no UTF-8, so the text of a script cannot carry it.
    let mut bytes = BytesMut::new();
    bytes.put_i16(1);
    bytes.put_i32(1);
    bytes.put_i16(topic.len() as i16);
    bytes.put_slice(topic.as_bytes());
    bytes.put_i32(-1);
    bytes.put_i32(0);
    bytes.freeze()
}

#[test]
fn a_stable_group_whose_subscription_cannot_be_read_keeps_all() {
    check(
        "
a: join v3 session=100000 offers=range:?
    a: joined 1 range leader=a1 [a1=?]
    log: g 0 []
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
a: commit a1 1 t-0=5
    log: g t-0=5
    a: ok
at 50000
",
    );
}

#[test]
fn a_deleted_topic_takes_its_offsets_along() {
    check(
        "
a: commit id=1 t-0=5 t-1=5 u-0=5
    log: g t-0=5
    log: g t-1=5
    log: g u-0=5
    a: ok ok ok
b: commit g=h t-0=5
    log: h t-0=5
    b: ok
c: commit g=i id=2 t-0=5
    log: i t-0=5
    c: ok
topic-deleted t id=1
    log: g t-0 gone
    log: g t-1 gone
    log: h t-0 gone
list
    g \"\" Empty classic
    i \"\" Empty classic
",
    );
}
