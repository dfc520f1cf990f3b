//! Fetch, with and without a session.

use std::time::Duration;

use model::Uuid;
use storage::Origin;
use wire::messages::fetch::{ForgottenTopic, ReplicaState};

use super::*;

#[test]
fn case_27_a_fetch_inside_a_batch_gets_the_batch() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    send(&fixture, batch(2));
    let spans = |offset| {
        let data = first(ask(&fixture, &fetch_request("orders", offset)));
        let headers = batches(&bytes_of(&data)).map(|batch| batch.unwrap().header().base_offset.0);
        headers.collect::<Vec<_>>()
    };
    assert_eq!((spans(1), spans(3), spans(4)), (vec![0, 2], vec![2], vec![]));
}

/// A session over `orders` and the two partitions of `quiet`.
struct FetchSession<'a> {
    fixture: &'a Fixture,
    id: i32,
}

impl<'a> FetchSession<'a> {
    fn open(fixture: &'a Fixture) -> (FetchSession<'a>, Vec<PartitionData>) {
        let open = FetchRequest {
            session_epoch: 0,
            topics: vec![
                fetch_topic("orders", &[(0, 0)]),
                fetch_topic("quiet", &[(0, 0), (1, 0)]),
            ],
            ..fetch_request("orders", 0)
        };
        let opened = ask(fixture, &open);
        (
            FetchSession {
                fixture,
                id: opened.session_id,
            },
            partitions(opened),
        )
    }

    fn round(&self, epoch: i32, topics: Vec<FetchTopic>, max_wait_ms: i32) -> FetchRequest {
        FetchRequest {
            session_id: self.id,
            session_epoch: epoch,
            topics,
            max_wait_ms,
            min_bytes: 1,
            ..FetchRequest::default()
        }
    }

    /// An answer without a wait.
    fn ask(&self, epoch: i32, topics: Vec<FetchTopic>) -> FetchResponse {
        ask(self.fixture, &self.round(epoch, topics, 0))
    }
}

fn with_quiet_topic() -> Fixture {
    let mut fixture = orders(&[]);
    fixture.topic("quiet", 2, &[]);
    send(&fixture, batch(1));
    fixture
}

#[test]
fn case_28_a_session_answers_what_changed_and_an_idle_round_waits() {
    let fixture = with_quiet_topic();
    let (session, opened) = FetchSession::open(&fixture);
    assert!(session.id > 0);
    assert_eq!(opened.len(), 3, "the first answer names everything");
    let again = partitions(session.ask(1, vec![]));
    assert_eq!(
        (again.len(), count_of(&again[0])),
        (1, 1),
        "the client did not move on"
    );
    let began = std::time::Instant::now();
    let idle = ask(
        &fixture,
        &session.round(2, vec![fetch_topic("orders", &[(0, 1)])], 150),
    );
    assert!(began.elapsed() >= Duration::from_millis(140));
    assert_eq!(
        (idle.error_code, idle.session_id, partitions(idle).len()),
        (0, session.id, 0)
    );
    let waiting = fetch(
        fixture.replicas(),
        NEWEST_FETCH,
        &session.round(3, vec![], 20_000),
    );
    only(answer(produce(
        fixture.replicas(),
        9,
        request("quiet", 1, Some(batch(4)), 1),
    )));
    let woken = partitions(answer(waiting));
    assert_eq!(
        woken
            .iter()
            .map(|data| (data.partition_index, count_of(data)))
            .collect::<Vec<_>>(),
        [(1, 4)]
    );
}

#[test]
fn case_28_what_is_forgotten_is_not_told_of() {
    let fixture = with_quiet_topic();
    let (session, _) = FetchSession::open(&fixture);
    let forgotten = ForgottenTopic {
        topic: "orders".into(),
        partitions: vec![0],
        ..ForgottenTopic::default()
    };
    let round = FetchRequest {
        forgotten_topics_data: vec![forgotten],
        ..session.round(1, vec![], 0)
    };
    assert_eq!(partitions(ask(&fixture, &round)).len(), 0);
    send(&fixture, batch(1));
    assert_eq!(partitions(session.ask(2, vec![])).len(), 0);
}

#[test]
fn case_28_a_wrong_round_an_unknown_session_and_a_closed_one_are_told_apart() {
    let fixture = with_quiet_topic();
    let (session, _) = FetchSession::open(&fixture);
    assert_eq!(session.ask(2, vec![]).error_code, 71, "a round too early");
    assert_eq!(session.ask(1, vec![]).error_code, 0);
    assert_eq!(session.ask(1, vec![]).error_code, 71, "a round that was already");
    let unknown = FetchSession {
        fixture: &fixture,
        id: session.id ^ 1,
    };
    let refused = unknown.ask(2, vec![]);
    assert_eq!(
        (refused.error_code, refused.session_id, refused.responses.len()),
        (70, 0, 0)
    );
    let closing = session.ask(-1, vec![]);
    assert_eq!((closing.error_code, closing.session_id), (0, 0));
    assert_eq!(session.ask(2, vec![]).error_code, 70, "it was closed");
}

#[test]
fn a_session_without_partitions_ends() {
    let fixture = orders(&[]);
    let open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    let session_id = ask(&fixture, &open).session_id;
    let forgotten = ForgottenTopic {
        topic: "orders".into(),
        partitions: vec![0],
        ..ForgottenTopic::default()
    };
    let last = FetchRequest {
        session_id,
        session_epoch: 1,
        forgotten_topics_data: vec![forgotten],
        max_wait_ms: 60_000,
        min_bytes: 1,
        ..FetchRequest::default()
    };
    let response = ask(&fixture, &last);
    assert_eq!(
        (response.error_code, response.session_id, response.responses.len()),
        (0, 0, 0)
    );
    assert_eq!(
        ask(
            &fixture,
            &FetchRequest {
                session_epoch: 2,
                ..last
            }
        )
        .error_code,
        70
    );
}

#[test]
fn a_session_that_found_no_place_is_none() {
    let mut fixture = Fixture::with(&[("max.incremental.fetch.session.cache.slots", "1")]);
    fixture.topic("orders", 1, &[]);
    let open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    assert!(ask(&fixture, &open).session_id > 0);
    let second = ask(&fixture, &open);
    assert_eq!((second.session_id, partitions(second).len()), (0, 1));
}

#[test]
fn partitions_take_turns_under_a_small_limit() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 3, &[]);
    for index in 0..3 {
        only(answer(produce(
            fixture.replicas(),
            9,
            request("orders", index, Some(batch(50)), -1),
        )));
    }
    let open = FetchRequest {
        session_epoch: 0,
        max_bytes: 10,
        topics: vec![fetch_topic("orders", &[(0, 0), (1, 0), (2, 0)])],
        ..fetch_request("orders", 0)
    };
    let with_records = |response: FetchResponse| {
        let told = partitions(response);
        let with = told.iter().filter(|data| !bytes_of(data).is_empty());
        with.map(|data| data.partition_index).collect::<Vec<_>>()
    };
    let opened = ask(&fixture, &open);
    let session_id = opened.session_id;
    let mut order = with_records(opened);
    for epoch in 1..5 {
        let round = FetchRequest {
            session_id,
            session_epoch: epoch,
            max_bytes: 10,
            min_bytes: 1,
            ..FetchRequest::default()
        };
        order.extend(with_records(ask(&fixture, &round)));
    }
    assert_eq!(
        order,
        [0, 1, 2, 0, 1],
        "a first batch larger than the limit is returned whole, one at a time"
    );
}

#[test]
fn case_29_an_empty_fetch_waits_and_data_ends_the_wait() {
    let fixture = orders(&[]);
    let began = std::time::Instant::now();
    let empty = FetchRequest {
        max_wait_ms: 100,
        ..fetch_request("orders", 0)
    };
    assert_eq!(count_of(&first(ask(&fixture, &empty))), 0);
    assert!(began.elapsed() >= Duration::from_millis(95));
    let waiting = fetch(
        fixture.replicas(),
        NEWEST_FETCH,
        &FetchRequest {
            max_wait_ms: 60_000,
            ..empty
        },
    );
    send(&fixture, batch(2));
    assert_eq!(count_of(&first(answer(waiting))), 2);
}

#[test]
fn a_fetch_waits_for_min_bytes_and_counts_them_over_appends() {
    let fixture = orders(&[]);
    let one = i32::try_from(batch(1).len()).unwrap();
    let patient = FetchRequest {
        max_wait_ms: 60_000,
        min_bytes: 3 * one,
        ..fetch_request("orders", 0)
    };
    let Reply::Parked(mut waiting, _) = fetch(fixture.replicas(), NEWEST_FETCH, &patient) else {
        panic!()
    };
    for _ in 0..2 {
        send(&fixture, batch(1));
        assert!(waiting.try_recv().is_err(), "not enough yet");
    }
    send(&fixture, batch(1));
    assert_eq!(count_of(&first(waiting.blocking_recv().unwrap())), 3);
}

#[test]
fn a_fetch_that_waits_is_answered_when_its_partition_goes_away() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let empty = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 0)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.lead(id, 0, -1);
    assert_eq!(
        first(answer(waiting)).error_code,
        ErrorCode::NotLeaderOrFollower as i16
    );
    fixture.lead(id, 0, 1);
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.delete_topic(id);
    assert_eq!(
        first(answer(waiting)).error_code,
        ErrorCode::UnknownTopicOrPartition as i16
    );
}

#[test]
fn a_round_nobody_waits_for_is_let_go_of_and_its_session_goes_on() {
    let fixture = with_quiet_topic();
    let watches = || {
        let partition = |name, index| fixture.replicas().partition(name, index).unwrap();
        [("orders", 0), ("quiet", 0), ("quiet", 1)].map(|(name, index)| partition(name, index).watches())
    };
    let patient = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("quiet", 0)
    };
    let Reply::Parked(_, parked) = fetch(fixture.replicas(), NEWEST_FETCH, &patient) else {
        panic!()
    };
    assert_eq!(watches(), [0, 1, 0]);
    parked.upgrade().unwrap().abandon();
    assert_eq!(watches(), [0, 0, 0]);
    assert!(parked.upgrade().is_none(), "nothing holds it, no timer either");

    let (session, _) = FetchSession::open(&fixture);
    let mut round = session.round(1, vec![fetch_topic("orders", &[(0, 1)])], 60_000);
    round.min_bytes = 1 << 20;
    let Reply::Parked(_, parked) = fetch(fixture.replicas(), NEWEST_FETCH, &round) else {
        panic!()
    };
    send(&fixture, batch(1));
    only(answer(produce(
        fixture.replicas(),
        NEWEST_PRODUCE,
        request("quiet", 1, Some(batch(2)), -1),
    )));
    parked.upgrade().unwrap().abandon();
    assert!(parked.upgrade().is_none());
    let told = partitions(session.ask(2, vec![]));
    assert_eq!(
        told.iter().map(count_of).collect::<Vec<_>>(),
        [1, 2],
        "what came meanwhile is told in the next round"
    );
}

#[test]
fn who_is_acknowledged_finds_in_the_next_round_what_was_written() {
    let fixture = with_quiet_topic();
    let (session, _) = FetchSession::open(&fixture);
    let round = session.round(1, vec![fetch_topic("orders", &[(0, 1)])], 0);
    let replicas = fixture.replicas().clone();
    let (told, counts) = std::sync::mpsc::channel();
    let partition = fixture.replicas().partition("quiet", 1).unwrap();
    partition
        .append_internal(&batch(2), Origin::Client, now_ms(), move |_| {
            let partitions = partitions(answer(fetch(&replicas, NEWEST_FETCH, &round)));
            told.send(partitions.iter().map(count_of).collect::<Vec<_>>())
                .unwrap();
        })
        .unwrap();
    assert_eq!(counts.recv().unwrap(), [2]);
}

#[test]
fn a_stop_answers_the_fetches_that_wait() {
    let mut fixture = orders(&[]);
    let empty = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 0)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.replicas().begin_stop();
    assert_eq!(first(answer(waiting)).error_code, 0);
    let late = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    assert_eq!(
        first(answer(late)).error_code,
        0,
        "and those that come late do not wait"
    );
    fixture.close();
}

#[test]
fn case_30_outside_of_the_log_is_out_of_range_with_offsets_unknown() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    for offset in [-1, 3, i64::MAX] {
        let data = first(ask(&fixture, &fetch_request("orders", offset)));
        assert_eq!(data.error_code, ErrorCode::OffsetOutOfRange as i16);
        assert_eq!(
            (
                data.high_watermark,
                data.last_stable_offset,
                data.log_start_offset
            ),
            (-1, -1, -1)
        );
        assert!(
            data.records.is_some_and(|records| records.is_empty()),
            "empty, never null"
        );
    }
    let end = first(ask(&fixture, &fetch_request("orders", 2)));
    assert_eq!((end.error_code, count_of(&end), end.high_watermark), (0, 0, 2));
}

#[test]
fn case_7_fields_without_a_meaning_have_their_neutral_values() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    let data = first(ask(&fixture, &fetch_request("orders", 0)));
    assert_eq!(
        (data.preferred_read_replica, data.aborted_transactions),
        (-1, None)
    );
    let committed = FetchRequest {
        isolation_level: 1,
        ..fetch_request("orders", 0)
    };
    assert_eq!(
        first(ask(&fixture, &committed)).aborted_transactions,
        Some(Vec::new())
    );
}

#[test]
fn row_37_sizes_and_waits_out_of_all_proportion_are_clamped() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    for bytes in [0, -1, i32::MIN, i32::MAX] {
        let mut request = FetchRequest {
            max_bytes: bytes,
            min_bytes: bytes,
            ..fetch_request("orders", 0)
        };
        request.topics[0].partitions[0].partition_max_bytes = bytes;
        let data = first(ask(&fixture, &request));
        assert_eq!((data.error_code, data.high_watermark), (0, 1));
    }
    for max_wait_ms in [i32::MIN, -1] {
        let request = FetchRequest {
            max_wait_ms,
            ..fetch_request("orders", 1)
        };
        assert_eq!(count_of(&first(ask(&fixture, &request))), 0);
    }
    let forever = FetchRequest {
        max_wait_ms: i32::MAX,
        ..fetch_request("orders", 1)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &forever);
    send(&fixture, batch(1));
    assert_eq!(count_of(&first(answer(waiting))), 1);
}

#[test]
fn row_38_naming_a_broker_in_a_fetch_gives_nothing() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    let old = FetchRequest {
        replica_id: 1,
        ..fetch_request("orders", 0)
    };
    let new = FetchRequest {
        replica_state: ReplicaState {
            replica_id: 1,
            replica_epoch: 1,
        },
        ..fetch_request("orders", 0)
    };
    for (version, request) in [(12, old), (17, new)] {
        let response = answer(fetch(fixture.replicas(), version, &request));
        let data = first(response);
        assert_eq!(data.error_code, ErrorCode::ClusterAuthorizationFailed as i16);
        assert!(bytes_of(&data).is_empty());
    }
}

#[test]
fn unknown_topics_have_the_code_of_how_they_were_named() {
    let fixture = orders(&[]);
    let by_name = first(ask(&fixture, &fetch_request("unknown", 0)));
    assert_eq!(by_name.error_code, ErrorCode::UnknownTopicOrPartition as i16);
    let mut by_id = fetch_request("", 0);
    by_id.topics[0].topic_id = Uuid([77; 16]);
    let by_id = first(answer(fetch(fixture.replicas(), 13, &by_id)));
    assert_eq!(by_id.error_code, ErrorCode::UnknownTopicId as i16);
}

#[test]
fn a_session_does_not_mix_names_and_ids() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let mut open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    open.topics[0].topic_id = id;
    let session_id = answer(fetch(fixture.replicas(), 13, &open)).session_id;
    let round = FetchRequest {
        session_id,
        session_epoch: 1,
        ..FetchRequest::default()
    };
    assert_eq!(answer(fetch(fixture.replicas(), 12, &round)).error_code, 106);
}

#[test]
fn what_is_older_than_this_process_is_read_by_a_request_handler() {
    let mut fixture = orders(&[]);
    send(&fixture, batch(3));
    fixture.close();
    fixture.open().unwrap();
    let cold = fetch(fixture.replicas(), NEWEST_FETCH, &fetch_request("orders", 0));
    assert!(matches!(cold, Reply::Blocking(_)));
    assert_eq!(count_of(&first(answer(cold))), 3);
    send(&fixture, batch(1));
    let warm = fetch(fixture.replicas(), NEWEST_FETCH, &fetch_request("orders", 3));
    assert!(matches!(warm, Reply::Parked(..)));
    assert_eq!(count_of(&first(answer(warm))), 1);
}
