//! Members with a `group.instance.id` (KIP-345, KIP-814; rule 143, case 42).

use coordinator::GroupConfig;

use crate::stage::check_with;

fn check(script: &str) {
    check_with(
        GroupConfig {
            initial_rebalance_delay_ms: 0,
            ..GroupConfig::default()
        },
        script,
    );
}

#[test]
fn a_static_member_needs_no_second_join() {
    check(
        "
a: join i=one
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
",
    );
}

#[test]
fn a_follower_that_restarts_keeps_its_assignment_without_a_rebalance() {
    check(
        "
given static a
b: join i=two
a: join a1 i=one
    a: joined 2 range leader=a1 [a1/one b1/two]
    b: joined 2 range leader=a1 []
a: sync a1 2 i=one a1=x b1=y
    log: g 2 [a1/one=x b1/two=y]
    a: synced \"x\" consumer range
b: join i=two
    log: g 2 [a1/one=x b2/two=y]
    b: joined 2 range leader=a1 []
b: sync b2 2 i=two
    b: synced \"y\" consumer range
heartbeat a1 2 i=one
    ok
heartbeat b1 2 i=two
    FencedInstance
heartbeat b2 2 i=two
    ok
",
    );
}

#[test]
fn a_leader_that_restarts_is_told_to_skip_the_assignment() {
    check(
        "
given static a with its assignment
a: join i=one
    log: g 1 [a2/one=x]
    a: joined 1 range leader=a2 [a2/one] skip
a: sync a2 1 i=one
    a: synced \"x\" consumer range
",
    );
}

#[test]
fn an_old_leader_that_restarts_takes_itself_for_a_follower() {
    check(
        "
a: join v8 i=one
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
a: join v8 i=one
    log: g 1 [a2/one=x]
    a: joined 1 range leader=a1 []
",
    );
}

#[test]
fn a_restart_brings_the_members_new_client_and_timeouts() {
    check(
        "
a: join i=one client=before
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
a: join i=one client=after session=20000
    log: g 1 [a2/one=x]
    a: joined 1 range leader=a2 [a2/one] skip
describe g
    Stable \"consumer\" \"range\" [a2/one after /127.0.0.1 =x]
at 19999
at 20000
    log: g 2 []
",
    );
}

#[test]
fn the_former_self_is_fenced_in_every_request() {
    check(
        "
given static a with its assignment
b: join i=one
    log: g 1 [b1/one=x]
    b: joined 1 range leader=b1 [b1/one] skip
a: join a1 i=one
    a: FencedInstance a1
a: sync a1 1 i=one
    a: FencedInstance
heartbeat a1 1 i=one
    FencedInstance
a: commit a1 1 i=one t-0=5
    a: FencedInstance
a: leave a1/one
    a: a1/one FencedInstance
heartbeat a1 1
    UnknownMember
",
    );
}

#[test]
fn parked_requests_of_the_former_self_are_fenced() {
    check(
        "
given static a
b: join i=two
again: join i=two
    b: FencedInstance b1
a: join a1 i=one
    a: joined 2 range leader=a1 [a1/one again1/two]
    again: joined 2 range leader=a1 []
again: sync again1 2 i=two
third: join i=two
    again: FencedInstance
a: join a1 i=one
    a: joined 3 range leader=a1 [a1/one third1/two]
    third: joined 3 range leader=a1 []
",
    );
}

// KAFKA-9801: the leader may be assigning to the old id.
#[test]
fn a_restart_while_the_group_syncs_starts_the_rebalance_again() {
    check(
        "
given static a
b: join i=two
a: join a1 i=one
    a: joined 2 range leader=a1 [a1/one b1/two]
    b: joined 2 range leader=a1 []
b: join i=two
a: sync a1 2 i=one a1=x b1=y
    a: RebalanceInProgress
a: join a1 i=one
    a: joined 3 range leader=a1 [a1/one b2/two]
    b: joined 3 range leader=a1 []
",
    );
}

#[test]
fn a_restart_that_changes_the_chosen_protocol_starts_a_rebalance() {
    check(
        "
a: join i=one offers=range,sticky
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
a: join i=one offers=sticky,range
    a: joined 2 sticky leader=a2 [a2/one]
",
    );
}

#[test]
fn a_static_member_that_does_not_rejoin_stays_until_its_session_ends() {
    check(
        "
a: join i=one rebalance=8000 session=30000
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
b: join v3 rebalance=8000
at 8000
    b: joined 2 range leader=b1 [a1/one b1]
b: sync b1 2 a1=x b1=y
    log: g 2 [a1/one=x b1=y]
    b: synced \"y\" consumer range
heartbeat a1 1 i=one
    IllegalGeneration
a: join i=one
    log: g 2 [a2/one=x b1=y]
    a: joined 2 range leader=b1 []
",
    );
}

#[test]
fn a_rebalance_that_nobody_joins_waits_while_only_static_members_are_left() {
    check(
        "
a: join i=one rebalance=8000 session=30000
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
b: join v3 rebalance=8000
b: leave b1
    b: UnknownMember
    b: b1 left
at 8000
at 16000
at 29999
at 30000
    log: g 2 []
",
    );
}

#[test]
fn a_restart_that_is_not_written_brings_the_former_self_back() {
    check(
        "
given static a with its assignment
fail NotLeader
b: join i=one offers=range,other client=other
    b: NotLeader
heartbeat a1 1 i=one
    ok
describe g
    Stable \"consumer\" \"range\" [a1/one client /127.0.0.1 =x]
",
    );
}

#[test]
fn a_restart_is_answered_by_the_rebalance_that_overtakes_its_write() {
    check(
        "
given static a with its assignment
hold
b: join i=one
    log: g 1 [b1/one=x]
c: join v3
    b: joined 2 range leader=b1 [b1/one c1]
    c: joined 2 range leader=b1 []
release
b: sync b1 2 i=one b1=x c1=y
    log: g 2 [b1/one=x c1=y]
    b: synced \"x\" consumer range
",
    );
}

#[test]
fn an_unknown_instance_with_an_id_is_refused() {
    check(
        "
given static a
b: join b1 i=other
    b: UnknownMember b1
c: join
    c: MemberIdRequired c1
c: join c1 i=other
    c: UnknownMember c1
",
    );
}
