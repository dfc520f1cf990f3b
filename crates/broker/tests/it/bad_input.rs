//! The rows of bad input that concern frames, headers and connections: each ends in the answer of the table, with the
//! broker alive.

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use model::ErrorCode;
use socket2::SockRef;
use wire::header::ResponseHeader;
use wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use wire::{ApiKey, Message, Reader};

use crate::support::{Node, api_versions_request, frame, framed};

/// A request header with nothing behind it.
fn header(key: i16, version: i16, flexible: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&key.to_be_bytes());
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes.extend_from_slice(&7i32.to_be_bytes());
    bytes.extend_from_slice(&(-1i16).to_be_bytes());
    if flexible {
        bytes.push(0);
    }
    bytes
}

#[track_caller]
fn assert_closes(node: &Node, bytes: &[u8]) {
    let mut client = node.connect();
    client.send_bytes(bytes);
    client.assert_closed();
}

#[test]
fn rows_1_and_2_a_length_below_zero_or_above_the_limit_closes() {
    let node = Node::start(&[]);
    assert_closes(&node, &(-1i32).to_be_bytes());
    assert_closes(&node, &i32::MIN.to_be_bytes());
    assert_closes(&node, &104_857_601i32.to_be_bytes());
    assert_closes(&node, &i32::MAX.to_be_bytes());
    node.assert_alive();
}

#[test]
fn row_2_a_declared_length_takes_no_memory() {
    let node = Node::start(&[]);
    let before = resident_bytes();
    let mut clients: Vec<_> = (0..100).map(|_| node.connect()).collect();
    for client in &mut clients {
        client.send_bytes(&104_857_600i32.to_be_bytes());
        client.send_bytes(&[0; 1000]);
    }
    node.assert_alive();
    // 100 frames of 100 MiB were announced: 10 GiB.
    assert!(resident_bytes() < before + (64 << 20));
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn row_3_a_frame_too_short_for_a_header_closes() {
    let node = Node::start(&[]);
    for length in 0..8 {
        assert_closes(&node, &framed(&header(18, 0, false)[..length]));
    }
    node.assert_alive();
}

#[test]
fn rows_4_and_5_http_and_tls_close() {
    let node = Node::start(&[]);
    assert_closes(&node, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_closes(&node, b"POST /topics HTTP/1.1\r\n\r\n");
    assert_closes(
        &node,
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
    );
    node.assert_alive();
}

#[test]
fn row_7_a_connection_without_a_request_is_closed_in_time() {
    let node = Node::start(&[("connections.first.request.timeout.ms", "700")]);
    let mut silent = node.connect();
    let mut trickling = node.connect();
    let mut served = node.connect();
    served.api_versions();
    let start = Instant::now();
    let bytes = frame(ApiKey::ApiVersions, 4, 1, &api_versions_request());
    for byte in &bytes[..10] {
        // The broker may close in the middle of this.
        let _ = trickling.socket.write_all(&[*byte]);
        std::thread::sleep(Duration::from_millis(100));
    }
    silent.assert_closed();
    trickling.assert_closed();
    assert!(start.elapsed() >= Duration::from_millis(600));
    served.api_versions();
}

#[test]
fn row_9_an_unknown_api_key_closes() {
    let node = Node::start(&[]);
    for key in [-1, 4, 7, 93, 1000, i16::MAX, i16::MIN] {
        assert_closes(&node, &framed(&header(key, 0, false)));
    }
    node.assert_alive();
}

#[test]
fn row_10_an_unsupported_version_closes() {
    let node = Node::start(&[]);
    for (key, version, flexible) in [
        (3, 14, true),
        (3, -1, false),
        (0, 2, false),
        (1, 3, false),
        (0, 99, true),
    ] {
        assert_closes(&node, &framed(&header(key, version, flexible)));
    }
    node.assert_alive();
}

#[test]
fn row_11_an_unsupported_version_of_api_versions_is_answered_in_version_0() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    for version in [5, 6, 99, i16::MAX] {
        let mut request = header(18, version, true);
        request.extend_from_slice(b"\x05test\x041.0\x00");
        client.send_bytes(&framed(&request));
        let mut reader = Reader::new(client.read_frame().unwrap());
        let header = ResponseHeader::decode(&mut reader, 0).unwrap();
        assert_eq!(header.correlation_id, 7);
        let answer = ApiVersionsResponse::decode(&mut reader, 0).unwrap();
        assert_eq!(reader.remaining(), 0);
        assert_eq!(answer.error_code, ErrorCode::UnsupportedVersion as i16);
        let own = answer.api_keys.iter().find(|api| api.api_key == 18).unwrap();
        assert_eq!((own.min_version, own.max_version), (0, 4));
    }
    // The connection goes on.
    assert_eq!(client.api_versions().error_code, 0);
    // With the old header the version cannot be one of ApiVersions: nothing to answer.
    let mut client = node.connect();
    client.send_bytes(&framed(&header(18, 99, false)));
    client.assert_closed();
}

#[test]
fn row_12_a_client_software_that_is_no_word_is_an_invalid_request() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    for (name, version) in [("", "1"), ("a", ""), ("-a", "1"), ("a b", "1"), ("a", "1\n")] {
        for api_version in [3, 4] {
            let request = ApiVersionsRequest {
                client_software_name: name.into(),
                client_software_version: version.into(),
            };
            let answer = client.call(api_version, &request);
            assert_eq!(answer.error_code, ErrorCode::InvalidRequest as i16);
            assert!(answer.api_keys.is_empty());
        }
    }
    assert_eq!(client.api_versions().error_code, 0);
}

#[test]
fn row_13_a_truncated_body_closes_and_trailing_bytes_do_not() {
    let node = Node::start(&[]);
    let whole = frame(ApiKey::ApiVersions, 4, 1, &api_versions_request());
    for cut in 1..whole.len() - 4 {
        assert_closes(&node, &framed(&whole[4..whole.len() - cut]));
    }
    let before = trailing_bytes();
    let mut client = node.connect();
    let mut longer = whole[4..].to_vec();
    longer.extend_from_slice(b"more");
    client.send_bytes(&framed(&longer));
    assert_eq!(client.receive::<ApiVersionsRequest>(4, 1).error_code, 0);
    assert!(trailing_bytes() > before);
    for seed in 0..200u32 {
        let noise: Vec<u8> = (0..seed % 40 + 8)
            .map(|i| (seed.wrapping_mul(2_654_435_761).wrapping_add(i * 40_503) >> 13) as u8)
            .collect();
        let mut request = header(18, 4, true);
        request.truncate(8 + (seed as usize) % 3);
        request.extend(noise);
        let mut client = node.connect();
        client.send_bytes(&framed(&request));
        client.socket.shutdown(Shutdown::Write).unwrap();
        while client.read_frame().is_some() {}
    }
    node.assert_alive();
}

fn trailing_bytes() -> u64 {
    broker::metrics::COUNTERS
        .trailing_bytes
        .load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn row_14_a_length_beyond_the_frame_closes() {
    let node = Node::start(&[]);
    // FindCoordinator: key. JoinGroup: group id. ListGroups: an array of states. Metadata: an array of topics.
    let bodies: [(i16, i16, bool, &[u8]); 8] = [
        (10, 0, false, &[0x7f, 0xff, b'a']),
        (10, 0, false, &[0xff, 0xfe, b'a']),
        (11, 0, false, &[0x80, 0x00]),
        (16, 4, true, &[0xff, 0xff, 0xff, 0xff, 0x07, 0]),
        (16, 4, true, &[0x80, 0x94, 0xeb, 0xdc, 0x03, 0]),
        (
            8,
            2,
            false,
            &[
                0, 1, b'g', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff,
            ],
        ),
        (
            8,
            2,
            false,
            &[
                0, 1, b'g', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe,
            ],
        ),
        (
            0,
            3,
            false,
            &[0xff, 0xff, 0, 1, 0, 0, 0, 9, 0x7f, 0xff, 0xff, 0xff],
        ),
    ];
    let before = resident_bytes();
    for (key, version, flexible, body) in bodies {
        let mut request = header(key, version, flexible);
        request.extend_from_slice(body);
        assert_closes(&node, &framed(&request));
    }
    assert!(resident_bytes() < before + (16 << 20));
    node.assert_alive();
}

#[test]
fn row_15_null_where_there_must_be_a_value_closes() {
    let node = Node::start(&[]);
    let mut find_coordinator = header(10, 0, false);
    find_coordinator.extend_from_slice(&[0xff, 0xff]);
    assert_closes(&node, &framed(&find_coordinator));
    let mut api_versions = header(18, 4, true);
    api_versions.extend_from_slice(&[0, 2, b'1', 0]);
    assert_closes(&node, &framed(&api_versions));
    node.assert_alive();
}

#[test]
fn row_16_a_varint_longer_than_its_type_closes() {
    let node = Node::start(&[]);
    for varint in [
        &[0x85, 0x80, 0x80, 0x80, 0x80, 0x00][..],
        &[0x85, 0x80, 0x80, 0x80, 0x10],
    ] {
        let mut request = header(18, 4, true);
        request.extend_from_slice(varint);
        request.extend_from_slice(b"test\x041.0\x00");
        assert_closes(&node, &framed(&request));
    }
    node.assert_alive();
}

#[test]
fn row_17_tagged_fields_are_bounded_ordered_and_skipped_when_unknown() {
    let node = Node::start(&[]);
    let request = |tags: &[u8]| {
        let mut request = header(18, 4, true);
        request.extend_from_slice(b"\x05test\x041.0");
        request.extend_from_slice(tags);
        framed(&request)
    };
    let huge_count = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let beyond_frame = [1, 0, 0x7f, 1];
    let twice = [2, 0, 1, b'a', 0, 1, b'b'];
    let unsorted = [2, 5, 1, b'a', 4, 1, b'b'];
    for tags in [&huge_count[..], &beyond_frame, &twice, &unsorted] {
        assert_closes(&node, &request(tags));
    }
    let mut client = node.connect();
    client.send_bytes(&request(&[2, 5, 1, b'a', 77, 0]));
    assert_eq!(client.receive::<ApiVersionsRequest>(4, 7).error_code, 0);
    // The header's own tags likewise.
    let mut tagged_header = header(18, 4, false);
    tagged_header.extend_from_slice(&[1, 9, 2, b'a', b'b']);
    tagged_header.extend_from_slice(b"\x05test\x041.0\x00");
    client.send_bytes(&framed(&tagged_header));
    assert_eq!(client.receive::<ApiVersionsRequest>(4, 7).error_code, 0);
    node.assert_alive();
}

#[test]
fn row_42_any_client_id_is_taken() {
    let node = Node::start(&[]);
    let long = "x".repeat(32_767);
    for client_id in [None, Some(""), Some("a\n\u{7}\0b"), Some(long.as_str())] {
        let mut request = Vec::new();
        request.extend_from_slice(&[0, 18, 0, 4, 0, 0, 0, 9]);
        match client_id {
            None => request.extend_from_slice(&(-1i16).to_be_bytes()),
            Some(text) => {
                request.extend_from_slice(&(text.len() as i16).to_be_bytes());
                request.extend_from_slice(text.as_bytes());
            }
        }
        request.extend_from_slice(b"\x00\x05test\x041.0\x00");
        let mut client = node.connect();
        client.send_bytes(&framed(&request));
        assert_eq!(client.receive::<ApiVersionsRequest>(4, 9).error_code, 0);
    }
}

#[test]
fn row_48_a_client_that_never_reads_is_disconnected_and_takes_bounded_memory() {
    let node = Node::start(&[("connections.write.timeout.ms", "1000")]);
    let mut client = node.connect();
    SockRef::from(&client.socket).set_recv_buffer_size(4096).unwrap();
    client
        .socket
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let before = resident_bytes();
    let many: Vec<u8> = (0..2000)
        .flat_map(|id| frame(ApiKey::ApiVersions, 4, id, &api_versions_request()))
        .collect();
    let mut sent = 0usize;
    // The broker takes no more requests once its answers pile up.
    while sent < 400 << 20 {
        match client.socket.write(&many) {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    assert!(sent < 400 << 20, "the broker reads on and on");
    assert!(resident_bytes() < before + (64 << 20));
    std::thread::sleep(Duration::from_millis(1500));
    client
        .socket
        .set_write_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let refused = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        client.socket.write_all(&[0; 1024]).is_err()
    });
    assert!(refused, "the connection is still open");
    node.assert_alive();
}

#[test]
fn row_49_a_thousand_requests_in_one_write_are_all_answered() {
    let node = Node::start(&[("queued.max.request.bytes", "100000")]);
    let mut client = node.connect();
    let all: Vec<u8> = (0..1000)
        .flat_map(|id| frame(ApiKey::ApiVersions, 3, id, &api_versions_request()))
        .collect();
    client.send_bytes(&all);
    for id in 0..1000 {
        client.receive::<ApiVersionsRequest>(3, id);
    }
}

#[test]
fn row_50_a_reset_in_the_middle_of_a_request_frees_everything() {
    let node = Node::start(&[("max.connections", "20")]);
    for _ in 0..100 {
        let mut client = node.connect();
        client.send_bytes(&50_000_000i32.to_be_bytes());
        client.send_bytes(&[0; 50_000]);
        SockRef::from(&client.socket)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }
    node.assert_alive();
}
