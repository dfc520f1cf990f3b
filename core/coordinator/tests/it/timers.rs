//! What happens by time alone.

use coordinator::GroupConfig;

use crate::stage::{Stage, check_with};

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
fn a_silent_member_is_out_after_its_session_timeout() {
    check(
        "
a: join v3 session=10000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
at 9000
heartbeat a1 1
    ok
at 18999
at 19000
    log: g 2 []
heartbeat a1 1
    UnknownMember
",
    );
}

#[test]
fn a_commit_is_a_sign_of_life() {
    check(
        "
a: join v3 session=10000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
at 9000
a: commit a1 1 t-0=5
    log: g t-0=5
    a: ok
at 18000
heartbeat a1 1
    ok
",
    );
}

#[test]
fn a_silent_member_makes_the_others_rebalance() {
    check(
        "
a: join v3 session=10000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join v3 session=20000
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
a: sync a1 2 a1=x b1=y
    log: g 2 [a1=x b1=y]
    a: synced \"x\" consumer range
b: sync b1 2
    b: synced \"y\" consumer range
at 10000
heartbeat b1 2
    RebalanceInProgress
heartbeat a1 2
    UnknownMember
b: join b1
    b: joined 3 range leader=b1 [b1]
",
    );
}

#[test]
fn a_parked_member_is_not_expected_to_send_heartbeats() {
    check(
        "
a: join v3 session=10000 rebalance=60000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join v3 session=10000
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
b: sync b1 2
at 9000
heartbeat a1 2
    ok
at 18000
heartbeat a1 2
    ok
a: sync a1 2 a1=x b1=y
    log: g 2 [a1=x b1=y]
    a: synced \"x\" consumer range
    b: synced \"y\" consumer range
at 27999
heartbeat b1 2
    ok
",
    );
}

#[test]
fn a_newcomer_that_never_hears_back_is_dropped_after_five_minutes() {
    check(
        "
a: join v3 session=10000 rebalance=1000000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join v3 rebalance=1000000
at 9000
heartbeat a1 1
    RebalanceInProgress
at 18000
heartbeat a1 1
    RebalanceInProgress
a: join a1 session=1000000 rebalance=1000000
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
c: join v3 rebalance=1000000
at 24000
heartbeat b1 2
    RebalanceInProgress
b: join b1
at 318000
    c: UnknownMember
",
    );
}

#[test]
fn an_id_that_nobody_comes_back_with_lapses() {
    check(
        "
a: join session=10000
    a: MemberIdRequired a1
    log: g 0 []
at 9999
at 10000
a: join a1
    a: UnknownMember a1
",
    );
}

#[test]
fn a_lapsed_id_can_be_what_a_rebalance_waited_for() {
    check(
        "
a: join v3 session=30000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join session=10000
    b: MemberIdRequired b1
a: join a1 offers=range:more
at 10000
    a: joined 2 range leader=a1 [a1=more]
",
    );
}

#[test]
fn many_members_expire_at_once_and_leave_an_empty_group() {
    check(
        "
given a
b: join v3
c: join v3
a: join a1
    a: joined 2 range leader=a1 [a1 b1 c1]
    b: joined 2 range leader=a1 []
    c: joined 2 range leader=a1 []
at 10000
    log: g 3 []
",
    );
}

#[test]
fn deadlines_go_by_the_steady_clock() {
    let mut stage = Stage::new(GroupConfig {
        initial_rebalance_delay_ms: 0,
        ..GroupConfig::default()
    });
    stage.run("a: join v3 session=10000");
    stage.run("a: sync a1 1 a1=x");
    stage.output.clear();
    // Somebody sets the clock an hour ahead: nobody is expired by that.
    stage.now.wall_ms += 3_600_000;
    let step = stage.shard.tick(stage.now);
    stage.take(step);
    stage.run("heartbeat a1 1");
    assert_eq!(stage.output, ["ok"]);
}

#[test]
fn what_happens_to_a_group_is_told() {
    let mut stage = Stage::new(GroupConfig {
        initial_rebalance_delay_ms: 0,
        ..GroupConfig::default()
    });
    for line in [
        "a: join v3",
        "a: sync a1 1 a1=x",
        "b: join v3",
        "a: join a1",
        "at 100000",
    ] {
        stage.run(line);
    }
    assert_eq!(
        stage.events,
        [
            "group \"g\", generation 0: rebalances",
            "group \"g\", generation 1: gathered 1 members",
            "group \"g\", generation 1: stable",
            "group \"g\", generation 1: rebalances",
            "group \"g\", generation 2: gathered 2 members",
            "group \"g\", generation 2: member \"a1\" was not heard of in time",
            "group \"g\", generation 2: rebalances",
            "group \"g\", generation 2: member \"b1\" was not heard of in time",
            "group \"g\", generation 3: empty",
        ]
    );
}
