//! Produce (key 0): appends a batch to each partition named.
//!
//! Versions: 3 is the first with batches of magic 2; 5 tells the log start; 7 may carry zstd (KIP-110); 8 names the
//! records at fault (KIP-467); 13 names topics by id (KIP-516). Versions 0 to 2 are shown by ApiVersions, because older
//! librdkafka concludes from their absence that nothing may be compressed, but not served (KIP-896).
//!
//! Where we differ from Apache Kafka: an append waits for nobody, and requests of one connection are pipelined; acks=all
//! means on stable storage unless the topic says otherwise. Transactions are not served yet.

mod answer;

use std::sync::Arc;

use bytes::Bytes;
use model::{ErrorCode, is_internal};
use replication::{Accepted, Acks, AppendRefused};
use storage::Origin;
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
    TopicProduceResponse,
};
use wire::records::{Attributes, BatchHeader, Codec};

use answer::{appended, failed, has_error, not_appended, refuse_all, with_ends};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext, now_ms, steady_ms};
use crate::replicas::{Hosted, HostedPartition, HostedTopic, PendingProduce, ProduceToken, Replicas, Topics};

/// The first version that may carry zstd.
const ZSTD_VERSION: i16 = 7;
/// The first version that names topics by id.
const TOPIC_ID_VERSION: i16 = 13;

/// See the module.
pub struct Produce;

impl Handler for Produce {
    type Request = ProduceRequest;

    const SPEC: ApiSpec = ApiSpec::of::<ProduceRequest>()
        .pipelined()
        .inline_while_fast()
        .advertised_from(0);

    fn handle(node: &Arc<Node>, context: &RequestContext, request: ProduceRequest) -> Reply<ProduceResponse> {
        produce(&node.replicas, context.api_version, request)
    }
}

pub(super) fn produce(replicas: &Replicas, version: i16, request: ProduceRequest) -> Reply<ProduceResponse> {
    let Some(acks) = Acks::from_number(request.acks) else {
        return Reply::Now(refuse_all(&request, ErrorCode::InvalidRequiredAcks));
    };
    let topics = replicas.topics();
    let mut append = Append {
        topics: &topics,
        version,
        transactional_id: request.transactional_id,
        acks,
        now_ms: now_ms(),
        pending: None,
        slots: 0,
    };
    let response = ProduceResponse {
        responses: request
            .topic_data
            .iter()
            .map(|topic| append.topic(topic))
            .collect(),
        ..ProduceResponse::default()
    };
    let deadline_ms = steady_ms().saturating_add(request.timeout_ms.max(0).into());
    match (acks, append.pending) {
        (Acks::None, _) if has_error(&response) => Reply::Close("a produce with acks=0 failed"),
        (Acks::None, _) => Reply::None,
        (_, None) => Reply::Now(response),
        (_, Some(pending)) => {
            let (sender, receiver) = oneshot::channel();
            let reply = move |ends| drop(sender.send(with_ends(response, ends)));
            pending.wait(replicas.timers(), deadline_ms, Box::new(reply));
            Reply::Later(receiver)
        }
    }
}

/// One request while it is appended.
struct Append<'t> {
    topics: &'t Topics,
    version: i16,
    transactional_id: Option<Str>,
    acks: Acks,
    now_ms: i64,
    /// Made when the first partition has to wait.
    pending: Option<Arc<PendingProduce>>,
    /// Partitions so far.
    slots: usize,
}

/// Why a partition was not appended to, before its replica was asked.
struct Refusal {
    code: ErrorCode,
    message: Option<&'static str>,
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Refusal {
        Refusal { code, message: None }
    }
}

impl<'t> Append<'t> {
    fn topic(&mut self, topic: &TopicProduceData) -> TopicProduceResponse {
        let found = self.find(topic);
        let partitions = topic.partition_data.iter();
        TopicProduceResponse {
            topic_id: topic.topic_id,
            // A copy: a slice would keep the whole request in memory as long as its answer waits, and the next request
            // could not be received into the same buffer.
            name: Str::from(&*topic.name),
            partition_responses: partitions
                .map(|partition| self.partition(found, partition))
                .collect(),
        }
    }

    fn partition(
        &mut self,
        topic: Result<&HostedTopic, ErrorCode>,
        data: &PartitionProduceData,
    ) -> PartitionProduceResponse {
        let slot = self.slots;
        self.slots += 1;
        let checked = topic
            .map_err(Refusal::from)
            .and_then(|topic| partition_of(topic, data.index))
            .and_then(|partition| Ok((partition, self.check(data)?)));
        match checked {
            Ok((partition, records)) => match self.append(partition, &records, slot) {
                Ok(accepted) => appended(data.index, &accepted),
                Err(refused) => not_appended(data.index, &refused),
            },
            Err(refusal) => PartitionProduceResponse {
                error_message: refusal.message.map(Str::from_static),
                ..failed(data.index, refusal.code)
            },
        }
    }

    fn find(&self, topic: &TopicProduceData) -> Result<&'t HostedTopic, ErrorCode> {
        let found = if self.version >= TOPIC_ID_VERSION {
            self.topics
                .by_id(topic.topic_id)
                .ok_or(ErrorCode::UnknownTopicId)?
        } else {
            self.topics
                .by_name(&topic.name)
                .ok_or(ErrorCode::UnknownTopicOrPartition)?
        };
        Ok(found)
    }

    /// What depends on the version, or on what is not served yet; the rules of a batch are the log's.
    fn check(&self, data: &PartitionProduceData) -> Result<Bytes, Refusal> {
        let no_batch = Refusal {
            code: ErrorCode::InvalidRecord,
            message: Some("exactly one batch is expected"),
        };
        let Some(records) = data.records.as_ref().filter(|records| !records.is_empty()) else {
            return Err(no_batch);
        };
        let records = records.to_bytes().map_err(|_| ErrorCode::UnknownServerError)?;
        let attributes =
            BatchHeader::parse(&records).map_or(Attributes::default(), |header| header.attributes);
        if attributes.codec() == Ok(Codec::Zstd) && self.version < ZSTD_VERSION {
            return Err(Refusal {
                code: ErrorCode::UnsupportedCompressionType,
                message: Some("zstd needs Produce version 7"),
            });
        }
        if attributes.is_transactional() && self.transactional_id.is_none() {
            return Err(ErrorCode::TransactionalIdAuthorizationFailed.into());
        }
        if attributes.is_transactional() {
            return Err(Refusal {
                code: ErrorCode::InvalidTxnState,
                message: Some("transactions are not served yet"),
            });
        }
        Ok(records)
    }

    fn append(
        &mut self,
        partition: &Arc<HostedPartition>,
        records: &Bytes,
        slot: usize,
    ) -> Result<Accepted, AppendRefused> {
        let pending = &mut self.pending;
        partition.append(records, Origin::Client, self.acks, self.now_ms, || {
            let pending = pending.get_or_insert_with(Arc::default);
            pending.add(slot, partition.clone());
            ProduceToken::Request {
                pending: pending.clone(),
                slot,
            }
        })
    }
}

fn partition_of(topic: &HostedTopic, index: i32) -> Result<&Arc<HostedPartition>, Refusal> {
    let hosted = topic
        .partitions
        .get(&index)
        .ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if is_internal(&topic.name) {
        return Err(Refusal {
            code: ErrorCode::InvalidTopicException,
            message: Some("clients may not write to internal topics"),
        });
    }
    match hosted {
        Hosted::Online(partition) => Ok(partition),
        Hosted::Offline => Err(ErrorCode::KafkaStorageError.into()),
    }
}
