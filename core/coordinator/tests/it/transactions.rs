//! Offsets that transactions committed (rule 140, cases 45 and 50).

use coordinator::GroupConfig;

use crate::stage::{check, check_with};

#[test]
fn an_offset_of_a_transaction_takes_effect_with_its_marker() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
transact 7 t-0=9 t-1=9
a: fetch t-0 t-1 t-2
    a: t-0=5 t-1=none t-2=none
a: fetch t-0 t-1 t-2 stable
    a: t-0=UnstableOffset t-1=UnstableOffset t-2=none
end 7 commit
a: fetch t-0 t-1 stable
    a: t-0=9 t-1=9
",
    );
}

#[test]
fn an_aborted_transaction_leaves_what_was() {
    check(
        "
a: commit t-0=5
    log: g t-0=5
    a: ok
transact 7 t-0=9 t-1=9
end 7 abort
a: fetch t-0 t-1 stable
    a: t-0=5 t-1=none
",
    );
}

#[test]
fn listing_all_stable_offsets_names_the_unstable_ones_that_are_committed() {
    check(
        "
a: commit t-0=5 u-0=6
    log: g t-0=5
    log: g u-0=6
    a: ok ok
transact 7 t-0=9 new-0=9
a: fetch stable
    a: t-0=UnstableOffset u-0=6
a: fetch
    a: t-0=5 u-0=6
",
    );
}

#[test]
fn two_transactions_hold_an_offset_until_both_ended() {
    check(
        "
transact 7 t-0=9
transact 8 t-0=10
end 8 commit
a: fetch t-0 stable
    a: t-0=UnstableOffset
a: fetch t-0
    a: t-0=10
end 7 commit
a: fetch t-0 stable
    a: t-0=10
",
    );
}

// Case 45: a plain commit after the transaction's own record is the newer one, whenever the marker comes.
#[test]
fn of_a_plain_and_a_transactional_commit_the_later_record_wins() {
    check(
        "
transact 7 t-0=9
a: commit t-0=12
    log: g t-0=12
    a: ok
end 7 commit
a: fetch t-0
    a: t-0=12
restart
a: fetch t-0
    a: t-0=12
transact 8 t-0=20
end 8 commit
a: fetch t-0
    a: t-0=20
",
    );
}

// Case 45: retention does not take what an open transaction is about to replace.
#[test]
fn retention_leaves_an_offset_that_a_transaction_holds() {
    let config = GroupConfig {
        offsets_retention_ms: 10_000,
        offsets_retention_check_interval_ms: 1_000,
        ..GroupConfig::default()
    };
    check_with(
        config,
        "
a: commit t-0=5 t-1=5
    log: g t-0=5
    log: g t-1=5
    a: ok ok
at 9000
transact 7 t-0=9
at 12000
    log: g t-1 gone
end 7 commit
restart
a: fetch
    a: t-0=9
at 18999
at 19000
    log: g t-0 gone
",
    );
}

#[test]
fn a_group_that_only_an_open_transaction_knows_stays() {
    let config = GroupConfig {
        offsets_retention_check_interval_ms: 1_000,
        ..GroupConfig::default()
    };
    check_with(
        config,
        "
transact 7 t-0=9
at 5000
list
    g \"\" Empty classic
end 7 abort
list
",
    );
}

#[test]
fn a_tombstone_forgets_what_an_open_transaction_wrote_before_it() {
    check(
        "
transact 7 t-0=9 t-1=9
topic-deleted t
    log: g t-0 gone
    log: g t-1 gone
transact 7 u-0=3
end 7 commit
a: fetch
    a: u-0=3
",
    );
}

// Case 50: a rebalance does not touch what a transaction holds, and its marker frees it.
#[test]
fn a_rebalance_between_a_transactional_commit_and_its_marker_changes_nothing() {
    check(
        "
given a, after the delay
transact 7 t-0=9
a: leave a1
    log: g 2 []
    a: a1 left
a: fetch t-0 stable
    a: t-0=UnstableOffset
end 7 commit
a: fetch t-0 stable
    a: t-0=9
",
    );
}

#[test]
fn an_open_transaction_survives_a_restart() {
    check(
        "
transact 7 t-0=9
restart
a: fetch t-0 stable
    a: t-0=UnstableOffset
end 7 commit
a: fetch t-0 stable
    a: t-0=9
",
    );
}
