//! JoinGroup: who gets in, who leads, which protocol is chosen.

use coordinator::GroupConfig;

use crate::stage::{check, check_with};

fn without_delay() -> GroupConfig {
    GroupConfig {
        initial_rebalance_delay_ms: 0,
        ..GroupConfig::default()
    }
}

#[test]
fn a_member_without_an_id_is_given_one_and_must_come_back() {
    check(
        "
a: join
    a: MemberIdRequired a1
    log: g 0 []
a: join a1
at 3000
    a: joined 1 range leader=a1 [a1]
",
    );
}

#[test]
fn old_clients_are_admitted_at_once() {
    check(
        "
a: join v3
    log: g 0 []
at 3000
    a: joined 1 range leader=a1 [a1]
",
    );
}

#[test]
fn the_first_member_leads_and_alone_learns_who_is_in() {
    check(
        "
b: join v3 offers=range:topics-of-b
    log: g 0 []
a: join v3 offers=range:topics-of-a
at 6000
    a: joined 1 range leader=b1 []
    b: joined 1 range leader=b1 [a1=topics-of-a b1=topics-of-b]
",
    );
}

#[test]
fn without_a_delay_the_first_join_completes_at_once() {
    check_with(
        without_delay(),
        "
a: join v3
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
",
    );
}

#[test]
fn each_arrival_extends_the_initial_delay_up_to_the_rebalance_timeout() {
    check(
        "
a: join v3 rebalance=7000
    log: g 0 []
at 2000
b: join v3 rebalance=7000
at 5000
c: join v3 rebalance=7000
at 6999
at 7000
    a: joined 1 range leader=a1 [a1 b1 c1]
    b: joined 1 range leader=a1 []
    c: joined 1 range leader=a1 []
",
    );
}

#[test]
fn a_quiet_initial_delay_ends_on_time() {
    check(
        "
a: join v3
    log: g 0 []
at 2000
b: join v3
at 3000
at 5999
at 6000
    a: joined 1 range leader=a1 [a1 b1]
    b: joined 1 range leader=a1 []
",
    );
}

#[test]
fn most_votes_choose_among_the_protocols_that_all_support() {
    check(
        "
a: join v3 offers=roundrobin,range,sticky
    log: g 0 []
b: join v3 offers=sticky,roundrobin
c: join v3 offers=sticky,roundrobin
at 6000
    a: joined 1 sticky leader=a1 [a1 b1 c1]
    b: joined 1 sticky leader=a1 []
    c: joined 1 sticky leader=a1 []
",
    );
}

#[test]
fn a_vote_goes_to_the_first_protocol_that_all_support() {
    check(
        "
a: join v3 offers=mine,shared
    log: g 0 []
b: join v3 offers=theirs,shared
at 6000
    a: joined 1 shared leader=a1 [a1 b1]
    b: joined 1 shared leader=a1 []
",
    );
}

#[test]
fn a_member_that_shares_no_protocol_is_refused() {
    check_with(
        without_delay(),
        "
a: join v3 offers=range
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join v3 offers=sticky
    b: InconsistentProtocol
c: join v3 offers=range type=connect
    c: InconsistentProtocol
d: join v3 offers=
    d: InconsistentProtocol
",
    );
}

#[test]
fn a_new_group_needs_a_protocol_and_a_type_and_is_not_made_by_a_refused_join() {
    check(
        "
a: join v3 offers=
    a: InconsistentProtocol
a: join v3 type=
    a: InconsistentProtocol
list
",
    );
}

#[test]
fn a_protocol_named_twice_counts_once() {
    check_with(
        without_delay(),
        "
a: join v3 offers=range:first,range:second
    a: joined 1 range leader=a1 [a1=first]
    log: g 0 []
b: join v3 offers=range
a: join a1 offers=range:third
    a: joined 2 range leader=a1 [a1=third b1]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn a_member_of_a_group_that_does_not_exist_is_unknown() {
    check(
        "
a: join a1
    a: UnknownMember a1
list
",
    );
}

#[test]
fn an_id_nobody_gave_out_is_unknown() {
    check_with(
        without_delay(),
        "
given a
b: join somebody
    b: UnknownMember somebody
",
    );
}

#[test]
fn a_session_timeout_outside_the_limits_is_refused() {
    check(
        "
a: join session=5999
    a: InvalidSessionTimeout
a: join session=1800001
    a: InvalidSessionTimeout
a: join session=6000
    a: MemberIdRequired a3
    log: g 0 []
b: join g=other session=1800000
    b: MemberIdRequired b1
    log: other 0 []
",
    );
}

#[test]
fn row_43_a_group_id_has_1_to_1024_bytes() {
    check(
        "
a: join g=
    a: InvalidGroupId
a: sync a1 1 g=
    a: InvalidGroupId
heartbeat a1 1 g=
    InvalidGroupId
a: leave a1 g=
    a: InvalidGroupId
",
    );
    let long = "x".repeat(1_025);
    let longest = "x".repeat(1_024);
    check(&format!(
        "
a: join g={long}
    a: InvalidGroupId
a: sync a1 1 g={long}
    a: InvalidGroupId
heartbeat a1 1 g={long}
    InvalidGroupId
a: leave a1 g={long}
    a: InvalidGroupId
a: commit t-0=1 g={long}
    a: InvalidGroupId
b: join g={longest}
    b: MemberIdRequired b1
    log: {longest} 0 []
"
    ));
}

// Case 40: the first member learns of the second by its heartbeat, and both are in the next generation.
#[test]
fn a_second_member_starts_a_rebalance_that_the_first_joins() {
    check_with(
        without_delay(),
        "
given a
a: sync a1 1 a1=all
    log: g 1 [a1=all]
    a: synced \"all\" consumer range
heartbeat a1 1
    ok
b: join
    b: MemberIdRequired b1
heartbeat a1 1
    ok
b: join b1
heartbeat a1 1
    RebalanceInProgress
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    b: joined 2 range leader=a1 []
b: sync b1 2
a: sync a1 2 a1=left b1=right
    log: g 2 [a1=left b1=right]
    a: synced \"left\" consumer range
    b: synced \"right\" consumer range
",
    );
}

#[test]
fn who_does_not_join_in_time_is_out_and_a_new_leader_is_elected() {
    check_with(
        without_delay(),
        "
a: join v3 rebalance=8000 session=60000
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
b: join v3 rebalance=8000
at 7999
at 8000
    b: joined 2 range leader=b1 [b1]
heartbeat a1 1
    UnknownMember
",
    );
}

#[test]
fn a_follower_that_lost_the_answer_gets_it_again() {
    check(
        "
given a and b, after the delay
b: join b1
    b: joined 1 range leader=a1 []
a: join a1
    a: joined 1 range leader=a1 [a1 b1]
a: sync a1 1 a1=x b1=y
    log: g 1 [a1=x b1=y]
    a: synced \"x\" consumer range
b: join b1
    b: joined 1 range leader=a1 []
b: sync b1 1
    b: synced \"y\" consumer range
",
    );
}

#[test]
fn a_stable_leader_that_joins_again_starts_a_rebalance() {
    check_with(
        without_delay(),
        "
given a with its assignment
a: join a1
    a: joined 2 range leader=a1 [a1]
",
    );
}

#[test]
fn a_changed_subscription_starts_a_rebalance() {
    check(
        "
given a and b, after the delay
a: sync a1 1
    log: g 1 [a1= b1=]
    a: synced \"\" consumer range
b: join b1 offers=range:more
heartbeat a1 1
    RebalanceInProgress
a: join a1
    a: joined 2 range leader=a1 [a1 b1=more]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn joining_again_with_something_else_while_others_sync_sends_them_back() {
    check(
        "
given a and b, after the delay
b: sync b1 1
a: join a1 offers=range:more
    b: RebalanceInProgress
b: join b1
    a: joined 2 range leader=a1 [a1=more b1]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn a_second_join_of_a_member_supersedes_the_parked_one() {
    check_with(
        without_delay(),
        "
given a
b: join v3
again: join b1
    b: RebalanceInProgress b1
a: join a1
    a: joined 2 range leader=a1 [a1 b1]
    again: joined 2 range leader=a1 []
",
    );
}

#[test]
fn a_rebalance_waits_for_members_that_were_told_to_come_back() {
    check_with(
        without_delay(),
        "
given a
b: join
    b: MemberIdRequired b1
a: join a1 offers=range:more
b: join b1
    a: joined 2 range leader=a1 [a1=more b1]
    b: joined 2 range leader=a1 []
",
    );
}

#[test]
fn a_group_whose_first_record_is_not_written_is_not_there() {
    check(
        "
fail NotEnoughReplicas
a: join v3
    a: NotEnoughReplicas a1
list
a: join v3
    log: g 0 []
",
    );
}

#[test]
fn a_group_that_was_left_is_entered_again_at_its_generation() {
    check_with(
        without_delay(),
        "
given a
a: leave a1
    log: g 2 []
    a: a1 left
b: join v3 type=connect offers=default
    b: joined 3 default leader=b1 [b1] other type
",
    );
}
