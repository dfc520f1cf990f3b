//! Listeners, order of replies, limits, start and stop.

use std::time::{Duration, Instant};

use wire::ApiKey;
use wire::messages::api_versions::ApiVersionsRequest;

use crate::support::{Client, Node, api_versions_request, frame};

#[test]
fn replies_of_one_connection_come_in_the_order_of_its_requests() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    let mut all = Vec::new();
    for correlation_id in 0..1000 {
        let version = (correlation_id % 5) as i16;
        all.extend(frame(
            ApiKey::ApiVersions,
            version,
            correlation_id,
            &api_versions_request(),
        ));
    }
    client.send_bytes(&all);
    for correlation_id in 0..1000 {
        let version = (correlation_id % 5) as i16;
        let versions = client.receive::<ApiVersionsRequest>(version, correlation_id);
        assert_eq!(versions.error_code, 0);
    }
}

#[test]
fn an_address_holds_no_more_connections_than_it_may() {
    let node = Node::start(&[("max.connections.per.ip", "3")]);
    let mut clients: Vec<Client> = (0..3).map(|_| node.connect()).collect();
    for client in &mut clients {
        client.api_versions();
    }
    node.connect().assert_closed();
    clients.pop();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let mut client = node.connect();
        client.send(4, &api_versions_request());
        if client.read_frame().is_some() {
            break;
        }
        assert!(Instant::now() < deadline, "a closed connection still counts");
    }
}

#[test]
fn connections_beyond_their_rate_wait_and_are_served() {
    // A burst of ten seconds' worth is within the average; each one more waits a second longer.
    let node = Node::start(&[("max.connection.creation.rate", "1")]);
    let mut clients: Vec<Client> = (0..13).map(|_| node.connect()).collect();
    clients[..10]
        .iter_mut()
        .for_each(|client| drop(client.api_versions()));
    let mut late = clients.pop().unwrap();
    let correlation_id = late.send(4, &api_versions_request());
    late.socket
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let blocked = std::io::Read::read(&mut late.socket, &mut [0]).unwrap_err();
    assert_eq!(blocked.kind(), std::io::ErrorKind::WouldBlock);
    late.socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    late.receive::<ApiVersionsRequest>(4, correlation_id);
    clients[0].api_versions();
}

#[test]
fn beyond_max_connections_clients_wait_until_one_leaves() {
    let node = Node::start(&[("max.connections", "2")]);
    let mut first = node.connect();
    first.api_versions();
    let mut second = node.connect();
    second.api_versions();
    let mut third = node.connect();
    let correlation_id = third.send(4, &api_versions_request());
    third
        .socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut byte = [0];
    let blocked = std::io::Read::read(&mut third.socket, &mut byte).unwrap_err();
    assert_eq!(blocked.kind(), std::io::ErrorKind::WouldBlock);
    drop(first);
    third
        .socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    third.receive::<ApiVersionsRequest>(4, correlation_id);
}

#[test]
fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let node = Node::start(&[("connections.max.idle.ms", "500")]);
    let mut idle = node.connect();
    idle.api_versions();
    let mut busy = node.connect();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1500) {
        busy.api_versions();
        std::thread::sleep(Duration::from_millis(100));
    }
    idle.assert_closed();
}

#[test]
fn the_controller_listener_serves_its_own_apis() {
    let node = Node::start(&[]);
    let on_broker = node.connect().api_versions();
    let on_controller = Client::connect(node.address_of("CONTROLLER")).api_versions();
    let keys = |versions: &wire::messages::api_versions::ApiVersionsResponse| {
        versions
            .api_keys
            .iter()
            .map(|api| api.api_key)
            .collect::<Vec<_>>()
    };
    assert!(keys(&on_controller).contains(&ApiKey::ApiVersions.key()));
    assert!(!keys(&on_controller).contains(&ApiKey::Produce.key()));
    for key in keys(&on_controller) {
        assert!(keys(&on_broker).contains(&key));
    }
}

#[test]
fn after_a_stop_the_ports_are_free_and_connections_are_closed() {
    let mut node = Node::start(&[]);
    let address = node.address();
    let mut client = node.connect();
    client.api_versions();
    node.stop();
    client.assert_closed();
    assert!(std::net::TcpStream::connect(address).is_err());
    let again = format!("PLAINTEXT://{address},CONTROLLER://127.0.0.1:0");
    Node::start(&[("listeners", &again)]).assert_alive();
}
