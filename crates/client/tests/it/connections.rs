//! Connections: versions, answers that do not come, topics that come late.

use std::time::Duration;

use client::{ClientError, WhenMissing};
use model::ErrorCode;
use wire::ApiKey;

use crate::fake_broker::{FakeBroker, Fault};

#[tokio::test]
async fn a_broker_that_does_not_know_our_first_question_is_asked_in_its_own_version() {
    let broker = FakeBroker::start(1).await;
    broker.state().api_versions_max = 2;
    let topic = broker.client().topic("t", WhenMissing::Fail).await.unwrap();
    assert_eq!(topic.partitions.len(), 1);
    assert_eq!(broker.state().seen[&ApiKey::ApiVersions], 2);
}

#[tokio::test]
async fn an_answer_that_never_comes_is_asked_for_again_on_another_connection() {
    let broker = FakeBroker::start(1).await;
    broker.fail(ApiKey::Metadata, [Some(Fault::Silence)]);
    let client = broker.client_with(|config| config.request_timeout = Duration::from_millis(100));
    client.topic("t", WhenMissing::Fail).await.unwrap();
    assert_eq!(broker.state().seen[&ApiKey::Metadata], 2);
    assert_eq!(
        broker.state().seen[&ApiKey::ApiVersions],
        2,
        "a new connection asks anew"
    );
}

#[tokio::test]
async fn a_topic_that_comes_late_is_waited_for() {
    let broker = FakeBroker::start(2).await;
    let late = [ErrorCode::UnknownTopicOrPartition, ErrorCode::LeaderNotAvailable];
    broker.fail(ApiKey::Metadata, late.map(|code| Some(Fault::Error(code))));
    let topic = broker.client().topic("t", WhenMissing::Create).await.unwrap();
    assert_eq!(topic.partitions.len(), 2);
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_told_at_once() {
    let broker = FakeBroker::start(1).await;
    let error = broker
        .client()
        .topic("nope", WhenMissing::Fail)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UnknownTopicOrPartition));
    assert_eq!(broker.state().seen[&ApiKey::Metadata], 1);
}

#[tokio::test]
async fn calls_share_a_connection_and_each_gets_its_own_answer() {
    let broker = FakeBroker::start(1).await;
    let client = broker.client();
    client.connect(Duration::from_secs(5)).await.unwrap();
    let calls: Vec<_> = (0..50)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move {
                let name = if n % 2 == 0 { "t" } else { "nope" };
                (n, client.topic(name, WhenMissing::Fail).await)
            })
        })
        .collect();
    for call in calls {
        let (n, outcome) = call.await.unwrap();
        assert_eq!(outcome.is_ok(), n % 2 == 0, "{n}");
    }
    assert_eq!(broker.state().seen[&ApiKey::ApiVersions], 1);
}

#[tokio::test]
async fn a_client_gives_up_when_its_time_is_over() {
    let broker = FakeBroker::start(1).await;
    broker.fail(
        ApiKey::Metadata,
        std::iter::repeat_n(Some(Fault::CloseBefore), 1000),
    );
    let client = broker.client_with(|config| config.default_api_timeout = Duration::from_millis(100));
    let error = client.topic("t", WhenMissing::Fail).await.unwrap_err();
    assert!(matches!(error, ClientError::Disconnected { .. }), "{error}");
}
