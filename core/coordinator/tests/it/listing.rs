//! ListGroups and DescribeGroups.

use coordinator::GroupConfig;

use crate::stage::{check, check_with};

#[test]
fn groups_are_listed_by_state_and_type_in_any_case() {
    check_with(
        GroupConfig {
            initial_rebalance_delay_ms: 0,
            ..GroupConfig::default()
        },
        "
a: join v3 g=completing
    a: joined 1 range leader=a1 [a1]
    log: completing 0 []
b: join v3 g=preparing
    b: joined 1 range leader=b1 [b1]
    log: preparing 0 []
b: join v3 g=preparing
c: commit g=simple t-0=1
    log: simple t-0=1
    c: ok
d: join v3 g=stable type=connect offers=default
    d: joined 1 default leader=d1 [d1] other type
    log: stable 0 []
d: sync d1 1 g=stable d1=x
    log: stable 1 [d1=x]
    d: synced \"x\" connect default
list
    completing \"consumer\" CompletingRebalance classic
    preparing \"consumer\" PreparingRebalance classic
    simple \"\" Empty classic
    stable \"connect\" Stable classic
list states=empty,STABLE
    simple \"\" Empty classic
    stable \"connect\" Stable classic
list states=PreparingRebalance types=classic
    preparing \"consumer\" PreparingRebalance classic
list types=consumer,share
list types=nonsense
list states=nonsense
",
    );
}

#[test]
fn a_group_shows_what_its_members_offer_only_while_it_is_stable() {
    check(
        "
describe g
    none
a: join v3 offers=range:topics
    log: g 0 []
describe g
    PreparingRebalance \"consumer\" \"\" [a1 client /127.0.0.1 =]
at 3000
    a: joined 1 range leader=a1 [a1=topics]
describe g
    CompletingRebalance \"consumer\" \"\" [a1 client /127.0.0.1 =]
a: sync a1 1 a1=share
    log: g 1 [a1=share]
    a: synced \"share\" consumer range
describe g
    Stable \"consumer\" \"range\" [a1 client /127.0.0.1 topics=share]
a: leave a1
    log: g 2 []
    a: a1 left
describe g
    Empty \"consumer\" \"\" []
a: commit t-0=1 g=simple
    log: simple t-0=1
    a: ok
describe simple
    Empty \"\" \"\" []
",
    );
}
