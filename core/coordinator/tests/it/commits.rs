//! OffsetCommit and OffsetFetch (rules 136 to 139, case 46).

use coordinator::GroupConfig;

use crate::stage::{check, check_with};

#[test]
fn a_commit_is_fetched_with_its_metadata_and_epoch() {
    check(
        "
a: commit t-0=5:abc:3 t-1=6 u-0=-2
    log: g t-0=5
    log: g t-1=6
    log: g u-0=-2
    a: ok ok ok
a: fetch t-0 t-1 t-2 v-0
    a: t-0=5@3:abc t-1=6 t-2=none v-0=none
a: fetch
    a: t-0=5@3:abc t-1=6 u-0=-2
list
    g \"\" Empty classic
",
    );
}

#[test]
fn a_commit_is_seen_and_answered_when_it_is_committed() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
hold
a: commit t-0=6 t-1=6
    log: g t-0=6
    log: g t-1=6
b: fetch t-0 t-1
    b: t-0=5 t-1=none
release
    a: ok ok
b: fetch t-0 t-1
    b: t-0=6 t-1=6
",
    );
}

#[test]
fn each_commit_waits_for_all_its_own_records() {
    check(
        "
hold
a: commit t-0=5 t-1=5
    log: g t-0=5
    log: g t-1=5
b: commit t-0=6
    log: g t-0=6
high-watermark 1
high-watermark 2
    a: ok ok
c: fetch t-0
    c: t-0=5
high-watermark 3
    b: ok
",
    );
}

#[test]
fn a_stable_fetch_waits_for_the_commits_before_it() {
    check(
        "
hold
a: commit t-0=5
    log: g t-0=5
b: fetch t-0 stable
c: fetch t-0 stable g=other
    c: t-0=none
release
    a: ok
    b: t-0=5
",
    );
}

// A consumer's first fetch comes right after its SyncGroup.
#[test]
fn a_stable_fetch_does_not_wait_for_a_generation() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
a: join v3
at 3000
    a: joined 1 range leader=a1 [a1]
hold
a: sync a1 1 a1=x
    log: g 1 [a1=x]
b: fetch t-0 stable
    b: t-0=5
b: commit t-0=6 g=other
    log: other t-0=6
b: fetch t-0 stable
    b: t-0=5
",
    );
}

#[test]
fn an_unknown_group_has_no_offsets_and_that_is_no_error() {
    check(
        "
a: fetch t-0
    a: t-0=none
a: fetch
    a: nothing
",
    );
}

#[test]
fn the_group_without_a_name_keeps_offsets_too() {
    check(
        "
a: commit g= t-0=5
    log:  t-0=5
    a: ok
a: fetch g= t-0
    a: t-0=5
",
    );
}

#[test]
fn metadata_that_is_too_long_fails_its_partition_alone() {
    let config = GroupConfig {
        max_offset_metadata_units: 3,
        ..GroupConfig::default()
    };
    check_with(
        config,
        "
a: commit t-0=5:abcd t-1=6:abc t-2=7:\u{1f980}\u{1f980}
    log: g t-1=6
    a: MetadataTooLarge ok MetadataTooLarge
a: commit t-0=5:abcd
    a: MetadataTooLarge
",
    );
}

#[test]
fn a_member_commits_with_its_generation() {
    check(
        "
given a, after the delay
a: commit a1 1 t-0=5
    a: RebalanceInProgress
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
a: commit a1 1 t-0=5
    log: g t-0=5
    a: ok
a: commit a1 0 t-0=6
    a: IllegalGeneration
a: commit a1 2 t-0=6
    a: IllegalGeneration
a: commit stranger 1 t-0=6
    a: UnknownMember
a: commit a1 1 i=one t-0=6
    a: UnknownMember
a: commit a1 -1 t-0=6
    a: IllegalGeneration
b: join v3
a: commit a1 1 t-0=7
    log: g t-0=7
    a: ok
",
    );
}

#[test]
fn nobody_from_outside_commits_to_an_active_group() {
    check(
        "
a: join v3
    log: g 0 []
x: commit t-0=5
    x: UnknownMember
at 3000
    a: joined 1 range leader=a1 [a1]
x: commit t-0=5
    x: UnknownMember
a: leave a1
    log: g 2 []
    a: a1 left
x: commit t-0=5
    log: g t-0=5
    x: ok
a: commit a1 2 t-0=5
    a: UnknownMember
x: commit 2 t-0=5
    x: UnknownMember
",
    );
}

#[test]
fn a_generation_of_an_unknown_group_is_refused() {
    check(
        "
a: commit a1 1 t-0=5
    a: GroupNotFound
list
",
    );
}

#[test]
fn a_commit_that_cannot_be_written_leaves_what_was() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
fail NotEnoughReplicas
a: commit t-0=6
    a: NotEnoughReplicas
a: fetch t-0
    a: t-0=5
",
    );
}

#[test]
fn a_commit_that_takes_too_long_is_an_error_and_may_still_take_effect() {
    check(
        "
hold
a: commit t-0=5
    log: g t-0=5
b: fetch t-0 stable
at 4999
at 5000
    b: TimedOut
    a: TimedOut
release
a: fetch t-0
    a: t-0=5
",
    );
}

#[test]
fn offsets_of_an_earlier_topic_of_that_name_are_not_given() {
    check(
        "
a: commit id=1 t-0=5
    log: g t-0=5
    a: ok
a: fetch id=1 t-0
    a: t-0=5
a: fetch id=2 t-0
    a: t-0=none
a: fetch t-0
    a: t-0=5
",
    );
}

#[test]
fn who_waits_is_told_when_the_coordinator_moves() {
    check(
        "
a: join v3
    log: g 0 []
hold
b: commit t-0=5 g=h
    log: h t-0=5
c: fetch t-0 stable g=h
resign
    b: NotCoordinator
    c: NotCoordinator
    a: NotCoordinator a1
list
",
    );
}
