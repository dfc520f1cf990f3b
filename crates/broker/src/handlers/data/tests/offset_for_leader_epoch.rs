//! OffsetForLeaderEpoch, and a fetch with an epoch that strayed.

use wire::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};

use super::*;

#[test]
fn the_end_of_an_epoch_is_told_to_who_knows_the_current_one() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    send(&fixture, batch(2));
    fixture.lead(id, 0, -1);
    fixture.lead(id, 0, 1);
    send(&fixture, batch(1));
    let ask = |topic: &str, current, epoch| {
        let partition = OffsetForLeaderPartition {
            partition: 0,
            current_leader_epoch: current,
            leader_epoch: epoch,
        };
        let topics = vec![OffsetForLeaderTopic {
            topic: topic.into(),
            partitions: vec![partition],
        }];
        let request = OffsetForLeaderEpochRequest {
            topics,
            ..OffsetForLeaderEpochRequest::default()
        };
        let mut response = offset_for_leader_epoch(&fixture.replicas().topics(), &request);
        let end = response.topics.remove(0).partitions.remove(0);
        (end.error_code, end.leader_epoch, end.end_offset)
    };
    assert_eq!(ask("orders", -1, 0), (0, 0, 2));
    assert_eq!(ask("orders", 2, 2), (0, 2, 3));
    assert_eq!(ask("orders", 2, 1), (0, 0, 2));
    assert_eq!(ask("orders", 2, 9), (0, -1, -1));
    assert_eq!(ask("orders", 1, 0), (ErrorCode::FencedLeaderEpoch as i16, -1, -1));
    assert_eq!(
        ask("orders", 3, 0),
        (ErrorCode::UnknownLeaderEpoch as i16, -1, -1)
    );
    assert_eq!(
        ask("unknown", 3, 0),
        (ErrorCode::UnknownTopicOrPartition as i16, -1, -1)
    );
}

#[test]
fn who_fetches_with_a_strayed_epoch_is_told_where_to_go_back_to() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    send(&fixture, batch(2));
    fixture.lead(id, 0, -1);
    fixture.lead(id, 0, 1);
    send(&fixture, batch(2));
    let mut request = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 3)
    };
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    let data = first(ask(&fixture, &request));
    assert_eq!(
        (data.diverging_epoch.epoch, data.diverging_epoch.end_offset),
        (0, 2)
    );
    assert_eq!(count_of(&data), 0);
}
