//! What clients are told about the cluster: its nodes, APIs and features.

use model::ErrorCode;
use wire::ApiKey;
use wire::messages::describe_cluster::{DescribeClusterRequest, DescribeClusterResponse};

use crate::support::{Client, Node, api_versions_request};

fn describe(client: &mut Client, version: i16, endpoint_type: i8) -> DescribeClusterResponse {
    let request = DescribeClusterRequest {
        include_cluster_authorized_operations: version > 0,
        endpoint_type,
        include_fenced_brokers: true,
    };
    client.call(version, &request)
}

#[test]
fn each_kind_of_listener_describes_its_own_nodes() {
    let node = Node::start(&[("broker.rack", "shelf")]);
    let mut on_broker = node.connect();
    for version in 0..=2 {
        let cluster = describe(&mut on_broker, version, 1);
        assert_eq!(cluster.error_code, 0);
        assert_eq!(&*cluster.cluster_id, "test-cluster-of-one");
        assert_eq!(cluster.controller_id, 1);
        let [broker] = &cluster.brokers[..] else {
            panic!("{cluster:?}")
        };
        assert_eq!((broker.broker_id, &*broker.host), (1, "127.0.0.1"));
        assert_eq!(broker.port, i32::from(node.address().port()));
        assert_eq!(broker.rack.as_deref(), Some("shelf"));
        let operations = if version == 0 { i32::MIN } else { 8096 };
        assert_eq!(cluster.cluster_authorized_operations, operations);
    }
    let mut on_controller = Client::connect(node.address_of("CONTROLLER"));
    let cluster = describe(&mut on_controller, 1, 2);
    assert_eq!(
        (cluster.error_code, cluster.endpoint_type, cluster.controller_id),
        (0, 2, 1)
    );
    assert_eq!(cluster.brokers.len(), 1);
    let mismatched = ErrorCode::MismatchedEndpointType as i16;
    assert_eq!(describe(&mut on_controller, 1, 1).error_code, mismatched);
    assert_eq!(describe(&mut on_broker, 2, 2).error_code, mismatched);
}

#[test]
fn features_are_told_as_far_as_a_reader_can_take_them() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    let of_4 = client.api_versions();
    let of_3 = client.call(3, &api_versions_request());
    let names = |features: &[wire::messages::api_versions::SupportedFeatureKey]| {
        features
            .iter()
            .map(|feature| feature.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&of_3.supported_features), ["metadata.version"]);
    assert_eq!(names(&of_4.supported_features).len(), 7);
    for answer in [&of_3, &of_4] {
        assert!(answer.finalized_features_epoch > 0);
        let level = |name: &str| {
            let features = &answer.finalized_features;
            features
                .iter()
                .find(|feature| &*feature.name == name)
                .map(|feature| feature.max_version_level)
        };
        assert_eq!(level("metadata.version"), Some(30));
        assert_eq!(level("transaction.version"), Some(2));
        assert_eq!(level("kraft.version"), Some(1));
    }
}

#[test]
fn what_is_advertised_is_what_is_served() {
    let node = Node::start(&[]);
    let advertised = node.connect().api_versions().api_keys;
    let range = |key: ApiKey| {
        let api = advertised.iter().find(|api| api.api_key == key.key());
        api.map(|api| (api.min_version, api.max_version))
    };
    // Shown from 0 on for the sake of old clients that would not compress otherwise, though 0 to 2 are refused.
    assert_eq!(range(ApiKey::Produce), Some((0, 13)));
    assert_eq!(range(ApiKey::SaslHandshake), None);
    for api in &advertised {
        let key = ApiKey::from_key(api.api_key).unwrap();
        assert_eq!(api.max_version, key.versions().1, "{}", key.name());
    }
}
