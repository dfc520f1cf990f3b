//! What a group may grow to (bad input, row 45; case 43).

use coordinator::GroupConfig;

use crate::stage::{Stage, check_with};

fn small() -> GroupConfig {
    GroupConfig {
        initial_rebalance_delay_ms: 0,
        max_members: 2,
        ..GroupConfig::default()
    }
}

#[test]
fn a_full_group_refuses_new_members() {
    check_with(
        small(),
        "
given a
b: join v3
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
c: join v3
    c: GroupFull
c: join
    c: GroupFull
heartbeat a1 2
    ok
",
    );
}

#[test]
fn while_it_gathers_a_full_group_keeps_who_waits_already() {
    check_with(
        small(),
        "
given a
b: join v3
c: join v3
a: join a1
    a: GroupFull
    b: joined 2 range leader=b1 [b1 c1]
    c: joined 2 range leader=b1 []
",
    );
}

#[test]
fn ids_are_not_given_out_without_end() {
    check_with(
        small(),
        "
a: join
    a: MemberIdRequired a1
    log: g 0 []
b: join
    b: MemberIdRequired b1
c: join
    c: GroupFull
a: join a1
    a: joined 1 range leader=a1 [a1]
",
    );
}

#[test]
fn a_members_metadata_is_bounded() {
    let config = GroupConfig {
        max_member_metadata_bytes: 10,
        ..small()
    };
    check_with(
        config,
        "
a: join v3 offers=range:123456
    a: GroupFull
list
a: join v3 offers=range:12345
    a: joined 1 range leader=a2 [a2=12345]
    log: g 0 []
",
    );
}

#[test]
fn a_groups_metadata_is_bounded() {
    let config = GroupConfig {
        max_group_metadata_bytes: 25,
        ..small()
    };
    check_with(
        config,
        "
a: join v3 offers=range:12345
    a: joined 1 range leader=a1 [a1=12345]
    log: g 0 []
b: join v3 offers=range:12345678901
    b: GroupFull
b: join v3 offers=range:1234567890
a: join a1 offers=range:12345
    a: joined 2 range leader=a1 [a1=12345 b2=1234567890]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn the_default_limits_are_those_of_the_bad_input_table() {
    let config = GroupConfig::default();
    assert_eq!(config.max_members, 5_000);
    assert_eq!(config.max_member_metadata_bytes, 256 * 1_024);
    assert_eq!(config.max_group_metadata_bytes, 64 * 1_024 * 1_024);
}

#[test]
fn a_loaded_group_that_is_too_large_rebalances_and_keeps_who_comes_first() {
    check_with(
        GroupConfig {
            max_members: 1,
            ..small()
        },
        "
given a
b: join v3
    b: GroupFull
",
    );
    let mut stage = Stage::new(small());
    for line in [
        "a: join v3",
        "b: join v3",
        "a: join a1",
        "a: sync a1 2 a1=x b1=y",
        "b: sync b1 2",
    ] {
        stage.run(line);
    }
    let mut smaller = stage.with_config(GroupConfig {
        max_members: 1,
        ..small()
    });
    smaller.restart();
    smaller.output.clear();
    for line in [
        "heartbeat a1 2",
        "b: commit b1 2 t-0=7",
        "a: join a1",
        "b: join b1",
    ] {
        smaller.run(line);
    }
    let expected = [
        "RebalanceInProgress",
        "log: g t-0=7",
        "b: ok",
        "a: joined 3 range leader=a1 [a1]",
        "b: GroupFull",
    ];
    let mut actual = smaller.output.clone();
    actual.sort();
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    assert_eq!(actual, sorted);
}

// Case 43.
#[test]
fn five_hundred_members_join_at_once() {
    let mut stage = Stage::new(GroupConfig::default());
    for member in 0..500 {
        stage.run(&format!("m{member}: join"));
    }
    for member in 0..500 {
        stage.run(&format!("m{member}: join m{member}1"));
    }
    stage.output.clear();
    stage.advance(6_000);
    assert_eq!(
        stage
            .output
            .iter()
            .filter(|line| line.contains(": joined 1 "))
            .count(),
        500
    );
    for member in 0..500 {
        stage.output.clear();
        stage.run(&format!("heartbeat m{member}1 1"));
        assert_eq!(stage.output, ["ok"]);
    }
}
