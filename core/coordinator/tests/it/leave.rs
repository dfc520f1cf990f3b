//! Heartbeat and LeaveGroup.

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
fn the_last_member_leaves_an_empty_group_behind() {
    check(
        "
given a with its assignment
hold
a: leave a1
    log: g 2 []
release
    a: a1 left
list
    g \"consumer\" Empty classic
heartbeat a1 1
    UnknownMember
a: sync a1 2
    a: UnknownMember
",
    );
}

#[test]
fn the_last_leave_succeeds_even_if_it_is_not_written() {
    check(
        "
given a
fail NotEnoughReplicas
a: leave a1
    a: a1 left
heartbeat a1 1
    UnknownMember
b: join v3
    b: joined 3 range leader=b1 [b1]
",
    );
}

#[test]
fn several_members_leave_in_one_request_and_the_rest_rebalances_once() {
    check(
        "
given static a
b: join i=two
c: join v3
a: join a1 i=one
    a: joined 2 range leader=a1 [a1/one b1/two c1]
    b: joined 2 range leader=a1 []
    c: joined 2 range leader=a1 []
a: sync a1 2 i=one a1=x
    log: g 2 [a1/one=x b1/two= c1=]
    a: synced \"x\" consumer range
x: leave -/two stranger a1/other -/nobody c1 -
    x: -/two left, stranger UnknownMember, a1/other UnknownMember, -/nobody UnknownMember, c1 left, - UnknownMember
heartbeat a1 2 i=one
    RebalanceInProgress
a: join a1 i=one
    a: joined 3 range leader=a1 [a1/one]
",
    );
}

#[test]
fn leaving_an_unknown_group_fails_for_each_member() {
    check(
        "
a: leave a1 -/one
    a: a1 UnknownMember, -/one UnknownMember
",
    );
}

#[test]
fn a_member_that_leaves_while_it_joins_is_answered() {
    check(
        "
given a
b: join v3
x: leave b1
    b: UnknownMember
    x: b1 left
a: join a1
    a: joined 2 range leader=a1 [a1]
",
    );
}

#[test]
fn a_leave_can_be_what_a_rebalance_waited_for() {
    check(
        "
given a
b: join v3
x: leave a1
    b: joined 2 range leader=b1 [b1]
    x: a1 left
",
    );
}

#[test]
fn an_id_that_was_given_out_can_be_given_back() {
    check(
        "
given a with its assignment
b: join
    b: MemberIdRequired b1
x: leave b1
    x: b1 left
heartbeat a1 1
    ok
b: join b1
    b: UnknownMember b1
",
    );
}

#[test]
fn the_leader_leaves_and_another_member_leads() {
    check(
        "
given a
b: join v3
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
x: leave a1
    x: a1 left
b: join b1
    b: joined 3 range leader=b1 [b1]
",
    );
}

#[test]
fn a_heartbeat_is_checked_against_the_group() {
    check(
        "
heartbeat a1 1
    UnknownMember
a: join v3
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
heartbeat stranger 1
    UnknownMember
heartbeat a1 0
    IllegalGeneration
heartbeat a1 2
    IllegalGeneration
heartbeat a1 1
    ok
b: join v3
heartbeat a1 1
    RebalanceInProgress
",
    );
}
