//! Rule 75 and case 28, without a broker.

use super::*;

fn fetch(offset: i64) -> PartitionFetch {
    PartitionFetch {
        offset: Offset(offset),
        max_bytes: 1_000,
        current_leader_epoch: None,
        last_fetched_epoch: None,
    }
}

fn outcome(bytes: usize, high_watermark: i64) -> PartitionOutcome {
    PartitionOutcome {
        bytes,
        caught_up: true,
        high_watermark: Offset(high_watermark),
        log_start_offset: Offset(0),
        remarkable: false,
    }
}

const ERROR: PartitionOutcome = PartitionOutcome {
    bytes: 0,
    caught_up: false,
    high_watermark: Offset(-1),
    log_start_offset: Offset(-1),
    remarkable: true,
};

fn session(keys: &[&'static str]) -> Session<&'static str> {
    Session::new(TopicNaming::ById, keys.iter().map(|key| (*key, fetch(0))))
}

/// The partitions to look at, by key, in order.
fn turns(session: &Session<&'static str>) -> Vec<&'static str> {
    session
        .turns()
        .into_iter()
        .map(|id| *session.slot(id).unwrap().0)
        .collect()
}

fn id(session: &Session<&'static str>, key: &'static str) -> SlotId {
    session.by_key[key]
}

fn tell(session: &mut Session<&'static str>, key: &'static str, outcome: &PartitionOutcome) -> bool {
    session.told(id(session, key), outcome)
}

#[test]
fn epochs_in_a_request_open_close_and_resume() {
    assert_eq!(
        SessionRequest::new(0, -1),
        SessionRequest::Without { closes: None }
    );
    assert_eq!(
        SessionRequest::new(5, -1),
        SessionRequest::Without { closes: Some(5) }
    );
    assert_eq!(SessionRequest::new(0, 0), SessionRequest::Open { closes: None });
    assert_eq!(
        SessionRequest::new(5, 0),
        SessionRequest::Open { closes: Some(5) }
    );
    assert_eq!(
        SessionRequest::new(5, 3),
        SessionRequest::Resume { id: 5, epoch: 3 }
    );
}

#[test]
fn rounds_are_counted_and_the_count_goes_around_past_zero() {
    let mut session = session(&["a"]);
    assert_eq!(session.resume(1, TopicNaming::ById, [], []), Ok(vec![]));
    assert_eq!(
        session.resume(1, TopicNaming::ById, [], []),
        Err(SessionError::Epoch {
            found: 1,
            expected: 2
        })
    );
    assert_eq!(
        session.resume(2, TopicNaming::ByName, [], []),
        Err(SessionError::TopicIds)
    );
    assert_eq!(session.resume(2, TopicNaming::ById, [], []), Ok(vec![]));
    session.epoch = i32::MAX;
    assert_eq!(session.resume(i32::MAX, TopicNaming::ById, [], []), Ok(vec![]));
    assert_eq!(session.resume(1, TopicNaming::ById, [], []), Ok(vec![]));
}

#[test]
fn a_partition_is_told_of_only_when_something_changed() {
    let mut session = session(&["a"]);
    assert!(
        tell(&mut session, "a", &outcome(0, 5)),
        "the offsets are new to the client"
    );
    assert!(!tell(&mut session, "a", &outcome(0, 5)));
    assert!(tell(&mut session, "a", &outcome(0, 6)), "the watermark moved");
    assert!(tell(&mut session, "a", &outcome(10, 6)), "there are records");
    let moved = PartitionOutcome {
        log_start_offset: Offset(2),
        ..outcome(0, 6)
    };
    assert!(tell(&mut session, "a", &moved), "the start moved");
    assert!(!tell(&mut session, "a", &moved));
}

#[test]
fn an_error_is_told_each_round_and_its_end_once() {
    let mut session = session(&["a"]);
    tell(&mut session, "a", &outcome(0, 5));
    assert!(tell(&mut session, "a", &ERROR));
    assert!(tell(&mut session, "a", &ERROR));
    assert!(tell(&mut session, "a", &outcome(0, 5)));
    assert!(!tell(&mut session, "a", &outcome(0, 5)));
}

#[test]
fn an_idle_partition_is_not_looked_at_until_it_tells_of_a_change() {
    let mut session = session(&["a", "b", "c"]);
    for key in ["a", "b", "c"] {
        tell(&mut session, key, &outcome(0, 5));
    }
    assert_eq!(turns(&session), Vec::<&str>::new());
    session.take_turn(id(&session, "b"));
    session.take_turn(id(&session, "b"));
    assert_eq!(turns(&session), ["b"]);
    session.take_turn(SlotId(999));
    assert_eq!(turns(&session), ["b"]);
}

#[test]
fn a_partition_with_records_or_an_error_is_looked_at_again() {
    let mut session = session(&["a", "b", "c"]);
    tell(&mut session, "a", &outcome(9, 5));
    tell(&mut session, "b", &ERROR);
    tell(&mut session, "c", &outcome(0, 5));
    assert_eq!(turns(&session), ["b", "a"]);
}

#[test]
fn a_partition_that_found_no_room_in_the_answer_keeps_its_turn() {
    let mut session = session(&["a", "b"]);
    tell(&mut session, "a", &outcome(9, 5));
    let starved = PartitionOutcome {
        caught_up: false,
        ..outcome(0, 5)
    };
    assert!(tell(&mut session, "b", &starved));
    assert!(!tell(&mut session, "b", &starved));
    assert_eq!(turns(&session), ["b", "a"]);
}

#[test]
fn partitions_with_records_take_turns() {
    let mut session = session(&["a", "b", "c"]);
    let mut firsts = Vec::new();
    for _ in 0..6 {
        let first = turns(&session)[0];
        firsts.push(first);
        // Only the first fits into the answer.
        tell(&mut session, first, &outcome(9, 5));
    }
    assert_eq!(firsts, ["a", "b", "c", "a", "b", "c"]);
}

#[test]
fn a_request_changes_adds_and_forgets_partitions() {
    let mut session = session(&["a", "b"]);
    for key in ["a", "b"] {
        tell(&mut session, key, &outcome(0, 5));
    }
    let (slot_a, slot_b) = (id(&session, "a"), id(&session, "b"));
    let stale = session
        .resume(
            1,
            TopicNaming::ById,
            [("a", fetch(7)), ("c", fetch(1))],
            ["b", "unknown"],
        )
        .unwrap();
    let slot_c = id(&session, "c");
    assert_eq!(stale, [slot_a, slot_c, slot_b]);
    assert_eq!(turns(&session), ["a", "c"]);
    assert_eq!(session.slot(slot_a), Some((&"a", &fetch(7))));
    assert_eq!(session.slot(slot_b), None);
    assert_eq!(session.slots().collect::<Vec<_>>(), [slot_a, slot_c]);
    session.resume(2, TopicNaming::ById, [], ["a", "c"]).unwrap();
    assert!(session.is_empty() && turns(&session).is_empty());
    assert_eq!(session.len(), 0);
}

#[test]
fn each_refusal_has_kafkas_code() {
    assert_eq!(SessionError::NotFound(1).code() as i16, 70);
    assert_eq!(
        SessionError::Epoch {
            found: 1,
            expected: 2
        }
        .code() as i16,
        71
    );
    assert_eq!(SessionError::TopicIds.code() as i16, 106);
}
