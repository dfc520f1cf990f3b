//! The reactor with handlers that do what the test asks: order of starts and replies, threads, panics, the stop.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use storage::{Disk, RealDisk};
use tempfile::TempDir;
use tokio::sync::oneshot;
use wire::header::{RequestHeader, ResponseHeader};
use wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use wire::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use wire::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use wire::messages::produce::{ProduceRequest, ProduceResponse};
use wire::{Message, Reader, Request, Writer};

use crate::Broker;
use crate::config::NodeConfig;
use crate::dispatch::{Api, ApiSpec, Handler, Node, Reply, RequestContext, api, now_ms};
use crate::format::{FormatOptions, format};

const PATIENCE: Duration = Duration::from_secs(20);

static APIS: &[Api] = &[api::<Append>(), api::<Beat>(), api::<Leave>()];

/// What a request wants to happen, by the name it carries.
static STARTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static PARKED: Mutex<Vec<(String, oneshot::Sender<ProduceResponse>)>> = Mutex::new(Vec::new());

fn starts_of(test: &str) -> Vec<String> {
    let started = STARTED.lock();
    started
        .iter()
        .filter(|name| name.starts_with(test))
        .cloned()
        .collect()
}

/// Pipelined: answered when the test says so.
struct Append;

impl Handler for Append {
    type Request = ProduceRequest;
    const SPEC: ApiSpec = ApiSpec::of::<ProduceRequest>().pipelined().inline_while_fast();

    fn handle(_: &Arc<Node>, _: &RequestContext, request: ProduceRequest) -> Reply<ProduceResponse> {
        let name = request.transactional_id.unwrap_or_default().to_string();
        STARTED.lock().push(name.clone());
        match request.acks {
            0 => Reply::None,
            2 => Reply::Close("acks of 2"),
            3 => panic!("planned panic"),
            1 => Reply::Now(answer(&name)),
            5 => {
                std::thread::sleep(Duration::from_millis(100));
                let thread = std::thread::current();
                STARTED
                    .lock()
                    .push(format!("{name} on {}", thread.name().unwrap()));
                Reply::Now(answer(&name))
            }
            4 => Reply::blocking(move || {
                std::thread::sleep(Duration::from_millis(100));
                STARTED.lock().push(format!("{name} done"));
                answer(&name)
            }),
            _ => {
                let (done, response) = oneshot::channel();
                PARKED.lock().push((name, done));
                Reply::Later(response)
            }
        }
    }
}

fn answer(name: &str) -> ProduceResponse {
    ProduceResponse {
        throttle_time_ms: name.bytes().last().map_or(0, i32::from),
        ..ProduceResponse::default()
    }
}

fn complete(name: &str) {
    let mut parked = PARKED.lock();
    let index = parked.iter().position(|(parked, _)| parked == name).unwrap();
    let (_, done) = parked.remove(index);
    done.send(answer(name)).unwrap();
}

/// Alone and inline.
struct Beat;

impl Handler for Beat {
    type Request = HeartbeatRequest;
    const SPEC: ApiSpec = ApiSpec::of::<HeartbeatRequest>();

    fn handle(_: &Arc<Node>, _: &RequestContext, request: HeartbeatRequest) -> Reply<HeartbeatResponse> {
        STARTED.lock().push(request.group_id.to_string());
        Reply::Now(HeartbeatResponse::default())
    }
}

/// On the request handler threads.
struct Leave;

impl Handler for Leave {
    type Request = LeaveGroupRequest;
    const SPEC: ApiSpec = ApiSpec::of::<LeaveGroupRequest>().on_request_handlers();

    fn handle(_: &Arc<Node>, _: &RequestContext, request: LeaveGroupRequest) -> Reply<LeaveGroupResponse> {
        STARTED.lock().push(request.group_id.to_string());
        assert!(!request.group_id.ends_with("panic"), "planned panic");
        let thread = std::thread::current();
        assert!(thread.name().unwrap().starts_with("request-handler"));
        Reply::blocking(|| {
            std::thread::sleep(Duration::from_millis(20));
            LeaveGroupResponse::default()
        })
    }
}

struct Fixture {
    broker: Broker,
    _dir: TempDir,
}

impl Fixture {
    fn start(more: &[(&str, &str)]) -> Fixture {
        Fixture::serving(APIS, more)
    }

    fn serving(apis: &'static [Api], more: &[(&str, &str)]) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let log_dir = dir.path().join("data").display().to_string();
        let least = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "CONTROLLER"),
            ("listeners", "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"),
            ("log.dirs", log_dir.as_str()),
        ];
        let properties = least
            .iter()
            .chain(more)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = NodeConfig::from_properties(properties.collect()).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        format(&disk, &config, &FormatOptions::standalone("test"), now_ms()).unwrap();
        Fixture {
            broker: Broker::start_serving(config, apis).unwrap(),
            _dir: dir,
        }
    }

    fn connect(&self) -> Client {
        let socket = TcpStream::connect(self.broker.listeners()[0].address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            socket,
            correlation_id: 0,
        }
    }
}

struct Client {
    socket: TcpStream,
    correlation_id: i32,
}

impl Client {
    fn send<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        self.correlation_id += 1;
        let mut writer = Writer::framed();
        let header = RequestHeader {
            request_api_key: R::API_KEY.key(),
            request_api_version: version,
            correlation_id: self.correlation_id,
            client_id: None,
        };
        let header_version = RequestHeader::version(R::API_KEY, version);
        header.encode(&mut writer, header_version).unwrap();
        request.encode(&mut writer, version).unwrap();
        let frame = wire::Records::from_segments(writer.finish_frame().unwrap());
        self.socket.write_all(&frame.to_bytes().unwrap()).unwrap();
        self.correlation_id
    }

    fn append(&mut self, name: &str, acks: i16) -> i32 {
        let request = ProduceRequest {
            transactional_id: Some(name.into()),
            acks,
            ..ProduceRequest::default()
        };
        self.send(9, &request)
    }

    fn beat(&mut self, name: &str) -> i32 {
        let request = HeartbeatRequest {
            group_id: name.into(),
            ..HeartbeatRequest::default()
        };
        self.send(4, &request)
    }

    fn leave(&mut self, name: &str) -> i32 {
        let request = LeaveGroupRequest {
            group_id: name.into(),
            ..LeaveGroupRequest::default()
        };
        self.send(5, &request)
    }

    /// The next frame's correlation id; `None` when the connection is closed.
    fn receive(&mut self) -> Option<i32> {
        let mut length = [0; 4];
        if let Err(error) = self.socket.read_exact(&mut length) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "no answer in time");
            return None;
        }
        let mut frame = vec![0; i32::from_be_bytes(length) as usize];
        self.socket.read_exact(&mut frame).unwrap();
        let header = ResponseHeader::decode(&mut Reader::new(frame.into()), 0).unwrap();
        Some(header.correlation_id)
    }

    fn assert_silent(&mut self) {
        self.socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let error = self.socket.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        self.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

fn wait_for_starts(test: &str, count: usize) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while starts_of(test).len() < count {
        assert!(
            std::time::Instant::now() < deadline,
            "only {:?} started",
            starts_of(test)
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn pipelined_requests_start_at_once_and_are_answered_in_order() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    let ids: Vec<i32> = ["order1", "order2", "order3"]
        .map(|name| client.append(name, -1))
        .into();
    wait_for_starts("order", 3);
    assert_eq!(starts_of("order"), ["order1", "order2", "order3"]);
    complete("order3");
    complete("order2");
    client.assert_silent();
    complete("order1");
    assert_eq!(
        [client.receive(), client.receive(), client.receive()],
        [ids[0], ids[1], ids[2]].map(Some)
    );
}

#[test]
fn an_alone_request_waits_for_those_before_it_and_holds_up_those_behind() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("alone1", -1);
    client.beat("alone2");
    client.leave("alone3");
    client.append("alone4", 1);
    wait_for_starts("alone", 1);
    client.assert_silent();
    assert_eq!(starts_of("alone"), ["alone1"]);
    complete("alone1");
    assert_eq!([1, 2, 3, 4].map(|_| client.receive()), [1, 2, 3, 4].map(Some));
    assert_eq!(starts_of("alone"), ["alone1", "alone2", "alone3", "alone4"]);
}

#[test]
fn nothing_starts_behind_work_that_a_request_handler_has_not_done_yet() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("handed1", -1);
    client.append("handed2", 4);
    client.append("handed3", 1);
    wait_for_starts("handed", 4);
    let order = ["handed1", "handed2", "handed2 done", "handed3"];
    assert_eq!(starts_of("handed"), order);
    complete("handed1");
    assert_eq!([1, 2, 3].map(|_| client.receive()), [1, 2, 3].map(Some));
}

#[test]
fn writes_that_take_long_move_to_the_request_handlers() {
    let fixture = Fixture::start(&[("num.network.threads", "1"), ("num.io.threads", "1")]);
    let mut client = fixture.connect();
    for name in ["slow1", "slow2"] {
        client.append(name, 5);
        client.receive();
    }
    let order = [
        "slow1",
        "slow1 on network-0",
        "slow2",
        "slow2 on request-handler-0",
    ];
    assert_eq!(starts_of("slow"), order);
}

#[test]
fn no_answer_is_sent_to_a_request_that_wants_none() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("none1", -1);
    client.append("none2", 0);
    client.append("none3", 1);
    wait_for_starts("none", 3);
    client.assert_silent();
    complete("none1");
    assert_eq!([client.receive(), client.receive()], [Some(1), Some(3)]);
}

#[test]
fn a_connection_is_closed_only_after_the_answers_before_have_left() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("close1", -1);
    client.append("close2", 2);
    client.append("close3", 1);
    wait_for_starts("close", 2);
    complete("close1");
    assert_eq!([client.receive(), client.receive()], [Some(1), None]);
    assert_eq!(starts_of("close"), ["close1", "close2"]);
}

#[test]
fn a_panic_ends_its_connection_only() {
    let fixture = Fixture::start(&[("num.network.threads", "1"), ("num.io.threads", "1")]);
    let mut other = fixture.connect();
    other.append("panic0", -1);
    wait_for_starts("panic", 1);
    let mut inline = fixture.connect();
    inline.append("panic1", 3);
    assert_eq!(inline.receive(), None);
    let mut on_handler = fixture.connect();
    on_handler.leave("panic2panic");
    assert_eq!(on_handler.receive(), None);
    complete("panic0");
    assert_eq!(other.receive(), Some(1));
    other.leave("panic3");
    assert_eq!(other.receive(), Some(2));
}

#[test]
fn an_abandoned_answer_closes_the_connection() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("abandoned1", -1);
    wait_for_starts("abandoned", 1);
    PARKED.lock().retain(|(name, _)| name != "abandoned1");
    assert_eq!(client.receive(), None);
}

/// A fetch of all those partitions that waits for a minute.
fn patient_fetch(partitions: i32) -> FetchRequest {
    let partition = |partition| FetchPartition {
        partition,
        partition_max_bytes: 1 << 20,
        ..FetchPartition::default()
    };
    FetchRequest {
        max_wait_ms: 60_000,
        min_bytes: 1,
        topics: vec![FetchTopic {
            topic: "orders".into(),
            partitions: (0..partitions).map(partition).collect(),
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

#[test]
fn what_a_connection_waits_for_is_let_go_of_when_it_ends() {
    const PARTITIONS: i32 = 20;
    let fixture = Fixture::serving(crate::handlers::APIS, &[]);
    let topic = CreatableTopic {
        name: "orders".into(),
        num_partitions: PARTITIONS,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let create = CreateTopicsRequest {
        topics: vec![topic],
        timeout_ms: 10_000,
        ..CreateTopicsRequest::default()
    };
    let mut other = fixture.connect();
    other.send(7, &create);
    assert_eq!(other.receive(), Some(1));
    let replicas = &fixture.broker.node().replicas;
    let watches = || -> usize {
        let partitions = (0..PARTITIONS).map(|index| replicas.partition("orders", index).unwrap());
        partitions.map(|partition| partition.watches()).sum()
    };
    let wait_for_watches = |count| {
        // Much less than the fetches wait.
        let deadline = std::time::Instant::now() + PATIENCE;
        while watches() != count {
            assert!(std::time::Instant::now() < deadline, "{} are left", watches());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    other.send(12, &patient_fetch(1));
    let mut clients: Vec<Client> = (0..3).map(|_| fixture.connect()).collect();
    for client in &mut clients {
        // The second waits behind the first.
        client.send(12, &patient_fetch(PARTITIONS));
        client.send(12, &patient_fetch(PARTITIONS));
    }
    wait_for_watches(121);
    drop(clients);
    wait_for_watches(1);
    other.assert_silent();
}

#[test]
fn connections_wait_for_room_in_the_request_queue() {
    let fixture = Fixture::start(&[("queued.max.requests", "1"), ("num.io.threads", "1")]);
    let mut clients: Vec<Client> = (0..10).map(|_| fixture.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.leave(&format!("queue{number}"));
        client.leave(&format!("queue{number}again"));
    }
    for client in &mut clients {
        assert_eq!([client.receive(), client.receive()], [Some(1), Some(2)]);
    }
}

#[test]
fn a_stop_answers_what_was_started_and_starts_nothing() {
    let fixture = Fixture::start(&[]);
    let mut client = fixture.connect();
    client.append("stop1", -1);
    client.append("stop2", -1);
    client.beat("stop3");
    wait_for_starts("stop", 2);
    let completing = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(200));
        complete("stop1");
        complete("stop2");
    });
    fixture.broker.stop();
    completing.join().unwrap();
    assert_eq!(
        [client.receive(), client.receive(), client.receive()],
        [Some(1), Some(2), None]
    );
    assert_eq!(starts_of("stop"), ["stop1", "stop2"]);
}
