//! ListOffsets.

use super::*;

#[test]
fn case_34_named_offsets_need_the_version_that_brought_them() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    for (timestamp, first_version, offset) in [
        (-1, 1, 2),
        (-2, 1, 0),
        (-3, 7, 0),
        (-4, 8, 0),
        (-5, 9, -1),
        (-6, 11, -1),
    ] {
        for version in 1..=11 {
            let found = find(&fixture, version, timestamp);
            let expected = if version < first_version {
                (35, -1)
            } else {
                (0, offset)
            };
            assert!(
                (found.error_code, found.offset) == expected || timestamp == -3 && found.offset >= 0,
                "{timestamp} at version {version}: {found:?}"
            );
        }
    }
    assert_eq!(find(&fixture, 11, -7).error_code, 35);
    assert_eq!(find(&fixture, 11, i64::MIN).error_code, 35);
    let late = find(&fixture, 11, now_ms() + 1_000_000);
    assert_eq!((late.error_code, late.offset, late.timestamp), (0, -1, -1));
}

#[test]
fn a_partition_asked_for_twice_is_an_invalid_request_for_it() {
    let fixture = orders(&[]);
    let asked = || ListOffsetsPartition {
        partition_index: 0,
        timestamp: -1,
        ..ListOffsetsPartition::default()
    };
    let found = ask_offsets(&fixture, 5, "orders", vec![asked(), asked()]);
    assert!(
        found
            .iter()
            .all(|found| found.error_code == ErrorCode::InvalidRequest as i16)
    );
    let unknown = ask_offsets(&fixture, 5, "unknown", vec![asked()]).remove(0);
    assert_eq!(unknown.error_code, ErrorCode::UnknownTopicOrPartition as i16);
}

#[test]
fn only_what_has_to_be_read_or_synced_goes_to_a_request_handler() {
    let fixture = orders(&[]);
    fixture.replicas().partition("orders", 0).unwrap().never_sync();
    let reply = |timestamp| {
        let asked = ListOffsetsPartition {
            timestamp,
            ..ListOffsetsPartition::default()
        };
        let topics = vec![ListOffsetsTopic {
            name: "orders".into(),
            partitions: vec![asked],
        }];
        let request = ListOffsetsRequest {
            replica_id: -1,
            topics,
            ..ListOffsetsRequest::default()
        };
        list_offsets(&fixture.replicas().topics(), 7, request)
    };
    assert!(matches!(reply(-1), Reply::Now(_)) && matches!(reply(-2), Reply::Now(_)));
    assert!(matches!(reply(-3), Reply::Blocking(_)) && matches!(reply(5), Reply::Blocking(_)));
    let written = produce(
        fixture.replicas(),
        NEWEST_PRODUCE,
        request("orders", 0, Some(batch(2)), 1),
    );
    only(answer(written));
    // The end is not durable yet, the start is what it was.
    assert!(matches!(reply(-1), Reply::Blocking(_)) && matches!(reply(-2), Reply::Now(_)));
}

#[test]
fn the_end_of_a_partition_is_never_before_what_was_acknowledged() {
    let fixture = orders(&[]);
    // Only who asks has it synced.
    fixture.replicas().partition("orders", 0).unwrap().never_sync();
    for end in [2, 4] {
        only(answer(produce(
            fixture.replicas(),
            NEWEST_PRODUCE,
            request("orders", 0, Some(batch(2)), 1),
        )));
        assert_eq!(find(&fixture, 11, -1).offset, end);
    }
}
