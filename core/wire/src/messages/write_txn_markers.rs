//! The messages of `WriteTxnMarkers`, API key 27.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to write the markers that end transactions into partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = WriteTxnMarkers, versions = "1-2", flexible = "1+")]
pub struct WriteTxnMarkersRequest {
    pub markers: Vec<WritableTxnMarker>,
}

/// An element of [`WriteTxnMarkersRequest::markers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WritableTxnMarker {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub transaction_result: bool,
    pub topics: Vec<WritableTxnMarkerTopic>,
    pub coordinator_epoch: i32,
    #[wire(versions = "2+")]
    pub transaction_version: i8,
}

/// An element of [`WritableTxnMarker::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WritableTxnMarkerTopic {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

/// Answers [`WriteTxnMarkersRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "1+")]
pub struct WriteTxnMarkersResponse {
    pub markers: Vec<WritableTxnMarkerResult>,
}

/// An element of [`WriteTxnMarkersResponse::markers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WritableTxnMarkerResult {
    pub producer_id: i64,
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

/// An element of [`WritableTxnMarkerResult::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WritableTxnMarkerTopicResult {
    pub name: Str,
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

/// An element of [`WritableTxnMarkerTopicResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WritableTxnMarkerPartitionResult {
    pub partition_index: i32,
    pub error_code: i16,
}
