//! A broker on a folder and a port of its own, and a client that can send anything.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use broker::Broker;
use broker::config::NodeConfig;
use broker::format::{FormatOptions, format};
use bytes::Bytes;
use storage::{Disk, RealDisk};
use tempfile::TempDir;
use wire::header::{RequestHeader, ResponseHeader};
use wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use wire::{ApiKey, Message, Reader, Request, Writer};

/// Long enough for a busy machine, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running broker; stopped when dropped.
pub(crate) struct Node {
    broker: Option<Broker>,
    config: NodeConfig,
    dir: TempDir,
}

impl Node {
    /// A broker with defaults and `more`.
    pub(crate) fn start(more: &[(&str, &str)]) -> Node {
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
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let config = NodeConfig::from_properties(properties).unwrap();
        let options = FormatOptions::standalone("test-cluster-of-one");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        format(&disk, &config, &options, broker::dispatch::now_ms()).unwrap();
        Node {
            broker: Some(Broker::start(config.clone()).unwrap()),
            config,
            dir,
        }
    }

    /// Stops the broker and starts it again on its data.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.broker = Some(Broker::start(self.config.clone()).unwrap());
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn address_of(&self, listener: &str) -> SocketAddr {
        let listeners = self.broker.as_ref().unwrap().listeners();
        listeners
            .iter()
            .find(|bound| bound.name == listener)
            .unwrap()
            .address
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address_of("PLAINTEXT")
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// The broker is alive: a new connection is served.
    pub(crate) fn assert_alive(&self) {
        let versions = self.connect().api_versions();
        assert_eq!(versions.error_code, 0);
    }

    pub(crate) fn stop(&mut self) {
        if let Some(broker) = self.broker.take() {
            broker.stop();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A connection with blocking calls.
pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    correlation_id: i32,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Client {
            socket,
            correlation_id: 100,
        }
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// The next frame; `None` when the broker closed the connection.
    pub(crate) fn read_frame(&mut self) -> Option<Bytes> {
        let mut length = [0; 4];
        if !self.read_or_closed(&mut length) {
            return None;
        }
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        assert!(self.read_or_closed(&mut frame), "closed in the middle of a frame");
        Some(frame.into())
    }

    fn read_or_closed(&mut self, buffer: &mut [u8]) -> bool {
        use std::io::ErrorKind::{ConnectionReset, UnexpectedEof, WouldBlock};
        match self.socket.read_exact(buffer) {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), UnexpectedEof | ConnectionReset) => false,
            Err(error) if error.kind() == WouldBlock => {
                panic!("no answer and not closed within {PATIENCE:?}")
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The broker closes the connection without another byte.
    #[track_caller]
    pub(crate) fn assert_closed(&mut self) {
        assert_eq!(self.read_frame(), None);
    }

    pub(crate) fn send<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        self.correlation_id += 1;
        let frame = frame(R::API_KEY, version, self.correlation_id, request);
        self.send_bytes(&frame);
        self.correlation_id
    }

    #[track_caller]
    pub(crate) fn receive<R: Request>(&mut self, version: i16, correlation_id: i32) -> R::Response {
        let mut reader = Reader::new(self.read_frame().expect("an answer"));
        let header_version = ResponseHeader::version(R::API_KEY, version);
        let header = ResponseHeader::decode(&mut reader, header_version).unwrap();
        assert_eq!(header.correlation_id, correlation_id);
        let response = R::Response::decode(&mut reader, version).unwrap();
        assert_eq!(reader.remaining(), 0);
        response
    }

    #[track_caller]
    pub(crate) fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let correlation_id = self.send(version, request);
        self.receive::<R>(version, correlation_id)
    }

    #[track_caller]
    pub(crate) fn api_versions(&mut self) -> ApiVersionsResponse {
        self.call(4, &api_versions_request())
    }
}

pub(crate) fn api_versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1.0".into(),
    }
}

/// A request as bytes, its length included.
pub(crate) fn frame<M: Message>(key: ApiKey, version: i16, correlation_id: i32, body: &M) -> Vec<u8> {
    let mut writer = Writer::new();
    let header = RequestHeader {
        request_api_key: key.key(),
        request_api_version: version,
        correlation_id,
        client_id: Some("test-client".into()),
    };
    header
        .encode(&mut writer, RequestHeader::version(key, version))
        .unwrap();
    body.encode(&mut writer, version).unwrap();
    framed(&writer.into_bytes().unwrap())
}

/// A body with its length in front.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = i32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}
