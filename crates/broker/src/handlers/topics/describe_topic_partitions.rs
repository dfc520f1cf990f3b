//! `DescribeTopicPartitions` (KIP-966): partitions page by page, with eligible leader replicas.
//!
//! - Topics come in the order of their names, all of them when none is named. An answer has at most as many partitions
//!   as the client asks for and `max.request.partition.size.limit` allows; the cursor says where the next one begins.
//! - A cursor may name a topic that is gone: what follows in order is answered.

use std::sync::Arc;

use ::metadata::image::{Partition, Topic};
use model::{ErrorCode, is_internal, validate_topic_name};
use wire::Str;
use wire::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};

use super::{ALL_TOPIC_OPERATIONS, View, ids};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct DescribeTopicPartitions;

impl Handler for DescribeTopicPartitions {
    type Request = DescribeTopicPartitionsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<DescribeTopicPartitionsRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: DescribeTopicPartitionsRequest,
    ) -> Reply<DescribeTopicPartitionsResponse> {
        let image = node.metadata.image();
        let view = View {
            image: &image,
            listener: &context.listener().name,
        };
        let limit = node.config.fetch.max_request_partition_size_limit;
        Reply::Now(describe(&view, &request, limit))
    }
}

fn describe(
    view: &View<'_>,
    request: &DescribeTopicPartitionsRequest,
    limit: usize,
) -> DescribeTopicPartitionsResponse {
    if request
        .cursor
        .as_ref()
        .is_some_and(|cursor| cursor.partition_index < 0)
    {
        let refused = request
            .topics
            .iter()
            .map(|topic| without_partitions(&topic.name, ErrorCode::InvalidRequest));
        return DescribeTopicPartitionsResponse {
            topics: refused.collect(),
            ..Default::default()
        };
    }
    let asked = usize::try_from(request.response_partition_limit)
        .unwrap_or(1)
        .max(1);
    let mut page = Page {
        view,
        left: asked.min(limit.max(1)),
        answer: DescribeTopicPartitionsResponse::default(),
    };
    let from = request.cursor.as_ref().map_or("", |cursor| &*cursor.topic_name);
    let first_partition = |name: &str| match &request.cursor {
        Some(cursor) if *cursor.topic_name == *name => cursor.partition_index,
        _ => 0,
    };
    if request.topics.is_empty() {
        for topic in view.image.topics.starting_at(from) {
            if !page.take(topic, first_partition(&topic.name)) {
                break;
            }
        }
        return page.answer;
    }
    let mut names: Vec<&Str> = request.topics.iter().map(|topic| &topic.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| ***name >= *from) {
        let goes_on = match view.image.topics.by_name(name) {
            Some(topic) => page.take(topic, first_partition(name)),
            None => page.take_unknown(name),
        };
        if !goes_on {
            break;
        }
    }
    page.answer
}

/// An answer under construction.
struct Page<'a> {
    view: &'a View<'a>,
    left: usize,
    answer: DescribeTopicPartitionsResponse,
}

impl Page<'_> {
    /// Takes a topic's partitions from one on; `false` when the page is full.
    fn take(&mut self, topic: &Topic, first_partition: i32) -> bool {
        if self.left == 0 {
            return self.ends_before(&topic.name, 0);
        }
        let mut rest = topic.partitions.range(first_partition..);
        let partitions: Vec<_> = rest
            .by_ref()
            .take(self.left)
            .map(|(index, partition)| self.partition(*index, partition))
            .collect();
        self.left -= partitions.len();
        self.answer.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: 0,
            name: Some(topic.name.as_ref().into()),
            topic_id: topic.id,
            is_internal: is_internal(&topic.name),
            partitions,
            topic_authorized_operations: ALL_TOPIC_OPERATIONS,
        });
        rest.next()
            .is_none_or(|(index, _)| self.ends_before(&topic.name, *index))
    }

    fn take_unknown(&mut self, name: &Str) -> bool {
        if self.left == 0 {
            return self.ends_before(name, 0);
        }
        let valid = validate_topic_name(name).is_ok();
        let error = if valid {
            ErrorCode::UnknownTopicOrPartition
        } else {
            ErrorCode::InvalidTopicException
        };
        self.answer.topics.push(without_partitions(name, error));
        true
    }

    fn ends_before(&mut self, topic_name: &str, partition_index: i32) -> bool {
        self.answer.next_cursor = Some(Cursor {
            topic_name: topic_name.into(),
            partition_index,
        });
        false
    }

    fn partition(&self, index: i32, partition: &Partition) -> DescribeTopicPartitionsResponsePartition {
        let (leader, error) = self.view.leader(partition, ErrorCode::ListenerNotFound);
        DescribeTopicPartitionsResponsePartition {
            error_code: error.code(),
            partition_index: index,
            leader_id: leader.0,
            leader_epoch: partition.leader_epoch.0,
            replica_nodes: ids(&partition.replicas),
            isr_nodes: ids(&partition.isr),
            eligible_leader_replicas: Some(ids(&partition.eligible_leader_replicas)),
            last_known_elr: Some(ids(&partition.last_known_elr)),
            offline_replicas: self.view.offline_replicas(partition),
        }
    }
}

fn without_partitions(name: &Str, error: ErrorCode) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code: error.code(),
        name: Some(name.clone()),
        is_internal: is_internal(name),
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}
