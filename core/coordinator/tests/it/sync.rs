//! SyncGroup (case 41).

use coordinator::GroupConfig;

use crate::stage::check;

#[test]
fn a_follower_waits_for_the_leader_then_gets_its_share() {
    check(
        "
given a and b, after the delay
b: sync b1 1
a: sync a1 1 a1=left b1=right
    log: g 1 [a1=left b1=right]
    a: synced \"left\" consumer range
    b: synced \"right\" consumer range
describe g
    Stable \"consumer\" \"range\" [a1 client /127.0.0.1 =left, b1 client /127.0.0.1 =right]
",
    );
}

#[test]
fn a_member_the_leader_left_out_gets_an_empty_share() {
    check(
        "
given a and b, after the delay
a: sync a1 1 a1=all stranger=some
    log: g 1 [a1=all b1=]
    a: synced \"all\" consumer range
b: sync b1 1
    b: synced \"\" consumer range
",
    );
}

#[test]
fn only_the_leader_assigns() {
    check(
        "
given a and b, after the delay
b: sync b1 1 a1=mine b1=mine
a: sync a1 1 a1=x b1=y
    log: g 1 [a1=x b1=y]
    a: synced \"x\" consumer range
    b: synced \"y\" consumer range
",
    );
}

#[test]
fn an_assignment_is_given_out_when_it_is_committed() {
    check(
        "
given a, after the delay
hold
a: sync a1 1 a1=x
    log: g 1 [a1=x]
describe g
    CompletingRebalance \"consumer\" \"\" [a1 client /127.0.0.1 =]
release
    a: synced \"x\" consumer range
describe g
    Stable \"consumer\" \"range\" [a1 client /127.0.0.1 =x]
",
    );
}

#[test]
fn a_leader_that_syncs_twice_writes_once() {
    check(
        "
given a, after the delay
hold
a: sync a1 1 a1=x
    log: g 1 [a1=x]
again: sync a1 1 a1=y
    a: RebalanceInProgress
release
    again: synced \"x\" consumer range
",
    );
}

#[test]
fn an_assignment_that_cannot_be_written_sends_everybody_back() {
    check(
        "
given a and b, after the delay
b: sync b1 1
fail TooLarge
a: sync a1 1 a1=x b1=y
    a: TooLarge
    b: TooLarge
heartbeat a1 1
    RebalanceInProgress
",
    );
}

#[test]
fn an_assignment_that_is_not_committed_in_time_sends_everybody_back() {
    check(
        "
given a, after the delay
hold
a: sync a1 1 a1=x
    log: g 1 [a1=x]
at 7999
at 8000
    a: TimedOut
heartbeat a1 1
    RebalanceInProgress
release
heartbeat a1 1
    RebalanceInProgress
",
    );
}

#[test]
fn an_assignment_that_a_rebalance_overtook_is_not_given_out() {
    check(
        "
given a, after the delay
hold
a: sync a1 1 a1=x
    log: g 1 [a1=x]
b: join v3
    a: RebalanceInProgress
release
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn a_sync_is_checked_against_the_group() {
    check(
        "
a: sync a1 1
    a: UnknownMember
a: join v3
    log: g 0 []
a: sync a1 0
    a: RebalanceInProgress
at 3000
    a: joined 1 range leader=a1 [a1]
a: sync stranger 1
    a: UnknownMember
a: sync a1 0
    a: IllegalGeneration
a: sync a1 2
    a: IllegalGeneration
a: sync a1 1 type=connect
    a: InconsistentProtocol
a: sync a1 1 protocol=sticky
    a: InconsistentProtocol
a: sync a1 1 i=one
    a: UnknownMember
a: sync a1 1 type=consumer protocol=range a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
a: sync a1 1 type=connect
    a: InconsistentProtocol
a: sync a1 1
    a: synced \"x\" consumer range
",
    );
}

#[test]
fn a_member_that_never_syncs_is_out_after_the_rebalance_timeout() {
    check(
        "
a: join v3 rebalance=8000 session=100000
    log: g 0 []
b: join v3 rebalance=8000 session=100000
at 6000
    a: joined 1 range leader=a1 [a1 b1]
    b: joined 1 range leader=a1 []
a: sync a1 1 a1=x b1=y
    log: g 1 [a1=x b1=y]
    a: synced \"x\" consumer range
at 13999
at 14000
heartbeat a1 1
    RebalanceInProgress
heartbeat b1 1
    UnknownMember
a: join a1
    a: joined 2 range leader=a1 [a1]
",
    );
}

#[test]
fn a_leader_that_never_syncs_is_out_and_the_followers_rejoin() {
    check(
        "
a: join v3 rebalance=8000 session=100000
    log: g 0 []
b: join v3 rebalance=8000 session=100000
at 6000
    a: joined 1 range leader=a1 [a1 b1]
    b: joined 1 range leader=a1 []
b: sync b1 1
at 14000
    b: RebalanceInProgress
b: join b1
    b: joined 2 range leader=b1 [b1]
",
    );
}

#[test]
fn the_defaults_are_kafkas() {
    let config = GroupConfig::default();
    assert_eq!(config.initial_rebalance_delay_ms, 3_000);
    assert_eq!(
        config.min_session_timeout_ms..=config.max_session_timeout_ms,
        6_000..=1_800_000
    );
    assert_eq!(config.max_offset_metadata_units, 4_096);
    assert_eq!(config.offsets_retention_ms, 7 * 24 * 3_600_000);
    assert_eq!(config.offsets_retention_check_interval_ms, 600_000);
}
