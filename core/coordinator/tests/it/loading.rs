//! A coordinator that takes over (rules 135 and 144).

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
fn groups_and_offsets_are_back_and_everybody_has_a_fresh_session() {
    check(
        "
a: join i=one session=10000
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
b: join v3 session=10000
a: join a1 i=one
    a: joined 2 range leader=a1 [a1/one b1]
    b: joined 2 range leader=a1 []
a: sync a1 2 i=one a1=x b1=y
    log: g 2 [a1/one=x b1=y]
    a: synced \"x\" consumer range
a: commit a1 2 i=one t-0=5:mine:2
    log: g t-0=5
    a: ok
at 9000
restart
describe g
    Stable \"consumer\" \"range\" [a1/one client /127.0.0.1 =x, b1 client /127.0.0.1 =y]
a: fetch
    a: t-0=5@2:mine
at 18000
heartbeat a1 2 i=one
    ok
heartbeat b1 2
    ok
a: sync a1 2 i=one
    a: synced \"x\" consumer range
at 27999
at 28000
    log: g 3 []
",
    );
}

#[test]
fn a_rebalance_in_progress_is_forgotten_and_its_members_start_anew() {
    check(
        "
given a
restart
heartbeat a1 1
    UnknownMember
a: join a1
    a: UnknownMember a1
a: join v3
    a: joined 1 range leader=a3 [a3]
",
    );
}

#[test]
fn a_follower_that_joins_unchanged_keeps_its_generation_after_the_move() {
    check(
        "
given a
b: join v3
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
a: sync a1 2 a1=x b1=y
    log: g 2 [a1=x b1=y]
    a: synced \"x\" consumer range
restart
b: join b1
    b: joined 2 range leader=a1 []
b: sync b1 2
    b: synced \"y\" consumer range
",
    );
}

#[test]
fn an_empty_group_keeps_its_generation_and_the_time_since_when_it_is_empty() {
    let config = GroupConfig {
        initial_rebalance_delay_ms: 0,
        offsets_retention_ms: 10_000,
        offsets_retention_check_interval_ms: 1_000,
        ..GroupConfig::default()
    };
    check_with(
        config,
        "
given a with its assignment
a: commit a1 1 t-0=5
    log: g t-0=5
    a: ok
at 5000
a: leave a1
    log: g 2 []
    a: a1 left
at 14000
restart
at 14999
at 15000
    log: g t-0 gone
    log: g gone
",
    );
}

#[test]
fn tombstones_are_replayed() {
    check(
        "
a: commit id=1 t-0=5
    log: g t-0=5
    a: ok
topic-deleted t id=1
    log: g t-0 gone
restart
list
",
    );
}
