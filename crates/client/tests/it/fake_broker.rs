//! A broker of one node and one topic, `t`, that keeps batches in memory and checks sequence numbers as a broker does.
//! Tests tell it what to do wrong: which request of an API to answer with an error, or not at all.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, ClientConfig};
use model::{ErrorCode, Uuid};
use tokio::net::{TcpListener, TcpStream};
use transport::FramedConnection;
use wire::header::{RequestHeader, ResponseHeader};
use wire::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use wire::messages::fetch::{FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, PartitionData};
use wire::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use wire::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use wire::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use wire::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use wire::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use wire::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use wire::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use wire::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use wire::records::{Batch, DecompressionLimit};
use wire::{ApiKey, Message, Reader, Records, Request, Writer};

const TOPIC_ID: Uuid = Uuid([3; 16]);
const NODE: i32 = 5;

/// What to do wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Answer with this error, and do nothing.
    Error(ErrorCode),
    /// Close the connection before anything is done.
    CloseBefore,
    /// Do it, then close the connection without an answer.
    CloseAfter,
    /// Do it, and never answer.
    Silence,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The batches of each partition, with their first offsets.
    pub(crate) log: BTreeMap<i32, Vec<(i64, Bytes)>>,
    /// The next sequence number of each producer in each partition.
    sequences: BTreeMap<(i32, i64), i32>,
    pub(crate) committed: BTreeMap<i32, i64>,
    /// Faults to come, by API, in order; `None` is a request that goes well.
    pub(crate) faults: BTreeMap<ApiKey, VecDeque<Option<Fault>>>,
    /// The requests that came, by API.
    pub(crate) seen: BTreeMap<ApiKey, usize>,
    pub(crate) partitions: i32,
    next_producer: i64,
    generation: i32,
    /// The highest version of ApiVersions that is served.
    pub(crate) api_versions_max: i16,
    /// Where the logs begin.
    pub(crate) log_start: i64,
}

pub(crate) struct FakeBroker {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl FakeBroker {
    /// A broker with `partitions` partitions of `t`.
    pub(crate) async fn start(partitions: i32) -> FakeBroker {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            partitions,
            api_versions_max: 4,
            ..State::default()
        }));
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, shared.clone(), address));
            }
        });
        FakeBroker { address, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Lets the next requests of an API go wrong.
    pub(crate) fn fail(&self, api: ApiKey, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.state().faults.entry(api).or_default().extend(faults);
    }

    pub(crate) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    pub(crate) fn client_with(&self, change: impl FnOnce(&mut ClientConfig)) -> Client {
        let mut config = ClientConfig {
            bootstrap_servers: vec![self.address.to_string()],
            retry_backoff: Duration::from_millis(5),
            retry_backoff_max: Duration::from_millis(20),
            default_api_timeout: Duration::from_secs(10),
            ..ClientConfig::default()
        };
        change(&mut config);
        Client::new(config).unwrap()
    }

    /// The values in a partition, in order.
    pub(crate) fn values(&self, partition: i32) -> Vec<String> {
        let state = self.state();
        let batches = state.log.get(&partition).into_iter().flatten();
        let records = batches.flat_map(|(_, bytes)| {
            let batch = Batch::parse(bytes).unwrap();
            batch.verify_crc().unwrap();
            batch.records(DecompressionLimit::default()).unwrap()
        });
        records
            .map(|record| String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap())
            .collect()
    }
}

async fn serve(socket: TcpStream, state: Arc<Mutex<State>>, address: SocketAddr) {
    let mut connection = FramedConnection::new(socket, 1 << 24);
    while let Ok(frame) = connection.next_frame().await {
        let mut reader = Reader::new(frame);
        let (api, header) = RequestHeader::read_any(&mut reader).unwrap();
        let fault = {
            let mut state = state.lock().unwrap();
            *state.seen.entry(api).or_default() += 1;
            state.faults.get_mut(&api).and_then(VecDeque::pop_front).flatten()
        };
        if matches!(fault, Some(Fault::CloseBefore)) {
            return;
        }
        let error = match fault {
            Some(Fault::Error(code)) => code.code(),
            _ => 0,
        };
        let answer = answer(&state, address, &header, reader, error);
        match (fault, answer) {
            (Some(Fault::CloseAfter), _) => return,
            (Some(Fault::Silence), _) | (_, None) => {}
            (_, Some(writer)) => connection.enqueue(writer.finish_frame().unwrap()),
        }
        // Whatever is enqueued leaves while the next frame is awaited.
    }
}

fn answer(
    state: &Mutex<State>,
    address: SocketAddr,
    header: &RequestHeader,
    mut reader: Reader,
    error: i16,
) -> Option<Writer> {
    let state = &mut *state.lock().unwrap();
    let version = header.request_api_version;
    macro_rules! reply {
        ($request:ident, $handler:expr) => {{
            let request = $request::decode(&mut reader, version).unwrap();
            let handler: fn(&mut State, $request, i16) -> <$request as Request>::Response = $handler;
            encode::<$request>(header, version, &handler(state, request, error))
        }};
    }
    let api = ApiKey::from_key(header.request_api_key).unwrap();
    Some(match api {
        ApiKey::ApiVersions if version > state.api_versions_max => {
            let mut response = api_versions(state);
            response.error_code = ErrorCode::UnsupportedVersion.code();
            encode::<ApiVersionsRequest>(header, 0, &response)
        }
        ApiKey::ApiVersions => encode::<ApiVersionsRequest>(header, version, &api_versions(state)),
        ApiKey::Metadata => {
            let request = MetadataRequest::decode(&mut reader, version).unwrap();
            encode::<MetadataRequest>(header, version, &metadata(state, &request, address, error))
        }
        ApiKey::InitProducerId => reply!(InitProducerIdRequest, init_producer_id),
        ApiKey::Produce => {
            let request = ProduceRequest::decode(&mut reader, version).unwrap();
            let is_answered = request.acks != 0;
            let response = produce(state, &request, error);
            if !is_answered {
                return None;
            }
            encode::<ProduceRequest>(header, version, &response)
        }
        ApiKey::Fetch => reply!(FetchRequest, fetch),
        ApiKey::ListOffsets => reply!(ListOffsetsRequest, list_offsets),
        ApiKey::FindCoordinator => {
            let response = find_coordinator(address, error);
            encode::<FindCoordinatorRequest>(header, version, &response)
        }
        ApiKey::JoinGroup => reply!(JoinGroupRequest, join_group),
        ApiKey::SyncGroup => reply!(SyncGroupRequest, sync_group),
        ApiKey::Heartbeat => reply!(HeartbeatRequest, |_, _, error_code| HeartbeatResponse {
            error_code,
            ..HeartbeatResponse::default()
        }),
        ApiKey::LeaveGroup => reply!(LeaveGroupRequest, |_, _, _| LeaveGroupResponse::default()),
        ApiKey::OffsetCommit => reply!(OffsetCommitRequest, offset_commit),
        ApiKey::OffsetFetch => reply!(OffsetFetchRequest, offset_fetch),
        other => panic!("{} is not served here", other.name()),
    })
}

fn encode<R: Request>(header: &RequestHeader, version: i16, response: &R::Response) -> Writer {
    let mut writer = Writer::framed();
    let head = ResponseHeader {
        correlation_id: header.correlation_id,
    };
    head.encode(&mut writer, ResponseHeader::version(R::API_KEY, version))
        .unwrap();
    response.encode(&mut writer, version).unwrap();
    writer
}

fn api_versions(state: &State) -> ApiVersionsResponse {
    let served = ApiKey::ALL.iter().map(|api| {
        let (min_version, max_version) = api.versions();
        ApiVersion {
            api_key: *api as i16,
            min_version,
            max_version: if *api == ApiKey::ApiVersions {
                state.api_versions_max
            } else {
                max_version
            },
        }
    });
    ApiVersionsResponse {
        api_keys: served.collect(),
        ..ApiVersionsResponse::default()
    }
}

fn metadata(state: &State, request: &MetadataRequest, address: SocketAddr, error: i16) -> MetadataResponse {
    let partition = |index| MetadataResponsePartition {
        partition_index: index,
        leader_id: NODE,
        leader_epoch: 0,
        replica_nodes: vec![NODE],
        isr_nodes: vec![NODE],
        ..MetadataResponsePartition::default()
    };
    let topic = |name: &str| MetadataResponseTopic {
        name: Some(name.into()),
        topic_id: TOPIC_ID,
        error_code: if name == "t" {
            error
        } else {
            ErrorCode::UnknownTopicOrPartition.code()
        },
        partitions: (0..state.partitions).map(partition).collect(),
        ..MetadataResponseTopic::default()
    };
    let names: Vec<String> = match &request.topics {
        Some(topics) => topics
            .iter()
            .map(|topic| topic.name.as_ref().unwrap().to_string())
            .collect(),
        None => vec!["t".to_owned()],
    };
    MetadataResponse {
        brokers: vec![MetadataResponseBroker {
            node_id: NODE,
            host: address.ip().to_string().into(),
            port: i32::from(address.port()),
            rack: None,
        }],
        topics: names.iter().map(|name| topic(name)).collect(),
        ..MetadataResponse::default()
    }
}

fn init_producer_id(state: &mut State, _: InitProducerIdRequest, error_code: i16) -> InitProducerIdResponse {
    state.next_producer += 1;
    InitProducerIdResponse {
        error_code,
        producer_id: state.next_producer,
        producer_epoch: 0,
        ..InitProducerIdResponse::default()
    }
}

fn produce(state: &mut State, request: &ProduceRequest, error: i16) -> ProduceResponse {
    let mut responses = Vec::new();
    for topic in &request.topic_data {
        let mut partition_responses = Vec::new();
        for data in &topic.partition_data {
            let bytes = data.records.as_ref().unwrap().to_bytes().unwrap();
            let appended = if error == 0 {
                append(state, data.index, bytes)
            } else {
                Err(error)
            };
            partition_responses.push(PartitionProduceResponse {
                index: data.index,
                error_code: appended.err().unwrap_or(0),
                base_offset: appended.unwrap_or(-1),
                ..PartitionProduceResponse::default()
            });
        }
        responses.push(TopicProduceResponse {
            topic_id: topic.topic_id,
            name: topic.name.clone(),
            partition_responses,
        });
    }
    ProduceResponse {
        responses,
        ..ProduceResponse::default()
    }
}

/// Appends a batch unless its sequence number says that it came before, or that one before it is missing.
fn append(state: &mut State, partition: i32, bytes: Bytes) -> Result<i64, i16> {
    let header = *Batch::parse(&bytes).unwrap().header();
    let log = state.log.entry(partition).or_default();
    let end = log.last().map_or(state.log_start, |(base, batch)| {
        base + i64::from(Batch::parse(batch).unwrap().header().record_count)
    });
    if header.base_sequence >= 0 {
        let next = state
            .sequences
            .entry((partition, header.producer_id.0))
            .or_default();
        if header.base_sequence < *next {
            return Err(ErrorCode::DuplicateSequenceNumber.code());
        }
        if header.base_sequence > *next {
            return Err(ErrorCode::OutOfOrderSequenceNumber.code());
        }
        *next += header.record_count;
    }
    // The base offset lies outside of the checksum.
    let mut stored = bytes.to_vec();
    stored[..8].copy_from_slice(&end.to_be_bytes());
    log.push((end, stored.into()));
    Ok(end)
}

fn fetch(state: &mut State, request: FetchRequest, error: i16) -> FetchResponse {
    let read = |topic: &FetchTopic| {
        let partitions = topic.partitions.iter().map(|wanted| {
            let log = state.log.get(&wanted.partition).map_or(&[][..], Vec::as_slice);
            let batches = log.iter().filter(|(base, bytes)| {
                let count = Batch::parse(bytes).unwrap().header().record_count;
                base + i64::from(count) > wanted.fetch_offset
            });
            let bytes: Vec<u8> = batches.flat_map(|(_, bytes)| bytes.to_vec()).collect();
            let is_out_of_range = wanted.fetch_offset < state.log_start;
            PartitionData {
                partition_index: wanted.partition,
                error_code: if is_out_of_range {
                    ErrorCode::OffsetOutOfRange.code()
                } else {
                    0
                },
                records: Some(Records::from(Bytes::from(bytes))),
                ..PartitionData::default()
            }
        });
        FetchableTopicResponse {
            topic_id: topic.topic_id,
            topic: topic.topic.clone(),
            partitions: partitions.collect(),
        }
    };
    FetchResponse {
        error_code: error,
        responses: if error == 0 {
            request.topics.iter().map(read).collect()
        } else {
            Vec::new()
        },
        ..FetchResponse::default()
    }
}

fn list_offsets(state: &mut State, request: ListOffsetsRequest, error_code: i16) -> ListOffsetsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter().map(|wanted| {
            let end = state.log.get(&wanted.partition_index).and_then(|log| log.last());
            let end = end.map_or(state.log_start, |(base, batch)| {
                base + i64::from(Batch::parse(batch).unwrap().header().record_count)
            });
            ListOffsetsPartitionResponse {
                partition_index: wanted.partition_index,
                error_code,
                offset: if wanted.timestamp == -2 {
                    state.log_start
                } else {
                    end
                },
                ..ListOffsetsPartitionResponse::default()
            }
        });
        ListOffsetsTopicResponse {
            name: topic.name.clone(),
            partitions: partitions.collect(),
        }
    });
    ListOffsetsResponse {
        topics: topics.collect(),
        ..ListOffsetsResponse::default()
    }
}

fn find_coordinator(address: SocketAddr, error_code: i16) -> FindCoordinatorResponse {
    FindCoordinatorResponse {
        coordinators: vec![Coordinator {
            node_id: NODE,
            host: address.ip().to_string().into(),
            port: i32::from(address.port()),
            error_code,
            ..Coordinator::default()
        }],
        ..FindCoordinatorResponse::default()
    }
}

/// A group of one: who joins leads.
fn join_group(state: &mut State, request: JoinGroupRequest, error: i16) -> JoinGroupResponse {
    if request.member_id.is_empty() {
        return JoinGroupResponse {
            error_code: ErrorCode::MemberIdRequired.code(),
            member_id: "member".into(),
            protocol_name: None,
            ..JoinGroupResponse::default()
        };
    }
    state.generation += 1;
    let protocol = request.protocols.first().unwrap();
    JoinGroupResponse {
        error_code: error,
        generation_id: state.generation,
        protocol_type: Some("consumer".into()),
        protocol_name: Some(protocol.name.clone()),
        leader: request.member_id.clone(),
        member_id: request.member_id.clone(),
        members: vec![JoinGroupResponseMember {
            member_id: request.member_id.clone(),
            group_instance_id: None,
            metadata: protocol.metadata.clone(),
        }],
        ..JoinGroupResponse::default()
    }
}

fn sync_group(_: &mut State, request: SyncGroupRequest, error_code: i16) -> SyncGroupResponse {
    let own = request
        .assignments
        .iter()
        .find(|assignment| assignment.member_id == request.member_id);
    SyncGroupResponse {
        error_code,
        protocol_type: request.protocol_type.clone(),
        protocol_name: request.protocol_name.clone(),
        assignment: own
            .map(|assignment| assignment.assignment.clone())
            .unwrap_or_default(),
        ..SyncGroupResponse::default()
    }
}

fn offset_commit(state: &mut State, request: OffsetCommitRequest, error_code: i16) -> OffsetCommitResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            if error_code == 0 {
                state
                    .committed
                    .insert(partition.partition_index, partition.committed_offset);
            }
            OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code,
            }
        });
        OffsetCommitResponseTopic {
            topic_id: topic.topic_id,
            partitions: partitions.collect(),
            name: topic.name.clone(),
        }
    });
    OffsetCommitResponse {
        topics: topics.collect(),
        ..OffsetCommitResponse::default()
    }
}

fn offset_fetch(state: &mut State, request: OffsetFetchRequest, error_code: i16) -> OffsetFetchResponse {
    let group = request.groups.first().unwrap();
    let topics = group.topics.iter().flatten().map(|topic| {
        let partitions = topic
            .partition_indexes
            .iter()
            .map(|index| OffsetFetchResponsePartitions {
                partition_index: *index,
                committed_offset: state.committed.get(index).copied().unwrap_or(-1),
                ..OffsetFetchResponsePartitions::default()
            });
        OffsetFetchResponseTopics {
            topic_id: topic.topic_id,
            name: topic.name.clone(),
            partitions: partitions.collect(),
        }
    });
    OffsetFetchResponse {
        groups: vec![OffsetFetchResponseGroup {
            group_id: group.group_id.clone(),
            topics: topics.collect(),
            error_code,
        }],
        ..OffsetFetchResponse::default()
    }
}
